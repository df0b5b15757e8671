"""Labels of annotation tools; arrays."""

import numpy as np
import pytest
from logs_of_reviews import LABELS, LABELS_ALONE, LOGS, read, table

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError


@pytest.mark.parametrize("name", LABELS_ALONE)
def test_labels_alone(name):
    found = read(LOGS / name, scale=None)
    assert not found.readings and not len(found)
    assert set(found.labels["task"]) == {"stars"}
    pairs = zip(found.labels["item_id"], found.labels["label"], strict=True)
    away = [abs(int(label) - int(LABELS[item])) for item, label in pairs]
    assert max(away) <= 1 and len(away) >= 3
    assert found.labels == read(LOGS / name).labels


def record(item, *values, name="stars", users=True):
    given = [
        {"value": v} | ({"user_id": f"user {i}"} if users else {}) for i, v in enumerate(values)
    ]
    return {"id": item, "fields": {}, "responses": {name: given}}


def test_labels_of_all_people_are_kept(log):
    found = read(log(record("a", "5", "1"), record("b", "2")), scale=None)
    people = ["user 0", "user 1", "user 0"]
    tables = {"item_id": ["a", "a", "b"], "task": ["stars"] * 3, "annotator": people}
    assert found.labels == {**tables, "label": ["5", "1", "2"]}
    one = read(log(record("a", 4)), scale=None)
    assert one.labels == {"item_id": ["a"], "task": ["stars"], "user": ["user 0"], "label": ["4"]}


def test_records_of_argilla_of_all_versions(log):
    first = [
        {"user_id": "u", "status": "submitted", "values": {"stars": {"value": 4}}},
        {"user_id": "v", "status": "discarded", "values": {"stars": {"value": 1}}},
    ]
    draft = {"stars.responses": ["2", "4"], "stars.responses.status": ["draft", "submitted"]}
    spans = record("a", 4)
    # What is no label of a whole text is passed over.
    spans["responses"]["spans"] = [{"value": ["x"]}]
    for row in ({"fields": {}, "id": "a", "responses": first}, {"id": "a", **draft}, spans):
        assert read(log(row)).labels["label"] == ["4"]
    with pytest.raises(InputError, match="line 1: a text needs a name; `id` is empty|no `id`"):
        read(log(record(None, "4")))


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "stars.responses": ["2", "5", "4"]},
        record("a", "2", "5", "4", users=False),
        {
            "id": "a",
            "fields": {},
            "responses": [{"values": {"stars": {"value": v}}} for v in "254"],
        },
    ],
)
def test_people_whom_the_export_does_not_name_are_people_all_the_same(log, row):
    found = read(log(row), scale=None)
    people = [f"person {number}" for number in (1, 2, 3)]
    assert found.labels["annotator"] == people and found.labels["label"] == ["2", "5", "4"]


def task(*values, **fields):
    results = [{"from_name": "stars", "value": value} for value in values]
    return {"id": 3, "data": {}, "annotations": [{"result": results, **fields}]}


def test_tasks_of_label_studio(log):
    by = {"completed_by": {"id": 1, "email": "a@b"}}
    found = read(log(task({"choices": ["4"]}, {"text": "fine"}, **by), name="e.json"))
    assert found.labels == {"item_id": ["3"], "task": ["stars"], "user": ["a@b"], "label": ["4"]}
    cancelled = task({"rating": 1}, was_cancelled=True)
    assert read(log(cancelled, task({"rating": 4}))).labels["label"] == ["4"]
    for row, message in (
        (
            task({"choices": ["1", "2"]}, **by),
            "a text must have one label by 'a@b'; '3' has '1' and '2'",
        ),
        (
            {"id": 1, "stars": 4, "annotation_id": 9},
            r"id \(1\), stars \(4\), annotation_id \(9\)",
        ),
    ):
        with pytest.raises(InputError, match=message):
            read(log(row))


@pytest.fixture
def arrays(tmp_path):
    def write(**columns):
        np.savez(tmp_path / "a.npz", **{name: np.array(cells) for name, cells in columns.items()})  # pyright: ignore
        return tmp_path / "a.npz"

    return write


def test_arrays_name_options_or_count_them(arrays):
    probs = np.array([[0.1, 0.9], [0.6, 0.4]])
    found = read(arrays(probs=probs, labels=[1, 0]), scale=None)
    assert found.options == ("0", "1") and found.labels["label"] == ["1", "0"]
    np.testing.assert_array_equal(table(found, "p"), probs)


@pytest.mark.parametrize("named", [{}, {"options": ["good", "fair", "bad"]}])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_position_is_that_of_the_column_whichever_end_is_the_best(arrays, named, reverse):
    path = arrays(probs=[[0.9, 0.08, 0.02], [0.02, 0.08, 0.9]], labels=[0, 2], **named)
    found = read(path, scale=Scale(("good", "fair", "bad")), reverse=reverse)
    order = ["good", "fair", "bad"][:: -1 if reverse else 1]
    assert list(found.readings) == ["item_id", *(f"p_{name}" for name in order)]
    assert found.labels["label"] == ["good", "bad"]
    np.testing.assert_array_equal(found.readings["p_good"], [0.9, 0.02])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0]}, "expected one of the arrays logits, logprobs, probs, counts; found x"),
        ({"logits": [0.0, 1.0]}, "must be numbers \\[n, K\\]; found float64 \\[2\\]"),
        ({"logits": [[0.0, 1.0]], "item_id": ["a", "b"]}, "`item_id` must have the shape \\[1\\]"),
        ({"probs": [[1.5, -0.5]]}, "row 0: the p of '0' must be 0..1; found 1.5"),
        ({"counts": [[5, -1]]}, "row 0: the n of '1' must be 0 or above; found -1"),
        ({"logits": [[0.0, np.nan]]}, "row 0: the logit of '1' must be a number; found nan"),
        ({"probs": [[{}, 1]]}, "must be an .npz file of numbers and texts"),
    ],
)
def test_arrays_that_are_no_readings(arrays, columns, message):
    with pytest.raises(InputError, match=message):
        read(arrays(**columns), scale=None)


def test_an_array_that_was_cut_off(arrays):
    path = arrays(probs=[[0.1, 0.9]])
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match="must be an .npz"):
        read(path)
