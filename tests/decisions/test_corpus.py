"""Sums of a corpus under draws, and what group effects make of them: by hand, and in limits."""

from dataclasses import replace

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST
from scipy.stats import kstest, norm, t

from cordial_ppl.decisions import corpus
from cordial_ppl.decisions.corpus import CorpusDraws, PosteriorDraws, sum_draws
from cordial_ppl.decisions.estimates import means
from cordial_ppl.decisions.estimates.effects import (
    CORPUS_SCALE,
    DEGREES,
    TAIL,
    Residuals,
    Spreads,
    draw_cluster_effects,
    draw_effects,
    draw_spreads,
    weigh_by_design,
)
from cordial_ppl.decisions.estimates.means import DRAWS, Corpus, draw_means
from cordial_ppl.decisions.estimates.population import (
    POOLED,
    Outcomes,
    draw_errors,
    sampling_covariance,
)
from cordial_ppl.estimators.stack import Stack

HALF = 500


@pytest.fixture(scope="module")
def stack():
    return Stack(channels=("mixture", "location"), calibrators=("temperature",)).fit(LOGITS, LABELS)


def test_sums_are_those_of_single_texts(stack, monkeypatch):
    logits, rows = stack.fit_.read(TEST[:40]), np.array([33, 20, 2, 17])
    groups = np.random.default_rng(0).integers(0, 3, 40)
    groups[rows[0]] = 3
    sampler = PosteriorDraws(stack.fit_, 16, True)
    monkeypatch.setattr(corpus, "BLOCK", 16)
    found = sum_draws(sampler, logits, {}, groups, rows)
    members = list(sampler.predict(logits, {}))
    mixture = np.sum([weight * draws.mean(axis=0) for weight, draws in members], axis=0)
    channels = [(weight, draws) for weight, draws in members if len(draws) > 1]
    apart = np.concatenate([draws - draws.mean(axis=0) for _, draws in channels])
    weights = np.repeat([weight for weight, _ in channels], 16)
    assert len(members) > len(channels) > 1
    np.testing.assert_allclose(found.weights, weights / weights.sum())
    np.testing.assert_allclose(found.labelled, apart[:, rows], atol=1e-6)
    np.testing.assert_allclose(found.mixture, mixture, atol=1e-6)
    joined = found.regroup(np.array([0, 1, 0, 1]), 2)
    np.testing.assert_allclose(joined.sums[:, 0], found.sums[:, [0, 2]].sum(axis=1))
    others = np.delete(np.arange(40), rows)
    for group in range(4):
        own = others[groups[others] == group]
        expected = (apart + mixture)[:, own].sum(axis=1)
        np.testing.assert_allclose(found.sums[:, group], expected, atol=1e-4)


def test_each_draw_predicts_with_its_own_histogram(stack):
    posterior, logits = stack.posteriors_["mixture"], stack.fit_.read(TEST[:20])
    histograms = np.array([[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.6]])
    rows = np.argsort(posterior.weights)[-2:]
    found = posterior.predict_draws(logits, {}, posterior.draws[rows], histograms)
    for row, histogram, probs in zip(rows, histograms, found, strict=True):
        draws = posterior.draws[row : row + 1]
        own = {"draws": draws, "weights": np.ones(1)}
        alone = replace(posterior, histogram=histogram, **own)
        np.testing.assert_allclose(probs, alone.predict(logits, {})[0], atol=1e-5)
    posterior, rng = stack.posteriors_["mixture"], np.random.default_rng(0)
    alpha = np.bincount(LABELS, minlength=5) + 1
    mean = alpha / alpha.sum()
    _, drawn = posterior.draw(20_000, len(LABELS), True, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.003)
    np.testing.assert_allclose(drawn.var(axis=0), mean * (1 - mean) / (alpha.sum() + 1), rtol=0.06)
    _, fixed = posterior.draw(3, len(LABELS), False, rng)
    np.testing.assert_allclose(fixed, np.tile(mean, (3, 1)))


def drawn(shift=0.0, ones=0.5, unit=1.0, left=HALF, certain=True, **changes):
    """Two options and one group, half labelled; two draws that predict so much more or less."""
    labels = (np.arange(HALF) < ones * HALF).astype(int)
    halves = np.full((HALF + left, 2), 0.5)
    texts = Corpus(
        np.arange(HALF), np.eye(2)[labels], np.zeros(len(halves), int), halves[:HALF], np.ones(HALF)
    )
    apart = np.array([[-shift, shift], [shift, -shift]])
    mixture = np.eye(2)[np.arange(HALF + left) % 2] if certain else halves
    found = CorpusDraws(
        np.full(2, 0.5),
        left * (0.5 + apart)[:, None],
        np.repeat(apart[:, None], HALF, axis=1),
        mixture,
    )
    texts = texts._replace(**changes)
    return draw_means(found, texts, unit * np.array([0.0, 1.0]), seed=0)


def test_effects_are_what_labels_say_beyond_the_channel():
    whole, corpus = drawn(ones=0.7), drawn(ones=0.7, scale=CORPUS_SCALE)
    effect = whole.effects.mean()
    assert 0.15 < effect < 0.2
    assert whole.these.mean() == pytest.approx(0.5 * 0.7 + 0.5 * (0.5 + effect), abs=1e-3)
    # The corpus believes the labels less, and the channel more.
    assert 0.61 < corpus.these.mean() < whole.these.mean()
    # With 500 labels these say how high a group is, whatever the channel says of it.
    whole = drawn(shift=0.1)
    # Alone, the two draws would spread the mean by half of .1.
    assert whole.these.std(axis=0).max() < 0.02
    assert whole.effects.std() > 0.08


def test_texts_without_labels_and_others_like_these_vary():
    found = drawn(certain=False)
    assert found.like_these.std() == pytest.approx(
        np.hypot(found.these.std(), np.sqrt(0.25 / (2 * HALF))), rel=0.05
    )
    # With all texts labelled nothing is left of these, and of others all that texts leave open.
    every = drawn(left=1)
    assert every.these.std() < 1e-3
    assert every.like_these.std() == pytest.approx(np.sqrt(0.25 / HALF), rel=0.05)
    found, still = drawn(certain=False).these, drawn().these
    noise = np.sqrt(HALF / 4) / (2 * HALF)
    assert found.std() == pytest.approx(np.hypot(noise, still.std()), rel=0.05)
    assert found.mean() == pytest.approx(0.5, abs=0.003)
    found = drawn(shift=0.5, left=10, ones=0.0, scale=5.0)
    assert found.these.min() == 0 and found.these.max() <= 10 / (HALF + 10)
    assert found.like_these.min() == 0


def test_few_units_leave_errors_students_t(monkeypatch):
    """Of one unit the variance of the whole is as good as unknown; its group borrows three."""
    tiny = 1e-12 * np.eye(2), np.ones(2, int)
    monkeypatch.setattr(means, "sampling_covariance", lambda *_: tiny)
    found = drawn()
    for degrees, errors in zip([3, 1], (found.like_these - found.these).T, strict=True):
        # By chance once in a million times; normal errors have 3e-8 at most over 20 seeds.
        assert kstest(errors / 1e-6, t(degrees).cdf).pvalue > 1e-6


def test_effects_of_labelled_clusters_hold_for_the_rest_of_these():
    """Clusters of which all labels are 1, or 0: unlabelled texts are of the former, or of both."""
    units = np.repeat(np.arange(20), HALF // 20)
    labels = (units % 2).astype(int)
    high, both = (
        drawn(labels=np.eye(2)[labels], clusters=np.append(units, rest)).these.mean()
        for rest in (units // 2 * 2 + 1, units)
    )
    # Half of the texts, by half a label: .7483 and .5000, sd .00004 over 8 seeds.
    assert high == pytest.approx(0.75, abs=0.005) and both == pytest.approx(0.5, abs=0.005)


def test_the_effects_of_clusters_are_summed_by_group():
    """By hand: those of labelled clusters as they are, the others drawn with their spread."""
    units, groups = np.array([0, 0, 1, 1, 1, 2, 3]), np.array([0, 0, 0, 1, 1, 1, 0])
    left, rows = np.array([0.0, 1, 1, 1, 1, 1, 0]), np.array([0, 6])
    texts = Corpus(rows, np.eye(2), groups, None, np.ones(2), units)
    spread = np.full(DRAWS, 0.1)
    of = Residuals(np.zeros(2, int), 2, np.ones(2), np.arange(2), Spreads(spread, spread))
    effects = np.linspace(-9, 9, 2 * DRAWS).reshape(DRAWS, 2)
    found = means._sum_clusters(texts, of, effects, left, np.random.default_rng(0))
    # One text left of cluster 0; of cluster 1 one and two, of cluster 2 none and one.
    others = found - np.outer(effects[:, 0], [1, 0])
    covariance = 0.01 * np.array([[1.0, 2], [2, 2**2 + 1]])
    # Sd .0007 over 20 seeds, and .0011 by theory.
    np.testing.assert_allclose(np.cov(others.T), covariance, rtol=0, atol=0.005)


def test_groups_of_many_texts_and_of_uneven_labels_stand_alone():
    """By hand; the effect of such a group is its mean residual, whatever those of others are."""
    groups = np.repeat([0, 1, 2, 3], [700, 100, 100, 100])
    rows = np.concatenate([np.flatnonzero(groups == g)[:5] for g in range(4)])
    halves, weights = np.full((20, 2), 0.5), np.ones(20)
    weights[-1] = 9.0
    texts = Corpus(rows, np.eye(2)[np.arange(20) // 5 % 2], groups, halves, weights)
    value, rng = np.array([0.0, 1.0]), np.random.default_rng(0)
    residuals = np.full(20, -0.5)
    under = np.tile(residuals, (DRAWS, 1))
    of, _ = means._draw_group_effects(texts, residuals, under, 0.5, value, rng)
    # 700 of 1000 texts have five of 20 labels.
    assert of.alone is not None and of.alone.tolist() == [True, False, False, True]
    # The prior of such an effect is wide: a hundred times the variance of .1 squared.
    spreads = Spreads(np.full(DRAWS, 0.1), np.full(DRAWS, 0.5))
    effects = draw_effects(under, of, spreads, rng, tails=False).mean(axis=0)
    one, other = 5 / (5 + 0.5**2), 5 / (5 + 0.5**2 / 0.1**2)
    # Sd .0037 over 20 seeds and less.
    np.testing.assert_allclose(effects[:3], -0.5 * np.array([one, other, other]), atol=0.015)
    # A single label is too few.
    one = texts._replace(rows=rows[4:], weights=np.ones(16))
    of, _ = means._draw_group_effects(one, residuals[4:], under[:, 4:], 0.5, value, rng)
    assert of.alone is not None and of.alone.tolist() == [False] * 4


def test_clusters_that_groups_share_cancel_in_differences():
    """By hand, from the sums of clusters; and prompts that two systems answered alike."""
    rng = np.random.default_rng(0)
    clusters, groups = np.repeat(np.arange(40), 4), np.tile([0, 0, 1, 1], 40)
    mean = rng.normal(0, 1, 40)[clusters] + rng.normal(0, 0.2, 160)
    texts = Outcomes(mean, mean**2, np.zeros(160), groups, clusters)
    found, units = sampling_covariance(texts)
    sums = np.zeros((40, 2))
    np.add.at(
        sums,
        (clusters, groups),
        mean - np.array([mean[groups == g].mean() for g in (0, 1)])[groups],
    )
    by_hand = sums.T @ sums / 80**2 * 40 / 39
    # Groups borrow their variances from each other, and keep what they have in common.
    np.testing.assert_allclose(found[:2, :2].trace(), by_hand.trace())
    correlations = [part[0, 1] / np.sqrt(part[0, 0] * part[1, 1]) for part in (found, by_hand)]
    assert correlations[0] == pytest.approx(correlations[1])
    assert units.tolist() == [40, 40, 40]
    difference = found[0, 0] + found[1, 1] - 2 * found[0, 1]
    assert difference < 0.1 * found[0, 0]
    alone, _ = sampling_covariance(texts._replace(clusters=np.arange(160)))
    plain, _ = sampling_covariance(texts._replace(clusters=None))
    np.testing.assert_allclose(alone, plain, rtol=0.02, atol=1e-5)
    drawn_errors = draw_errors(found, 40_000, rng)
    np.testing.assert_allclose(np.cov(drawn_errors.T), found, atol=0.03 * found.max())
    assert np.std(draw_errors(found, 40_000, rng, units)[:, 0]) == pytest.approx(
        np.sqrt(found[0, 0] * 42 / 40), rel=0.02
    )


@pytest.mark.parametrize("alike", [False, True])
def test_a_group_of_few_texts_does_not_tell_its_spread(alike):
    """Three labelled texts of one mean, beside a group that varies: the first has its variance."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], [3, 300])
    mean = np.where(groups == 0, 1.0, rng.normal(0, 1, 303))
    units = np.arange(303) // (3 if alike else 1)
    texts = Outcomes(mean, mean**2, np.zeros(303), groups, units if alike else None)
    found, counts = sampling_covariance(texts)
    assert counts.tolist() == ([1, 100, 101] if alike else [3, 300, 303])
    variance = found[1, 1] * counts[1] / counts[0]
    share = POOLED / (counts[0] - 1 + POOLED)
    assert found[0, 0] == pytest.approx(share * variance, rel=0.05)


def test_draws_of_group_effects_are_those_of_quadrature():
    """Given the two spreads, the common mean and the effects are jointly normal: by hand."""
    rng = np.random.default_rng(3)
    groups = np.repeat([0, 1, 2, 3], [9, 7, 4, 1])
    residuals = np.array([0.6, -0.2, -0.5, 0.1])[groups] + rng.normal(0.1, 0.5, len(groups))
    spreads = draw_spreads(residuals, groups, 0.75, 0.7, 40_000, rng)
    counts = np.bincount(groups)
    precision = 1 / (spreads.tau[:, None] ** 2 + spreads.sigma[:, None] ** 2 / counts)
    centre = precision @ (np.bincount(groups, residuals) / counts) / precision.sum(axis=1)
    common = centre + rng.standard_normal(40_000) / np.sqrt(precision.sum(axis=1))
    of = Residuals(groups, 5, np.ones(len(groups)))
    effects = draw_effects(residuals - common[:, None], of, spreads, rng, tails=False)
    # Half-normal tau, inverse gamma sigma squared, on a grid twice as fine as that of the draws.
    tau, sigma = np.meshgrid((np.arange(100) + 0.5) * 0.03, np.geomspace(0.2, 2.5, 100))
    tau, sigma = tau.ravel(), sigma.ravel()
    design = np.column_stack([np.ones(len(groups)), np.eye(5)[groups]])
    inner = design.T @ design / sigma[:, None, None] ** 2
    inner[:, range(1, 6), range(1, 6)] += tau[:, None] ** -2.0
    covariance, total = np.linalg.inv(inner), design.T @ residuals
    means = covariance @ total / sigma[:, None] ** 2
    logs = norm.logpdf(tau, 0, 0.75) - (len(groups) + DEGREES) * np.log(sigma) - 5 * np.log(tau)
    logs -= 0.5 * (residuals @ residuals + DEGREES * 0.7**2 - means @ total) / sigma**2
    logs -= 0.5 * np.linalg.slogdet(inner)[1]
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    variances = np.einsum("sgg->sg", covariance)[:, 1:]
    expected = {"tau": (tau, 0.0), "sigma": (sigma, 0.0), "effects": (means[:, 1:], variances)}
    for name, draws in (*spreads._asdict().items(), ("effects", effects)):
        of_grid, rest = expected[name]
        mean = weights @ of_grid
        deviation = np.sqrt(weights @ ((of_grid - mean) ** 2 + rest))
        # Of effects, the worst: .004 and sd .0017, .007 and sd .0035, over 20 seeds.
        np.testing.assert_allclose(draws.mean(axis=0), mean, rtol=0, atol=0.015)
        np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.03)


def test_effects_with_tails_are_those_of_quadrature():
    """One group of four residuals, under a Student-t prior, at fixed spreads."""
    rng, draws = np.random.default_rng(0), 40_000
    for mean in (0.1, 1.5):
        residuals = mean + np.array([-0.3, 0.3, 0.1, -0.1])
        spreads = Spreads(np.full(draws, 0.2), np.full(draws, 0.5))
        of = Residuals(np.zeros(4, int), 1, np.ones(4))
        found = draw_effects(residuals[None], of, spreads, rng)[:, 0]
        grid = np.linspace(-3, 4, 4001)
        density = t.pdf(grid / 0.2, TAIL) * norm.pdf(mean, grid, 0.5 / 2)
        expected = grid @ density / density.sum()
        # Nine components have no more than nine variances: the tail is a little lighter.
        assert found.mean() == pytest.approx(expected, abs=0.12)
        # A mean far from the others is drawn to them less than a normal prior would.
        normal = mean * 0.2**2 / (0.2**2 + 0.25**2)
        assert (found.mean() > 1.5 * normal) == (mean > 1)


def test_effects_of_groups_and_clusters_are_those_of_the_dense_model():
    rng, draws = np.random.default_rng(1), 40_000
    groups, clusters = np.array([0, 1, 0, 1, 0, 0, 1]), np.array([0, 0, 1, 1, 1, 2, 2])
    residuals = rng.normal(0, 1, 7)
    tau, shared, sigma = 0.5, 0.6, 0.7
    spreads = Spreads(np.full(draws, shared), np.full(draws, sigma))
    weights = np.array([1.0, 2, 0.5, 1, 1.5, 1, 0.7])
    of = Residuals(groups, 2, weights, clusters, spreads)
    outer = Spreads(np.full(draws, tau), np.full(draws, sigma))
    under = np.broadcast_to(residuals, (draws, 7))
    effects = draw_effects(under, of, outer, rng, tails=False)
    member, unit = np.eye(2)[groups], np.eye(3)[clusters]
    covariance = shared**2 * unit @ unit.T + sigma**2 * np.diag(1 / weights)
    precision = member.T @ np.linalg.solve(covariance, member) + np.eye(2) / tau**2
    mean = np.linalg.solve(precision, member.T @ np.linalg.solve(covariance, residuals))
    np.testing.assert_allclose(effects.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(np.cov(effects.T), np.linalg.inv(precision), atol=0.01)
    both = np.hstack([member, unit])
    inner = both.T * weights / sigma**2
    joint = inner @ both + np.diag([*[tau**-2] * 2, *[shared**-2] * 3])
    expected = np.linalg.solve(joint, inner @ residuals)[2:]
    drawn = draw_cluster_effects(under, of, effects, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.015)
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(np.linalg.inv(joint))[2:], atol=0.015)


def test_weights_of_a_design_are_as_good_as_fewer_labels():
    groups = np.array([0, 0, 0, 1, 1])
    weights = weigh_by_design(np.array([1.0, 1, 4, 2, 2]), groups)
    np.testing.assert_allclose(np.bincount(groups, weights), [6**2 / 18, 2])
    np.testing.assert_allclose(weights[2] / weights[0], 4)
