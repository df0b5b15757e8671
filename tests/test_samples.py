"""Sampled scores and hard ratings, in lists and row by row; what is no sample."""

import pytest
from logs_of_reviews import read, table

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import find_format
from cordial_ppl.tables import write_table


def test_samples_in_tables(tmp_path):
    path = tmp_path / "s.parquet"
    write_table(path, {"item_id": [1, 2], "scores": [[4, 5, 4], [1, 1, 2]], "label": [4, 2]})
    found = read(path)
    assert table(found, "n").tolist() == [[0, 0, 0, 2, 1], [2, 1, 0, 0, 0]]
    assert found.labels == {"item_id": ["1", "2"], "label": ["4", "2"]}


def test_samples_in_lists_and_row_by_row(log):
    assert find_format(log({"item_id": 1, "output": ["4", "5"]})).name == "samples"
    found = read(log({"item_id": 1, "samples": [4, 4.0, "5", "Score: 4", None, 4.5]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 1]] and found.count("unread") == 2
    rows = [{"item_id": item, "rating": rating} for item, rating in (("a", 4), ("b", 1), ("a", 5))]
    assert table(read(log(*rows)), "n").tolist() == [[0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]
    with pytest.raises(
        InputError, match="line 2: expected `rating`, as in the rows before; found it"
    ):
        read(log(rows[0], {"item_id": "b", "tokens": 3}))
    with pytest.raises(InputError, match="expected a list `scores`.*found item_id, tokens"):
        read(log({"item_id": "b", "tokens": 3}), "samples")
    with pytest.raises(InputError, match="a text must occur once; '1' is in line 1 and in line 2"):
        read(log(*[{"item_id": 1, "scores": [4]}] * 2))
    with pytest.raises(InputError, match="line 1: `scores` must be numbers or texts"):
        read(log({"item_id": 1, "scores": [[4]]}))


@pytest.fixture
def sheet(tmp_path):
    def write(*lines):
        (tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "s.csv"

    return write


TEXTS = ("item_id,text,by", "a,I have 3 cats,u", "b,4 dogs,u")


def test_a_table_of_texts_is_not_a_judge_of_them(sheet, log):
    for path in (sheet(*TEXTS), log({"item_id": 1, "text": "I have 3 cats", "answer": "it is 2"})):
        with pytest.raises(FileError, match="is a table of texts, which nobody has read yet: `cor"):
            read(path)
    answers = TEXTS[0], "a,Score: 3,u", "b,4,u"
    assert table(read(sheet(*answers), "samples"), "n").argmax(axis=1).tolist() == [2, 3]


@pytest.mark.parametrize("order", [("score", "text"), ("text", "score")])
def test_digits_of_a_text_never_stand_in_for_an_empty_score(sheet, order):
    cells = [("4", "fine"), ("", "I bought 2 of them"), ("5", "x")]
    rows = [dict(zip(("score", "text"), cell, strict=True)) for cell in cells]
    lines = [f"{i},{row[order[0]]},{row[order[1]]}" for i, row in enumerate(rows)]
    found = read(sheet(f"item_id,{','.join(order)}", *lines))
    assert found.readings["item_id"] == ["0", "2"] and len(found.unread) == 1
    assert table(found, "n").argmax(axis=1).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("4", "4"), "4"), (("", "4"), "4"), (("4", ""), "4"), (("", "5"), "5")],
)
def test_labels_of_all_rows_of_a_text_count(sheet, labels, expected):
    found = read(
        sheet("item_id,rating,label", *(f"a,{k},{own}" for k, own in enumerate(labels, 3)))
    )
    assert table(found, "n").tolist() == [[0, 0, 1, 1, 0]]
    assert found.labels == {"item_id": ["a"], "label": [expected]}


@pytest.mark.parametrize("name", ["scores", "rating", "responses"])
def test_a_list_in_a_cell_is_a_list(sheet, log, name):
    for path in (
        sheet(f"item_id,{name}", 'a,"[4, 5, 4]"'), log({"item_id": "a", name: "[4, 5, 4]"})
    ):  # fmt: skip
        assert table(read(path), "n").tolist() == [[0, 0, 0, 2, 1]]


@pytest.mark.parametrize(
    ("name", "cell"),
    [("scores", "5;5;4"), ("rating", "5 5 4"), ("scores", "[4 5 4]"), ("score", "4|5")],
)
def test_a_list_that_is_written_otherwise_is_refused(sheet, name, cell):
    with pytest.raises(InputError, match=r"line 2: .* must be one answer or a list; .* as JSON"):
        read(sheet(f"item_id,{name}", f"a,{cell}"))
