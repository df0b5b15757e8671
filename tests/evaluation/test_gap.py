"""The experiment at a known gap: excess losses follow d / (2 n), and the full channel overtakes."""

from contextlib import suppress

import numpy as np
import pytest
from excess import excess_losses
from populations import known_gap
from scipy.special import softmax

from cordial_ppl.errors import InputError

TEXTS, K, DRAWS = 150, 4, 20
DELTAS = 0.02, 0.08
MULTIPLES = 0.25, 0.5, 1, 2, 40


def reachable(delta, **settings):
    """The population of the first seed that has such a gap."""
    for seed in range(2, 40):
        with suppress(InputError):
            return known_gap(delta, seed, **settings)
    return pytest.fail(f"no seed has a gap of {delta}")


@pytest.fixture(scope="module")
def populations():
    return {delta: reachable(delta, n=TEXTS, options=K) for delta in DELTAS}


@pytest.fixture(scope="module")
def losses(populations):
    return {
        delta: excess_losses(gap, [int(m * 4 / gap.delta) for m in MULTIPLES], DRAWS)
        for delta, gap in populations.items()
    }


@pytest.mark.nightly
def test_excess_losses_count_the_parameters_and_a_smaller_gap_is_overtaken_later(losses):
    wide, narrow = losses[0.08], losses[0.02]
    for fit, size, error in (("affine", 4, 1.5), ("full", K * (K - 1), 3)):
        ample = np.mean([found.dimensions(fit)[-1] for found in losses.values()])
        assert ample == pytest.approx(size, abs=error)
    for found in (wide, narrow):
        assert (found.dimensions("shrunk")[:3] < found.dimensions("full")[:3]).all()
        assert found.crossover == pytest.approx((K * (K - 1) - 4) / (2 * found.delta))
        assert 0.5 < found.overtaking("full") / found.crossover < 2.5
        assert found.overtaking("shrunk") < found.overtaking("full")
    assert narrow.overtaking("full") > 2 * wide.overtaking("full")


@pytest.mark.parametrize("delta", [0.001, 0.09])
def test_the_gap_is_the_one_asked_for_and_is_what_the_nearest_channel_loses(delta):
    made = reachable(delta)
    reading = softmax(made.logits, axis=1)
    assert made.delta == pytest.approx(delta, rel=1.001e-3)
    assert made.excess(reading @ made.nearest) == pytest.approx(made.delta, rel=1e-9)
    np.testing.assert_allclose(made.truth, reading @ made.channel, atol=1e-12)
    np.testing.assert_allclose(made.truth.sum(axis=1), 1.0)
    assert made.excess(made.truth) == pytest.approx(0.0, abs=1e-12)


def test_a_gap_out_of_reach_is_refused():
    with pytest.raises(InputError, match="nats at most; got delta=2. Take another seed"):
        known_gap(2, n=100)
