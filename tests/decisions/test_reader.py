"""The reader as it is: what labels are where it states an option, against planted biases."""

from dataclasses import replace

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits, readings_from_counts
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.reader import assess, score_points
from cordial_ppl.estimators.stack import Stack

SIZE, COUNT = 7, 200


@pytest.fixture(scope="module")
def case():
    """Ratings that err at both ends, where labels lie nearer to the middle."""
    rng = np.random.default_rng(0)
    labels = rng.choice(SIZE, 3000, p=[0.1, 0.1, 0.15, 0.2, 0.2, 0.15, 0.1])
    ratings = np.clip(np.round(labels + rng.normal(0, 1.6, 3000)), 0, SIZE - 1).astype(int)
    return ratings, labels


def hard(ratings, size=SIZE):
    return as_logits(readings_from_counts(np.eye(size)[ratings]))


def test_biases_are_those_of_the_labels_and_counts_those_of_the_ratings(case):
    ratings, labels = case
    stack = Stack(channels=("mixture",), calibrators=("vector",), seed=0)
    stack.fit(hard(ratings[:COUNT]), labels[:COUNT])
    reader = answers.reader_of(stack.fit_)
    assert reader is not None and reader.hard and reader.points.loss is None
    assert reader.texts == tuple(np.bincount(ratings[:COUNT], minlength=SIZE))
    assert reader.points.accuracy == np.mean(ratings[:COUNT] == labels[:COUNT])
    assert reader.points.distance == np.abs(ratings[:COUNT] - labels[:COUNT]).mean()
    truths = [(labels - ratings)[ratings == option].mean() for option in range(SIZE)]
    rows = [(*bias, truth) for bias, truth in zip(reader.bias, truths, strict=True) if bias]
    values, lows, highs, truth = np.array(rows).T
    # Over 20 seeds .16, sd .05; 6.6 of 7 intervals hold, sd .7; the worst would do with .84 of its
    # half length, sd .35.
    assert np.sqrt(np.mean((values - truth) ** 2)) < 0.35
    assert np.sum((lows <= truth) & (truth <= highs)) >= 4
    assert (np.abs(values - truth) < highs - lows).all()
    faults = {fault.name: fault for fault in reader.list_faults(stack.fit_.scale)}
    assert faults["bias at '0'"].words.endswith("too low")
    assert faults["bias at '6'"].words.endswith("too high")
    assert "confident" not in " ".join(fault.words for fault in faults.values())


def test_a_reader_that_misses_without_bias_has_a_spread_alone():
    ratings = np.repeat([2, 3, 4], 40)
    labels = ratings + np.tile([-2, -1, 0, 1, 2], 24)
    stack = Stack(channels=("mixture",), calibrators=(), seed=0).fit(hard(ratings), labels)
    *biases, spread = answers.describe(stack.fit_).faults
    # Of half an interval, the biases are .16, sd .05 over 20 seeds, and .03, sd .03.
    assert {fault.words for fault in biases} == {"no clear bias"}
    assert spread.median == pytest.approx(np.sqrt(2), abs=0.1)  # 1.418, sd .025 over 20 seeds


def test_what_is_known_of_another_reader_is_refused(case, tmp_path):
    ratings, labels = (each[:30] for each in case)
    stack = cp.LogitStack().fit(hard(ratings), labels)
    reader = answers.reader_of(stack.fit_)
    assert reader is not None
    stack.fit_ = replace(stack.fit_, reader=reader._replace(texts=(1, 2)))
    stack.save(tmp_path / "a.cordial")
    with pytest.raises(cp.FileError, match="of other options"):
        cp.load(tmp_path / "a.cordial")


def test_several_labels_of_a_text_are_one_observation(case):
    """A text that is labelled twice alike says no more of the reader than one that is once."""
    ratings, labels = (each[:40] for each in case)
    stack = cp.LogitStack().fit(hard(ratings), labels)
    rows = np.repeat(np.arange(40), 2)
    twice = cp.LogitStack().fit(
        hard(ratings[rows]), labels[rows], sample_weight=np.full(80, 0.5), texts=rows
    )
    one, other = (answers.reader_of(fitted.fit_) for fitted in (stack, twice))
    assert one is not None and other is not None
    assert other.texts == one.texts and other.points == pytest.approx(one.points)


def test_readings_of_a_mean_count_where_ratings_are_graded():
    """What is stated is the mean of probabilities, and those of log loss are kept."""
    rng = np.random.default_rng(2)
    centres, options = rng.uniform(0, 4, 60), np.arange(5)
    logits = as_logits(-3.0 * (options - centres[:, None]) ** 2)
    labels = np.clip(np.rint(centres + 1), 0, 4).astype(int)
    stack = cp.LogitStack().fit(logits, labels)
    reader = assess(stack.fit_, Labelled(logits, labels))
    shares, kind = state(logits)
    assert kind == "probabilities" and not reader.hard
    nearest = np.rint(shares @ options).astype(int)
    assert reader.texts == tuple(np.bincount(nearest, minlength=5))
    assert reader.points.loss == pytest.approx(cp.scores.log_loss(shares, labels))
    off = (labels - shares @ options)[nearest == 2].mean()
    assert reader.bias[2] is not None and reader.bias[2].value == pytest.approx(off, abs=0.2)
    assert reader.list_faults(Scale(tuple("12345")))[-1].words.startswith("about as sure") or (
        reader.spread.low < reader.stated_spread
    )


def test_the_median_is_the_point_of_the_distance():
    probs, scale = np.array([[0.5, 0.1, 0.4], [0.1, 0.2, 0.7]]), Scale(("1", "2", "4"))
    points = score_points(probs, by_text(np.array([0, 1]), 3), scale)
    assert points == pytest.approx((0.5, 1.0, -np.log([0.5, 0.2]).mean()))
