"""The report: its figures are those of the judge, and it is one page that stands by itself."""

import base64
import copy
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TRUTH
from typer.testing import CliRunner

import cordial_ppl as cp
from cordial_ppl import plots
from cordial_ppl.arrays import FLOOR
from cordial_ppl.cli.app import app
from cordial_ppl.cordial.fingerprints import find_unseen, fingerprints
from cordial_ppl.report import Texts, gather
from cordial_ppl.report.page import make_page
from cordial_ppl.report.pictures import draw_pictures
from cordial_ppl.scores import Interval, paired_bootstrap

EVERYTHING = np.vstack([LOGITS, TEST])
ALL_LABELS = np.concatenate([LABELS, TRUTH])


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


def texts(rows, items=None):
    names = items or [f"text {k}" for k in range(len(EVERYTHING))]
    return Texts(names, centred(EVERYTHING), np.asarray(rows), ALL_LABELS[rows], {})


class Elements(HTMLParser):
    """Elements that were opened and closed, with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.words, self.rows = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def facts(judge):
    return gather(judge, texts(range(len(EVERYTHING))))


def test_every_score_is_what_its_name_says(judge, facts):
    raw = np.exp(TEST) / np.exp(TEST).sum(axis=1, keepdims=True)
    probs, values = judge.predict_proba(TEST), judge.scale_.values
    flat = np.tile((np.bincount(LABELS, minlength=5) + 1) / (len(LABELS) + 5), (len(TEST), 1))
    steps = np.arange(4)
    measures = (
        lambda own: -np.log(np.maximum(own[np.arange(len(own)), TRUTH], FLOOR)),
        lambda own: np.sum((own.cumsum(1)[:, :4] - (TRUTH[:, None] <= steps)) ** 2, axis=1),
        lambda own: abs(own @ values - values[TRUTH]),
        lambda own: (own.argmax(1) != TRUTH).astype(float),
    )
    assert facts.unseen.tolist() == [False] * 20 + [True] * len(TEST)
    assert facts.gain.mean == pytest.approx(measures[0](flat).mean() - measures[0](probs).mean())
    assert len(facts.scores) == len(measures)
    for score, measure in zip(facts.scores, measures, strict=True):
        before, after = measure(raw), measure(probs)
        found = score.raw, score.histogram, score.calibrated
        expected = before.mean(), measure(flat).mean(), after.mean()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        gain = paired_bootstrap((before - after)[None], level=0.9)
        np.testing.assert_allclose(score.gain, gain, rtol=1e-4, atol=1e-6)


def test_the_page_says_the_facts_in_figures(facts):
    page = Elements(make_page(facts, of="it"))
    words, rows = " ".join(page.words), page.rows
    loss = facts.scores[0]
    assert f"its log loss is {loss.calibrated:.2f} nats a text instead of {loss.raw:.2f}" in words
    ends = f"{loss.gain.mean:.2f} nats, with a 90 % interval of {loss.gain.lower:+.2f} to "
    assert f"a gain of {ends}{loss.gain.upper:+.2f}." in words
    for score in facts.scores:
        mean, lower, upper = score.gain
        figures = [f"{own:.3f}" for own in (score.raw, score.histogram, score.calibrated)]
        gain = f"{mean:+.3f} ({lower:+.3f} to {upper:+.3f})"
        assert [*figures, gain] in [row[1:] for row in rows if row[0].startswith(score.name)]
    for fault in facts.summary.faults:
        (row,) = (row for row in rows if row[:2] == [fault.name, fault.words])
        low, high = map(float, row[3].split(" to "))
        assert (float(row[2]), low, high) == pytest.approx(
            (fault.median, fault.low, fault.high), rel=0.01, abs=0.001
        )
    for own in facts.moved:
        ends = f"{own.low:.3f} to {own.high:.3f}"
        assert [own.item, f"{own.before:.3f}", f"{own.after:.3f}", ends] in [r[:4] for r in rows]


@pytest.mark.parametrize(
    ("gain", "words", "bad"),
    [
        (Interval(0.2, 0.1, 0.3), "better than the label histogram alone (by +0.10", False),
        (Interval(-0.2, -0.3, -0.1), "alone predicts better (by 0.10 to 0.30 nats)", True),
        (Interval(0.0, -0.1, 0.1), "alone is open (-0.10 to +0.10 nats)", False),
    ],
)
def test_whether_it_is_worth_more_than_the_histogram(facts, gain, words, bad):
    page = make_page(replace(facts, gain=gain), of="it")
    lead = page.partition("<h2>")[0]
    assert words in lead and ('class="bad"' in lead) is bad


def test_a_posterior_that_is_not_trusted_is_named(facts):
    assert "not trusted" not in make_page(facts, of="it")
    known = facts.summary.diagnostics
    name = next(iter(known))
    doubtful = known | {name: known[name] | {"trusted": False, "khat": 0.91}}
    page = make_page(replace(facts, summary=replace(facts.summary, diagnostics=doubtful)), of="it")
    assert "Some posteriors are unreliable" in page
    verdicts = {row[0]: row[-1] for row in Elements(page).rows if row[-1].endswith("trusted")}
    assert verdicts == dict.fromkeys(known, "trusted") | {name: "not trusted"}


def test_pictures_show_what_stands_above_them(facts, monkeypatch):
    drawn = []

    def keep(probs, other, **settings):
        drawn.append((settings["title"], np.array(probs), np.array(other)))

    monkeypatch.setattr(plots, "stated_classes", keep)
    monkeypatch.setattr(plots, "thresholds", keep)
    draw_pictures(facts)
    rows, labels = facts.scored
    assert labels.tolist() == TRUTH.tolist()
    raw, probs = facts.raw[rows], facts.probs[rows]
    names = np.array(facts.calibrator.scale_.decode(labels))
    logits = facts.texts.logits[rows]
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


def test_pictures_and_page_have_a_dark_side(facts):
    page = make_page(facts, of="it")
    dark = "@media screen and (prefers-color-scheme: dark)"
    assert dark in page.partition("</style>")[0]
    for tag, attributes in Elements(page).found:
        if tag == "img":
            image = base64.b64decode(attributes["src"].partition("base64,")[2]).decode()
            assert dark in image.partition("</style>")[0] and "fill: #333333" in image


def test_without_unseen_labels_there_are_no_scores(judge):
    own = gather(judge, texts(range(20)))
    assert own.scores == () and own.gain is None
    page = make_page(own, of="a judge")
    assert "is expected to be" in page and "look better than it is" in page


def test_only_unseen_labels_have_the_histogram_of_the_fit(judge, facts, tmp_path):
    judge.save(tmp_path / "judge.cordial")
    rows = range(len(LOGITS), len(EVERYTHING))
    own = gather(cp.load(tmp_path / "judge.cordial"), texts(rows))
    assert own.unseen.all() and own.gain == pytest.approx(facts.gain, abs=1e-6)
    assert own.scores[0].histogram == facts.scores[0].histogram
    assert "label histogram alone" in make_page(own, of="a judge")


def test_a_file_without_label_counts_says_so(judge, facts):
    old = copy.copy(judge)
    old.label_counts_ = np.zeros(0, np.int64)
    own = gather(old, texts(range(len(EVERYTHING))))
    assert own.gain is None and {score.histogram for score in own.scores} == {None}
    page = make_page(own, of="a judge")
    assert "does not hold its label histogram" in page and "histogram alone" not in page


def test_texts_that_are_moved_most(judge, facts):
    probs = judge.predict_proba(EVERYTHING)
    raw = np.exp(EVERYTHING) / np.exp(EVERYTHING).sum(axis=1, keepdims=True)
    change = np.abs((probs - raw) @ judge.scale_.values)
    assert [own.item for own in facts.moved] == [f"text {k}" for k in np.argsort(-change)[:10]]
    assert {own.others for own in facts.moved} == {0}
    assert all(own.low <= own.after <= own.high for own in facts.moved)


def test_texts_with_one_reading_are_listed_once(judge):
    ratings = np.repeat([0, 2, 4], [5, 1, 14])
    hard = centred(np.log(np.eye(5)[ratings] + 0.5))
    names = [f"text {k}" for k in range(20)]
    own = gather(judge, Texts(names, hard, np.arange(20), ratings, {}, "rating"))
    assert {(text.item, text.others) for text in own.moved} == {
        ("text 0", 4), ("text 5", 0), ("text 6", 13)
    }  # fmt: skip
    page = make_page(own, of="it")
    assert "text 6 and 13 like it" in page and "counts of ratings" in page


def test_options_in_words_are_numbered_as_means_are(judge):
    words = ["very poor", "poor", "fair", "good", "very good"]
    stack = cp.LogitStack(words).fit(LOGITS, LABELS)
    page = make_page(gather(stack, texts(range(len(EVERYTHING)))), of="it")
    assert "options are counted from 0, 'very poor'" in page
    assert "0 very poor; 1 poor; 2 fair; 3 good; 4 very good" in page
    assert "counted from 0" not in make_page(gather(judge, texts(range(20))), of="it")


def test_fingerprints_know_texts_again_and_tell_copies_by_their_number():
    seen = fingerprints(centred(LOGITS), LABELS)
    again = centred(LOGITS.astype(np.float32).astype(float))
    assert not find_unseen(again, LABELS, seen).any()
    assert find_unseen(centred(LOGITS), (LABELS + 1) % 5, seen).sum() >= 19
    twice = np.vstack([LOGITS, LOGITS[:3]]), np.concatenate([LABELS, LABELS[:3]])
    assert find_unseen(centred(twice[0]), twice[1], seen).tolist() == [False] * 20 + [True] * 3


@pytest.mark.parametrize("size", [2, 5, 11, 101])
@pytest.mark.parametrize("decimals", [3, 4, None])
def test_rounded_texts_are_no_strangers(size, decimals):
    rng = np.random.default_rng(size)
    count = 2000 if size < 100 else 200
    logits, labels = rng.normal(0, 6, (count, size)), rng.integers(0, size, count)
    # Most options of some texts are floored at one value.
    logits[::7, 1:] = logits[::7, :1] - 9.21
    seen = fingerprints(centred(logits), labels)
    rounded = logits.astype(np.float32) if decimals is None else logits.round(decimals)
    assert not find_unseen(centred(rounded.astype(float)), labels, seen).any()
    if size > 2:
        others = rng.normal(0, 6, (count, size))
        assert find_unseen(centred(others), labels, seen).all()
        assert find_unseen(centred(logits + 0.05 * others), labels, seen).all()


def test_fingerprints_of_the_first_files_still_count():
    # Of [0.4, 0.1, -0.5] with label 1 and [-1, 0, 1] with label 2, as they were written.
    seen = np.array([5020415334911611821, 1053710345086542847])
    logits = np.array([[0.4, 0.1, -0.5], [-1.0, 0.0, 1.0]])
    assert not find_unseen(logits, np.array([1, 2]), seen).any()
    assert find_unseen(logits, np.array([1, 1]), seen).tolist() == [False, True]


def test_the_page_stands_by_itself(facts):
    page = make_page(facts, of="<judge> & co")
    elements = Elements(page)
    assert not elements.open, "every element is closed"
    assert "<judge>" not in page and "&lt;judge&gt; &amp; co" in page
    tags = [tag for tag, _ in elements.found]
    assert tags.count("h1") == 1 and tags.count("h2") >= 6 and "script" not in tags
    for tag, attributes in elements.found:
        if tag == "img":
            assert attributes["src"].startswith("data:image/svg+xml;base64,")
            assert len(attributes["alt"]) > 20
        assert tag != "link" and not any(
            str(value).startswith(("http:", "https:", "//")) for value in attributes.values()
        )
    words = " ".join(elements.words)
    for fault in facts.summary.faults:
        assert fault.words in words
    for name in facts.calibrator.members[:7]:
        assert name in page
    assert "nan" not in re.findall(r"[a-z]+", words.lower())


def test_the_same_facts_make_the_same_page(facts):
    assert make_page(facts, of="it") == make_page(facts, of="it")


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def files(tmp_path, judge):
    judge.save(tmp_path / "judge.cordial")
    header = "item_id," + ",".join(f"logit_{star}" for star in STARS)
    rows = [f"t{k}," + ",".join(map(str, row)) for k, row in enumerate(EVERYTHING.tolist())]
    (tmp_path / "readings.csv").write_text("\n".join([header, *rows]))
    labels = [f"t{k},{STARS[z]}" for k, z in enumerate(ALL_LABELS)]
    (tmp_path / "labels.csv").write_text("\n".join(["item_id,label", *labels]))
    return tmp_path


def test_the_command_writes_the_page(files):
    names = files / "judge.cordial", files / "readings.csv", files / "labels.csv"
    found = run("report", *names, "-o", files / "page.html", "--json")
    assert found.exit_code == 0, found.output
    content = json.loads(found.stdout)
    assert content["labelled"] == len(ALL_LABELS) and content["held_out"] == len(TEST)
    assert content["scores"]["log loss"]["calibrated"] > 0
    assert "What is wrong with the reader" in (files / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": "page.pdf"}, ".html"),
        ({"labels": "item_id,label\nnobody,1"}, "nobody"),
        ({"labels": "item_id,label"}, "no rows"),
        ({"readings": "item_id,logit_1,logit_2\nt0,1,2"}, "options"),
    ],
)
def test_a_mistake_leaves_no_page(files, change, message):
    for name in ("labels", "readings"):
        if name in change:
            (files / f"{name}.csv").write_text(change[name])
    names = files / "judge.cordial", files / "readings.csv", files / "labels.csv"
    found = run("report", *names, "-o", files / change.get("output", "page.html"))
    assert found.exit_code == 2 and message in found.output
    assert not list(files.glob("page*"))
