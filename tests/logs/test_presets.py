"""Each preset on rows of its tool's shape: known, read, read alike by fields, calibrated."""

import csv
import json
import shlex
from pathlib import Path

import judgments
import numpy as np
import pytest
from judgments import RATINGS
from logs_of_reviews import DUMMY, LABELS, LOGS, REVIEWER, table

import cordial_ppl as cp
from cordial_ppl.errors import FileError, InputError

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"

pytestmark = pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")


@pytest.mark.parametrize(("make", "form"), judgments.FILES.items())
def test_a_tools_rows_are_read_as_their_fields_are(tmp_path, make, form):
    file = make()
    path = file.write(tmp_path)
    named = cp.read(path, options=file.options, **file.naming)
    assert (named.form, len(named), named.table[0]) == ("fields", 12, file.kind)
    assert named.readings["item_id"] == file.items and "pooled" not in named.notes
    values = table(named)
    options = np.arange(1, 6) if file.kind == "n" else np.array([1, 5])
    if file.kind == "n" and make is not judgments.g_eval:
        np.testing.assert_array_equal(values.argmax(axis=1), np.array(RATINGS) - 1)
        assert ((values > 0).sum(axis=1) == 1).all()
    assert np.corrcoef(values @ options / values.sum(axis=1), RATINGS)[0, 1] > 0.95
    if form is None:
        with pytest.raises(FileError, match="--answer"):
            cp.read(path, options=file.options)
        return
    read = cp.read(path, options=file.options, **file.choice)
    assert read.form == form and read.readings["item_id"] == file.items
    np.testing.assert_array_equal(table(read), values)
    assert (read.labels["label"] == [str(rating) for rating in RATINGS]) == file.labels


BY_HAND = {
    "G-Eval": judgments.g_eval, "AlpacaEval |": judgments.alpaca_eval, "Ragas": judgments.ragas,
    "HELM": judgments.helm, "BiGGen-Bench": judgments.biggen,
    "LangSmith feed": judgments.langsmith, "LangSmith exp": judgments.langsmith_table,
}  # fmt: skip


@pytest.mark.parametrize(("start", "make"), BY_HAND.items())
def test_the_options_on_the_page_read_a_tools_file(cordial, tmp_path, start, make):
    rows = [line.replace("\\|", "|") for line in PAGE.read_text().splitlines()]
    (row,) = [line for line in rows if line.startswith(f"| {start}")]
    file = make()
    scale = [] if "--options" in row else ["--options", file.options]
    options = shlex.split(row.split("`")[-2])
    cordial("read", file.write(tmp_path), "-o", "r.csv", "-q", *options, *scale)
    with open("r.csv", newline="") as table:
        assert [line["item_id"] for line in csv.DictReader(table)] == file.items


def test_lm_eval_scores_every_choice_and_generates():
    read = cp.read(DUMMY, label="doc.stars", item="doc.id")
    assert read.options == ("1", "2", "3", "4", "5") and read.table[0] == "logprob"
    assert dict(zip(read.labels["item_id"], read.labels["label"], strict=True)) == LABELS
    assert len(read) == 20 and read.readings["doc.product"][0] == "kettle"
    # "3" may be the choice called 3 or the fourth one.
    assert not cp.read(DUMMY).labels["label"]
    read = cp.read(REVIEWER, task="strict", options=read.options)
    assert len(read) == 20 and table(read).sum(axis=1).tolist() == [3] * 20
    assert read.labels["label"] == list(LABELS.values())


def test_scores_of_options_that_another_field_names(log):
    asked, scores = [["Q", f" {one}"] for one in ("bad", "fair", "good")], [-2.0, -0.3, -3.0]
    resps = {"resps": [[-2.0]], "filtered_resps": [[score, False] for score in scores]}
    read = cp.read(log({"doc": {"q": 1}, "doc_id": 1, "arguments": asked, **resps, "target": 1}))
    assert read.options == ("bad", "fair", "good") and not read.labels["label"]
    np.testing.assert_allclose(table(read)[0], scores)
    by_hand = log({"id": 1, "levels": ["bad", "fair", "good"], "scores": scores})
    read = cp.read(by_hand, item="id", answer="{options: levels, scores: scores}")
    assert read.table[0] == "logprob" and read.options == ("bad", "fair", "good")


def test_labels_of_annotation_tools():
    read = cp.read(LOGS / "argilla.json")
    assert len(read.labels["label"]) == 15 and len(set(read.labels["annotator"])) == 3
    read = cp.read(
        LOGS / "label_studio.json", rows=["annotations[?was_cancelled != `true`]", "result"],
        item="outer.outer.data.item_id || outer.outer.id", options="1,2,3,4,5",
        label="value.choices[0] || value.rating", annotator="outer.completed_by",
    )  # fmt: skip
    assert len(read.labels["label"]) == 19 and not read.readings
    flat = cp.read(
        LOGS / "argilla_flat.json",
        item="id", label="stars.responses", annotator="stars.responses.users",
    )  # fmt: skip
    assert (
        flat.labels["label"][:4] == ["5", "5", "4", "1"] and len(set(flat.labels["annotator"])) == 3
    )


def test_people_of_judges_traces_give_labels(log):
    def score(value, source, **more):
        return {"name": "tone", "value": value, "source": source, **more}

    rows = [
        {"id": f"a{i}", "feedback_scores": [
            score(1 + i % 5, "online_scoring"), score(5 - i % 5, "ui", created_by="ann")]}
        for i in range(10)
    ]  # fmt: skip
    read = cp.read(log(*rows), options="1,2,3,4,5")
    assert read.form == "opik" and table(read).argmax(axis=1).tolist() == [i % 5 for i in range(10)]
    assert read.labels["label"] == [str(5 - i % 5) for i in range(10)]
    assert set(read.labels["user"]) == {"ann"} and set(read.readings["task"]) == {"tone"}
    traces = [
        {"trace_id": f"t{i}", "assessments": [
            {"assessment_name": "tone", "feedback": {"value": 4},
             "source": {"source_type": "LLM_JUDGE", "source_id": "m"}},
            {"assessment_name": "tone", "feedback": {"value": 2},
             "source": {"source_type": "HUMAN", "source_id": "bo"}}]}
        for i in range(3)
    ]  # fmt: skip
    read = cp.read(log(*traces), options="1,2,3,4,5")
    assert read.form == "mlflow" and table(read).argmax(axis=1).tolist() == [3] * 3
    assert read.labels["label"] == ["2"] * 3 and set(read.labels["user"]) == {"bo"}


def test_logs_of_inspect(tmp_path, monkeypatch):
    """Without its package what to install is said; with it the samples are rows."""
    import sys
    import types

    def sample(i, epoch):
        message = {"role": "assistant", "content": f"Score: {1 + i % 5}"}
        return {"id": f"s{i}", "epoch": epoch, "target": str(1 + i % 5),
                "scores": {"grader": {"value": 4}},
                "output": {"choices": [{"message": message, "stop_reason": "stop"}]}}  # fmt: skip

    content = {"eval": {"task": "stars", "model": "mock/m"}, "plan": {},
               "samples": [sample(i, e) for i in range(5) for e in (1, 2)]}  # fmt: skip
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r"cordial-ppl\[inspect\]"):
        cp.read(path, options="1,2,3,4,5")
    dumped = types.SimpleNamespace(model_dump=lambda mode: content)
    module = types.SimpleNamespace(read_eval_log=lambda path, resolve_attachments: dumped)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    for name in ("log.json", "log.eval"):
        (tmp_path / name).write_text(path.read_text())
        read = cp.read(tmp_path / name, options="1,2,3,4,5")
        np.testing.assert_array_equal(table(read), 2 * np.eye(5))
        assert set(read.readings["reader"]) == {"mock/m"} and read.labels["label"] == list("12345")
    graded = cp.read(path, form="inspect", answer="scores.grader.value", options="1,2,3,4,5")
    assert table(graded)[:, 3].tolist() == [2] * 5


def test_a_log_that_inspect_wrote():
    pytest.importorskip("inspect_ai")
    read = cp.read(LOGS / "inspect.eval", options="1,2,3,4,5")
    assert len(read) == 20 and read.table[0] == "logprob"


@pytest.mark.parametrize("empty", ["", None])
def test_sampled_and_hard_ratings(log, tmp_path, empty):
    rows = [{"item_id": 1, "scores": [4, 5.0, "Score: 4", None, 4.5]}]
    rows += [{"item_id": 2, "scores": [1]}]
    read = cp.read(log(*rows), options="1,2,3,4,5")
    assert read.form == "samples" and table(read).tolist() == [[0, 0, 0, 2, 1], [1, 0, 0, 0, 0]]
    assert ["unread" in one.doubts for one in read.values] == [True, False]
    rows = [{"item_id": "a", "rating": rating, "text": "2 cats"} for rating in (4, 5, empty)]
    read = cp.read(log(*rows), options="1,2,3,4,5")
    # Digits of a text never stand in for an empty rating.
    assert table(read).tolist() == [[0, 0, 0, 1, 1]] and "unread" in read.values[0].doubts
    people = [{"item_id": "a", "annotator": who, "rating": r} for who, r in (("x", 4), ("y", 5))]
    read = cp.read(log(*people), options="1,2,3,4,5")
    assert not read.readings and read.labels["annotator"] == ["x", "y"]


def test_a_table_of_texts_is_no_log(log):
    for row in ({"item_id": 1, "text": "I have 3 cats"}, {"a": 1, "b": 2}):
        with pytest.raises(FileError, match="cordial ask"):
            cp.read(log(row))
    with pytest.raises(FileError, match="calibrate"):
        cp.read(log({"item_id": "a", "p_1": 0.4, "p_2": 0.6}))
    with pytest.raises(InputError, match="prometheus"):
        cp.read(log({"item_id": 1}), form="promtheus")
