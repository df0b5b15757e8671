"""Sampled scores and hard ratings, in lists and row by row; what is no sample."""

import pytest
from logs_of_reviews import read, table

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs import find_format
from cordial_ppl.tables import write_table


@pytest.fixture
def sheet(tmp_path):
    def write(*lines):
        (tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "s.csv"

    return write


def counts(path, form="auto"):
    return table(read(path, form), "n").tolist()


def test_samples_in_lists_and_row_by_row(log, tmp_path):
    path = tmp_path / "s.parquet"
    write_table(path, {"item_id": [1, 2], "scores": [[4, 5, 4], [1, 1, 2]], "label": [4, 2]})
    assert counts(path) == [[0, 0, 0, 2, 1], [2, 1, 0, 0, 0]]
    assert read(path).labels == {"item_id": ["1", "2"], "label": ["4", "2"]}
    assert find_format(log({"item_id": 1, "output": ["4", "5"]})).name == "samples"
    found = read(log({"item_id": 1, "samples": [4, 4.0, "5", "Score: 4", None, 4.5]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 1]] and found.count("unread") == 2
    rows = [{"item_id": item, "rating": rating} for item, rating in (("a", 4), ("b", 1), ("a", 5))]
    assert counts(log(*rows)) == [[0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"tokens": 3}],
            "its rows have no `scores` or `samples` .* others; they have item_id .1., tokens",
        ),
        ([{"scores": [[4]]}], "line 1: `scores` must be one answer or a list of answers"),
        ([{"scores": ["bad", "good"]}], "the first says 'bad', 'good'"),
        ([{"scores": "5;5;4"}], "none of its 1 answers names an option.*; the first says '5;5;4'"),
        ([{"rating": "5 5 4"}], "none of its 1 answers names an option"),
        ([{"scores": "[4 5 4]"}], "none of its 1 answers names an option"),
        ([{"score": "4|5"}], "none of its 1 answers names an option"),
        (
            [{"score": {"a": 4, "b": "x"}}],
            "`score` is an object with 'a', 'b': .*score.a.*score.\\*",
        ),
    ],
)
def test_rows_that_are_no_samples(log, rows, message):
    with pytest.raises(InputError, match=message):
        read(log(*({"item_id": 1, **row} for row in rows)), "samples")


def test_rows_without_a_sample_are_told_and_rows_of_one_text_counted(log):
    found = read(log({"item_id": 1, "rating": 4}, {"item_id": 2, "tokens": 3}))
    assert table(found, "n").tolist() == [[0, 0, 0, 1, 0]]
    assert found.failed == ["line 2 (no `rating`)"]
    found = read(log(*[{"item_id": 1, "scores": [4]}] * 2))
    assert table(found, "n").tolist() == [[0, 0, 0, 2, 0]] and found.pooled == 1


def test_a_table_of_texts_is_not_a_judge_of_them(sheet, log):
    texts = sheet("item_id,text,by", "a,I have 3 cats,u", "b,4 dogs,u")
    for path in (texts, log({"item_id": 1, "text": "I have 3 cats", "answer": "it is 2"})):
        with pytest.raises(FileError, match="Texts that nobody has judged yet go to `cordial ask`"):
            read(path)
    answers = sheet("item_id,text,by", "a,Score: 3,u", "b,4,u")
    assert counts(answers, "samples") == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]


@pytest.mark.parametrize("order", [("score", "text"), ("text", "score")])
def test_digits_of_a_text_never_stand_in_for_an_empty_score(sheet, order):
    rows = [{"score": "4", "text": "fine"}, {"score": "", "text": "2 of them"}]
    lines = [f"{i},{row[order[0]]},{row[order[1]]}" for i, row in enumerate(rows)]
    found = read(sheet(f"item_id,{','.join(order)}", *lines))
    assert found.readings["item_id"] == ["0"] and found.failed == ["line 3 (no `score`)"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("4", "4"), "4"), (("", "4"), "4"), (("4", ""), "4"), (("", "5"), "5")],
)
def test_labels_of_all_rows_of_a_text_count(sheet, labels, expected):
    rows = [f"a,{k},{label}" for k, label in enumerate(labels, 3)]
    path = sheet("item_id,rating,label", *rows)
    assert counts(path) == [[0, 0, 1, 1, 0]]
    assert read(path).labels == {"item_id": ["a"], "label": [expected]}


@pytest.mark.parametrize("name", ["scores", "rating", "responses"])
def test_a_list_in_a_cell_is_a_list(sheet, log, name):
    in_json = log({"item_id": "a", name: "[4, 5, 4]"})
    for path in (sheet(f"item_id,{name}", 'a,"[4, 5, 4]"'), in_json):
        assert counts(path) == [[0, 0, 0, 2, 1]]
