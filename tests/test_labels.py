"""Tables of labels: on the scale, each for a reading, or turned away with its line."""

import numpy as np
import pandas as pd
import pytest

from cordial_ppl.errors import InputError
from cordial_ppl.scale import Scale
from cordial_ppl.tables import (
    match_labels,
    read_labels,
    read_readings,
    write_table,
)

ENDINGS = ["csv", "parquet", "jsonl", "ndjson"]
SCALE = Scale(("1", "2", "3"))


@pytest.fixture
def text(tmp_path):
    """Write lines to a file of a given name."""

    def write(name, *lines):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


def columns_of(values, options):
    ids = [f"text {i}" for i in range(len(values))]
    cells = {f"logit_{option}": values[:, k] for k, option in enumerate(options)}
    return {"item_id": ids, **cells}


@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_meet_their_readings(tmp_path, ending):
    readings, labels = tmp_path / "r.parquet", tmp_path / f"l.{ending}"
    write_table(readings, columns_of(np.zeros((4, 3)), SCALE.options))
    cells = {"item_id": ["text 3", "text 0"], "label": [1, 3], "user": ["u", "v"]}
    write_table(labels, cells)
    table = read_labels(labels, SCALE)
    np.testing.assert_array_equal(table.labels, [0, 2])
    assert table.extras == {"user": ["u", "v"]}
    np.testing.assert_array_equal(match_labels(read_readings(readings), table), [3, 0])


def test_labels_for_unknown_items(text):
    readings = read_readings(text("r.csv", "item_id,logit_1,logit_2,logit_3", "a,1,2,3"))
    path = text("l.csv", "item_id,label", "a,1", *(f"{c},2" for c in "bcdefgh"))
    with pytest.raises(InputError, match=r"7 of 8 .*'b' \(line 3\).*'f' \(line 7\) and 2 more"):
        match_labels(readings, read_labels(path, SCALE))


def test_labels_of_one_task(text):
    path = text("l.csv", "item_id,task,label", "a,x,1", "a,y,2", "b,y,3")
    np.testing.assert_array_equal(read_labels(path, SCALE, task="y").labels, [1, 2])
    with pytest.raises(InputError, match="2 tasks: 'x', 'y'. Choose one"):
        read_labels(path, SCALE)
    with pytest.raises(InputError, match="no task 'z'"):
        read_labels(path, SCALE, task="z")
    plain = text("p.csv", "item_id,label", "a,1")
    assert read_labels(plain, SCALE, task="y").item_ids == ["a"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["item_id,label", "a,1", "b,"], "line 3 has no value in column 'label'.*remove"),
        (["item_id,label", "a,1", "b,nan"], "line 3 has no value in column 'label'.*remove"),
        (["item_id,label", "a,1", "b,4"], "whole numbers 1..3; found '4' in line 3"),
        (["item_id,label", "a,1", "b,0"], "whole numbers 1..3; found '0' in line 3"),
        (["item_id,label", "a,1", "b,1.5"], "found '1.5' in line 3"),
        (["item_id,label", "a,1", "b,good"], "found 'good' in line 3"),
        (["item_id,label", "a,1", "a,2"], "'a' is in lines 2 and 3"),
        (["item_id,label"], "no rows"),
        (["item_id,rating", "a,1"], "no column 'label'; found 'item_id', 'rating'"),
        (["id,label", "a,1"], "no column 'item_id'"),
    ],
)
def test_bad_labels(text, lines, message):
    with pytest.raises(InputError, match=f"l.csv.*{message}"):
        read_labels(text("l.csv", *lines), SCALE)


def test_data_frames_of_pandas_are_read(tmp_path):
    path = tmp_path / "l.parquet"
    frame = pd.DataFrame({"item_id": [7, 8], "label": pd.Categorical(["good", "bad"])})
    frame.to_parquet(path)
    table = read_labels(path, Scale(("bad", "good")))
    assert table.item_ids == ["7", "8"]
    np.testing.assert_array_equal(table.labels, [1, 0])


def test_spaces_around_names_are_not_part_of_them(text):
    readings = read_readings(text("r.csv", "item_id, logit_1, logit_2, logit_3", "a, 1, 2, 3"))
    labels = read_labels(text("l.csv", "item_id , label", " a , 2 "), readings.scale)
    np.testing.assert_array_equal(match_labels(readings, labels), [0])
    np.testing.assert_array_equal(labels.labels, [1])


def test_numbers_that_are_written_otherwise(text):
    readings = read_readings(text("r.csv", "item_id,logit_1,logit_2,logit_3", "1,1,2,3"))
    labels = read_labels(text("l.csv", "item_id,label", "x,1", "1.0,2"), SCALE)
    with pytest.raises(InputError, match="2 of 2.*The readings write '1.0' as '1': write both"):
        match_labels(readings, labels)
