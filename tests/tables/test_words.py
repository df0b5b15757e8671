"""Words of texts are found by id, in the table of readings or beside it."""

import json

import pytest

from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.tables import read_words


def test_words_are_as_they_were_written(text):
    rows = [
        {"item_id": "a", "text": "  two\n\nlines, \u200fעברית "},
        {"item_id": 2, "text": 7},
        {"item_id": "cafe\u0301", "text": "<script>"},
        {"item_id": "d", "text": [{"role": "user", "content": "hé"}]},
    ]
    texts = text("t.jsonl", *(json.dumps({**row, "text": json.dumps(row["text"])}) for row in rows))
    plain = text("p.jsonl", *map(json.dumps, rows[:1]))
    assert read_words(plain, ["a"], "text") == [rows[0]["text"]]
    wanted = ["caf\u00e9", "2", "a"]
    assert read_words(texts, wanted, "Text") == [json.dumps(rows[k]["text"]) for k in (2, 1, 0)]


def test_a_text_may_have_a_row_for_each_judge(text):
    log = text("l.csv", "q,reader,text", "a,x,one", "a,y,one", "b,x,two")
    assert read_words(log, ["b", "a"], "text", ["q"]) == ["two", "one"]
    other = text("o.csv", "item_id,text", "a,one", "a,uno")
    with pytest.raises(InputError, match=r"'a' has a second text in line 3"):
        read_words(other, ["a"], "text")


def test_texts_without_words_are_named(text):
    short = text("s.csv", "item_id,answer", "a,one", "b,")
    with pytest.raises(InputError, match=r"no text for 2 ids: 'b', 'c'"):
        read_words(short, ["a", "b", "c"], "answer")
    with pytest.raises(SettingNeeded, match="'text'.*text='answer'"):
        read_words(short, ["a"], "text")
