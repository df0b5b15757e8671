"""The report: its figures are those of the calibrator, and it is one page that stands by itself."""

import base64
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from elements import Elements
from few_labels import LABELS, LOGITS, STARS, TEST, TRUTH

import cordial_ppl as cp
from cordial_ppl import plots
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.judge import number
from cordial_ppl.decisions.verdict import Advice
from cordial_ppl.plots.report import TaskTexts, gather
from cordial_ppl.plots.report import page as paging
from cordial_ppl.plots.report.page import make_page
from cordial_ppl.plots.report.pictures import draw_pictures
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.scores import Interval, paired_bootstrap

EVERYTHING = np.vstack([LOGITS, TEST])
ALL_LABELS = np.concatenate([LABELS, TRUTH])
SYSTEM = np.array(["A", "B"] * 10)


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


ROWS = range(len(EVERYTHING))


def texts(rows: Any = ROWS):
    names = [f"text {k}" for k in ROWS]
    return TaskTexts(names, centred(EVERYTHING), np.asarray(rows), ALL_LABELS[rows], {})


@pytest.fixture(scope="module")
def facts(judge):
    return gather(judge, texts())


@pytest.fixture(scope="module")
def pictures(facts):
    return draw_pictures(facts)


@pytest.fixture
def write(pictures, monkeypatch):
    """Make a page with pictures that were drawn before."""
    monkeypatch.setattr(paging, "draw_pictures", lambda facts: pictures)
    return lambda facts: make_page(facts, of="it")


def test_labels_outside_the_fit_may_contradict_the_advice(facts, write):
    loss, advice = facts.scores["log loss"], "This contradicts the advice above"
    worse = loss._replace(gains=loss.gains | {"histogram": Interval(-0.3, -0.4, -0.2)})
    for use in (True, False):
        verdict = replace(facts.summary.verdict, advice=Advice.USE if use else Advice.LABEL)
        told = replace(facts.summary, verdict=verdict)
        for scores in (worse, loss):
            page = write(replace(facts, summary=told, scores=facts.scores | {"log loss": scores}))
            assert (advice in page) == (use and scores is worse)


def test_every_score_is_what_its_name_says(judge, facts):
    raw = np.exp(TEST) / np.exp(TEST).sum(axis=1, keepdims=True)
    probs, values = judge.predict_proba(TEST), judge.fit_.scale.values
    flat = np.tile((np.bincount(LABELS, minlength=5) + 1) / (len(LABELS) + 5), (len(TEST), 1))
    smooth = np.tile(smooth_histogram(np.array(LABELS), 5), (len(TEST), 1))
    steps = np.arange(4)
    measures = (
        lambda p: -np.log(np.maximum(p[np.arange(len(p)), TRUTH], FLOOR)),
        lambda p: np.sum((p.cumsum(1)[:, :4] - (TRUTH[:, None] <= steps)) ** 2, axis=1),
        lambda p: abs(values[(p.cumsum(1) < 0.5).sum(1)] - values[TRUTH]),
        lambda p: (p.argmax(1) != TRUTH).astype(float),
    )
    assert facts.unseen.tolist() == [False] * 20 + [True] * len(TEST)
    for rank, (score, measure) in enumerate(zip(facts.scores.values(), measures, strict=True)):
        histogram = measure(smooth if rank < 2 else flat)
        losses = {"raw": measure(raw), "calibrated": measure(probs), "histogram": histogram}
        expected = {name: each.mean() for name, each in losses.items()}
        assert score.means == pytest.approx(expected, rel=1e-5)
        assert score.gains.keys() == {"raw", "histogram"}
        for name, gain in score.gains.items():
            difference = paired_bootstrap((losses[name] - losses["calibrated"])[None], level=0.9)
            np.testing.assert_allclose(gain, difference, rtol=1e-4, atol=1e-6)


def test_several_labels_of_a_text_are_one_observation(judge, facts):
    """Each label twice says no more; weights say which counts how much."""
    twice: Any = gather(judge, texts(np.repeat(ROWS, 2)))
    assert twice.held_out == 40 and twice.labelled == 60
    assert twice.check.text == facts.check.text
    for name, score in facts.scores.items():
        gains = [each.gains["raw"] for each in (twice.scores[name], score)]
        np.testing.assert_allclose(*gains, rtol=1e-9, atol=1e-12)
        assert twice.scores[name].means == pytest.approx(score.means)
    # The other label of a text of the fit is not new either.
    assert gather(judge, replace(texts([0, 0]), labels=np.array([LABELS[0], 4]))).held_out == 0
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    weighed: Any = gather(judge, replace(texts(), weights=weights))
    losses = -np.log(np.maximum(judge.predict_proba(TEST)[np.arange(40), TRUTH], FLOOR))
    mean = np.average(losses, weights=weights[20:])
    assert weighed.scores["log loss"].means["calibrated"] == pytest.approx(mean, rel=1e-5)
    assert weighed.check.loss == pytest.approx(mean, rel=1e-5)
    few = gather(judge, texts(np.repeat(ROWS[:24], 2)))
    assert few.check is None and few.out_of_fold and not facts.out_of_fold


def test_whether_the_calibration_still_holds(judge, facts):
    """For the readings of all texts and the labels outside the fit, if they are five."""
    drift: Any = answers.check_readings(judge.fit_, EVERYTHING)
    assert facts.drift.to_dict() == drift.to_dict()
    check = answers.check_labels(judge.fit_, TEST, [STARS[z] for z in TRUTH])
    near = {name: pytest.approx(getattr(check, name), rel=1e-12) for name in ("loss", "expected")}
    assert facts.check == check._replace(**near) and facts.check.labels == 40
    found = facts.to_dict()
    assert found["drift"]["texts"] == [20, 60] and found["check"]["p"] == facts.check.p
    for labelled in (24, 25):
        some: Any = gather(judge, texts(range(labelled)))
        assert some.check is None if labelled == 24 else some.check.labels == 5


def test_without_other_labels_scores_are_those_that_the_fit_expects(judge, write):
    """A text is predicted without its label, and readings are not compared with themselves."""
    fit = judge.fit_
    for rows in (range(20), range(24)):
        found: Any = gather(judge, texts(rows))
        loss = found.scores["log loss"].means
        said = found.summary.verdict
        expected = said.calibrated.loss, said.histogram.loss, fit.expected.raw
        assert [loss[of] for of in ("calibrated", "histogram", "raw")] == pytest.approx(expected)
        wrong = found.scores["most probable option is wrong"].means
        assert wrong["histogram"] == pytest.approx(1 - said.histogram.accuracy)
        assert wrong["calibrated"] == pytest.approx(1 - said.calibrated.accuracy)
        np.testing.assert_array_equal(found.predicted, fit.out_of_fold)
        assert found.to_dict()["out_of_fold"] and found.drift is not None
    assert "out of fold" in " ".join(Elements(write(found)).words)
    own: Any = gather(
        judge, replace(texts(range(20)), items=texts().items[:20], logits=centred(LOGITS))
    )
    assert own.drift is None and own.scores == gather(judge, texts(range(20))).scores
    seven = cp.LogitStack(STARS).fit(LOGITS[:7], [STARS[z] for z in LABELS[:7]])
    few = gather(seven, texts(range(7)))
    assert not few.scores and "fewer than eight" in write(few).lower()


def test_unread_texts_are_counted_and_their_labels_tell_biases(write):
    gone, names = np.arange(20) % 5 == 0, [f"text {k}" for k in range(20)]
    logits = np.where(gone[:, None], np.nan, LOGITS)
    labels = [STARS[4 * (system == "A")] for system in SYSTEM]
    fitted = cp.LogitStack(STARS).fit(logits, labels, texts=names)
    codes = np.array([STARS.index(label) for label in labels])
    of = TaskTexts(names, centred(logits), np.arange(20), codes, {}, {"system": SYSTEM.tolist()})
    found = gather(fitted, of)
    assert list(found.biases) == answers.find_bias(fitted.fit_, {"system": SYSTEM}) != []
    assert found.to_dict()["unread"] == {"texts": 4, "labels": 4} and len(found.probs) == 16
    assert "4 of 20 texts have no reading (4 labelled)" in " ".join(Elements(write(found)).words)


@pytest.mark.parametrize("gain", [Interval(0.2, 0.1, 0.3), Interval(-0.2, -0.3, -0.1)])
def test_whether_it_is_worth_more_than_the_histogram(facts, write, gain):
    loss = facts.scores["log loss"]
    loss = loss._replace(gains=loss.gains | {"histogram": gain})
    lead = write(replace(facts, scores=facts.scores | {"log loss": loss})).partition("<h2>")[0]
    assert f"{abs(gain.lower):.2f}" in lead and ('class="bad"' in lead) == (gain.mean < 0)


def test_the_page_says_the_facts_in_figures(facts, write):
    # Another draw may doubt one of them.
    known = {k: own | {"trusted": True} for k, own in facts.summary.diagnostics.items()}
    name = next(iter(known))
    doubtful = known | {name: known[name] | {"trusted": False, "khat": 0.91}}
    for each, doubted in ((known, {}), (doubtful, {name: "not trusted"})):
        page = write(replace(facts, summary=replace(facts.summary, diagnostics=each)))
        verdicts = {row[0]: row[-1] for row in Elements(page).rows if row[-1].endswith("trusted")}
        assert verdicts == dict.fromkeys(known, "trusted") | doubted
    page = Elements(write(facts))
    words, rows = " ".join(" ".join(page.words).split()), page.rows
    for name, score in facts.scores.items():
        gains = ["{:+.3f} ({:+.3f} to {:+.3f})".format(*gain) for gain in score.gains.values()]
        means = [f"{score.means[column]:.3f}" for column in ("raw", "histogram", "calibrated")]
        assert [*means, *gains] in [row[1:] for row in rows if row[0].startswith(name)]
    for fault in facts.summary.faults:
        ends = f"{number(fault.low)} to {number(fault.high)}"
        assert [fault.name, fault.words, number(fault.median), ends] in rows
    for parameter in facts.summary.parameters:
        assert [parameter.name, number(parameter.median)] in [row[:2] for row in rows]
    for text in facts.moved:
        cells = [f"{text.before:.3f}", f"{text.after:.3f}", f"{text.low:.3f} to {text.high:.3f}"]
        assert [text.item, *cells, text.label] in rows
    said = facts.summary.verdict.text, facts.summary.forecast.sentence.capitalize()
    drift = facts.drift.describe(facts.calibrator.fit_.scale)
    assert all(sentence in words for sentence in (*said, drift, facts.check.text))


def test_pictures_show_what_stands_above_them(facts, monkeypatch):
    drawn, counted = [], []

    def keep(probs, other, **settings):
        counted.append(settings.get("sample_weight"))
        drawn.append((settings["title"], np.array(probs), np.array(other)))

    for name in ("transfer_curve", "label_shares", "weights"):
        monkeypatch.setattr(plots, name, lambda *_, **__: None)
    monkeypatch.setattr(plots, "stated_classes", keep)
    monkeypatch.setattr(plots, "thresholds", keep)
    draw_pictures(facts)
    raw, probs, logits = facts.raw[20:], facts.probs[20:], facts.texts.logits[20:]
    names = np.array([STARS[z] for z in TRUTH])
    expected = (
        ("labels", np.eye(5)[TRUTH], logits),
        ("as stated", raw, logits),
        ("calibrated", probs, logits),
        ("as stated", raw, names),
        ("calibrated", probs, names),
    )
    for found, wanted in zip(drawn, expected, strict=True):
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(found[1], wanted[1])
        np.testing.assert_array_equal(found[2], wanted[2])
    for weights in counted[3:]:
        np.testing.assert_array_equal(weights, facts.scored.weights)


@pytest.fixture(scope="module")
def partial():
    """A calibrator of readings that do not say which system wrote a text; people like A's alone."""
    labels = [STARS[4 * (system == "A")] for system in SYSTEM]
    return cp.LogitStack(STARS).fit(LOGITS, labels, texts=[f"text {k}" for k in range(20)])


def test_a_group_that_is_rated_too_high_is_named(partial, write):
    """The texts of the fit may come in any order; among others they are not told apart."""
    rows = np.random.default_rng(0).permutation(20)
    columns = {"system": SYSTEM[rows].tolist(), "item": [f"text {k}" for k in rows]}
    found = gather(partial, replace(texts(rows), columns=columns))
    assert list(found.biases) == answers.find_bias(partial.fit_, {"system": SYSTEM})
    assert found.to_dict()["biases"][0]["column"] == "system"
    assert str(found.biases[0])[1:] in " ".join(Elements(write(found)).words)
    assert not gather(partial, replace(texts(), columns={"system": ["A", "B"] * 30})).biases
    missing = replace(texts(rows[1:]), columns={"system": list(SYSTEM[rows[1:]])})
    assert not gather(partial, missing).biases


def test_a_file_knows_its_histogram_and_texts_by_name_alone(judge, facts, tmp_path):
    judge.save(tmp_path / "judge.cordial")
    loaded = cp.load(tmp_path / "judge.cordial")
    found = gather(loaded, texts(range(len(LOGITS), len(EVERYTHING))))
    assert found.unseen.all()
    loss = found.scores["log loss"].gains["histogram"]
    assert loss == pytest.approx(facts.scores["log loss"].gains["histogram"], abs=1e-6)
    copies = replace(texts(range(20)), items=[f"copy {k}" for k in range(len(EVERYTHING))])
    assert gather(judge, copies).unseen.all()
    nameless = cp.LogitStack().fit(LOGITS, LABELS)
    assert gather(nameless, texts(range(20))).unseen.all()
    read_anew = replace(texts(range(20)), logits=texts().logits[::-1].copy())
    assert not gather(judge, read_anew).unseen.any()


def test_texts_that_are_moved_most(judge, facts, write):
    probs = judge.predict_proba(EVERYTHING)
    raw = np.exp(EVERYTHING) / np.exp(EVERYTHING).sum(axis=1, keepdims=True)
    change = np.abs((probs - raw) @ judge.fit_.scale.values)
    assert [text.item for text in facts.moved] == [f"text {k}" for k in np.argsort(-change)[:10]]
    assert {text.others for text in facts.moved} == {0}
    assert all(text.low <= text.after <= text.high for text in facts.moved)
    ratings = np.repeat([0, 2, 4], [5, 1, 14])
    hard = centred(np.log(np.eye(5)[ratings] + 0.5))
    names = [f"text {k}" for k in range(20)]
    rated = gather(judge, TaskTexts(names, hard, np.arange(20), ratings, {}))
    assert {(text.item, text.others) for text in rated.moved} == {
        ("text 0", 4), ("text 5", 0), ("text 6", 13)
    }  # fmt: skip
    assert [text.before for text in rated.moved if text.item == "text 5"] == [3.0]
    assert ">rating</th>" in write(rated)


def test_of_ratings_there_is_no_log_loss_and_no_confidence(write):
    rng = np.random.default_rng(0)
    ratings = rng.integers(0, 5, 60)
    labels = np.clip(ratings + rng.integers(-2, 3, 60), 0, 4)
    hard = centred(np.log(np.eye(5)[ratings] + 0.5))
    names = [f"text {k}" for k in range(60)]
    stack = cp.LogitStack(STARS).fit(hard[:20], [STARS[z] for z in labels[:20]], texts=names[:20])
    rated = gather(stack, TaskTexts(names, hard, np.arange(60), labels, {}))
    loss, distance = rated.scores["log loss"], rated.scores["distance from median to label"]
    assert "raw" not in loss.means | loss.gains
    unseen = ratings[rated.unseen] - labels[rated.unseen]
    assert distance.means["raw"] == np.abs(unseen).mean()
    assert "confident" not in write(rated)
    assert len(draw_pictures(rated)["thresholds"]) == 1


def test_of_two_options_no_median_is_told(write):
    """The share of wrong choices says as much."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    ratings = np.where(rng.random(60) < 0.8, labels, 1 - labels)
    logits, names = centred(np.log(np.eye(2)[ratings] + 0.05)), [f"text {k}" for k in range(60)]
    calibrator = cp.LogitStack(("fail", "pass")).fit(logits[:30], labels[:30], texts=names[:30])
    entered = TaskTexts(names, logits, np.arange(60), labels, {})
    made = gather(calibrator, entered)
    assert "distance from median to label" not in made.scores
    wrong = made.scores["most probable option is wrong"].means["raw"]
    assert wrong == pytest.approx(np.mean(ratings[30:] != labels[30:]))
    summary = str(calibrator.summary())
    assert "top choice" in summary and "median" not in summary
    assert "from median" not in write(made)


def test_no_name_reorders_or_hides_what_the_page_says(facts, pictures, monkeypatch):
    monkeypatch.setattr(paging, "draw_pictures", lambda facts: pictures)
    page = make_page(facts, of="r\u202evsc.\x1b[0m<b>")
    assert r"r\u202evsc.\u001b[0m&lt;b&gt;" in page
    assert not re.search("[\u202e\x1b]", page)


def test_the_page_stands_by_itself(facts, pictures, monkeypatch):
    page = make_page(facts, of="<judge> & co")
    # The same page, letter by letter, of the same pictures, which were drawn once more.
    monkeypatch.setattr(paging, "draw_pictures", lambda facts: pictures)
    assert page == make_page(facts, of="<judge> & co")
    elements = Elements(page)
    assert not elements.open, "every element is closed"
    assert "<judge>" not in page and "&lt;judge&gt; &amp; co" in page
    assert not {"script", "link"} & {tag for tag, _ in elements.found}
    for tag, attributes in elements.found:
        if tag == "img":
            head, _, data = attributes["src"].partition("base64,")
            assert head == "data:image/svg+xml;" and len(attributes["alt"]) > 20
            assert "prefers-color-scheme: dark" in base64.b64decode(data).decode()
        addresses = [str(value) for value in attributes.values()]
        assert not any(value.startswith(("http:", "https:", "//")) for value in addresses)
    assert "nan" not in re.findall(r"[a-z]+", " ".join(elements.words).lower())


@pytest.fixture
def files(tmp_path, judge):
    judge.save(tmp_path / "judge.cordial")
    header = "item_id," + ",".join(f"logit_{star}" for star in STARS)
    rows = [f"text {k}," + ",".join(map(str, row)) for k, row in enumerate(EVERYTHING.tolist())]
    (tmp_path / "readings.csv").write_text("\n".join([header, *rows]))
    labels = [f"text {k},{STARS[z]}" for k, z in enumerate(ALL_LABELS)]
    (tmp_path / "labels.csv").write_text("\n".join(["item_id,label", *labels]))
    return "report", "judge.cordial", "readings.csv", "labels.csv", "-o"


def test_the_command_writes_the_page(files, cordial, tmp_path):
    content = json.loads(cordial(*files, "page.html", "--json").stdout)
    assert content["labelled"] == len(ALL_LABELS) and content["held_out"] == len(TEST)
    assert len(content["scores"]["log loss"]["gain"]["raw"]) == 3
    assert not Elements((tmp_path / "page.html").read_text("utf-8")).open


def test_the_command_warns_of_a_fit_that_names_no_texts(files, cordial, undrawn):
    cp.LogitStack(STARS).fit(LOGITS, [STARS[z] for z in LABELS]).save("judge.cordial")
    said = cordial(*files, "page.html").stderr
    assert (
        "judge.cordial does not name its training texts" in said
        and "in labels.csv count as new" in said
    )


def test_the_command_names_groups_that_are_rated_otherwise(
    files, cordial, tmp_path, partial, undrawn
):
    partial.save(tmp_path / "judge.cordial")
    rows = [f"text {k},{STARS[z]},{SYSTEM[k]},{k}" for k, z in enumerate(LABELS)]
    (tmp_path / "labels.csv").write_text("\n".join(["item_id,label,system,note", *rows]))
    content = json.loads(cordial(*files, "page.html", "--json").stdout)
    assert content["biases"] and content["biases"] == [
        found._asdict() for found in answers.find_bias(partial.fit_, {"system": SYSTEM})
    ]


def test_labels_of_the_command_weigh_what_their_column_says(files, cordial, tmp_path, undrawn):
    def score(weigh):
        rows = [f"text {k},{STARS[z]},{weigh(k)}" for k, z in enumerate(ALL_LABELS)]
        (tmp_path / "labels.csv").write_text("\n".join(["item_id,label,weight", *rows]))
        return json.loads(cordial(*files, "page.html", "--json").stdout)["scores"]["log loss"]

    assert score(lambda k: 1) != score(lambda k: 1 + k % 5)


@pytest.mark.usefixtures("few_resamples", "undrawn")
def test_people_and_the_judge_are_compared(judge, tmp_path):
    """Texts of the fit out of fold, found by name, also in a file; no section without people."""
    named = replace(texts(np.repeat(ROWS, 2)), people=["a", "b"] * len(EVERYTHING))
    predicted = judge.predict_proba(EVERYTHING)
    predicted[:20] = judge.fit_.out_of_fold
    raw = np.exp(EVERYTHING) / np.exp(EVERYTHING).sum(axis=1, keepdims=True)
    votes, judges = np.stack([ALL_LABELS] * 2, axis=1), {"judge": raw, "calibrated": predicted}
    expected = cp.agreement(votes, 5, predictions=judges)
    judge.save(tmp_path / "c.cordial")
    for fitted in (judge, cp.load(tmp_path / "c.cordial")):
        made = gather(fitted, named)
        assert made.agreement is not None
        for of, group in expected.values.items():
            for name, interval in group.items():
                found = made.agreement.values[of][name]
                np.testing.assert_allclose(found, interval, rtol=1e-5, atol=1e-9)
    pictures = draw_pictures(made)
    assert len(pictures["agreement"]) == 1
    page = make_page(made, of="it")
    assert "How well people agree" in page and "at most one option apart" in page
    assert gather(judge, texts()).agreement is None
    # Halves of a label are two labels by one person.
    halves = replace(named, people=["a"] * len(named.people or ()))
    assert gather(judge, halves).agreement is None
    rows = [line for line in Elements(page).rows if line and line[0].startswith("same option")]
    assert rows == [list(expected.rows[4])]
