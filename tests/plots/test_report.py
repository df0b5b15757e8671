"""The report: its figures are those of the calibrator, and it is one page that stands by itself."""

import base64
import html
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
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.reader import number
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


def test_every_score_is_what_its_name_says(judge, facts):
    raw = np.exp(TEST) / np.exp(TEST).sum(axis=1, keepdims=True)
    probs, values = judge.predict_proba(TEST), judge.fit_.scale.values
    flat = np.tile((np.bincount(LABELS, minlength=5) + 1) / (len(LABELS) + 5), (len(TEST), 1))
    steps = np.arange(4)
    measures = (
        lambda p: -np.log(np.maximum(p[np.arange(len(p)), TRUTH], FLOOR)),
        lambda p: np.sum((p.cumsum(1)[:, :4] - (TRUTH[:, None] <= steps)) ** 2, axis=1),
        lambda p: abs(values[(p.cumsum(1) < 0.5).sum(1)] - values[TRUTH]),
        lambda p: (p.argmax(1) != TRUTH).astype(float),
    )
    assert facts.unseen.tolist() == [False] * 20 + [True] * len(TEST)
    for score, measure in zip(facts.scores.values(), measures, strict=True):
        losses = {"raw": measure(raw), "calibrated": measure(probs), "histogram": measure(flat)}
        expected = {name: each.mean() for name, each in losses.items()}
        assert score.means == pytest.approx(expected, rel=1e-5)
        assert score.gains.keys() == {"raw", "histogram"}
        for name, gain in score.gains.items():
            difference = paired_bootstrap((losses[name] - losses["calibrated"])[None], level=0.9)
            np.testing.assert_allclose(gain, difference, rtol=1e-4, atol=1e-6)


def test_several_labels_of_a_text_are_one_observation(judge, facts, write):
    """Each label twice says no more; weights say which counts how much."""
    twice: Any = gather(judge, texts(np.repeat(ROWS, 2)))
    assert twice.held_out == 40 and twice.labelled == 60
    assert twice.check.text == facts.check.text
    for name, score in facts.scores.items():
        gains = [each.gains["raw"] for each in (twice.scores[name], score)]
        np.testing.assert_allclose(*gains, rtol=1e-9, atol=1e-12)
        assert twice.scores[name].means == pytest.approx(score.means)
    words = " ".join(" ".join(Elements(write(twice)).words).split())
    assert "on 40 labelled texts that the fit has not seen" in words
    assert "60 of them labelled (20 in the fit)" in words
    # The other label of a text of the fit is not new either.
    assert gather(judge, replace(texts([0, 0]), labels=np.array([LABELS[0], 4]))).held_out == 0
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    weighed: Any = gather(judge, replace(texts(), weights=weights))
    probs = judge.predict_proba(TEST)
    losses = -np.log(np.maximum(probs[np.arange(40), TRUTH], FLOOR))
    mean = np.average(losses, weights=weights[20:])
    assert weighed.scores["log loss"].means["calibrated"] == pytest.approx(mean, rel=1e-5)
    assert weighed.check.loss == pytest.approx(mean, rel=1e-5)
    few = gather(judge, texts(np.repeat(ROWS[:24], 2)))
    assert few.check is None and not few.scores


def test_the_page_says_the_facts_in_figures(facts, write):
    page = Elements(write(facts))
    words, rows = " ".join(page.words), page.rows
    loss = facts.scores["log loss"]
    means = f"{loss.means['calibrated']:.2f} nats a text instead of {loss.means['raw']:.2f}"
    assert f"its log loss is {means}" in words
    gain = loss.gains["raw"]
    ends = f"{gain.mean:.2f} nats, with a 90 % interval of {gain.lower:+.2f} to "
    assert f"a gain of {ends}{gain.upper:+.2f}." in words
    for name, score in facts.scores.items():
        gains = ["{:+.3f} ({:+.3f} to {:+.3f})".format(*gain) for gain in score.gains.values()]
        means = [f"{score.means[column]:.3f}" for column in ("raw", "histogram", "calibrated")]
        assert [*means, *gains] in [row[1:] for row in rows if row[0].startswith(name)]
    for fault in facts.summary.faults:
        assert fault.low is not None and fault.high is not None
        ends = f"{number(fault.low)} to {number(fault.high)}"
        assert [fault.name, fault.words, number(fault.median), ends] in rows
    for parameter in facts.summary.parameters:
        assert [parameter.name, number(parameter.median)] in [row[:2] for row in rows]
    for text in facts.moved:
        cells = [f"{text.before:.3f}", f"{text.after:.3f}", f"{text.low:.3f} to {text.high:.3f}"]
        assert [text.item, *cells, text.label] in rows


def test_whether_the_calibration_still_holds(judge, facts, write):
    """For the readings of all texts and the labels outside the fit, if they are five."""
    drift: Any = answers.check_readings(judge.fit_, EVERYTHING)
    assert facts.drift.to_dict() == drift.to_dict()
    check = answers.check_labels(judge.fit_, TEST, [STARS[z] for z in TRUTH])
    rounded = {
        name: pytest.approx(getattr(check, name), rel=1e-12) for name in ("loss", "expected")
    }
    assert facts.check == check._replace(**rounded)
    assert facts.check.labels == 40
    words = " ".join(" ".join(Elements(write(facts)).words).split())
    assert f"Over all texts, {facts.drift.describe(judge.fit_.scale)}." in words
    assert f"Does the calibration hold? {facts.check.text}." in words
    found = facts.to_dict()
    assert found["drift"]["texts"] == (20, 60) and found["check"]["p"] == facts.check.p
    five = gather(judge, texts(range(25))).check
    assert five is not None and five.labels == 5
    few = gather(judge, texts(range(24)))
    assert few.check is None and few.to_dict()["check"] is None
    words = " ".join(Elements(write(replace(few, drift=None))).words)
    assert "the readings differ" not in words and "calibration hold?" not in words


@pytest.mark.parametrize(
    ("gain", "words", "bad"),
    [
        (Interval(0.2, 0.1, 0.3), "better than the label histogram alone (by +0.10", False),
        (Interval(-0.2, -0.3, -0.1), "alone predicts better (by 0.10 to 0.30 nats)", True),
        (Interval(0.0, -0.1, 0.1), "alone is open (-0.10 to +0.10 nats)", False),
    ],
)
def test_whether_it_is_worth_more_than_the_histogram(facts, write, gain, words, bad):
    loss = facts.scores["log loss"]
    loss = loss._replace(gains=loss.gains | {"histogram": gain})
    lead = write(replace(facts, scores=facts.scores | {"log loss": loss})).partition("<h2>")[0]
    assert words in lead and ('class="bad"' in lead) is bad


def test_a_posterior_that_is_not_trusted_is_named(facts, write):
    # Another draw may doubt one of them.
    known = {k: own | {"trusted": True} for k, own in facts.summary.diagnostics.items()}
    name = next(iter(known))
    doubtful = known | {name: known[name] | {"trusted": False, "khat": 0.91}}
    sound, page = (
        write(replace(facts, summary=replace(facts.summary, diagnostics=each)))
        for each in (known, doubtful)
    )
    assert "not trusted" not in sound
    assert "Some posteriors are unreliable" in page
    verdicts = {row[0]: row[-1] for row in Elements(page).rows if row[-1].endswith("trusted")}
    assert verdicts == dict.fromkeys(known, "trusted") | {name: "not trusted"}


def test_pictures_show_what_stands_above_them(facts, monkeypatch):
    drawn = []

    def keep(probs, other, **settings):
        drawn.append((settings["title"], np.array(probs), np.array(other)))

    for name in ("transfer_curve", "label_shares", "weights", "parameter"):
        monkeypatch.setattr(plots, name, lambda *_, **__: None)
    monkeypatch.setattr(plots, "stated_classes", keep)
    monkeypatch.setattr(plots, "thresholds", keep)
    draw_pictures(facts)
    rows, labels = facts.scored
    assert labels.tolist() == TRUTH.tolist()
    raw, probs, logits = facts.raw[rows], facts.probs[rows], facts.texts.logits[rows]
    names = np.array(facts.calibrator.fit_.scale.decode(labels))
    expected = (
        ("labels", np.eye(5)[labels], logits),
        ("as stated", raw, logits),
        ("calibrated", probs, logits),
        ("as stated", raw, names),
        ("calibrated", probs, names),
    )
    for found, wanted in zip(drawn, expected, strict=True):
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(found[1], wanted[1])
        np.testing.assert_array_equal(found[2], wanted[2])


def test_the_verdict_comes_first_and_the_forecast_has_its_figure(facts, write):
    page = html.unescape(write(facts))
    lead, _, rest = page.partition("<h2>")
    verdict, faults = facts.summary.verdict.text, facts.summary.brief
    assert lead.index(verdict) < lead.index(faults) and verdict not in rest
    assert facts.summary.forecast.sentence.capitalize() in lead
    heads = re.findall("<h2>(.*?)</h2>", page)
    assert heads.index("Before and after") < heads.index("Would more labels pay?")


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
    expected = answers.find_bias(partial.fit_, {"system": SYSTEM})
    assert list(found.biases) == expected and found.biases
    assert found.to_dict()["biases"][0]["column"] == "system"
    words = " ".join(Elements(write(found)).words)
    assert f"S{str(found.biases[0])[1:]}" in words and "rated" in words
    more = gather(partial, replace(texts(), columns={"system": ["A", "B"] * 30}))
    assert not more.biases and "even after calibration" not in write(more)
    missing = gather(partial, replace(texts(rows[1:]), columns={"system": list(SYSTEM[rows[1:]])}))
    assert not missing.biases


def test_without_unseen_labels_there_are_no_scores(judge, write):
    seen = gather(judge, texts(range(20)))
    page = write(seen)
    assert (
        seen.scores == {}
        and "come from held-out folds" in page
        and "look better than it is" in page
    )


def test_a_file_knows_the_histogram_of_its_fit(judge, facts, write, tmp_path):
    judge.save(tmp_path / "judge.cordial")
    loaded = cp.load(tmp_path / "judge.cordial")
    found = gather(loaded, texts(range(len(LOGITS), len(EVERYTHING))))
    assert found.unseen.all()
    loss = found.scores["log loss"].gains["histogram"]
    assert loss == pytest.approx(facts.scores["log loss"].gains["histogram"], abs=1e-6)
    assert "label histogram alone" in write(found)


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
    page = write(rated)
    assert "text 6 and 13 like it" in page and ">rating</th>" in page


def test_of_ratings_there_is_no_log_loss_and_no_confidence(write):
    rng = np.random.default_rng(0)
    ratings = rng.integers(0, 5, 60)
    labels = np.clip(ratings + rng.integers(-2, 3, 60), 0, 4)
    hard = centred(np.log(np.eye(5)[ratings] + 0.5))
    names = [f"text {k}" for k in range(60)]
    stack = cp.LogitStack(STARS).fit(hard[:20], [STARS[z] for z in labels[:20]], texts=names[:20])
    rated = gather(stack, TaskTexts(names, hard, np.arange(60), labels, {}))
    loss, distance = rated.scores["log loss"], rated.scores["distance of median and label"]
    assert "raw" not in loss.means | loss.gains
    unseen = ratings[rated.unseen] - labels[rated.unseen]
    assert distance.means["raw"] == np.abs(unseen).mean()
    words = " ".join(Elements(write(rated)).words)
    assert "confident" not in words and "Each reading is one rating" in words
    nearer = distance.gains["raw"].mean > 0
    assert ("does not bring the median nearer" in words) is not nearer
    assert len(draw_pictures(rated)["thresholds"]) == 1


def test_options_in_words_are_numbered_as_means_are(facts, write):
    words = ["very poor", "poor", "fair", "good", "very good"]
    stack = cp.LogitStack(words).fit(LOGITS, LABELS)
    page = make_page(gather(stack, texts()), of="it")
    assert "options are counted from 0, 'very poor'" in page
    assert "0 very poor; 1 poor; 2 fair; 3 good; 4 very good" in page
    page = write(facts)
    assert "counted from 0" not in page and "<td>1, 2, 3, 4, 5</td>" in page


def test_texts_of_the_fit_are_known_by_name_alone(judge):
    copies = replace(texts(range(20)), items=[f"copy {k}" for k in range(len(EVERYTHING))])
    assert gather(judge, copies).unseen.all()
    nameless = cp.LogitStack().fit(LOGITS, LABELS)
    assert gather(nameless, texts(range(20))).unseen.all()
    read_anew = replace(texts(range(20)), logits=texts().logits[::-1].copy())
    assert not gather(judge, read_anew).unseen.any()


def test_the_page_stands_by_itself(facts):
    page = make_page(facts, of="<judge> & co")
    assert page == make_page(facts, of="<judge> & co")
    elements = Elements(page)
    assert not elements.open, "every element is closed"
    assert "<judge>" not in page and "&lt;judge&gt; &amp; co" in page
    tags = [tag for tag, _ in elements.found]
    assert tags.count("h1") == 1 and tags.count("h2") >= 6 and "script" not in tags
    dark = "@media screen and (prefers-color-scheme: dark)"
    assert dark in page.partition("</style>")[0]
    for tag, attributes in elements.found:
        if tag == "img":
            head, _, data = attributes["src"].partition("base64,")
            image = base64.b64decode(data).decode()
            assert head == "data:image/svg+xml;" and len(attributes["alt"]) > 20
            assert dark in image.partition("</style>")[0] and "fill: #333333" in image
        assert tag != "link" and not any(
            str(value).startswith(("http:", "https:", "//")) for value in attributes.values()
        )
    words = " ".join(elements.words)
    assert all(fault.words in words for fault in facts.summary.faults)
    assert all(name in page for name in facts.calibrator.settings.names[:7])
    assert "nan" not in re.findall(r"[a-z]+", words.lower())


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
    assert content["scores"]["log loss"]["calibrated"] > 0
    assert len(content["scores"]["log loss"]["gain"]["raw"]) == 3
    assert "What is wrong with the judge" in (tmp_path / "page.html").read_text("utf-8")


def test_the_command_looks_for_groups_in_the_other_columns(files, cordial, partial, tmp_path):
    partial.save(tmp_path / "judge.cordial")
    rows = [f"text {k},{STARS[z]},{SYSTEM[k]},{k}" for k, z in enumerate(LABELS)]
    (tmp_path / "labels.csv").write_text("\n".join(["item_id,label,system,note", *rows]))
    content = json.loads(cordial(*files, "page.html", "--json").stdout)
    assert content["biases"] and content["biases"] == [
        found._asdict() for found in answers.find_bias(partial.fit_, {"system": SYSTEM})
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": "page.pdf"}, ".html"),
        ({"labels": "item_id,label\nnobody,1"}, "nobody"),
        ({"labels": "item_id,label"}, "no rows"),
        ({"readings": "item_id,logit_1,logit_2\ntext 0,1,2"}, "options"),
    ],
)
def test_a_mistake_leaves_no_page(files, cordial, tmp_path, change, message):
    for name in ("labels", "readings"):
        if name in change:
            (tmp_path / f"{name}.csv").write_text(change[name])
    found = cordial(*files, change.get("output", "page.html"), status=2)
    assert message in found.output and not list(tmp_path.glob("page*"))
