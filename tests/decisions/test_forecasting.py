"""Forecasts of more labels, and verdicts: identities, both ends, and what is loaded."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from scipy.stats import norm as normal
from scipy.stats import t as student

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.data.scale import Scale
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.forecasting import (
    Forecast,
    Outlook,
    Range,
    entropy,
    forecast,
    labels_to_decide,
    say_decided,
)
from cordial_ppl.decisions.judge import Points
from cordial_ppl.decisions.outlook import expected_loss_and_gap
from cordial_ppl.decisions.verdict import (
    NO_MORE_OFTEN,
    NO_NEARER,
    NOT_THE_TOP,
    Advice,
    Verdict,
    judge,
    tabulate,
)
from cordial_ppl.evaluation.synthetic import reviews

TEXTS = reviews(700, seed=3)
STARS = np.array(TEXTS.options)
VALUES = np.arange(1.0, 6.0)

# With some seeds a posterior is doubtful: that is for tests of diagnostics.
pytestmark = pytest.mark.filterwarnings("ignore:the posteriors? of channel")


@pytest.fixture(scope="module")
def calibrator():
    return fit(20)


def fit(count):
    return cp.Cordial(TEXTS.options).fit(TEXTS.logits[:count], STARS[TEXTS.labels[:count]])


def labelled(count, sharpness, seed=0):
    """Labels, and predictions that know them as well as their sharpness says."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(5) / sharpness, count)
    return np.array([rng.choice(5, p=row) for row in probs]), probs


def made(count=40, texts=1000, gap=0.08, counts=None):
    labels, probs = labelled(count, 2.0)
    return forecast(by_text(labels, 5), probs, VALUES, Outlook(texts, 0.9, 0.5, gap), counts)


def test_with_the_present_labels_the_loss_is_the_present_one():
    found = made()
    now = found.at(found.labels)
    assert now.loss == found.loss and now.gain == (0.0, 0.0, 0.0)
    assert [step.labels for step in found.steps] == [80, 120, 200, 400]
    labels, probs = labelled(40, 2.0)
    cost = -np.log(np.maximum(probs[np.arange(40), labels], 1e-4))
    surprise = np.mean(cost - entropy(probs))
    found = made()
    assert found.loss is not None
    assert found.loss.value == pytest.approx(0.9 + 40 / 240 * surprise - 200 / 240 * 0.07 * 0.5)
    half = normal.ppf(0.9) * np.sqrt(0.5 / 40 + 0.05**2)
    assert found.loss.high - found.loss.value == pytest.approx(half)


@given(gap=st.floats(0, 1), few=st.integers(40, 900), more=st.integers(1, 100))
def test_more_labels_never_forecast_a_higher_loss_or_a_wider_interval(gap, few, more):
    found = made(gap=gap)
    one, other = found.at(few), found.at(few + more)
    assert found.loss is not None
    assert other.loss.value <= one.loss.value <= found.loss.value
    assert other.width.value < one.width.value
    for part in (one.loss, one.gain, one.width):
        assert part.low <= part.value <= part.high
    # Never more than what is due to the parameters.
    assert one.gain.value <= gap


def test_the_width_is_that_of_students_interval_of_a_finite_population():
    labels, probs = labelled(40, 2.0)
    spread = np.std(VALUES[labels] - probs @ VALUES, ddof=1)
    width = made(texts=200).at(100).width
    expected = student.ppf(0.95, 99) * spread / 10 * np.sqrt(1 / 2)
    assert width.value == pytest.approx(expected)
    free = 0.6 * 39
    ends = np.sqrt(free / chi2.ppf([0.9, 0.1], free)) * expected
    assert width[1:] == pytest.approx(ends)


@pytest.mark.parametrize("width", [0.05, 0.1, 0.3])
def test_the_labels_that_a_width_needs_are_the_fewest_that_reach_it(width):
    found = made(texts=5000)
    needed = found.needed(width)
    assert needed is not None and needed.low <= needed.value <= needed.high
    enough = int(needed.value)
    assert found.at(enough).width.value <= width
    assert enough == 40 or width < found.at(enough - 1).width.value
    assert f"within ±{width:g}" in found.say_needed(width)


def test_the_ends_of_a_forecast():
    assert made(texts=150).counts == (80, 120, 150)
    assert made(texts=40).counts == ()
    assert "no unlabelled text is left" in made(texts=40).sentence
    assert made(counts=[10, 400, 60]).counts == (60, 400)
    assert made(counts=np.array([60, 400])).counts == (60, 400)
    for wrong in ([60.5], [0], "x", 60):
        with pytest.raises(cp.InputError, match="counts must be"):
            made(counts=wrong)
    assert made(texts=300).needed(1e-9) == (300, 300, 300)
    assert made(texts=300).at(300).width == (0, 0, 0)
    with pytest.raises(cp.InputError, match="target no smaller than their number"):
        made().at(39)
    for width in (0.0, -1.0, float("nan")):
        with pytest.raises(cp.InputError, match="must be positive"):
            made().needed(width)
    labels, probs = labelled(19, 2.0)
    found = forecast(by_text(labels, 5), probs, VALUES, Outlook(1000, 0.9, 0.5, 0.1))
    assert found == Forecast(19, 1000)
    assert found.loss is None and found.steps == () and found.needed(0.1) is None
    assert "which needs 20. Label 1 more text first" in found.text == found.say_needed(0.1)
    assert forecast(by_text(labels[:7], 5), None, VALUES, Outlook(9, 0.9, 0.5, 0.1)).loss is None
    with pytest.raises(cp.InputError, match="got 19 labels and target 40"):
        found.at(40)


def test_the_summary_ends_with_forecast_and_verdict_in_any_order_of_texts(calibrator):
    order = np.random.default_rng(0).permutation(700)
    one, other = (calibrator.forecast(logits) for logits in (TEXTS.logits, TEXTS.logits[order]))
    assert other.loss == pytest.approx(one.loss, rel=1e-5)
    assert other.gap == pytest.approx(one.gap, rel=1e-4)
    found = calibrator.forecast(TEXTS.logits)
    *_, more, verdict = calibrator.summary(found).split("\n\n")
    assert more == found.sentence.capitalize() and "40 labels instead of 20 would lower" in more
    judged = answers.verdict(calibrator.fit_)
    assert judged is not None and verdict == str(judged)
    content = json.loads(json.dumps(answers.describe(calibrator.fit_, found).to_dict()))
    assert content["forecast"]["steps"][0]["labels"] == 40
    assert content["verdict"]["advice"] == judged.advice
    assert content["sentences"][-2:] == [found.sentence, verdict]


def test_the_gap_is_that_of_the_draws(calibrator):
    """By hand from the probabilities of each draw; a calibrator, which has one, adds nothing."""
    posterior = calibrator.posteriors_["location"]
    readings = calibrator.fit_.read(TEXTS.logits[:50])
    draws = np.stack([posterior.predict(readings, {}, e)[1] for e in np.eye(5)], -1)
    weights = posterior.prediction_weights
    gap = entropy(np.tensordot(weights, draws, 1)) - np.tensordot(weights, entropy(draws), 1)
    single = replace(calibrator.fit_, weights={"location": 1.0})
    texts = Labelled(readings, np.full(len(readings), -1))
    alone = expected_loss_and_gap(single, texts)
    assert alone.gap == pytest.approx(gap.mean(), rel=1e-3)
    assert alone.loss == pytest.approx(entropy(posterior.predict(readings, {})[0]).mean(), rel=1e-4)
    fit = replace(calibrator.fit_, weights={"location": 0.25, "temperature": 0.75})
    both = expected_loss_and_gap(fit, texts)
    assert both.gap == pytest.approx(alone.gap / 4)
    assert both.texts == 50


def test_without_out_of_fold_predictions_nothing_is_said():
    plain = cp.TemperatureScaling(TEXTS.options).fit(TEXTS.logits[:30], STARS[TEXTS.labels[:30]])
    assert answers.verdict(plain.fit_) is None
    mode = cp.Cordial(inference="mode").fit(TEXTS.logits[:30], TEXTS.labels[:30])
    for calibrator in (plain, mode):
        with pytest.raises(cp.InputError, match="cannot forecast"):
            answers.forecast(calibrator.fit_, TEXTS.logits)
    with pytest.raises(cp.NotFittedError):
        cp.Cordial().forecast(TEXTS.logits)


@pytest.mark.parametrize(
    ("count", "sharpness", "advice", "target"),
    [
        (7, 9.0, Advice.LABEL, 20),
        (1, 9.0, Advice.LABEL, 20),
        (19, 9.0, Advice.LABEL, 20),
        (60, 9.0, Advice.USE, None),
        (200, 0.0, Advice.REJECT, None),
    ],
)
def test_the_verdict_is_that_of_the_predictions(count, sharpness, advice, target):
    labels, probs = np.repeat(range(5), [80, 50, 40, 20, 10]), np.full((200, 5), 0.2)
    if sharpness:
        labels, probs = labelled(count, sharpness)
    found = judge(by_text(labels, 5), probs if count >= 8 else None, Scale(TEXTS.options))
    assert (found.advice, found.target) == (advice, target)
    if target:
        # A total would count neither texts without a reading nor what weights leave out.
        words = f"about {20 - count} more text{'s' * (count < 19)}: {count} label"
        assert words in found.text
    # The right labels, predicted as often as chance would have it, leave the question open.
    labels, probs = labelled(24, 2.0)
    found = judge(by_text(np.roll(labels, 1), 5), probs, Scale(TEXTS.options))
    assert (found.advice, found.target) == (Advice.LABEL, 50)


def test_the_figures_of_a_verdict_are_those_of_the_labels():
    labels, probs = labelled(60, 2.0)
    found = judge(by_text(labels, 5), probs, Scale(TEXTS.options))
    assert found.calibrated is not None and found.histogram is not None
    medians = (probs.cumsum(axis=1) < 0.5).sum(axis=1)
    assert found.calibrated.accuracy == cp.scores.accuracy(probs, labels)
    assert found.calibrated.distance == pytest.approx(np.abs(medians - labels).mean())
    assert found.calibrated.loss == pytest.approx(cp.scores.log_loss(probs, labels))
    others = [smooth_histogram(np.delete(labels, k), 5)[labels[k]] for k in range(60)]
    assert found.histogram.loss == pytest.approx(-np.log(others).mean())
    assert found.histogram.accuracy == np.bincount(labels).max() / 60
    middle = np.sort(labels)[29:31].mean()
    assert found.histogram.distance == pytest.approx(np.abs(labels - middle).mean())
    assert found.gain is not None and found.gain.low < found.gain.value < found.gain.high


READER, HISTOGRAM = Points(0.28, 1.1, None), Points(0.32, 1.57, 1.91)
VERDICT = Verdict(
    Advice.USE, 65, None, READER, HISTOGRAM, Points(0.41, 1.02, 1.67), Range(0.17, 0.07, 0.27)
)


def test_a_verdict_has_its_figures_and_says_what_it_is_not_for():
    content = json.loads(json.dumps(VERDICT.to_dict(), allow_nan=False))
    assert content["reader"] == {"accuracy": 0.28, "distance": 1.1, "loss": None}
    assert content["gain"] == {"value": 0.17, "low": 0.07, "high": 0.27}
    assert "expect a gain of 0.17 (0.07 to 0.27)" in VERDICT.text
    weak = replace(VERDICT, weak_choice=True, calibrated=Points(0.28, 1.1, 1.67)).text
    assert NOT_THE_TOP in weak and NO_NEARER in weak
    assert NOT_THE_TOP not in VERDICT.text and NO_NEARER not in VERDICT.text
    # Advice to use what is right less often than a guess says what it is better in.
    lucky = replace(VERDICT, calibrated=Points(0.3, 1.02, 1.67))
    assert NO_MORE_OFTEN in lucky.text and NO_MORE_OFTEN not in VERDICT.text + weak
    assert NO_MORE_OFTEN not in replace(lucky, advice=Advice.LABEL, target=130).text
    _, right, off, loss = tabulate(READER, VERDICT)
    assert right[1:] == ("28 %", "32 %", "41 %") and off[1:] == ("1.10", "1.57", "1.02")
    assert loss[1:] == ("", "1.91", "1.67") and tabulate(None, None) == []


@pytest.mark.parametrize(("many", "advice"), [(100, Advice.REJECT), (20, Advice.LABEL)])
def test_advice_against_a_reader_or_its_top_choice_needs_evidence(many, advice):
    """A half of the texts get another top choice, which is right as often as not."""
    labels = np.concatenate([np.repeat([0, 1], [7 * many // 10, 3 * many // 10]), many * [0, 1]])
    labels = labels[: 2 * many]
    said = np.repeat([0.56, 0.49], many)
    labels, scale = by_text(labels, 2), Scale(("no", "yes"))
    verdict = judge(labels, np.stack([said, 1 - said], axis=1), scale)
    assert verdict.gain is not None and verdict.gain.high < 0.04
    assert verdict.advice is advice and not verdict.weak_choice
    alike = judge(labels, np.tile([0.56, 0.44], (2 * many, 1)), scale)
    assert alike.weak_choice is (many == 100)


@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_labels_decide_as_often_as_they_say(floor):
    """Means that are simulated: of 4,000 four standard deviations are .02 and .03."""
    rng, (labels, texts, level, distance) = np.random.default_rng(0), (40, 2000, 0.9, 1.2)
    needed = labels_to_decide(distance, labels, texts, level, floor)
    assert needed is not None
    for count, share in zip(needed, (0.6, 0.1, 0.9), strict=True):
        if np.isinf(count):
            continue
        left = floor + (1 - floor) * (1 / count - 1 / texts) / (1 / labels - 1 / texts)
        means = rng.normal(distance, np.sqrt(1 - left), 4000)
        decided = np.mean(np.abs(means) > 1.6449 * np.sqrt(left))
        assert decided == pytest.approx(share, abs=0.04)
    further = labels_to_decide(distance / 2, labels, texts, level, floor)
    assert further is not None and further.low > needed.low


def test_what_decides_is_not_said_where_it_is_not_known():
    assert labels_to_decide(0.5, 19, 500, 0.9) is None
    assert labels_to_decide(0.5, 500, 500, 0.9) is None
    small = labels_to_decide(1.5, 100, 120, 0.9, floor=0.5)
    assert small is not None and small.high == np.inf and "or more)" in say_decided(small)
    assert "not settle" in say_decided(Range(np.inf, 110, np.inf))


def test_who_only_knows_which_options_people_use_gains_nothing():
    """On a scale of which every other option is used; one count an option would lose to it."""
    labels = 2 * np.random.default_rng(0).integers(0, 6, 60)
    per_text = by_text(labels, 11)
    others = np.stack([smooth_histogram(np.delete(labels, row), 11) for row in range(60)])
    found = judge(per_text, others, Scale.default(11))
    assert found.advice is not Advice.USE and found.gain is not None
    assert found.gain.value == pytest.approx(0, abs=0.01)
    plain = np.stack([label_histogram(np.delete(labels, row), 11) for row in range(60)])
    rows = np.arange(60)
    assert np.log(others[rows, labels] / plain[rows, labels]).mean() > 0.04
