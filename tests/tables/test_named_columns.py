"""Columns that are named: of ratings, of ids, of anything, each is that and nothing else."""

import unicodedata
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from cordial_ppl.data.conversion import readings_from_ratings
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded
from cordial_ppl.tables import (
    open_readings,
    read_groups,
    read_labelled,
    read_labels,
    read_readings,
    read_several,
    write_table,
)

STARS = tuple("0123456")
LINES = "item_id,score,p_x,note", "a,0,.1,u", "b,6,.2,v", "c,,.3,w", "d,3,.4,x"


def test_a_column_of_ratings_is_the_readings(text):
    path = text("r.csv", *LINES)
    with pytest.warns(CordialWarning, match="1 of 4 texts"):
        table = read_readings(path, rating="Score ", options=STARS)
    expected = np.full((4, 7), np.nan)
    expected[[0, 1, 3]] = as_logits(readings_from_ratings([0, 6, 3], STARS))
    np.testing.assert_array_equal(table.logits, expected)
    assert table.kind == "rating" and table.item_ids == ["a", "b", "c", "d"] and table.gaps
    assert table.extras == {"p_x": [".1", ".2", ".3", ".4"], "note": ["u", "v", "w", "x"]}
    with pytest.warns(CordialWarning, match="1 of 4 texts"):
        stream = open_readings(path, rating="score", options=STARS)
    stream.check()
    parts = [part.logits for part in stream.batches(2)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize(
    ("lines", "chosen", "setting", "value"),
    [
        (LINES, {"rating": "score"}, "options", STARS),
        (LINES, {"rating": "scor"}, "rating", "score"),
        (("item_id,Score,text", "a,1,u", "b,3,v"), {}, "rating", "Score"),
        (("item_id,label,grade", "a,1,2", "b,3,2"), {}, "rating", "grade"),
        (("item_id,gpt,claude", "a,1,2", "b,3,4"), {"readers": None}, "readers", ("COLUMN", "...")),
        (
            ("item_id,gpt,claude", "a,1,2"),
            {"readers": ["gpt", "claud"]},
            "readers",
            ("gpt", "claude"),
        ),
        (
            ("item_id,gpt,claude", "a,1,2", "b,3,1"),
            {"readers": ["gpt", "claude"]},
            "options",
            ("1", "2", "3"),
        ),
        (("Text ID,p_1,p_2", "a,.5,.5"), {}, "id", "Text ID"),
        (("prompt,attempt,p_1,p_2", "a,1,.5,.5", "a,2,.5,.5"), {}, "id", "COLUMN"),
        (("item_id,gpt,text", "a,0,u", "b,6,v"), {"reader": "gpt"}, "rating", "gpt"),
        # A total, not an option: it would be the best one, and all means positions.
        (("item_id,n_1,n_2,n_total", "a,1,0,1"), {}, "options", ("WORST", "...", "BEST")),
        (("item_id,n_tokens,n_1,n_2", "a,9,0,1"), {}, "options", ("WORST", "...", "BEST")),
    ],
)
def test_what_is_proposed_fits_the_table(text, lines, chosen, setting, value):
    path = text("r.csv", *lines)
    with pytest.raises(SettingNeeded) as raised:
        read_several([path], **chosen) if "readers" in chosen else read_readings(path, **chosen)
    assert (raised.value.setting, raised.value.value) == (setting, value)


@pytest.mark.parametrize(
    "lines",
    [
        ("item_id,length", "a,1", "b,3"),
        ("item_id,score", "a,0.5", "b,0.7"),
        ("item_id,year", "a,2024", "b,2025"),
        ("item_id,gpt,text", "a,1,u", "b,3,v"),
        ("item_id,gpt score,claude score", "a,1,2", "b,3,4"),
        ("item_id,human score", "a,1", "b,3"),
        ("item_id,score", "a,0.33", "b,3"),
    ],
)
def test_nothing_is_proposed_that_may_be_wrong(text, lines):
    with pytest.raises(SettingNeeded, match="must have one group of columns") as raised:
        read_readings(text("r.csv", *lines))
    assert (raised.value.setting, raised.value.value) == ("rating", "COLUMN")


def test_calibrated_probabilities_and_their_labels_are_warned_of(text):
    path = text("c.csv", "item_id,p_1,p_2,mean,mean_low,mean_high,label_low", "a,.5,.5,1,1,2,1")
    with pytest.warns(CordialWarning, match="c.csv contains calibrated probabilities"):
        read_labelled(path, text("l.csv", "item_id,label", "a,1"))
    alone = text("o.csv", "item_id,p_1,p_2,label,label_low,label_high", "a,.5,.5,1,1,2")
    with pytest.raises(SettingNeeded, match="'label' contains predictions.*label='COLUMN'"):
        read_labelled(alone, alone)


def test_one_table_has_one_row_a_text(text):
    path = text("t.csv", "item_id,p_0,p_1,who,label", "a,.5,.5,ann,1", "a,.5,.5,bob,0", "b,.5,.5,,")
    with pytest.raises(SettingNeeded, match="must be unique.*Pass a table of labels as well"):
        read_labelled(path, path, annotator="who")
    labels = text("l.csv", "item_id,who,label", "a,ann,1", "a,bob,0")
    one = text("r.csv", "item_id,p_0,p_1", "a,.5,.5", "b,.5,.5")
    assert len(read_labelled(one, labels, annotator="who")[1].labels) == 2


def test_an_option_without_a_column_is_warned_of_once(text):
    for row in ("a,.5,.5", "a,1,"):
        path = text("r.csv", "item_id,p_1,p_2", row, "b,.4,.6")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read_readings(path, options=("1", "2", "3"))
        assert len(caught) == 1


def test_labels_of_users_without_a_reading_are_named_with_them(text):
    readings = text("r.csv", "item_id,user,p_1,p_2", "a,u,.5,.5", "a,v,.4,.6", "b,u,.2,.8")
    labels = text("l.csv", "item_id,user,label", "a,u,1", "b,v,2", "a,v,1")
    with pytest.warns(CordialWarning, match="for that user: 'b' of v "):
        read_labelled(readings, labels, per="user")


@pytest.mark.parametrize("columns", ["rating=gpt", "readers=gpt,bard"])
@pytest.mark.parametrize(
    ("label", "count", "warned"), [("gpt", 8, True), ("gpt", 7, False), ("ann", 8, False)]
)
def test_labels_that_are_a_copy_of_the_ratings_are_warned_of(text, columns, label, count, warned):
    rows = [f"t{i},{1 + i % 3},{1 + i % 2},{1 + max(i, 1) % 3}" for i in range(12)]
    table = "item_id,gpt,bard,ann", *rows
    readings, labels = text("r.csv", *table), text("l.csv", *table[: count + 1])
    setting, _, names = columns.partition("=")
    chosen: dict[str, Any] = {"options": ("1", "2", "3"), "label": [label]}
    if setting == "rating":
        chosen["rating"] = names
    else:
        chosen["read"] = lambda path, **more: read_several([path], readers=names.split(","), **more)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, _, found = read_labelled(readings, labels, **chosen)
    assert any("equal the ratings" in str(each.message) for each in caught) == warned
    assert len(found) == count


@pytest.mark.parametrize("name", ["task", "reader", "p_x", "weight"])
def test_a_column_of_groups_has_no_other_meaning(text, name):
    readings = text("r.csv", f"item_id,{name},n_1,n_2", "a,u,1,0", "b,v,0,1")
    labels = text("l.csv", f"item_id,{name},label", "a,u,1", "b,v,2")
    _, labelled, rows = read_labelled(readings, labels, apart=[name])
    assert rows.tolist() == [0, 1] and labelled.weights.tolist() == [1, 1]


def test_a_column_keeps_its_meaning_where_another_gets_its_name(text):
    path = text("r.csv", "uid,item_id,rating,score", "a,x,u,1", "b,x,u,2", "c,y,v,2")
    table = read_readings(path, id=["uid"], rating="score", options=("1", "2"), apart=("rating",))
    assert table.item_ids == ["a", "b", "c"] and table.logits.argmax(axis=1).tolist() == [0, 1, 1]
    assert read_groups(table.columns, "item_id") == ["x", "x", "y"]
    assert read_groups(table.columns, "rating") == ["u", "u", "v"]


def test_a_column_that_has_another_role_may_be_named_again(text):
    columns = open_readings(
        text("r.csv", "text,score", "a,1", "b,2"), id=["text"], rating="score", options=("1", "2")
    ).columns
    assert read_groups(columns, "score") == ["1", "2"] and read_groups(columns, "text") == [*"ab"]
    with pytest.raises(SettingNeeded, match="no column 'system'; found 'text', 'score'"):
        read_groups(columns, "system")


SIGNS = ("-", "\u2212", "\u2013", "\ufe63")


@pytest.mark.parametrize("minus", SIGNS, ids=ascii)
@pytest.mark.parametrize("other", SIGNS[:2], ids=ascii)
def test_a_minus_sign_is_one_however_it_is_written(text, minus, other):
    """In options, ratings, labels, columns' names, and numbers."""
    options = [f"{other}1", "0", "1"]
    labels = text("l.csv", "item_id,label", f"a,{minus}1", "b,1", "c,0")
    ratings = read_readings(text("r.csv", "item_id,rating", f"a,{minus}1", "b,1"), options=options)
    assert ratings.logits.argmax(axis=1).tolist() == [0, 2]
    assert read_labels(labels, ratings.scale).labels.tolist() == [0, 2, 1]
    columns = text("p.csv", f"item_id,logit_{minus}1,logit_0,logit_1", f"a,{minus}2,0,{minus}.5")
    plain = text("q.csv", "item_id,logit_-1,logit_0,logit_1", "a,-2,0,-.5")
    for chosen in ({}, {"options": options}):
        table = read_readings(columns, **chosen)
        np.testing.assert_array_equal(table.logits, read_readings(plain).logits)
        assert read_labels(labels, table.scale).labels.tolist() == [0, 2, 1]


@pytest.mark.parametrize("sign", ["", "-", "\u2212"], ids=ascii)
def test_thousands_are_refused(text, sign):
    """On a scale that reaches so far, "1,000" may be 1 or 1000; on others it has decimals."""
    wide = Scale(tuple(str(k) for k in range(-1000, 1001, 500)))
    labels = text("l.csv", "item_id,label", f'a,"{sign}1,000"')
    with pytest.raises(InputError, match="thousands"):
        read_labels(labels, wide, round="split")
    with pytest.raises(InputError, match="thousands"):
        Scale(("0", f"{sign}1,000"))
    with pytest.raises(InputError, match="thousands"):
        read_readings(text("n.csv", "item_id,logit_0,logit_1", f'a,"{sign}1,000",0'))
    assert read_labels(labels, Scale(("-1", "0", "1"))).labels.tolist() == [0 if sign else 2]


def test_averages_are_named(text):
    averages = text("r.csv", "item_id,rating", "a,1", "b,2.67")
    with pytest.raises(InputError, match="1 of 2 between .* for example 2.67 in line 3"):
        read_readings(averages, options=STARS)


def test_one_column_a_judge(text):
    path = text("r.csv", "item_id,gpt,claude,text", "a,1,1,u", "b,3,,v", "c,,NA,w")
    with pytest.warns(CordialWarning, match="no reading for 1 of 3 texts"):
        table = read_several([path], readers=["gpt", "claude"], options=("1", "2", "3"))
    assert table.readers == ("gpt", "claude") and table.extras == {"text": [*"uvw"]}
    rated = as_logits(readings_from_ratings([1, 3], ("1", "2", "3")))
    np.testing.assert_array_equal(table.logits[:2, 0], rated)
    np.testing.assert_array_equal(table.logits[0, 1], rated[0])
    assert np.isnan(table.logits[1, 1]).all() and np.isnan(table.logits[2]).all()


def test_a_column_that_is_named_is_no_task(text):
    readings = text("r.csv", "task,rating", "0,5", "1,4")
    labels = text("l.csv", "task,worker,label", "0,w1,5", "0,w2,4", "1,w1,4")
    _, labelled, rows = read_labelled(
        readings, labels, id=["task"], annotator="worker", options=tuple("12345")
    )
    assert rows.tolist() == [0, 0, 1] and labelled.annotators == ["w1", "w2", "w1"]
    several = text("s.csv", "item_id,task,reader,p_1,p_2", "a,x,u,.5,.5", "a,y,v,.5,.5")
    with pytest.raises(SettingNeeded, match="2 tasks"):
        read_readings(several)
    with pytest.raises(InputError, match="each item_id must be unique"):
        read_readings(several, apart=["task", "reader"])
    who = text("w.csv", "item_id,task,label", "a,x,1", "a,y,2")
    found = read_labels(who, read_readings(text("p.csv", "item_id,p_1,p_2", "a,.5,.5")).scale,
                        annotator="task")  # fmt: skip
    assert found.annotators == ["x", "y"]


def test_texts_of_one_task_each_need_no_task(text):
    path = text("r.csv", "item_id,task,p_1,p_2", "a,x,.5,.5", "b,y,.5,.5")
    assert read_readings(path).extras == {"task": ["x", "y"]}
    assert read_readings(path, task="y").item_ids == ["b"]


def test_swapped_tables_are_told(text):
    readings = text("r.csv", "item_id,p_0,p_1", "a,.5,.5", "b,.5,.5")
    labels = text("l.csv", "item_id,label", "a,1", "b,0")
    with pytest.raises(InputError, match="l.csv .* only labels"):
        read_labelled(labels, readings)
    rated = text("s.csv", "text,score", "a,1", "b,0")
    graded = text("g.csv", "text,grade", "a,1", "b,0")
    chosen: Any = {"id": ["text"], "rating": "score", "label": ["grade"], "options": ("0", "1")}
    with pytest.raises(InputError, match="s.csv has that column") as refused:
        read_labelled(graded, rated, **chosen)
    assert not isinstance(refused.value, SettingNeeded)
    with pytest.raises(InputError, match="'score' cannot contain both ratings and labels"):
        read_labelled(rated, rated, **chosen | {"label": ["score"]})
    with pytest.raises(SettingNeeded) as raised:
        read_labelled(rated, graded, **chosen | {"label": ()})
    assert (raised.value.setting, raised.value.value) == ("label", "grade")


@pytest.mark.parametrize("here", ["NFC", "NFD"])
def test_an_accent_may_be_a_character_of_its_own(text, here: Any):
    readings = text("r.csv", "item_id,p_0,p_1", "b,.5,.5", unicodedata.normalize(here, "é,.5,.5"))
    other: Any = {"NFC": "NFD", "NFD": "NFC"}[here]
    labels = text("l.csv", "item_id,label", unicodedata.normalize(other, "é,1"), "b,0")
    assert read_labelled(readings, labels)[2].tolist() == [1, 0]


def test_an_enum_of_a_parquet_file_is_the_scale(tmp_path):
    words = pl.Series(["poor", "good"], dtype=pl.Enum(["poor", "fair", "good"]))
    pl.DataFrame({"item_id": ["a", "b"], "rating": words}).write_parquet(tmp_path / "r.parquet")
    table = read_readings(tmp_path / "r.parquet")
    assert table.scale.options == ("poor", "fair", "good")
    assert table.logits.argmax(axis=1).tolist() == [0, 2]


def test_the_judge_or_the_task_of_a_reading_gives_no_label(tmp_path):
    cells = {"item_id": ["a", "a"], "task": ["t"] * 2, "reader": ["j", "k"], "label": ["1", "2"]}
    write_table(tmp_path / "l.csv", cells)
    with pytest.raises(SettingNeeded, match="annotator='COLUMN'"):
        read_labels(tmp_path / "l.csv", Scale.of(["1", "2"]))


def test_labels_that_rows_of_several_judges_repeat_count_once(text):
    lines = [f"{i},{judge},{i % 7},{i % 3 if i < 9 else ''}" for i in range(12) for judge in "jk"]
    path = text("r.csv", "item_id,judge,score,label", *lines)
    chosen: Any = {"rating": "score", "options": STARS}
    several = {"read": lambda path, **chosen: read_several([path], readers=["judge"], **chosen)}
    for how in ({"reader": "judge=k"}, several):
        _, labelled, rows = read_labelled(path, path, **how, **chosen)
        assert rows.tolist() == [*range(9)] and (labelled.weights == 1).all()
    rows = [f"{i},{judge},{i % 7},ann,{i % 3},label,{i + 1}" for i in range(12) for judge in "jk"]
    names = "item_id,judge,score,annotator,label,label_event,label_row"
    answers = text("answers.csv", names, *rows)
    assert len(read_labelled(answers, answers, reader="judge=k", **chosen)[1].labels) == 12
    with (
        pytest.warns(CordialWarning, match="skipped 6 of 24 rows"),
        pytest.raises(SettingNeeded, match="annotator='COLUMN'"),
    ):
        read_labels(path, Scale.of(STARS))


@pytest.mark.parametrize("zeros", ["0,0", "0.0,0", ",0", "0,"])
@pytest.mark.parametrize("kind", ["p", "n", "logit"])
def test_zeros_for_no_answer(text, kind, zeros):
    """Of counts and probabilities zeros alone are no reading; equal logits are one."""
    path = text("r.csv", f"item_id,{kind}_1,{kind}_2", "a,1,0", f"b,{zeros}", "c,0,1")
    unread = kind != "logit"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_readings(path)
        blank = np.isnan(table.logits).all(axis=1).tolist()
    assert blank == [False, unread, False]
    assert table.gaps == unread == any("1 of 3 texts" in str(each.message) for each in caught)


@pytest.mark.parametrize("options", [["1-5"], ["1 2 3"], ["1", "1"], ["only"]])
def test_wrong_options_are_not_the_tables_fault(text, options):
    path = text("r.csv", "item_id,rating", "a,1", "b,2")
    with pytest.raises(InputError) as raised:
        read_readings(path, options=options)
    assert "r.csv" not in str(raised.value) and options[0] in str(raised.value)


def test_a_misspelt_column_is_not_taken_for_another(tmp_path):
    cells = {"item_id": ["a", "b"], "verdict": ["FAIL", "PASS"], "score": ["1", "4"]}
    write_table(tmp_path / "r.csv", cells)
    with pytest.raises(SettingNeeded, match="rating='COLUMN'"):
        read_readings(tmp_path / "r.csv", rating="verdct", options=["FAIL", "PASS"])
    with pytest.raises(SettingNeeded, match="rating='score'"):
        read_readings(tmp_path / "r.csv", rating="scores", options=["1", "4"])
