"""The report: its figures are those of the judge, and it is one page that stands by itself."""

import copy
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TRUTH
from typer.testing import CliRunner

import cordial_ppl as cp
from cordial_ppl.cli.app import app
from cordial_ppl.cordial.fingerprints import find_unseen, fingerprints
from cordial_ppl.report import Texts, gather
from cordial_ppl.report.page import make_page

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
        self.open, self.found, self.words = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def facts(judge):
    return gather(judge, texts(range(len(EVERYTHING))))


def test_scores_are_of_texts_that_the_fit_has_not_seen(judge, facts):
    assert facts.unseen.tolist() == [False] * 20 + [True] * len(TEST)
    probs = judge.predict_proba(TEST)
    loss = facts.scores[0]
    assert loss.calibrated == pytest.approx(cp.scores.log_loss(probs, TRUTH))
    raw = np.exp(TEST) / np.exp(TEST).sum(axis=1, keepdims=True)
    assert loss.raw == pytest.approx(cp.scores.log_loss(raw, TRUTH))
    assert loss.gain.mean == pytest.approx(loss.raw - loss.calibrated)
    shares = (np.bincount(LABELS, minlength=5) + 1) / (len(LABELS) + 5)
    flat = np.tile(shares, (len(TRUTH), 1))
    assert loss.histogram == pytest.approx(cp.scores.log_loss(flat, TRUTH), abs=1e-6)
    assert facts.gain.mean == pytest.approx(loss.histogram - loss.calibrated)


def test_without_unseen_labels_there_are_no_scores(judge):
    own = gather(judge, texts(range(20)))
    assert own.scores == () and own.gain is None
    page = make_page(own, of="a judge")
    assert "is expected to be" in page and "which flatters the judge" in page


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
    assert "does not tell its label histogram" in page and "histogram alone" not in page


def test_texts_that_are_moved_most(judge, facts):
    probs = judge.predict_proba(EVERYTHING)
    raw = np.exp(EVERYTHING) / np.exp(EVERYTHING).sum(axis=1, keepdims=True)
    change = np.abs((probs - raw) @ judge.scale_.values)
    assert [own.item for own in facts.moved] == [f"text {k}" for k in np.argsort(-change)[:10]]
    assert all(own.low <= own.after <= own.high for own in facts.moved)


def test_fingerprints_know_texts_again_and_tell_copies_by_their_number():
    seen = fingerprints(centred(LOGITS), LABELS)
    again = centred(LOGITS.astype(np.float32).astype(float))
    assert not find_unseen(again, LABELS, seen).any()
    assert find_unseen(centred(LOGITS), (LABELS + 1) % 5, seen).sum() >= 19
    twice = np.vstack([LOGITS, LOGITS[:3]]), np.concatenate([LABELS, LABELS[:3]])
    assert find_unseen(centred(twice[0]), twice[1], seen).tolist() == [False] * 20 + [True] * 3


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
    for name in facts.judge.members[:7]:
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
