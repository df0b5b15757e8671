"""A calibrator's file inside other tools: their judge's rating comes out calibrated."""

import asyncio

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS
from review_tables import fast, read

import cordial_ppl as cp
from cordial_ppl.integrations import open_calibrator
from cordial_ppl.tables import write_table

RATED = LOGITS.argmax(axis=1)


@pytest.fixture(scope="module")
def fitted():
    logits = cp.readings_from_ratings([STARS[k] for k in RATED], STARS)
    return cp.LogitStack(STARS).fit(logits, [STARS[k] for k in LABELS])


@pytest.fixture
def path(fitted, tmp_path):
    fitted.save(tmp_path / "j.cordial")
    return tmp_path / "j.cordial"


def test_a_rating_is_what_predict_makes_of_it(path, fitted):
    calibrate = open_calibrator(path)
    logits = cp.readings_from_ratings(["4"], STARS)
    made = calibrate("4")
    assert calibrate(4) == made and list(made) == [
        *(f"p_{star}" for star in STARS),
        *("mean", "mean_low", "mean_high", "label", "label_low", "label_high"),
    ]
    np.testing.assert_allclose([*made.values()][:5], fitted.predict_proba(logits)[0])
    assert made["mean"] == pytest.approx(fitted.predict_mean(logits)[0])
    assert calibrate(3.5)["mean"] == pytest.approx(
        fitted.predict_mean(cp.readings_from_ratings([3.5], STARS, round="split"))[0]
    )
    for wrong in ("C", True):
        with pytest.raises(cp.InputError, match=f"{wrong}"):
            calibrate(wrong)


def test_numbers_of_options_that_are_words_are_refused(tmp_path):
    """They may count from 0 or from 1."""
    words = ("poor", "fair", "good", "great", "best")
    logits = cp.readings_from_ratings([words[k] for k in RATED], words)
    fitted = cp.LogitStack(words).fit(logits, [words[k] for k in LABELS])
    fitted.save(tmp_path / "words")
    calibrate = open_calibrator(tmp_path / "words")
    np.testing.assert_allclose([*calibrate("Fair").values()][:5], calibrated_as("fair", fitted))
    for number in (0, 1, "1", 5.0, 2.5):
        with pytest.raises(cp.InputError, match=f"name of an option .'poor', .*; got {number}[.]"):
            calibrate(number)


def calibrated_as(word, fitted):
    return fitted.predict_proba(cp.readings_from_ratings([word], fitted.options))[0]


def test_a_score_of_a_range_is_rescaled(path):
    made = open_calibrator(path, (0, 1))
    assert made(0.75) == open_calibrator(path)(4) and made(0.5)["mean"] < made(0.6)["mean"]
    with pytest.raises(cp.InputError, match="from 0 to 1; found 4"):
        made(4)
    with pytest.raises(cp.InputError, match="two different numbers"):
        open_calibrator(path, (1, 1))


def test_the_range_is_that_of_the_fit(cordial):
    write_table("r.csv", {"item_id": range(len(RATED)), "rating": RATED / 4})
    write_table("l.csv", {"item_id": range(len(RATED)), "label": LABELS + 1})
    ends = ["--rating-range", "0,1"]
    cordial(*fast("fit", "r.csv", "l.csv", "-o", "j.cordial", "--options", ",".join(STARS), *ends))
    assert open_calibrator("j.cordial", (0, 1.0))(0.75)["mean"] > 2
    for other in (None, (0, 100)):
        with pytest.raises(cp.InputError, match="ratings 0 to 1"):
            open_calibrator("j.cordial", other)


@pytest.mark.parametrize("ends", [None, (100, 0)])
def test_a_reversed_scale_is_that_of_the_fit(cordial, ends):
    """As `cordial predict --reverse` reads it, with or without a range."""
    grades = RATED + 1 if ends is None else 25 * RATED
    write_table("r.csv", {"item_id": range(len(RATED)), "rating": grades})
    write_table("l.csv", {"item_id": range(len(RATED)), "label": 5 - LABELS})
    how = ["--reverse", "--options", ",".join(STARS)]
    how += [] if ends is None else ["--rating-range", ",".join(map(str, ends))]
    cordial(*fast("fit", "r.csv", "l.csv", "-o", "j.cordial", *how))
    cordial("predict", "j.cordial", "r.csv", "-o", "p.csv", *how)
    mean = float(read("p.csv")["mean"][0])
    assert open_calibrator("j.cordial", ends)(grades[0])["mean"] == pytest.approx(mean)
    with pytest.raises(cp.InputError, match="'reversed.*or none if it had none"):
        open_calibrator("j.cordial", (5, 1))


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.cordial"
    for other, named in (
        (cp.LogitStack(STARS).fit(LOGITS, [STARS[k] for k in LABELS]), "probabilities"),
        (cp.priors.shipped_prior(), "expected a 'calibrator'"),
    ):
        other.save(path)
        with pytest.raises(cp.InputError, match=named):
            open_calibrator(path)


@pytest.mark.filterwarnings("ignore")  # Inspect's own.
def test_a_scorer_of_inspect(path, tmp_path):
    names = ("inspect_ai", *(f"inspect_ai.{name}" for name in ("dataset", "scorer", "solver")))
    ai, dataset, scoring, solving = map(pytest.importorskip, names)
    from cordial_ppl.integrations.inspect_scorer import calibrated

    @scoring.scorer(metrics=[scoring.mean()])
    def stars():
        async def score(state, target):
            grade = target.text
            return scoring.Score(
                value=float("nan") if grade == "none" else grade, explanation="because"
            )

        return score

    @solving.solver
    def nothing():  # Inspect counts tokens of what is generated with a file from the net.
        async def solve(state, generate):
            return state

        return solve

    samples = [dataset.Sample(id=grade, input="rate", target=grade) for grade in ("5", "2", "none")]
    task = ai.Task(dataset=samples, solver=nothing(), scorer=calibrated(stars(), path))
    (log,) = ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success" and log.samples, log.error
    scores = {sample.id: sample.scores["calibrated"] for sample in log.samples}
    for grade in ("5", "2"):
        made = open_calibrator(path)(grade)
        assert scores[grade].value == pytest.approx(made["mean"])
        assert scores[grade].metadata == pytest.approx({"grade": grade, **made})
        assert scores[grade].explanation == "because"
    assert scores["none"].value != scores["none"].value
    metrics = log.results.scores[0].metrics
    assert metrics["mean"].value == pytest.approx((scores["5"].value + scores["2"].value) / 2)


def test_ratings_in_a_range_of_two_options_are_opened(tmp_path):
    grades, chosen = [*range(2, 100, 5)], {"options": ["no", "yes"], "rating_range": (0, 100)}
    logits = cp.readings_from_ratings(grades, **chosen)
    fitted = cp.Cordial(["no", "yes"]).fit(logits, [int(grade > 60) for grade in grades])
    fitted.save(tmp_path / "pass.cordial")
    calibrate = open_calibrator(tmp_path / "pass.cordial", rating_range=(0, 100))
    one = cp.readings_from_ratings([70], **chosen)
    assert calibrate(70)["mean"] == pytest.approx(fitted.predict_proba(one)[0, 1])


def test_a_metric_of_deepeval(path, monkeypatch):
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    names = ("deepeval.metrics", "deepeval.metrics.utils", "deepeval.test_case")
    metrics, utils, cases = map(pytest.importorskip, names)
    from cordial_ppl.integrations.deepeval_metric import CalibratedMetric

    class Stars(metrics.BaseMetric):
        reason = "because"

        def measure(self, test_case, *args, **settings):
            return float(test_case.actual_output)

        async def a_measure(self, test_case, *args, **settings):
            return self.measure(test_case)

        @property
        def __name__(self):
            return "Stars"

    metric = CalibratedMetric(Stars(), path, threshold=2)
    for grade in ("5", "1"):
        case = cases.LLMTestCase(input="rate", actual_output=grade)
        made = open_calibrator(path)(grade)
        assert metric.measure(case) == asyncio.run(metric.a_measure(case)) == metric.score
        assert metric.score == pytest.approx(made["mean"]) and metric.reason == "because"
        assert metric.score_breakdown == {"score": float(grade), **made}
        assert metric.is_successful() == (made["mean"] >= 2)
    assert metric.__name__ == "Stars, calibrated"
    case = cases.LLMTestCase(input="rate", actual_output="0.75")
    ranged = CalibratedMetric(Stars(), path, rating_range=(0, 1))
    assert ranged.measure(case) == pytest.approx(open_calibrator(path)(4)["mean"])
    # For each case that it evaluates, DeepEval makes a copy.
    copies = utils.copy_metrics([metric, ranged])
    assert copies[1].measure(case) == ranged.score and copies[0].threshold == 2
