import numpy as np
import pytest

from cordial_ppl import scores
from cordial_ppl.errors import InputError
from cordial_ppl.synthetic import Raters, Reader, reviews


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reviews_are_read_as_advertised(seed):
    made = reviews(n=4000, seed=seed)
    probs, stated = softmax(made.logits), made.logits.argmax(axis=1)
    below_five = stated < 4
    shares = np.bincount(made.labels, minlength=5) / 4000
    histogram_loss = scores.log_loss(np.tile(shares, (4000, 1)), made.labels)
    assert 0.92 < probs.max(axis=1).mean() < 0.96
    assert 0.65 < scores.accuracy(probs, made.labels) < 0.75
    assert 1.3 < scores.log_loss(probs, made.labels) < 1.7
    assert 0.5 < (made.labels - stated)[below_five].mean() < 0.75
    assert 0.55 < shares[4] < 0.68
    assert 1.0 < histogram_loss < 1.2
    assert made.options == ("1", "2", "3", "4", "5")


def test_the_same_seed_makes_the_same_readings_and_another_seed_others():
    first, again, other = reviews(50, seed=3), reviews(50, seed=3), reviews(50, seed=4)
    np.testing.assert_array_equal(first.logits, again.logits)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.logits, other.logits)


@pytest.mark.parametrize("size", range(2, 12))
def test_scales_of_two_to_eleven_options(size):
    made = reviews(3000, options=size)
    assert made.logits.shape == (3000, size) and made.labels.shape == (3000,)
    assert len(made.options) == size
    assert np.isfinite(made.logits).all()
    assert set(made.labels) == set(range(size))
    assert np.corrcoef(made.logits.argmax(axis=1), made.labels)[0, 1] > 0.5


@pytest.mark.parametrize("size", range(2, 12))
def test_a_severe_reader_rates_lower_than_a_lenient_one(size):
    quality = np.random.default_rng(0).standard_normal(500)
    cuts = Raters(size).cuts()
    severe, lenient = (
        Reader(severity=severity, jitter=0).read(np.random.default_rng(1), quality, cuts)
        for severity in (0.3, -0.3)
    )
    assert (severe.argmax(axis=1) <= lenient.argmax(axis=1)).all()
    assert (severe.argmax(axis=1) < lenient.argmax(axis=1)).any()


def test_labels_follow_the_shares():
    raters = Raters(options=4, skew=1.0)
    weights = np.exp(np.linspace(0, 1, 4) ** 2)
    labels = raters.label(np.random.default_rng(0), np.random.default_rng(1).normal(size=40_000))
    np.testing.assert_allclose(np.bincount(labels) / 40_000, weights / weights.sum(), atol=0.015)


@pytest.mark.parametrize("arguments", [{"n": 0}, {"options": 1}])
def test_too_small_is_refused(arguments):
    with pytest.raises(InputError, match="at least 1 text and 2 options"):
        reviews(**arguments)
