import numpy as np
import pytest
from populations import affine_channel, known_gap, nearest_affine
from scipy.optimize import minimize

from cordial_ppl.errors import InputError

PHI = np.array([0.4, -0.2, 0.6, 1.1])


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module", params=[0.001, 0.01, 0.09])
def gap(request):
    return known_gap(request.param, seed=2), request.param


def test_the_gap_is_the_one_asked_for_and_is_what_the_nearest_channel_loses(gap):
    made, delta = gap
    reading = softmax(made.logits)
    assert made.delta == pytest.approx(delta, rel=1.001e-3)
    assert made.excess(reading @ made.nearest) == pytest.approx(made.delta, rel=1e-9)
    np.testing.assert_allclose(made.truth, reading @ made.channel, atol=1e-12)
    np.testing.assert_allclose(made.truth.sum(axis=1), 1.0)
    assert made.excess(made.truth) == pytest.approx(0.0, abs=1e-12)


def test_no_other_search_finds_a_nearer_affine_channel(gap):
    made, _ = gap
    reading, size = softmax(made.logits), made.channel.shape[0]

    def loss(phi):
        return made.excess(reading @ affine_channel(np.clip(phi, -6, 6), size)[0])

    for start in (made.phi, np.array([1.5, -1.0, -0.5, 0.0])):
        found = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 250})
        assert found.fun > made.delta - 1e-3 * made.delta


def test_labels_follow_the_truth():
    made = known_gap(0.03, n=400)
    rows = np.tile(np.arange(400), 500)
    drawn = made.draw(np.random.default_rng(0), rows)
    shares = np.bincount(drawn, minlength=5) / len(drawn)
    np.testing.assert_allclose(shares, made.truth.mean(axis=0), atol=0.005)
    assert made.labels.shape == (400,)
    assert set(made.labels) <= set(range(5))


def test_the_same_arguments_make_the_same_population():
    first, again, other = (known_gap(0.01, seed, n=300) for seed in (5, 5, 6))
    for field in ("logits", "labels", "truth", "channel"):
        np.testing.assert_array_equal(getattr(first, field), getattr(again, field))
    assert not np.array_equal(first.channel, other.channel)


def test_the_affine_channel_is_the_papers_and_its_derivatives_are_right():
    channel, slopes = affine_channel(PHI, 5)
    offset, gain, kappa, rho = PHI[0], np.exp(PHI[1]), np.exp(PHI[2]), 1 / (1 + np.exp(-PHI[3]))
    for y in range(5):
        g = np.exp(-kappa * (np.arange(5) - gain * y - offset) ** 2)
        np.testing.assert_allclose(channel[y], rho * g / g.sum() + (1 - rho) / 5)
    for k, step in enumerate(1e-6 * np.eye(4)):
        rise = affine_channel(PHI + step, 5)[0] - affine_channel(PHI - step, 5)[0]
        np.testing.assert_allclose(slopes[k], rise / 2e-6, atol=1e-8)


def test_the_nearest_channel_to_an_affine_one_is_itself():
    rng = np.random.default_rng(0)
    reading = rng.dirichlet(np.full(5, 0.3), 500)
    target = reading @ affine_channel(PHI, 5)[0]
    np.testing.assert_allclose(nearest_affine(reading, target), PHI, atol=1e-4)


def test_excess_loss_of_maximum_likelihood_follows_the_count_of_parameters():
    made, n = known_gap(0.01, seed=2), 1000
    reading, rng = softmax(made.logits), np.random.default_rng(0)
    excess = []
    for _ in range(30):
        rows = rng.integers(0, len(reading), n)
        phi = nearest_affine(reading[rows], np.eye(5)[made.draw(rng, rows)])
        excess.append(made.excess(reading @ affine_channel(phi, 5)[0]) - made.delta)
    assert 2 * n * np.mean(excess) == pytest.approx(4, abs=1.5)


@pytest.mark.parametrize(
    "arguments",
    [{"delta": 0.0}, {"delta": 0.5}, {"delta": 0.01, "n": 0}, {"delta": 0.01, "options": 2}],
)
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(InputError, match="at least 3 options; got"):
        known_gap(**arguments)
