"""The summary: known posteriors are put into the right words."""

import json

import numpy as np
import pytest
from few_labels import summarise
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.conversion import readings_from_counts
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.forecasting import Range
from cordial_ppl.decisions.judge import Points, Reader, assess, score_points
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.stack.weighing import ExpectedLoss

FINE = cp.Diagnostics("default", 0.3, 280.0, 0.5, 1e-9, 0, True)
POOR = cp.Diagnostics("laplace", 1.2, 9.4, np.nan, 1e-9, 0, False)
STARS = Scale(tuple("12345"))


LOSSES = ExpectedLoss(0.62, 1.1, 1.48, 20)


TEXTS = Labelled(np.zeros((1, 5)), np.zeros(1, int))


def posterior(name="mixture", spread=0.01, diagnostics=FINE, **known):
    """Draws around given values, Gaussian in the unconstrained space."""
    values = {"temperature": 1.0, "offset": 0.0, "gain": 1.0, "concentration": 2.0}
    values = {**values, "strength": 0.9, **known}
    values["strength"] /= 1 - values["strength"]  # The odds.
    centre = [value if name == "offset" else np.log(value) for name, value in values.items()]
    centre += [0.0] * (10 if "vector" in name else 0)
    draws = centre + spread * np.random.default_rng(0).normal(size=(400, len(centre)))
    weights = np.full(400, 1 / 400)
    return cp.Posterior(CHANNELS[name], np.full(5, 0.2), draws, weights, diagnostics, TEXTS)


@given(
    arrays(np.float64, (50, 5), elements=st.floats(-3, 3)),
    arrays(np.float64, 50, elements=st.floats(0.01, 1)),
)
def test_medians_lie_within_their_intervals_and_are_those_of_the_posterior(draws, weights):
    weights = weights / weights.sum()
    found = cp.Posterior(CHANNELS["location"], np.full(5, 0.2), draws, weights, FINE, TEXTS)
    medians = found.quantile(0.5)
    for one in summarise({"location": found}, {"location": 0.3}).parameters:
        if one.low is not None and one.high is not None:
            assert one.low <= one.median <= one.high and one.low < one.high
        else:
            assert one.low is one.high is None
        assert one.median == medians[one.name]


def test_the_parameters_are_those_of_the_heaviest_channel():
    found = {
        "mixture": posterior("mixture", temperature=2.0),
        "location": posterior("location", temperature=8.0),
    }

    def temperature(**weights):
        summary = summarise(found, weights)
        parameter = next(each for each in summary.parameters if each.name == "temperature")
        return *summary.channels, round(parameter.median)

    assert temperature(mixture=0.6, location=0.4) == ("mixture", 2)
    assert temperature(mixture=0.1, location=0.2, odds=0.7) == ("location", 8)
    assert temperature(odds=1.0) == ("mixture", 2)


READER = Reader(
    kind="probabilities",
    texts=(4, 0, 6, 3, 7),
    bias=(Range(0.7, 0.3, 1.2), None, Range(-0.1, -0.3, 0.2), None, Range(-0.4, -0.7, -0.2)),
    overall=Range(0.25, 0.1, 0.4),
    side=1,
    spread=Range(1.2, 1.0, 1.4),
    stated_spread=0.4,
    points=Points(0.5, 0.8, 1.48),
)


def test_the_whole_text():
    found = {"mixture": posterior(temperature=6.1), "location": posterior("location")}
    weights = {"odds": 0.25, "mixture": 0.75}
    summary = summarise(found, weights, LOSSES, reader=READER)
    assert [(fault.name, fault.median, fault.low, fault.high) for fault in summary.faults] == [
        ("bias", 0.25, 0.1, 0.4),
        ("bias at '1'", 0.7, 0.3, 1.2),
        ("bias at '3'", -0.1, -0.3, 0.2),
        ("bias at '5'", -0.4, -0.7, -0.2),
        ("spread", 1.2, 1.0, 1.4),
    ]
    lines = summary.text.splitlines()
    assert lines[1:6] == [f"  {fault}" for fault in summary.faults]
    assert "bias at '1' +0.70 (0.30 to 1.2)" in lines[2]
    assert lines.index("   0.75  mixture") < lines.index("   0.25  odds")
    assert ["log", "loss,", "nats", "1.48"] in [line.split() for line in lines]
    assert "Warning" not in summary.text


def test_words_of_spread_and_bias():
    sure = {1.5: "under-confident: ", 1.2: "about as confident ", 0.4: "over-confident: "}
    for stated, words in sure.items():
        *_, spread = READER._replace(stated_spread=stated).list_faults(STARS)
        assert spread.words.startswith(words)
    for kind in ("rating", "ratings"):
        *_, spread = READER._replace(kind=kind).list_faults(STARS)
        assert "±1.2" in spread.words and "confident" not in spread.words
    # Of one side is what all ratings are; where labels lie on the other, noise puts them there.
    whole, *words, _ = (fault.words for fault in READER.list_faults(STARS))
    assert "0.25 too low" in whole and "0.70 too low" in words[0] and "0.40 lower" in words[2]
    whole, *words, _ = (fault.words for fault in READER._replace(side=-1).list_faults(STARS))
    assert "too high" in whole and "0.70 higher" in words[0] and "0.40 too high" in words[2]
    words = [fault.words for fault in READER._replace(side=0).list_faults(STARS)]
    assert "too" not in " ".join(words) and "higher" in words[1] and "lower" in words[3]
    assert "0.25 higher" in words[0] and "by chance" in words[0]
    exact = READER._replace(bias=(Range(-2e-5, -4e-5, -1e-6),) * 5, side=0)
    exact = exact._replace(overall=Range(0.01, -0.02, 0.04))
    assert all(fault.words.startswith("no clear") for fault in exact.list_faults(STARS)[:-1])


def test_losses_and_draws_are_what_they_are_worth():
    rated = READER._replace(kind="rating")
    assert summarise({}, {"odds": 1.0}, LOSSES, reader=rated).expected["raw"] is None
    assert summarise({}, {"odds": 1.0}, LOSSES, reader=READER).expected["raw"] == 1.48
    many = posterior(diagnostics=FINE._replace(ess=4141.0))
    assert summarise({"mixture": many}, {}).diagnostics["mixture"]["ess"] == 400
    (warning,) = summarise({}, {}, LOSSES._replace(cordial=1.12)).warnings
    assert "1.12 nats; histogram: 1.10" in warning
    assert summarise({}, {}, LOSSES._replace(cordial=1.1)).warnings
    assert not summarise({}, {}, LOSSES._replace(cordial=1.0999)).warnings


def mode(name, **known):
    found = posterior(name, spread=0.0, **known)
    known = cp.Diagnostics("mode", np.nan, 1.0, np.nan, 1e-9, 0, True)
    return cp.Posterior(CHANNELS[name], found.histogram, found.draws[:1], np.ones(1), known, TEXTS)


def test_a_mode_has_no_interval():
    """Two channels are two points, and no interval lies between them."""
    found = {"mixture": mode("mixture", temperature=6.1), "location": mode("location", offset=0.7)}
    summary = summarise(found, {"mixture": 0.6, "location": 0.4}, LOSSES)
    assert all(each.low is None and each.high is None for each in summary.parameters)
    lines = summary.text.splitlines()
    assert lines[1] == "  temperature 6.1" and "interval" not in "".join(lines[1:-1])


def test_everything_can_be_expressed_in_json():
    found = {"mixture": posterior(diagnostics=POOR), "location": mode("location")}
    losses = ExpectedLoss(np.nan, np.nan, 1.2, 3)
    content = summarise(found, {"mixture": np.float64(1.0)}, losses, reader=READER).to_dict()
    assert content["reader"]["bias"][:2] == [{"value": 0.7, "low": 0.3, "high": 1.2}, None]
    assert content["reader"]["points"]["loss"] == 1.48
    assert json.loads(json.dumps(content, allow_nan=False)) == json.loads(json.dumps(content))
    assert content["expected"] == {"cordial": None, "histogram": None, "raw": 1.2, "labels": 3}
    assert content["diagnostics"]["mixture"]["trusted"] is False
    assert "mixture: 400 draws, k-hat 1.20" in content["sentences"][-1]


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
    # Noise alone: nobody would say that the judge is too low or too high.
    assert reader.side == 0 and "too" not in str(faults.values())
    assert faults["bias at '0'"].words.endswith("higher than ratings")
    assert faults["bias at '6'"].words.endswith("lower than ratings")
    off = labels - ratings
    assert reader.overall.low <= off[:COUNT].mean() <= reader.overall.high
    assert "confident" not in " ".join(fault.words for fault in faults.values())


def test_a_reader_that_misses_without_bias_has_a_spread_alone():
    ratings = np.repeat([2, 3, 4], 40)
    labels = ratings + np.tile([-2, -1, 0, 1, 2], 24)
    stack = Stack(channels=("mixture",), calibrators=(), seed=0).fit(hard(ratings), labels)
    *biases, spread = answers.describe(stack.fit_).faults
    # Of half an interval, the biases are .16, sd .05 over 20 seeds, and .03, sd .03.
    assert all(fault.words.startswith("no clear bias") for fault in biases)
    assert spread.median == pytest.approx(np.sqrt(2), abs=0.1)  # 1.418, sd .025 over 20 seeds
    probs, scale = np.array([[0.5, 0.1, 0.4], [0.1, 0.2, 0.7]]), Scale(("1", "2", "4"))
    points = score_points(probs, by_text(np.array([0, 1]), 3), scale)
    assert points == pytest.approx((0.5, 1.0, -np.log([0.5, 0.2]).mean()))


def test_readings_of_a_mean_count_where_ratings_are_graded():
    """What is stated is the mean of probabilities, and those of log loss are kept."""
    rng = np.random.default_rng(2)
    centres, options = rng.uniform(0, 4, 60), np.arange(5)
    logits = as_logits(-3.0 * (options - centres[:, None]) ** 2)
    labels = np.clip(np.rint(centres + 1), 0, 4).astype(int)
    stack = cp.LogitStack().fit(logits, labels)
    reader = assess(stack.fit_)
    shares, kind = state(logits)
    assert kind == "probabilities" and not reader.hard
    nearest = np.rint(shares @ options).astype(int)
    assert reader.texts == tuple(np.bincount(nearest, minlength=5))
    assert reader.points.loss == pytest.approx(cp.scores.log_loss(shares, labels))
    off = (labels - shares @ options)[nearest == 2].mean()
    assert reader.bias[2] is not None and reader.bias[2].value == pytest.approx(off, abs=0.2)
    assert reader.list_faults(Scale(tuple("12345")))[-1].words.startswith("about as confident") or (
        reader.spread.low < reader.stated_spread
    )
