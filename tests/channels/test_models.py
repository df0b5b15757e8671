"""The gallery of channel files, used as anybody uses them: by path."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from few_labels import LABELS, THREE
from numpyro.distributions.transforms import ZeroSumTransform
from scipy.linalg import helmert

import cordial_ppl as cp
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.decisions.reported import PARAMETERS
from cordial_ppl.evaluation.checks.trial import make_trial
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates

MODELS = Path(__file__).parents[2] / "models"
OFTEN = ("template", "verbosity")


def case(name, *values):
    """Mark a case of a file: those that are used most are tried for each change."""
    return pytest.param(name, *values, marks=() if name in OFTEN else pytest.mark.nightly)


FILES = sorted(path.stem for path in MODELS.glob("*.py"))
EVERY = [
    name
    for name in FILES
    # Of several readers, and of a population's predictions.
    if name not in ("readers", "user_shift")
]
RNG = np.random.default_rng(0)
COVARIATES = {
    "length": RNG.lognormal(5, 1, 420),
    "time": RNG.random(420),
    "user": RNG.integers(12, size=420).astype(float),
    "annotator": RNG.integers(6, size=420).astype(float),
}


def load(name, size=5):
    """A channel of the gallery, or the package's own, and for three readers."""
    path = MODELS / f"{name}.py"
    channel = load_channel(path if path.exists() else name)
    readers = (3,) if channel.several else ()
    with jax.enable_x64(True):
        return build_target(channel, size, tuple(COVARIATES), *readers)


def point(target, **values):
    """The prior's location, with some unconstrained parameters replaced."""
    flat = np.array(target.prior.loc)
    for site in target.sites:
        flat[site.slice] = values.get(site.name, flat[site.slice])
    return flat


def probs_of(target, logits, **values):
    histogram = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
    extra = {name: column[: len(logits)] for name, column in COVARIATES.items()}
    readings = Readings(logits, histogram, extra)
    return np.asarray(jax.jit(target.probs)(point(target, **values), readings))


@pytest.mark.parametrize("name", [*map(case, FILES)])
def test_every_file_is_plain_numpyro_and_has_words_for_what_it_adds(name):
    path = MODELS / f"{name}.py"
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    assert {str(name).partition(".")[0] for name in names} <= {"jax", "numpyro"}
    channel = load_channel(path)
    sites = load(name).sites
    assert dict(channel.parameters).keys() == {site.parameter for site in sites} - {*PARAMETERS}


def assert_identical(plain, built_in, logits, turn=lambda flat: flat):
    """Density, its gradient and predictions agree wherever the prior goes."""
    assert plain.coordinates == built_in.coordinates
    np.testing.assert_allclose(plain.prior, built_in.prior, rtol=0, atol=1e-12)
    assert [site.gaussian for site in plain.sites] == [site.gaussian for site in built_in.sites]
    rng, extra = np.random.default_rng(1), {k: v[:24] for k, v in COVARIATES.items()}
    counts = jnp.arange(1.0, built_in.options + 1)
    readings = Readings(jnp.asarray(logits), counts / counts.sum(), extra)
    labels, (loc, scale) = jnp.asarray(rng.integers(built_in.options, size=24)), built_in.prior

    def evaluate(target):
        def density(flat):
            return target.log_density(flat, target.prior, readings, labels)

        return jax.jit(
            lambda flat: (target.probs(flat, readings), jax.value_and_grad(density)(flat))
        )

    with jax.enable_x64(True):
        one, other = evaluate(plain), evaluate(built_in)
        for flat in loc + scale * rng.normal(size=(40, built_in.size)) * 1.5:
            probs, (value, slope) = one(turn(flat))
            expected, (density, gradient) = other(flat)
            np.testing.assert_allclose(probs, expected, rtol=1e-8)
            np.testing.assert_allclose(value, density, rtol=1e-10)
            # An orthogonal map of coordinates keeps the length of a gradient.
            lengths = (np.linalg.norm(each) for each in (slope, gradient))
            np.testing.assert_allclose(*lengths, rtol=1e-7)


@pytest.mark.literal
@pytest.mark.parametrize(
    ("name", "built_in"),
    [
        case("template", "location"),
        case("paper_mixture", "mixture"),
        case("paper_location_vector", "location-vector"),
        case("paper_mixture_vector", "mixture-vector"),
    ],
)
def test_the_papers_channels_in_plain_numpyro_are_those_built_in(name, built_in):
    logits = as_logits(np.random.default_rng(0).normal(0, 4, (24, 5)))
    assert_identical(load(name), load(built_in), logits)
    texts = reviews(60, seed=3)
    one, other = (
        cp.fit_laplace(path, texts.logits[:20], texts.labels[:20])
        for path in (MODELS / f"{name}.py", built_in)
    )
    np.testing.assert_allclose(one.draws, other.draws, rtol=0, atol=1e-5)
    unseen = (each.predict_proba(texts.logits[20:]) for each in (one, other))
    np.testing.assert_allclose(*unseen, rtol=0, atol=1e-6)


@pytest.mark.nightly
@pytest.mark.literal
def test_readers_in_plain_numpyro_are_the_papers_fusion():
    logits = as_logits(np.random.default_rng(0).normal(0, 4, (24, 3, 5)).reshape(-1, 5))
    logits = logits.reshape(24, 3, 5)
    logits[::4, 1] = np.nan

    def turn(flat):
        """From coordinates in Helmert's basis of what sums to zero to those of NumPyro's."""
        contrast = ZeroSumTransform(1).inv(flat[3:5] @ helmert(3))
        return np.r_[flat[:3], contrast, flat[5:]]

    plain = load("readers")
    assert plain.size == 2 * 3 + 3
    assert_identical(plain, load("location-readers"), logits, turn)


@pytest.mark.nightly
@pytest.mark.literal
def test_modes_of_readers_in_plain_numpyro_are_the_papers():
    modes = (
        cp.fit_channel(name, THREE, LABELS, method="mode")
        for name in (MODELS / "readers.py", "location-readers")
    )
    np.testing.assert_allclose(*(each.predict_proba(THREE) for each in modes), rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [2, 3, 11])
def test_a_user_shift_in_plain_numpyro_is_that_built_in_for_any_scale(size):
    with jax.enable_x64(True):
        built_in = build_target(cp.channels.user_channel(12), size, tuple(COVARIATES))
    probs = np.random.default_rng(0).dirichlet(np.ones(size), 24)
    assert_identical(load("user_shift", size), built_in, as_logits(np.log(probs)))


def test_a_user_shift_in_plain_numpyro_is_the_papers():
    rng, (users, each) = np.random.default_rng(0), (12, 12)
    probs = rng.dirichlet(np.ones(5), users * each)
    who = np.repeat(np.arange(users), each)
    labels = np.clip(probs.argmax(axis=1) + (who % 3) - 1, 0, 4)
    channel, built_in = load("user_shift"), cp.channels.user_channel(users)
    with jax.enable_x64(True):
        expected = build_target(built_in, 5, tuple(COVARIATES))
    assert_identical(channel, expected, as_logits(np.log(probs[:24])))
    # The paper's mode of each shift, under its sigma.
    shifts = cp.UserShift.paper(fractions="divided").fit(probs, labels, who)
    readings = Readings(as_logits(np.log(probs)), np.full(5, 0.2), {"user": who.astype(float)})
    grid = 0.05 * np.arange(-80, 81)
    flats = np.zeros((len(grid), 1 + users))
    flats[:, 0] = np.log(shifts.sigma_)
    logs = jax.jit(jax.vmap(lambda flat: channel.pointwise(flat, readings, jnp.asarray(labels))[0]))
    for user in range(users):
        moved = flats.copy()
        moved[:, 1 + user] = grid / shifts.sigma_
        density = np.asarray(logs(moved))[:, who == user].sum(axis=1) - moved[:, 1 + user] ** 2 / 2
        assert grid[density.argmax()] == pytest.approx(shifts.values_[str(user)], abs=1e-9)


@pytest.mark.parametrize("name", [*map(case, EVERY)])
def test_every_file_fits_and_keeps_the_order(name):
    path, texts = MODELS / f"{name}.py", reviews(420, seed=1)
    extra = {each: COVARIATES[each] for each in find_covariates(load_channel(path), 5)}
    known, unseen = ({k: v[own] for k, v in extra.items()} for own in (slice(20), slice(20, 420)))
    fitted = cp.ChannelCalibrator(path).fit(texts.logits[:20], texts.labels[:20], known)
    # Draws are repaired until they are: in all of 20 seeds of each file.
    assert fitted.posterior_.diagnostics.trusted
    probs, truth = fitted.predict_proba(texts.logits[20:], unseen), texts.labels[20:]
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    histogram = np.tile(fitted.posterior_.histogram, (len(truth), 1))
    # By .50, sd .12, or more for each file over 20 seeds.
    assert cp.scores.log_loss(probs, truth) < cp.scores.log_loss(histogram, truth)
    if name.endswith("vector"):
        return  # Such channels may reverse the order.
    alike = {name: np.full(5, values[0]) for name, values in extra.items()}
    ladder = fitted.predict_proba(20 * np.eye(5), alike)
    assert not cp.scores.reversals(ladder, tolerance=1e-6).any()


@pytest.mark.parametrize(
    ("name", "neutral"),
    [
        case("template", {}),
        case("skewed", {"skew": 0.0}),
        case("heavy_tailed", {"width": 15.0}),
        case("bent", {"bend": 0.0}),
        case("uneven", {"steps": 0.0}),
        case("verbosity", {"verbosity": 0.0}),
        case("drift", {"drift": 0.0}),
        case("two_populations", {"difference": 0.0}),
    ],
)
def test_a_neutral_setting_gives_the_location_channel(name, neutral):
    values = {"offset": 0.4, "gain": -0.2, "temperature": 1.1, "concentration": 0.3}
    logits = np.random.default_rng(0).normal(0, 4, (16, 5))
    found = probs_of(load(name), logits, **values, **neutral)
    expected = probs_of(load("location"), logits, **values)
    np.testing.assert_allclose(found, expected, rtol=1e-9 if name == "heavy_tailed" else 1e-12)


@pytest.mark.parametrize(
    ("name", "site", "value"),
    [
        case("bent", "bend", 1.5),
        case("skewed", "skew", 1.0),
        case("uneven", "steps", np.array([0.6, -0.6, 0.6, -0.6])),
        case("two_populations", "difference", 2.5),
        case("verbosity", "verbosity", -0.8),
        case("drift", "drift", 1.5),
    ],
)
def test_what_a_channel_adds_is_found_in_data_made_by_it(name, site, value):
    target, logits = load(name), as_logits(np.random.default_rng(0).normal(0, 4, (400, 5)))
    # Each text has all labels, as often as they are expected: nothing is drawn but the readings.
    labels, rows = np.tile(np.arange(5), 400), np.repeat(np.arange(400), 5)
    often = probs_of(target, logits, **{site: value}).ravel()
    extra = {name: COVARIATES[name][rows] for name in find_covariates(target.channel, 5)}
    fitted = cp.ChannelCalibrator(target.channel, inference="mode")
    fitted.fit(logits[rows], labels, extra, sample_weight=often, texts=rows)
    # The prior's pull: largest in the steps, .151, sd .006 over 20 seeds.
    np.testing.assert_allclose(fitted.posterior_.mean()[site], value, rtol=0, atol=0.2)


@pytest.mark.nightly
def test_probit_integrates_a_gaussian_over_each_option():
    values = {"offset": 0.3, "gain": 0.1, "spread": -0.2, "strength_log_odds": 60.0}
    logits = np.random.default_rng(0).normal(0, 4, (3, 5))
    found = probs_of(load("probit"), logits, temperature=0.0, **values)
    mean = np.exp(logits) @ np.arange(5) / np.exp(logits).sum(axis=1)
    noise = np.random.default_rng(0).standard_normal((1_000_000, 1)) * np.exp(-0.2)
    latent = np.rint(np.exp(0.1) * mean + 0.3 + noise).clip(0, 4)
    counts = np.stack([(latent == option).mean(axis=0) for option in range(5)], axis=1)
    # The largest error is .0006, sd .0003 over 20 seeds.
    np.testing.assert_allclose(found, counts, atol=0.003)


@pytest.mark.nightly
def test_a_program_takes_nothing_from_one_for_fewer_options():
    # Fusions of XLA:CPU by YNNPACK did: of programs that differ in the number of options alone.
    for size in (3, 5):
        texts = make_trial(load_channel(MODELS / "bent.py"), 0, size, 5)
        default, laplace = (texts.fit(method) for method in ("default", "laplace"))
    means = [own.weights @ own.draws for own in (default, laplace)]
    assert np.abs((means[0] - means[1]) / laplace.draws.std(axis=0)).max() < 0.6
