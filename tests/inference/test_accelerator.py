"""Many subsets at once: what the host finds, the same on any number of devices, within memory."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
import pytest
from jax.sharding import Mesh

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.labelled import Labelled, pad, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.subsets import make_cases
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference import lanes
from cordial_ppl.inference.accelerator import fit_batch
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.programs import draw_prior
from cordial_ppl.inference.state import PRECISION
from cordial_ppl.inference.target import Prior, build_target

pytestmark = pytest.mark.x64
sample: Any = numpyro.sample
dist: Any = numpyro.distributions


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """What four forced devices make of 64 subsets, and the host's fits of the same."""
    path = tmp_path_factory.mktemp("four") / "fits.npz"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    folder = Path(__file__).parent
    paths = os.pathsep.join([str(folder.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": paths}
    command = [sys.executable, folder / "four_devices.py", path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    arrays = dict(np.load(path))
    assert arrays["devices"] == 4
    return arrays


def rms(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


@pytest.mark.nightly
@pytest.mark.parametrize("texts", ["report", "held out"])
def test_the_default_posterior_is_that_of_the_host_within_the_noise_of_seeds(four, texts):
    first, second, batch = (
        four[f"{name} {texts}"] for name in ("default 0", "default 1", "default on 4")
    )
    noise = rms(first, second)
    # Over samples of the subsets .0039 and .0124, sd .0005; the ratio .94 and .97, sd .04.
    assert 0 < noise < 0.03
    assert max(rms(first, batch), rms(second, batch)) < 1.15 * noise
    # Errors of a kind would not average out over the subsets: each is 0, sd .0006.
    assert np.abs((batch - first).mean(axis=(0, 1))).max() < 0.002


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["laplace", "mode"])
def test_the_literal_method_is_that_of_the_host(four, method):
    for texts in ("report", "held out"):
        host, batch = four[f"{method} 0 {texts}"], four[f"{method} on 4 {texts}"]
        apart = np.abs(host - batch).max(axis=(1, 2))
        # Either search may end at another mode than the other: .05 of 64, sd .03.
        assert np.median(apart) < 1e-6 and np.mean(apart > 1e-4) < 0.15
    assert np.median(rms(four["laplace 0 report"], four["laplace 1 report"])) > 1e-3


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["default", "laplace", "mode"])
def test_one_device_and_four_agree(four, method):
    # To the last digit where randomness follows from what is accepted; a mode ends in rounding.
    apart = 0 if method == "default" else 1e-6
    for part in ("report", "held out", "draws", "weights", "trusted"):
        one, several = (four[f"{method} on {count} {part}"] for count in (1, 4))
        np.testing.assert_allclose(several, one, rtol=0, atol=apart)


@pytest.mark.nightly
def test_a_fit_does_not_depend_on_its_neighbours():
    """Problems that need no more draw no numbers while others go on."""
    texts, rng = reviews(400, seed=4), np.random.default_rng(1)
    subsets = np.stack([rng.permutation(360)[:20] for _ in range(12)])
    pool, report = np.split(as_logits(texts.logits), [360])
    cases = make_cases(Labelled(pool, texts.labels[:360]), subsets, range(12))
    cases = [case._replace(folds=None, seed=(0, *case.seed)) for case in cases]
    target, asked = build_target(CHANNELS["location"], 5), without_labels(report, {})
    beside = [fit_batch(target, [cases[0], other], asked)[1][0] for other in cases[1:]]
    assert len({probs.tobytes() for probs in beside}) == 1
    alone = fit_cases(target, cases[:1])[0].fitted.predict(report, {})[0]
    assert rms(alone, beside[0]) < 0.01  # .002 between seeds


def test_what_fits_in_memory(monkeypatch):
    target = build_target(CHANNELS["location-vector"], 5)
    mesh = Mesh(np.array(jax.devices("cpu")[:1]), (lanes.AXIS,))

    def count(points, rows, problems=10**4):
        return lanes.count_lanes(mesh, problems, points, target, PRECISION, rows)

    assert count(10**4, 32) == count(10**4, 2048) == 13 and count(10**6, 32) == 1
    assert count(1, 32) == 16
    # Few problems are not filled up to many; programs are of few sizes.
    assert [count(1, 32, problems) for problems in (1, 4, 9, 11)] == [1, 4, 10, 12]
    monkeypatch.setattr(lanes, "is_wide", lambda mesh: True)
    monkeypatch.setattr(lanes, "CHIP", 2 * lanes.CORE)
    assert count(10**4, 32) == 13 and count(1024, 2048) == count(1024, 8192) == 8
    monkeypatch.setattr(lanes, "memory", lambda mesh: 30 * 2**30)
    assert count(1024, 2048) == 256 and count(1024, 32, 1280) == 1280


@pytest.mark.nightly
def test_prior_draws_on_devices_are_those_of_the_host():
    def model(readings, labels=None):
        slope = sample("slope", dist.HalfNormal(1.0))
        shares = sample("shares", dist.Dirichlet(np.full(5, 2.0)))
        tilted = slope * readings.logits + jax.numpy.log(shares)[None]
        cp.observe(jax.nn.log_softmax(tilted, axis=1), labels)

    target = build_target(cp.channels.Channel("bounded", model), 5)
    mesh = Mesh(np.array(jax.devices("cpu")[:1]), (lanes.AXIS,))
    data = pad(without_labels(np.zeros((3, 5)), {}), np.full(5, 0.2), PRECISION, 32)
    prior = Prior(*(part.astype(PRECISION) for part in target.prior))
    pair = lanes.Problems(prior, data)
    both = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), pair)
    drawn = lanes.draw_priors(target, both, mesh, 64, np.array([3, 4], np.uint32))
    for seed, points in zip((3, 4), drawn, strict=True):
        expected = draw_prior(target, *pair, 64, seed)
        np.testing.assert_allclose(points, expected, rtol=0, atol=1e-5)
