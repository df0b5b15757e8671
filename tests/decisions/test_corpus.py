"""Draws of the shares of a corpus: by hand, and in limits."""

from dataclasses import replace

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST

from cordial_ppl.data.labelled import without_labels
from cordial_ppl.decisions import corpus_draws
from cordial_ppl.decisions.corpus import Corpus
from cordial_ppl.decisions.corpus_draws import CorpusDraws, PosteriorDraws, sum_draws
from cordial_ppl.decisions.effects import CORPUS_SCALE
from cordial_ppl.decisions.means import draw_shares, list_factors
from cordial_ppl.decisions.residuals import Residuals, as_steps
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
    monkeypatch.setattr(corpus_draws, "BLOCK", 16)
    texts = without_labels(logits, {})
    found = sum_draws(sampler, texts, groups, rows, 4)
    members = list(sampler.predict(texts))
    mixture = np.sum([weight * draws.mean(axis=0) for weight, draws in members], axis=0)
    channels = [(weight, draws) for weight, draws in members if len(draws) > 1]
    apart = np.concatenate([draws - draws.mean(axis=0) for _, draws in channels])
    weights = np.repeat([weight for weight, _ in channels], 16)
    assert len(members) > len(channels) > 1
    np.testing.assert_allclose(found.weights, weights / weights.sum())
    np.testing.assert_allclose(found.labelled, apart[:, rows], atol=1e-6)
    np.testing.assert_allclose(found.mixture, mixture, atol=1e-6)
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
    mean, total = posterior.histogram, len(LABELS) + 5
    _, drawn = posterior.draw(20_000, len(LABELS), True, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.003)
    np.testing.assert_allclose(drawn.var(axis=0), mean * (1 - mean) / (total + 1), rtol=0.06)
    _, fixed = posterior.draw(3, len(LABELS), False, rng)
    np.testing.assert_allclose(fixed, np.tile(mean, (3, 1)))


def drawn(shift=0.0, ones=0.5, left=HALF, certain=True, **changes):
    """Two options and one group, half labelled; two draws that predict so much more or less."""
    labels = (np.arange(HALF) < ones * HALF).astype(int)
    halves = np.full((HALF + left, 2), 0.5)
    texts = Corpus(
        np.arange(HALF),
        np.eye(2)[labels],
        np.array([0.0, 1.0]),
        np.ones(HALF),
        np.zeros(HALF + left, int),
        np.ones(HALF + left, bool),
    )
    apart = np.array([[-shift, shift], [shift, -shift]])
    found = CorpusDraws(
        np.full(2, 0.5),
        left * (0.5 + apart)[:, None],
        np.repeat(apart[:, None], HALF, axis=1),
        np.eye(2)[np.arange(HALF + left) % 2] if certain else halves,
    )
    texts = replace(texts, **changes)
    residuals = Residuals(as_steps(texts.labels) - 0.5, np.array([[0.85 * 0.25]]))
    return draw_shares(found, texts, residuals, seed=0)


def ones(table):
    """The share of the second option."""
    return table[:, :, 1].sum(axis=1)


def test_effects_are_what_labels_say_beyond_the_channel():
    whole, corpus = drawn(ones=0.7), drawn(ones=0.7, scale=CORPUS_SCALE)
    effect = whole.effects.mean()
    assert 0.15 < effect < 0.2
    assert ones(whole.these).mean() == pytest.approx(0.5 * 0.7 + 0.5 * (0.5 + effect), abs=2e-3)
    # The corpus believes the labels less, and the channel more.
    assert 0.61 < ones(corpus.these).mean() < ones(whole.these).mean()
    # With 500 labels these say how high a group is, whatever the channel says of it.
    whole = drawn(shift=0.1)
    # Alone, the two draws would spread the mean by half of .1.
    assert ones(whole.these).std() < 0.02
    assert whole.effects.std() > 0.08


def test_texts_without_labels_and_others_like_these_vary():
    found = drawn(certain=False)
    assert ones(found.like_these).std() == pytest.approx(
        np.hypot(ones(found.these).std(), np.sqrt(0.25 / (2 * HALF))), rel=0.06
    )
    # With all texts labelled nothing is left of these, and of others all that texts leave open.
    every = drawn(left=1)
    assert ones(every.these).std() < 2e-3
    assert ones(every.like_these).std() == pytest.approx(np.sqrt(0.25 / HALF), rel=0.06)
    found, still = ones(drawn(certain=False).these), ones(drawn().these)
    noise = np.sqrt(HALF / 4) / (2 * HALF)
    assert found.std() == pytest.approx(np.hypot(noise, still.std()), rel=0.08)
    assert found.mean() == pytest.approx(0.5, abs=0.004)
    found = drawn(shift=0.5, left=10, ones=0.0, scale=5.0)
    assert 0 <= ones(found.these).min() and ones(found.these).max() <= 10 / (HALF + 10)
    np.testing.assert_allclose(found.like_these.sum(axis=(1, 2)), 1)
    assert found.like_these.min() >= 0


def test_effects_of_labelled_clusters_hold_for_the_rest_of_these():
    """Clusters of which all labels are 1, or 0: unlabelled texts are of the former, or of both."""
    units = np.repeat(np.arange(20), HALF // 20)
    labels = (units % 2).astype(int)
    high, both = (
        ones(drawn(labels=np.eye(2)[labels], clusters=np.append(units, rest)).these).mean()
        for rest in (units // 2 * 2 + 1, units)
    )
    # Half of the texts, by half a label.
    assert high == pytest.approx(0.75, abs=0.005) and both == pytest.approx(0.5, abs=0.005)


def test_groups_of_many_texts_and_of_uneven_labels_stand_alone():
    groups = np.repeat([0, 1, 2, 3], [700, 100, 100, 100])
    rows = np.concatenate([np.flatnonzero(groups == g)[:5] for g in range(4)])
    weights = np.ones(20)
    weights[-1] = 9.0
    labels = np.eye(2)[np.arange(20) // 5 % 2]
    texts = Corpus(rows, labels, np.arange(2.0), weights, groups, np.ones(1000, bool))

    def alone(texts, name="group"):
        return np.asarray(list_factors(texts, len(texts.rows))[0][name].alone).tolist()

    # 700 of 1000 texts have five of 20 labels.
    assert alone(texts) == [True, False, False, True]
    # A single label is too few.
    one = replace(texts, rows=rows[4:], labels=texts.labels[4:], weights=np.ones(16))
    assert alone(one) == [False] * 4
    # Of a plan by groups, these stand alone, and not those that an estimate is asked for.
    planned = replace(texts, groups=np.arange(1000) % 2, plans=groups)
    assert alone(planned) is False and alone(planned, "plan") == [True, False, False, True]
