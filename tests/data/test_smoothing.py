"""Tests of the smoothed histogram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.data.smoothing import SMOOTHERS, smooth_histogram

COUNTS = st.lists(st.integers(0, 60), min_size=2, max_size=11)


def labels_of(counts):
    return np.repeat(np.arange(len(counts)), counts)


@given(COUNTS)
def test_it_is_a_distribution_and_the_same_from_the_other_end(counts):
    labels, size = labels_of(counts), len(counts)
    found = smooth_histogram(labels, size)
    assert (found > 0).all() and found.sum() == pytest.approx(1)
    np.testing.assert_allclose(smooth_histogram(size - 1 - labels, size), found[::-1], atol=1e-12)
    # Padded labels count nothing, and equal ones may be one with the sum of their weights.
    padded = np.append(labels, [-1, -1])
    np.testing.assert_allclose(smooth_histogram(padded, size), found, atol=1e-12)
    options = np.arange(size)
    weighed = smooth_histogram(options, size, np.array(counts, float))
    np.testing.assert_allclose(weighed, found, atol=1e-12)


@given(COUNTS)
def test_its_weights_are_likelihoods_of_each_label_by_the_others(counts):
    labels, size = labels_of(counts), len(counts)
    options, each, logs = np.arange(size), [], []
    for share, width, added in SMOOTHERS:
        spread = np.exp(-0.5 * ((options[:, None] - options) / width) ** 2)
        matrix = (1 - share) * np.eye(size) + share * spread / spread.sum(axis=0)

        def predict(some, matrix=matrix, added=added):
            raw = matrix @ np.bincount(some, minlength=size) + added
            return raw / raw.sum()

        each.append(predict(labels))
        left_out = [predict(np.delete(labels, row))[label] for row, label in enumerate(labels)]
        logs.append(np.log(left_out).sum())
    weights = np.exp(np.array(logs) - max(logs))
    expected = weights / weights.sum() @ np.stack(each)
    np.testing.assert_allclose(smooth_histogram(labels, size), expected, atol=1e-10)


def test_options_that_nobody_uses_are_told_from_gaps():
    """By labels that leave every other option out, and by others that lie anywhere."""
    rng, size = np.random.default_rng(0), 11
    sparse, dense = 2 * rng.integers(0, 6, 40), rng.integers(0, size, 40)
    assert smooth_histogram(sparse, size)[1::2].sum() < 0.05
    assert label_histogram(sparse, size)[1::2].sum() > 0.09
    gap = smooth_histogram(dense[dense != 4], size)[4]
    assert gap > 2 * smooth_histogram(sparse, size)[1::2].max()


def test_the_literal_method_adds_one_count_to_each_option():
    texts = cp.synthetic.reviews()
    logits, labels = texts.logits[:20], texts.labels[:20]
    for method, smooth in (
        ("laplace", label_histogram),
        ("mode", label_histogram),
        ("default", smooth_histogram),
    ):
        posterior = cp.fit_channel("location", logits, labels, method=method)
        np.testing.assert_allclose(posterior.histogram, smooth(labels, 5), atol=1e-7)
