"""Tables of readings: every kind and choice, and every fault with its place in the file."""

import numpy as np
import pytest
from scipy.special import softmax

from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.readings import as_logits, readings_from_counts
from cordial_ppl.tables import (
    read_readings,
    write_table,
)

ENDINGS = ["csv", "parquet", "jsonl", "ndjson"]


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


def test_log_probabilities_and_probabilities_agree(text):
    p = text("p.csv", "item_id,p_1,p_2", "a,0.75,0.25", "b,0.5,0.5")
    log = text("l.csv", "item_id,logprob_1,logprob_2", f"a,{np.log(3)},0", "b,-1,-1")
    np.testing.assert_allclose(read_readings(p).logits, read_readings(log).logits, atol=1e-12)
    assert (read_readings(p).kind, read_readings(log).kind) == ("p", "logprob")


def test_counts_and_hard_ratings(text):
    counts = text("n.csv", "item_id,n_1,n_2,n_3", "a,0,1,0", "b,,,1")
    table = read_readings(counts)
    expected = as_logits(readings_from_counts([[0, 1, 0], [0, 0, 1]]))
    np.testing.assert_allclose(table.logits, expected)
    ratings = text("r.jsonl", '{"item_id": "a", "rating": 2}', '{"item_id": "b", "rating": "3"}')
    hard = read_readings(ratings, options=("1", "2", "3"))
    assert hard.kind == "rating"
    np.testing.assert_allclose(hard.logits, expected)


def test_hard_ratings_need_options(text):
    path = text("r.csv", "item_id,rating", "a,4", "b,2")
    with pytest.raises(InputError, match="found '2', '4'. Name the .*1','2','3'.*"):
        read_readings(path)
    with pytest.raises(InputError, match="r.csv: ratings must be .* 1..3; found .4. in line 2"):
        read_readings(path, options=("1", "2", "3"))


def test_empty_cells_are_missing_options(text):
    path = text("r.csv", "item_id,logit_1,logit_2,logit_3", "a,1,2,", "b,1,2,3")
    with pytest.warns(CordialWarning, match="1 option in 1 of 2 rows.*line 2, column 'logit_3'"):
        table = read_readings(path)
    np.testing.assert_allclose(table.logits[0] - table.logits[0, 0], [0, 1, 0])


def test_options_without_a_value_in_the_rows_chosen(text):
    path = text("r.csv", "item_id,reader,logit_1,logit_2", "a,x,1,", "a,y,1,2")
    with pytest.raises(InputError, match="r.csv.*found 'logit_1'; without a value.*'logit_2'"):
        read_readings(path, reader="x")


def test_nulls_are_missing_options(tmp_path):
    for ending in ("parquet", "jsonl"):
        path = tmp_path / f"r.{ending}"
        cells = {"item_id": ["a"], "logit_1": [1.0], "logit_2": [2.0], "logit_3": [None]}
        write_table(path, cells)
        with pytest.warns(CordialWarning, match="1 option in 1 of 1 rows"):
            assert read_readings(path).logits.shape == (1, 3)


def test_a_byte_order_mark_and_blank_lines(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b"\xef\xbb\xbfitem_id,logit_1,logit_2\r\n\r\na,1,2\r\n\r\nb,x,2\r\n")
    with pytest.raises(InputError, match="'x' in line 5"):
        read_readings(path)
    path.write_bytes(path.read_bytes().replace(b"x", b"0"))
    table = read_readings(path)
    assert (table.item_ids, table.rows, table.unit) == (["a", "b"], [3, 5], "line")


def test_a_cell_over_several_lines(text):
    path = text("r.csv", "item_id,note,logit_1,logit_2", 'a,"x\ny\nz",1,2', "b,,nan,2")
    with pytest.raises(InputError, match="found nan in line 5, column 'logit_1'"):
        read_readings(path)


def test_covariates(text):
    path = text("r.csv", "item_id,length,note,logit_1,logit_2", "a,3,x,1,2", "b,4.5,,1,2")
    table = read_readings(path)
    np.testing.assert_array_equal(table.covariate("length"), [3, 4.5])
    with pytest.raises(InputError, match="column 'note' must be numbers; found 'x' in line 2"):
        table.covariate("note")
    with pytest.raises(InputError, match="no column 'height'; besides .* 'length', 'note'"):
        table.covariate("height")


SEVERAL = {
    "item_id": ["x", "x", "x", "y"],
    "task": ["fluency", "fluency", "style", "style"],
    "reader": ["r1", "r2", "r1", "r1"],
    "p_1": [0.5, 0.25, 0.25, 0.5],
    "p_2": [0.5, 0.75, 0.25, 0.25],
    "p_3": [None, None, 0.5, 0.25],
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_of_several(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    write_table(path, SEVERAL)
    style = read_readings(path, task="style")
    assert (style.item_ids, style.scale.size) == (["x", "y"], 3)
    assert style.extras == {"task": ["style"] * 2, "reader": ["r1"] * 2}
    # Of a scale that other rows have more of, only the columns with something in them count.
    fluency = read_readings(path, task="fluency", reader="r2")
    np.testing.assert_allclose(fluency.logits, as_logits(np.log([[0.25, 0.75]])))
    with pytest.warns(CordialWarning):
        named = read_readings(path, task="fluency", reader="r2", options=("1", "2", "3"))
    assert named.scale.size == 3


def test_a_choice_is_asked_for(tmp_path):
    path = tmp_path / "r.csv"
    write_table(path, SEVERAL)
    with pytest.raises(
        InputError, match="2 tasks: 'fluency', 'style'. Choose one.* task='fluency'.$"
    ):
        read_readings(path)
    with pytest.raises(InputError, match="2 readers: 'r1', 'r2'. Choose one.* reader='r1'.$"):
        read_readings(path, task="fluency")
    with pytest.raises(InputError, match="no task 'taste'; found 'fluency', 'style'"):
        read_readings(path, task="taste")
    with pytest.raises(InputError, match="no reader 'r2'; found 'r1'"):
        read_readings(path, task="style", reader="r2")


def test_at_most_ten_names_are_shown(tmp_path):
    path = tmp_path / "r.csv"
    cells = columns_of(np.zeros((13, 2)), "ab")
    write_table(path, {**cells, "reader": [f"r{i}" for i in range(13)]})
    with pytest.raises(InputError, match="'r9' and 3 more"):
        read_readings(path)


def test_a_choice_needs_its_column(text):
    path = text("r.csv", "item_id,logit_1,logit_2", "a,1,2")
    with pytest.raises(InputError, match="no column 'reader'"):
        read_readings(path, reader="r1")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("r.csv", ["id,logit_1,logit_2", "a,1,2"], "no column 'item_id'; found 'id'"),
        ("r.csv", ["item_id,score", "a,1"], "one group.*found 'item_id', 'score'"),
        ("r.csv", ["item_id,p_1,p_2,n_1,n_2", "a,1,0,1,0"], "'p_1', 'p_2' and 'n_1', 'n_2'"),
        ("r.csv", ["item_id,logit_1,logit_2,rating", "a,1,0,1"], "'logit_2' and 'rating'"),
        ("r.csv", ["item_id,logit_1", "a,1"], "at least two options; found 'logit_1'"),
        ("r.csv", ["item_id,logit_1,logit_", "a,1,2"], "empty name"),
        ("r.csv", ["item_id,logit_1,logit_1", "a,1,2"], "'logit_1' occurs twice"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,2", "b,1"], "line 3 has 2 cells.*header has 3"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,2", "b,1,2,3"], "line 3 has 4 cells"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,2", "b,1,two"], "'logit_2'.*'two' in line 3"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,NA"], "'logit_2'.*'NA' in line 2"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,nan"], "nan in line 2, column 'logit_2'"),
        ("r.csv", ["item_id,logit_1,logit_2", "a,1,inf"], "inf in line 2, column 'logit_2'"),
        ("r.csv", ["item_id,logit_1,logit_2", "b,0,0", "a,-inf,"], "every option.* in line 3"),
        ("r.csv", ["item_id,p_1,p_2", "a,0.5,0.6"], "sum to 1.1 in line 2"),
        ("r.csv", ["item_id,p_1,p_2", "a,0.5,"], "line 2 has no value in column 'p_2'.*to 0.5"),
        ("r.csv", ["item_id,p_1,p_2", "a,1.5,-0.5"], "-0.5 in line 2, column 'p_2'"),
        ("r.csv", ["item_id,n_1,n_2", "a,1.5,2"], "1.5 in line 2, column 'n_1'"),
        ("r.csv", ["item_id,n_1,n_2", "a,0,"], "all counts are 0 or empty in line 2"),
        ("r.csv", ["item_id,logit_1,logit_2", ",1,2"], "needs an item_id.*line 2"),
        (
            "r.csv",
            ["item_id,logit_1,logit_2", "a,1,2", "b,1,2", "a,3,4"],
            "'a' is in lines 2 and 4",
        ),
        ("r.csv", ["item_id;logit_1;logit_2", "a;1;2"], "separated by commas"),
        ("r.csv", ["item_id;p_1;p_2", "a, b;0,5;0,5"], "separated by commas"),
        ("r.csv", ["item_id,p_1,p_3,p_2", "a,1,0,0"], r"'p_1', 'p_3', 'p_2' .*\('1','2','3'\)"),
        ("r.csv", ["item_id,logit_1,logit_2"], "no rows"),
        ("r.csv", ['item_id,logit_1,"logit_2', "a,1,2"], "not a CSV table"),
        (
            "r.jsonl",
            ['{"item_id": 1, "p_1": 0.5, "p_2": 0.5}', '{"item_id": 2, "p_1": 1.0}'],
            "'p_2' is missing in line 2",
        ),
        (
            "r.jsonl",
            ['{"item_id": 1, "p_1": 0.5, "p_2": 0.5}', '{"item_id": 2, "p_a": 0, "p_b": 1}'],
            "'p_1' is missing in line 2",
        ),
        ("r.jsonl", ['{"item_id": 1, "logit_1": NaN, "logit_2": 0}'], "nan in line 1"),
        ("r.jsonl", ['{"item_id": 1, "logit_1": [1], "logit_2": 0}'], "'logit_1'.* in line 1"),
        ("r.jsonl", ['{"item_id": 1, "logit_1": 0, "logit_2": {}}'], "'logit_2'.* in line 1"),
        ("r.jsonl", ['{"logit_1": 0, "logit_2": 1}'], "no column 'item_id'"),
    ],
)
def test_bad_readings(text, name, lines, message):
    path = text(name, *lines)
    with pytest.raises(InputError, match=message) as raised:
        read_readings(path)
    assert name in str(raised.value) or "options" in str(raised.value)


def test_rows_of_parquet_count_from_zero(tmp_path):
    path = tmp_path / "r.parquet"
    write_table(path, columns_of(np.array([[0, 1], [np.nan, 1]]), "ab"))
    with pytest.raises(InputError, match="nan in row 1, column 'logit_a'"):
        read_readings(path)


def test_columns_in_another_order_than_their_numbers(text):
    path = text("r.csv", "item_id,p_1,p_3,p_2", "a,0.2,0.5,0.3")
    table = read_readings(path, options=("1", "2", "3"))
    np.testing.assert_allclose(softmax(table.logits[0]), [0.2, 0.3, 0.5])
    falling = text("f.csv", "item_id,p_3,p_2,p_1", "a,0.2,0.5,0.3")
    assert read_readings(falling).scale.options == ("3", "2", "1")


def test_options_must_name_the_columns(text):
    path = text("r.csv", "item_id,logit_1,logit_2", "a,1,2")
    for options in [("1", "3"), ("1", "2", "3")]:
        with pytest.raises(InputError, match="the options are '1'.*the columns 'logit_1'"):
            read_readings(path, options=options)
