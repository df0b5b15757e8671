"""The gallery of channel files, used as anybody uses them: by path."""

from pathlib import Path

import jax
import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.checks.posteriors import fit
from cordial_ppl.checks.texts import make_texts
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import Readings
from cordial_ppl.synthetic import reviews

MODELS = Path(__file__).parent.parent / "models"
GALLERY = sorted(MODELS.glob("*.py"))
OFTEN = ("template", "verbosity")
COVARIATES = {
    "length": np.random.default_rng(1).lognormal(5, 1, 16),
    "time": np.random.default_rng(2).random(16),
}
READINGS = Readings(
    np.random.default_rng(0).normal(0, 4, (16, 5)),
    np.array([0.1, 0.1, 0.2, 0.3, 0.3]),
    COVARIATES,
)


def load(name, size=5):
    """A channel of the gallery, or the package's own."""
    path = MODELS / f"{name}.py"
    channel = load_channel(path) if path.exists() else CHANNELS[name]
    return build_target(channel, size, tuple(COVARIATES))


def covariates_of(path, rows):
    """Made-up covariates, those that the channel asks for."""
    rng = np.random.default_rng(0)
    made = {"length": rng.lognormal(5, 1, rows), "time": rng.random(rows)}
    return {name: made[name] for name in find_covariates(load_channel(path), 5)}


def probs_of(target, readings, **values):
    """Probabilities at the prior means, with some unconstrained parameters replaced."""
    flat = np.array(target.prior.loc)
    for site in target.sites:
        flat[site.slice] = values.get(site.name, flat[site.slice])
    return np.asarray(jax.jit(target.probs)(flat, readings))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem in OFTEN else pytest.mark.nightly)
        for path in GALLERY
    ],
    ids=lambda path: path.stem,
)
def test_every_file_fits_and_keeps_the_order(path):
    texts = reviews(420, seed=1)
    extra = covariates_of(path, 420)
    known, unseen = ({k: v[own] for k, v in extra.items()} for own in (slice(20), slice(20, 420)))
    judge = cp.ChannelCalibrator(path).fit(texts.logits[:20], texts.labels[:20], known)
    assert judge.posterior_.diagnostics.trusted
    probs = judge.predict_proba(texts.logits[20:], unseen)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    truth = texts.labels[20:]
    histogram = np.tile(judge.posterior_.histogram, (len(truth), 1))
    assert cp.scores.log_loss(probs, truth) < cp.scores.log_loss(histogram, truth)
    alike = {name: np.full(5, values.mean()) for name, values in extra.items()}
    ladder = judge.predict_proba(20 * np.eye(5), alike)
    assert not cp.scores.reversals(ladder, tolerance=1e-6).any()


@pytest.mark.parametrize(
    ("name", "neutral", "tolerance"),
    [
        ("template", {}, 1e-12),
        ("skewed", {"skew": 0.0}, 1e-12),
        ("heavy_tailed", {"width": 15.0}, 1e-9),
        ("bent", {"bend": 0.0}, 1e-12),
        ("uneven", {"steps": 0.0}, 1e-12),
        ("verbosity", {"verbosity": 0.0}, 1e-12),
        ("drift", {"drift": 0.0}, 1e-12),
        ("two_populations", {"difference": 0.0}, 1e-12),
    ],
)
def test_a_neutral_setting_gives_the_location_channel(name, neutral, tolerance):
    values = {"offset": 0.4, "gain": -0.2, "temperature": 1.1, "concentration": 0.3}
    found = probs_of(load(name), READINGS, **values, **neutral)
    expected = probs_of(load("location"), READINGS, **values)
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_probit_integrates_a_gaussian_over_each_option():
    values = {"offset": 0.3, "gain": 0.1, "spread": -0.2, "strength_log_odds": 60.0}
    found = probs_of(load("probit"), READINGS, temperature=0.0, **values)
    logits = READINGS.logits
    mean = np.exp(logits) @ np.arange(5) / np.exp(logits).sum(axis=1)
    noise = np.random.default_rng(0).standard_normal((1_000_000, 1)) * np.exp(-0.2)
    for row in range(3):
        latent = np.exp(0.1) * mean[row] + 0.3 + noise
        counts = np.bincount(np.clip(np.rint(latent), 0, 4).astype(int).ravel(), minlength=5)
        np.testing.assert_allclose(found[row], counts / 1e6, atol=0.003)


@pytest.mark.parametrize(
    ("name", "effect", "covariate"), [("verbosity", -1.0, "length"), ("drift", 1.0, "time")]
)
def test_a_covariate_is_found_to_matter(name, effect, covariate):
    rng = np.random.default_rng(3)
    time = rng.random(80)
    quality = rng.integers(0, 5, 80)
    extra = {"time": time, "length": 100 * 2 ** (2 * time)}
    stated = np.clip(np.rint(quality - effect * (2 * time - 1)), 0, 4).astype(int)
    judge = cp.ChannelCalibrator(MODELS / f"{name}.py")
    judge.fit(20 * np.eye(5)[stated], quality, {covariate: extra[covariate]})
    draws, weights = judge.posterior_.parameters()[name], judge.posterior_.weights
    assert weights[draws > 0].sum() > 0.95


@pytest.mark.nightly
def test_a_program_takes_nothing_from_one_for_fewer_options():
    # Fusions of XLA:CPU by YNNPACK did: of programs that differ in the number of options alone.
    found = {}
    for size in (3, 5):
        texts = make_texts(load_channel(MODELS / "bent.py"), 0, size, 5)
        found[size] = [fit(texts, method) for method in ("default", "laplace")]
    default, laplace = (own.weights @ own.draws for own in found[5])
    spread = found[5][1].draws.std(axis=0)
    assert np.abs((default - laplace) / spread).max() < 0.6
