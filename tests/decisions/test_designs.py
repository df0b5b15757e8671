"""Estimates where groups and clusters are small, labels of unlike weights, and judges one-sided."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.passing import rate_judge

# With some seeds a posterior is doubtful: that is for tests of diagnostics.
pytestmark = pytest.mark.filterwarnings("ignore:the posteriors? of channel")


def rate(mean, rng):
    """Labels about their means, and what a noisy judge that knows half of them states."""
    labels = np.clip(np.round(mean + rng.normal(0, 0.9, len(mean))), 0, 4).astype(int)
    centre = labels[:, None] * 0.5 + 1.2 + rng.normal(0, 1, (len(mean), 1))
    return labels, -1.5 * (np.arange(5) - centre) ** 2


def test_weights_count_without_groups():
    """A plan by systems of which one has most texts, estimated without the systems."""
    rng = np.random.default_rng(0)
    systems = np.repeat(np.arange(10), [1500, *[60] * 9])
    labels, logits = rate(np.where(systems, 2.8, 1.2), rng)
    plan = cp.plan(logits, 60, groups=systems)
    fitted = cp.Cordial(seed=0).fit(logits[plan.rows], labels[plan.rows])
    found = fitted.estimate(logits, plan.rows, probabilities=plan.probability)
    whole, alike = found.overall.mean, fitted.estimate(logits, plan.rows).overall.mean
    # Over 20 seeds: -.002, sd .04, from what sampling alone says; .77, sd .20, from labels that
    # count alike; and an error of .06 half intervals, sd .57.
    assert whole.mean == pytest.approx(found.rectified.mean, abs=0.15)
    assert alike.mean - whole.mean > 0.15
    assert abs(whole.mean - labels.mean()) < whole.upper - whole.lower


@pytest.mark.parametrize(("clusters", "least"), [(False, 0.9), (True, 1.6)])
def test_small_groups_that_are_wholly_labelled_are_still_samples(clusters, least):
    """Of texts like these; their number of texts or of clusters says little of the variance."""
    rng = np.random.default_rng(0)
    systems = np.repeat(np.arange(6), [4, 4, 4, 40, 40, 40])
    units = np.repeat(np.arange(33), 4)[: len(systems)]
    labels, logits = rate(2.0 + clusters * rng.normal(0, 0.8, 33)[units], rng)
    rows = np.concatenate([np.flatnonzero(systems == s)[:8] for s in range(6)])
    fitted = cp.Cordial(seed=0).fit(logits[rows], labels[rows])
    found = fitted.estimate(logits, rows, groups=systems, clusters=units if clusters else None)
    for name in ("0", "1", "2"):
        mean = found.groups[name].mean
        # Four labels of standard deviation .9 leave the mean open by 1.5, which is the least of
        # three, sd .18 over 20 seeds; four of one cluster by 3.0, sd .42.
        assert mean.upper - mean.lower > least
        # At worst off by .32 of it, sd .15.
        assert abs(mean.mean - 2) < 0.8 * (mean.upper - mean.lower)


@pytest.mark.nightly
@pytest.mark.parametrize("clusters", [False, True])
def test_random_choice_is_not_called_uneven(clusters):
    """Whole conversations, or groups of two texts, are as often of one group as chance has it."""
    warned = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sizes = [40] * 6 if clusters else [100, *[2] * 30]
        systems = np.repeat(np.arange(len(sizes)), sizes)
        units = np.arange(len(systems)) // 10
        labels, logits = rate(np.full(len(systems), 2.0), rng)
        chosen = rng.permutation(24)[:4]
        rows = np.flatnonzero(np.isin(units, chosen)) if clusters else rng.permutation(160)[:40]
        fitted = cp.Cordial(seed=seed).fit(logits[rows], labels[rows])
        found = fitted.estimate(logits, rows, groups=systems, clusters=units if clusters else None)
        warned += found.uneven is not None
    assert warned <= 1  # one of 88 over 22 seeds


@pytest.mark.filterwarnings("ignore:labels fall as")
def test_several_labels_of_a_text_vary_less_than_one():
    """With all texts labelled, means of labels leave open what such means vary by."""
    rng = np.random.default_rng(0)
    texts = np.repeat(np.arange(60), 8)
    labels, logits = rate(np.full(480, 2.0), rng)
    fitted = cp.Cordial().fit(logits[texts], labels, texts=texts)
    mean = fitted.estimate(logits[:60], texts).overall.mean
    deviation = np.std(labels.reshape(60, 8).mean(axis=1), ddof=1) / np.sqrt(60)
    # Sd 1.6 % over 20 seeds.
    assert mean.upper - mean.lower == pytest.approx(2 * 1.67 * deviation, rel=0.08)


def test_rates_of_a_judge_that_passes_all_and_of_texts_that_do():
    marks = np.array([False, True])
    table = np.tile([[0.0, 0.0], [0.2, 0.8]], (4000, 1, 1))
    tpr, tnr = rate_judge(table, np.array([0, 1]), marks, 0)
    assert (tpr == 1).all() and (tnr == 0).all()
    table = np.tile([[0.0, 0.2], [0.0, 0.8]], (4000, 1, 1))
    tpr, tnr = rate_judge(table, np.array([0, 1]), marks, 0)
    np.testing.assert_allclose(tpr, 0.8)
    # Nothing is known of how it fails what people fail.
    assert np.quantile(tnr, 0.05) < 0.05 and np.quantile(tnr, 0.95) > 0.95


def test_whole_conversations_are_clusters():
    """Forty conversations of six turns that are alike, of which eight are labelled."""
    rng = np.random.default_rng(0)
    base = rng.normal(0, 1, (40, 1))
    labels = np.clip(np.round(2 + 1.2 * base + rng.normal(0, 0.3, (40, 6))), 0, 4).astype(int)
    rated = np.clip(np.round(2 + 0.3 * base + rng.normal(0, 0.9, (40, 6))), 0, 4)
    logits, labels = -1.5 * (np.arange(5) - rated.ravel()[:, None]) ** 2, labels.ravel()
    units = np.repeat(np.arange(40), 6)
    rows = np.flatnonzero(np.isin(units, rng.choice(40, 8, replace=False)))
    fitted = cp.Cordial(seed=0).fit(logits[rows], labels[rows])
    found = fitted.estimate(logits, rows, clusters=units, of="these")
    plain = fitted.estimate(logits, rows, of="these").overall.mean
    assert found.clusters == 8 and "in 8 clusters" in found.text()
    # In half intervals over 20 seeds: .41, sd .29, and .39, sd .28; turns alone say 1.07.
    for mean in (found.overall.mean, found.rectified):
        assert abs(mean.mean - labels.mean()) < 0.75 * (mean.upper - mean.lower)
    # 2.5 times as wide, sd .11.
    assert found.overall.mean.upper - found.overall.mean.lower > 2 * (plain.upper - plain.lower)


def test_systems_that_answered_the_same_prompts_are_compared_by_prompt():
    rng = np.random.default_rng(0)
    prompts, systems = np.tile(np.arange(100), 2), np.repeat(["x", "y"], 100)
    hard = rng.normal(0, 1, 100)[prompts]
    labels = np.clip(np.round(2 + hard + 0.4 * (systems == "y")), 0, 4).astype(int)
    logits = -1.5 * (np.arange(5) - labels[:, None] - rng.normal(0, 0.5, (200, 1))) ** 2
    rows = np.flatnonzero(np.isin(prompts, rng.permutation(100)[:25]))
    fitted = cp.Cordial().fit(logits[rows], labels[rows])
    paired = fitted.estimate(logits, rows, groups=systems, pairs=prompts).difference("y", "x")
    plain = fitted.estimate(logits, rows, groups=systems).difference("y", "x")
    truth = labels[systems == "y"].mean() - labels[systems == "x"].mean()
    # A ratio of .77, sd .046, and an error of -.02, sd .07, over 20 seeds.
    assert paired.upper - paired.lower < 0.92 * (plain.upper - plain.lower)
    assert paired.mean == pytest.approx(truth, abs=0.25)
