"""Labels of annotation tools; arrays."""

import numpy as np
import pytest
from logs_of_reviews import LABELS, LABELS_ALONE, gather, read, table

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.scale import Scale, SettingNeeded


@pytest.mark.parametrize("name", LABELS_ALONE)
def test_labels_alone(name):
    found = gather(name, scale=None)
    assert not found.readings and not len(found)
    assert set(found.labels["task"]) == {"stars"}
    close = [abs(int(label) - int(LABELS[item])) for item, label in zip(
        found.labels["item_id"], found.labels["label"], strict=True
    )]  # fmt: skip
    assert max(close) <= 1 and len(close) >= 3
    assert found.labels == gather(name).labels


def responses(*values, name="stars"):
    return {name: [{"value": v, "user_id": f"user {i}"} for i, v in enumerate(values)]}


def record(item, found):
    return {"id": item, "fields": {}, "responses": found}


def test_the_median_of_people_who_differ(log):
    rows = [record("a", responses("5", "1", "4")), record("b", responses("5", "2"))]
    assert read(log(*rows)).labels["label"] == ["4", "2"]
    words = record("a", responses("poor", "good", "fair"))
    with pytest.raises(SettingNeeded, match="people differ \\(poor, good, fair\\)"):
        read(log(words), scale=None)
    scale = Scale(("poor", "fair", "good"))
    assert read(log(words), scale=scale).labels["label"] == ["fair"]
    one = read(log(record("a", responses(4))), scale=None)
    assert one.labels == {"item_id": ["a"], "task": ["stars"], "user": ["user 0"], "label": ["4"]}


def test_records_of_argilla_of_all_versions(log):
    first = [
        {"user_id": "u", "status": "submitted", "values": {"stars": {"value": 4}}},
        {"user_id": "v", "status": "discarded", "values": {"stars": {"value": 1}}},
    ]
    draft = {"stars.responses": ["2", "4"], "stars.responses.status": ["draft", "submitted"]}
    for row in (record("a", first), {"id": "a", **draft}):
        assert read(log(row)).labels["label"] == ["4"]
    # What is no label of a whole text is passed over.
    assert read(log(record("a", responses("4") | responses(["x"], name="spans")))).labels[
        "task"
    ] == ["stars"]
    with pytest.raises(InputError, match="line 1: expected an `id`"):
        read(log(record(None, responses("4"))))


NAMELESS = {
    "flat": {"id": "a", "stars.responses": ["2", "5", "4"]},
    "nested": record("a", {"stars": [{"value": v} for v in ("2", "5", "4")]}),
    "first": record("a", [{"values": {"stars": {"value": v}}} for v in ("2", "5", "4")]),
}


@pytest.mark.parametrize("form", NAMELESS)
def test_people_whom_the_export_does_not_name_are_people_all_the_same(log, form):
    found = read(log(NAMELESS[form]), scale=None)
    assert found.labels == {"item_id": ["a"], "task": ["stars"], "label": ["4"]}


def test_tasks_of_label_studio(log):
    def task(*values, **fields):
        results = [{"from_name": "stars", "value": value} for value in values]
        return {"id": 3, "data": {}, "annotations": [{"result": results, **fields}]}

    by = {"completed_by": {"id": 1, "email": "a@b"}}
    found = read(log(task({"choices": ["4"]}, {"text": "fine"}, **by), name="e.json"))
    assert found.labels == {"item_id": ["3"], "task": ["stars"], "user": ["a@b"], "label": ["4"]}
    cancelled = task({"rating": 1}, was_cancelled=True)
    assert read(log(cancelled, task({"rating": 4}))).labels["label"] == ["4"]
    with pytest.raises(
        InputError, match="line 1: a label must be one choice; found \\['1', '2'\\]"
    ):
        read(log(task({"choices": ["1", "2"]})))
    with pytest.raises(InputError, match="Export as JSON, not as JSON-MIN"):
        read(log({"id": 1, "stars": 4, "annotation_id": 9}))


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    probs = np.array([[0.1, 0.9], [0.6, 0.4]])
    np.savez(path, probs=probs, labels=np.array([1, 0]))
    found = read(path, scale=None)
    assert found.options == ("0", "1") and found.labels["label"] == ["1", "0"]
    np.testing.assert_array_equal(table(found, "p"), probs)
    backwards = read(path, scale=Scale(("good", "bad")), reverse=True)
    assert list(backwards.readings) == ["item_id", "p_bad", "p_good"]
    np.testing.assert_array_equal(backwards.readings["p_good"], probs[:, 0])
    # Positions count the options as they were given, as the columns do.
    assert backwards.labels["label"] == ["bad", "good"]
    whole = path.read_bytes()
    np.savez(path, probs=np.array([[{}, 1]], object))
    with pytest.raises(FileError, match="must be an .npz of numbers and texts"):
        read(path)
    path.write_bytes(whole[:100])
    with pytest.raises(FileError, match="must be an .npz"):
        read(path)


@pytest.mark.parametrize("options", [None, ["good", "fair", "bad"]])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_position_is_that_of_the_column_whichever_end_is_the_best(tmp_path, options, reverse):
    named = {} if options is None else {"options": np.array(options)}
    probs = np.array([[0.9, 0.08, 0.02], [0.02, 0.08, 0.9]])
    np.savez(tmp_path / "a.npz", probs=probs, labels=np.array([0, 2]), **named)  # pyright: ignore
    found = read(tmp_path / "a.npz", scale=Scale(("good", "fair", "bad")), reverse=reverse)
    assert found.labels["label"] == ["good", "bad"]
    np.testing.assert_array_equal(found.readings["p_good"], [0.9, 0.02])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [1.0]}, "expected one array of logits, logprobs, probs, counts; found x"),
        ({"logits": [0.0, 1.0]}, "must be numbers \\[n, K\\]; found float64 \\[2\\]"),
        ({"logits": [[0.0, 1.0]], "item_id": ["a", "b"]}, "`item_id` must have the shape \\[1\\]"),
        ({"probs": [[1.5, -0.5]]}, "probabilities must be 0..1; found -0.5 in row 0"),
        ({"counts": [[0.5, 1.0]]}, "counts must be whole numbers from 0 up; found 0.5 in row 0"),
        ({"logits": [[0.0, np.nan]]}, "row 0: the logit of '1' must be a number; found nan"),
    ],
)
def test_arrays_that_are_no_readings(tmp_path, arrays, message):
    path = tmp_path / "a.npz"
    np.savez(path, **{name: np.array(cells) for name, cells in arrays.items()})  # pyright: ignore
    with pytest.raises(InputError, match=message):
        read(path, scale=None)
