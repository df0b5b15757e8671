"""`cordial agree` measures what Python does: labels in rows or columns, with a judge or none."""

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

import cordial_ppl as cp
from cordial_ppl.evaluation import synthetic
from cordial_ppl.tables import write_table

pytestmark = pytest.mark.usefixtures("few_resamples")
SCALE = ("--options", "1,2,3,4,5")
WORDS = [f"Review <b>{k}</b>,\nof the second kind" for k in range(TEXTS)]


@pytest.fixture
def tables(tmp_path):
    """Readings and labels by three people, the third of whom labels every other text."""
    readings, labels = write_tables(tmp_path, text=WORDS)
    truth = synthetic.reviews(TEXTS, seed=3).labels[:LABELLED]
    rng = np.random.default_rng(0)
    votes = np.clip(truth[:, None] + rng.integers(-1, 2, (LABELLED, 3)), 0, 4)
    votes[::2, 2] = -1
    rows, people = np.nonzero(votes >= 0)
    cells = {"item_id": [f"text {row}" for row in rows], "label": votes[rows, people] + 1}
    cells |= {
        "annotator": [f"w{k}" for k in people],
        "conversation": [f"c{row // 4}" for row in rows],
    }
    write_table(labels, cells)
    return readings, labels, votes


def test_people_and_the_judge_before_and_after(cordial, as_json, tables):
    readings, labels, votes = tables
    made = as_json("agree", labels, readings)
    expected = cp.agreement(votes, 5)
    for of in ("people", "at most"):
        for name, interval in expected.values[of].items():
            assert made["values"][of][name] == pytest.approx(interval._asdict(), nan_ok=True)
    logits = synthetic.reviews(TEXTS, seed=3).logits[:LABELLED]
    stated = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    judge = cp.agreement(votes, 5, predictions={"judge": stated}).values["judge"]
    means = {name: each["mean"] for name, each in made["values"]["judge"].items()}
    assert means == pytest.approx({name: each.mean for name, each in judge.items()})
    assert [*made["gains"]] == ["judge minus people", "calibrated minus judge"]
    assert made["texts"] == LABELLED and made["several"] == LABELLED
    first = made["apart"][0]
    row = int(first["item_id"].removeprefix("text "))
    assert first["labels"] == {f"w{k}": str(v + 1) for k, v in enumerate(votes[row]) if v >= 0}
    shown = cordial("agree", labels, readings, "--text", "text").stdout
    assert f"Review <b>{row}</b>," in shown and "calibrated" in shown


def test_people_alone_in_rows_or_in_columns(as_json, tables, tmp_path):
    """By conversation, too; a table of words has the same ids."""
    _, labels, votes = tables
    wide = {"item_id": [f"text {row}" for row in range(LABELLED)]}
    wide |= {f"label_w{k}": ["" if v < 0 else str(v + 1) for v in votes[:, k]] for k in range(3)}
    write_table(tmp_path / "wide.csv", wide)
    write_table(tmp_path / "words.jsonl", {"id": wide["item_id"], "answer": WORDS[:LABELLED]})
    one = as_json("agree", labels, *SCALE)
    assert as_json("agree", "wide.csv", *SCALE) == one
    write_table(tmp_path / "filled.csv", {**wide, "label": [""] * LABELLED})
    assert as_json("agree", "filled.csv", *SCALE) == one
    grouped = as_json("agree", labels, *SCALE, "--cluster", "conversation")
    assert grouped["clusters"] == 5 and grouped["values"].keys() == {"people", "at most"}
    words = "--texts", "words.jsonl", "--text", "answer", "--id", "item_id", "--id", "id"
    for each in as_json("agree", labels, *SCALE, *words)["apart"]:
        assert each["text"] == WORDS[int(each["item_id"].removeprefix("text "))]


def test_weights_are_ignored_with_a_warning(cordial, tables):
    """Only weights that differ are worth it."""
    _, labels, _ = tables
    cells = read(labels)
    for few, warned in ((0.5, True), (1, False)):
        write_table(labels, cells | {"weight": [few, *[1] * (len(cells["label"]) - 1)]})
        told = cordial("agree", labels, *SCALE, "--format", "markdown")
        for shown in (told.stdout, told.stderr):
            assert shown.count("warning: ") == shown.count("ignores column 'weight'") == warned


def test_one_label_a_text(as_json, cordial, refused, tmp_path):
    """Nobody to agree with but the judge."""
    readings, labels = write_tables(tmp_path)
    refused("l.csv|two people|READINGS", "agree", labels, *SCALE)
    made = as_json("agree", labels, readings)
    assert [*made["values"]] == ["judge", "calibrated"]
    assert [*made["gains"]] == ["calibrated minus judge"]
    assert made["apart"] == [] and "differ most" not in cordial("agree", labels, readings).stdout


def test_a_key_of_a_config_file_may_be_called_like_the_command(as_json, tables, tmp_path):
    """In a file for several commands, `agree` is an option of `cordial decide`."""
    (tmp_path / "all.toml").write_text("agree = 0.9\nlevel = 0.8\noptions = [1, 2, 3, 4, 5]")
    made = as_json("agree", tables[1], "--config", "all.toml")
    del made["config"]
    assert made == as_json("agree", tables[1], *SCALE, "--level", 0.8)


def test_what_is_wrong_is_said(cordial, refused, tables, tmp_path):
    readings, labels, _ = tables
    refused("l.csv: labels alone do not show|--options 1,2,3,4,5", "agree", labels)
    write_table(tmp_path / "m.csv", {"item_id": [*"abc"], "a": ["1", "NA", "5"], "b": [*"245"]})
    refused("m.csv|found '1', '2', '4', '5'.|1,2,3,4,5", "agree", "m.csv", "--label", "a,b")
    assert "agree LABELS [READINGS]" in cordial("agree", "-h").stdout
    refused("l.csv|'team'|--cluster", "agree", labels, *SCALE, "--cluster", "team")
    refused("r.csv|'wrods'|--text", "agree", labels, readings, "--text", "wrods")
    write_table(tmp_path / "w.csv", {"item_id": ["text 0", "other"], "text": ["a", "b"]})
    refused("w.csv|has no text for", "agree", labels, *SCALE, "--text", "text", "--texts", "w.csv")
    write_table(tmp_path / "half.csv", {"item_id": ["a", "b"], "label": ["3.5", "3"]})
    refused("l.csv|labels|judge's readings", "agree", labels, labels)
    merged = "agree", labels, *SCALE, "--annotators"
    refused("agree|--annotators each", *merged, "median")
    refused("agree|--annotators each", *merged, "mean", readings)
    split = "--round", "split"
    refused("--round split|half-up", "agree", "half.csv", *SCALE, *split)
