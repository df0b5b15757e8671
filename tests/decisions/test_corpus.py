"""Sums of a corpus under draws, and what group effects make of them: by hand, and in limits."""

from dataclasses import replace

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST

from cordial_ppl.decisions import corpus
from cordial_ppl.decisions.corpus import CorpusDraws, PosteriorDraws, sum_draws
from cordial_ppl.decisions.estimating import Corpus, _draw
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.posterior import Posterior

HALF = 500


@pytest.fixture(scope="module")
def stack():
    return Stack(channels=("mixture", "location"), calibrators=("temperature",)).fit(LOGITS, LABELS)


def test_sums_are_those_of_single_texts(stack, monkeypatch):
    logits, rows = stack.fit_.read(TEST[:40]), np.array([33, 20, 2, 17])
    groups = np.random.default_rng(0).integers(0, 3, 40)
    groups[rows[0]] = 3
    values = np.array([[1.0, 2, 3, 4, 6], [0, 0, 0, 1, 1]])
    sampler = PosteriorDraws(stack.fit_, 16, True)
    monkeypatch.setattr(corpus, "BLOCK", 16)
    found = sum_draws(sampler, logits, {}, groups, rows, values)
    members = list(sampler.predict(logits, {}))
    mixture = np.sum([weight * draws.mean(axis=0) for weight, draws in members], axis=0)
    channels = [(weight, draws) for weight, draws in members if len(draws) > 1]
    apart = np.concatenate([draws - draws.mean(axis=0) for _, draws in channels])
    weights = np.repeat([weight for weight, _ in channels], 16)
    assert len(members) > len(channels) > 1
    np.testing.assert_allclose(found.weights, weights / weights.sum())
    np.testing.assert_allclose(found.labelled, apart[:, rows], atol=1e-6)
    others = np.delete(np.arange(40), rows)
    for group in range(4):
        own = others[groups[others] == group]
        expected = (apart + mixture)[:, own].sum(axis=1)
        np.testing.assert_allclose(found.sums[:, group], expected, atol=1e-4)
        variance = mixture[own] @ values.T**2 - (mixture[own] @ values.T) ** 2
        np.testing.assert_allclose(found.spread[group], variance.sum(axis=0), atol=1e-4)


def test_a_redrawn_histogram_is_of_its_dirichlet(stack):
    posterior, rng = stack.posteriors_["mixture"], np.random.default_rng(0)
    alpha = np.bincount(LABELS, minlength=5) + 1
    mean = alpha / alpha.sum()
    _, drawn = posterior.draw(20_000, len(LABELS), True, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.003)
    np.testing.assert_allclose(drawn.var(axis=0), mean * (1 - mean) / (alpha.sum() + 1), rtol=0.06)
    _, fixed = posterior.draw(3, len(LABELS), False, rng)
    np.testing.assert_allclose(fixed, np.tile(mean, (3, 1)))


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


def test_an_estimate_redraws_the_histogram(stack, monkeypatch):
    redrawn, draw = [], Posterior.draw

    def spy(self, count, labels, again, rng):
        redrawn.append((labels, again))
        return draw(self, count, labels, again, rng)

    monkeypatch.setattr(Posterior, "draw", spy)
    stack.estimate(LOGITS, np.arange(20), draws=4)
    assert redrawn == [(20, True)] * len(stack.posteriors_)


def drawn(shift=0.0, ones=0.5, unit=1.0, left=HALF, spread=0.0):
    """Two options and one group, half labelled; two draws that predict so much more or less."""
    labels = (np.arange(HALF) < ones * HALF).astype(int)
    corpus = Corpus(
        np.arange(HALF), np.eye(2)[labels], np.zeros(HALF + left, int), np.full((HALF, 2), 0.5)
    )
    apart = np.array([[-shift, shift], [shift, -shift]])
    found = CorpusDraws(
        np.full(2, 0.5),
        left * (0.5 + apart)[:, None],
        np.full((1, 1), spread),
        np.repeat(apart[:, None], HALF, axis=1),
    )
    ((whole, groups, effects),) = _draw(found, corpus, unit * np.array([[0.0, 1.0]]), seed=0)
    return whole, groups[:, 0], effects[:, 0]


def test_effects_make_up_for_what_a_draw_predicts_of_labelled_texts():
    """With 500 labels these say how high a group is, whatever the channel says of it."""
    whole, group, effects = drawn(shift=0.1)
    # Alone, the two draws would spread the mean by half of .1.
    assert group.std() < 0.02 and whole.std() < 0.03
    assert effects.std() > 0.08


def test_effects_are_what_labels_say_beyond_the_channel():
    whole, group, effects = drawn(ones=0.7)
    assert 0.15 < effects.mean() < 0.2
    assert group.mean() == pytest.approx(0.5 * 0.7 + 0.5 * (0.5 + effects.mean()), abs=1e-9)
    # The corpus believes the labels less, and the channel more.
    assert 0.61 < whole.mean() < group.mean()


def test_units_are_those_of_the_values():
    one, other = drawn(shift=0.1, ones=0.6), drawn(shift=0.1, ones=0.6, unit=10.0)
    np.testing.assert_allclose(other, 10 * np.array(one), rtol=1e-9)


def test_labels_of_texts_without_any_vary_about_their_mean():
    for found, still in zip(drawn(spread=2500.0)[:2], drawn()[:2], strict=True):
        assert found.std() == pytest.approx(np.hypot(50 / (2 * HALF), still.std()), rel=0.05)
        assert found.mean() == pytest.approx(0.5, abs=0.003)


def test_no_mean_is_beyond_what_labels_can_be():
    for found in drawn(left=10, spread=1e4)[:2]:
        lowest = HALF / 2 / (HALF + 10)
        assert found.min() == pytest.approx(lowest)
        assert found.max() == pytest.approx(lowest + 10 / (HALF + 10))
