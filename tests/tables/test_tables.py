"""Tables of readings and labels: every kind, and every choice that a file leaves open."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from cordial_ppl.data.conversion import readings_from_counts
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded
from cordial_ppl.tables import (
    match_labels,
    read_columns,
    read_labelled,
    read_labels,
    read_readings,
    read_several,
    reading_table,
    write_table,
)
from cordial_ppl.tables.choices import join_parts

ENDINGS = ["csv", "parquet", "jsonl", "ndjson"]
SCALE = Scale(("1", "2", "3"))


def test_every_kind_of_reading(text):
    p = text("p.csv", "item_id,p_1,p_2", "a,0.75,0.25", "b,0.5,0.5")
    log = text("l.csv", "item_id,logprob_1,logprob_2", f"a,{np.log(3)},0", "b,-1e0,-1")
    np.testing.assert_allclose(read_readings(p).logits, read_readings(log).logits, atol=1e-12)
    assert (read_readings(p).kind, read_readings(log).kind) == ("p", "logprob")
    counts = text("n.csv", "item_id,n_1,n_2,n_3", "a,0,1,0", "b,,,1")
    expected = as_logits(readings_from_counts([[0, 1, 0], [0, 0, 1]]))
    np.testing.assert_allclose(read_readings(counts).logits, expected)
    ratings = text("r.jsonl", '{"item_id": "a", "rating": 2}', '{"item_id": "b", "rating": "3"}')
    hard = read_readings(ratings, options=("1", "2", "3"))
    assert hard.kind == "rating"
    np.testing.assert_allclose(hard.logits, expected)


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_cells_are_missing_options(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    cells = {"item_id": ["a", "b"], "logit_1": [1.0, 1.0], "logit_2": [2.0, 2.0]}
    write_table(path, cells | {"logit_3": [None, 3.0]})
    first = {"csv": "line 2", "parquet": "row 0"}.get(ending, "line 1")
    with pytest.warns(CordialWarning, match=f"1 missing.* 1 of 2 rows.*{first}, column 'logit_3'"):
        table = read_readings(path)
    np.testing.assert_allclose(table.logits[0] - table.logits[0, 0], [0, 1, 0])


def test_ids_are_text_as_it_stands(text):
    path = text("r.csv", " item_id ,logit_1, logit_2", "007,1,2", " 7 ,1,2", "1.0,1,2", "1,1,2")
    assert read_readings(path).item_ids == ["007", "7", "1.0", "1"]
    ids = "7.0", '"07"', "123456789012345678901"
    path = text("r.jsonl", *(f'{{"item_id": {i}, "logit_1": 1, "logit_2": 2}}' for i in ids))
    assert read_readings(path).item_ids == ["7.0", "07", "123456789012345678901"]


def test_a_byte_order_mark_and_cells_over_several_lines(tmp_path):
    path = tmp_path / "r.csv"
    rows = b'\r\na,"x\r\ny",1,2\r\n\r\nb,,x,2\r\n'
    path.write_bytes(b"\xef\xbb\xbfitem_id,note,logit_1,logit_2\r\n" + rows)
    with pytest.raises(InputError, match="'x' in line 6"):
        read_readings(path)
    path.write_bytes(path.read_bytes().replace(b",x,", b",0,"))
    table = read_readings(path)
    assert (table.item_ids, table.extras) == (["a", "b"], {"note": ["x\r\ny", ""]})
    np.testing.assert_array_equal(table.covariates(["logit_2"])["logit_2"], [2, 2])
    for name, message in (
        ("note", "column 'note' must contain only numbers; found .* in line 3"),
        ("height", "r.csv has no column 'height'; found 'item_id', 'note'"),
    ):
        with pytest.raises(InputError, match=message):
            table.covariates([name])
    # The limit of the standard library is 2**17 characters.
    path.write_text(f"item_id,note,logit_1,logit_2\na,{'x' * 2**18},1,2\n")
    assert len(read_readings(path).extras["note"][0]) == 2**18


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
    # Where other tasks have more options, only the columns with something in them count.
    fluency = read_readings(path, task="fluency", reader="r2")
    np.testing.assert_allclose(fluency.logits, as_logits(np.log([[0.25, 0.75]])))
    named = read_readings(path, task="fluency", reader="r2", options=("1", "2", "3"))
    assert named.scale.size == 3


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"reader": "r1"}, "2 tasks: 'fluency', 'style'. Choose one.* task='fluency'.$"),
        ({"task": "fluency"}, "2 judges: 'r1', 'r2'. Choose one.* reader='r1'.$"),
        ({"task": "taste"}, "no task 'taste'; found 'fluency', 'style'"),
        ({"task": "style", "reader": "r2"}, "no judge 'r2'; found 'r1'"),
        ({"task": "fluency", "reader": "r3"}, "no judge 'r3'; found 'r1', 'r2'"),
    ],
)
def test_a_choice_is_asked_for(tmp_path, chosen, message):
    write_table(tmp_path / "r.csv", SEVERAL)
    with pytest.raises(InputError, match=message):
        read_readings(tmp_path / "r.csv", **chosen)


@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_meet_their_readings(tmp_path, ending):
    readings, labels = tmp_path / "r.parquet", tmp_path / f"l.{ending}"
    cells = {f"logit_{option}": np.zeros(4) for option in SCALE.options}
    write_table(readings, {"item_id": [f"text {i}" for i in range(4)], **cells})
    cells = {"item_id": ["text 3", "text 0"], "label": [1, 3], "user": ["u", "v"]}
    write_table(labels, cells)
    table = read_labels(labels, SCALE)
    np.testing.assert_array_equal(table.labels, [0, 2])
    assert table.extras == {"user": ["u", "v"]}
    np.testing.assert_array_equal(match_labels(read_readings(readings), table)[1], [3, 0])


def test_tasks_of_readings_and_labels_are_compared(text):
    lines = "item_id,task,p_1,p_2", "a,tone,.2,.8", "b,tone,.6,.4"
    tone = text("tone.csv", *lines)
    other = text("l.csv", "item_id,task,label", "a,style,1", "b,style,2")
    with pytest.raises(InputError, match="'tone'.*'style'"):
        read_labelled(tone, other)
    both = text("both.csv", *lines, "c,style,.5,.5", "d,style,.1,.9")
    some = text("some.csv", "item_id,task,label", "a,tone,1", "d,style,2")
    with pytest.warns(CordialWarning, match="2 tasks.*'tone'.*'style'.*--task NAME"):
        read_labelled(both, some)
    table, _, rows = read_labelled(both, some, task="tone")
    assert len(table) == 2 and rows.tolist() == [0]
    half = text("half.csv", "item_id,task,label", "a,tone,1", "b,style,2")
    for readings in (tone, both):
        with pytest.raises(SettingNeeded, match="task 'tone' for 'b'.*'style' .line 3") as raised:
            read_labelled(readings, half)
        assert (raised.value.setting, raised.value.value) == ("task", "tone")
    assert read_labelled(tone, half, task="tone")[2].tolist() == [0]
    blank = text("blank.csv", lines[0], "a,,.2,.8", "b,tone,.6,.4")
    with pytest.warns(CordialWarning, match="2 tasks"):
        assert read_labelled(blank, text("t.csv", "item_id,task,label", "a,tone,1"))[2] == [0]


def test_labels_of_one_task(text):
    path = text("l.csv", "item_id,task,label", "a,x,1", "a,y,2", " b , y , 3 ")
    np.testing.assert_array_equal(read_labels(path, SCALE, task="y").labels, [1, 2])
    assert read_labels(path, SCALE, task="y").item_ids == ["a", "b"]
    plain = text("p.csv", "item_id,label", "a,1")
    assert read_labels(plain, SCALE, task="y").item_ids == ["a"]


CELLS = st.tuples(st.integers(1, 3), st.floats(0.1, 3), st.sampled_from("xyz"))


@settings(max_examples=settings().max_examples // 3)
@given(
    st.lists(CELLS, min_size=2, max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from([",", ";", "\t"]),
)
def test_the_order_of_rows_and_other_columns_change_nothing(tmp_path_factory, cells, random, mark):
    """Also which character separates cells."""
    table = {
        "item_id": [f"t{i // 2}" for i in range(len(cells))],
        "annotator": [str(i % 2) for i in range(len(cells))],
        "label": [str(k) for k, *_ in cells],
        "weight": [repr(w) for _, w, _ in cells],
    }
    path = tmp_path_factory.mktemp("order") / "l.csv"

    def labels(columns, rows, mark=","):
        lines = [columns, *([columns[name][row] for name in columns] for row in rows)]
        path.write_text("".join(mark.join(line) + "\n" for line in lines))
        found = read_labels(path, SCALE)
        parts = found.item_ids, found.annotators or (), found.labels.tolist(), found.weights
        return sorted(zip(*parts, strict=True))

    expected = labels(table, range(len(cells)))
    other = list((table | {"note": [note for *_, note in cells]}).items())
    rows = list(range(len(cells)))
    random.shuffle(other)
    random.shuffle(rows)
    assert labels(dict(other), rows, mark) == expected


def test_the_separator_and_marks_of_encoding(tmp_path):
    path = tmp_path / "r.txt"
    text = 'item_id;"a, b; c";p_1;p_2\nx;"1;2";0,25;0,75\n'
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_bytes(text.encode(encoding))
        table = read_readings(path)
        np.testing.assert_allclose(softmax(table.logits[0]), [0.25, 0.75])
        assert table.extras == {"a, b; c": ["1;2"]}
    path.write_text("\r\nitem_id;label\r\nx;2\r\ny;9\r\n")
    with pytest.raises(InputError, match="found '9' in line 4"):
        read_labels(path, SCALE)


def test_names_of_columns(text):
    labels = text("l.csv", "item_id,verdict,label", "y,1,9")
    found = read_labels(labels, SCALE, id=["Item ID"], label=["verdict"])
    assert found.labels.tolist() == [0] and found.extras == {"input_label": ["9"]}
    parts = text("q.csv", "question,model,label", "7,gpt,1", "7,other,2")
    assert read_labels(parts, SCALE, id=["question,model"]).item_ids == ["7|gpt", "7|other"]
    with pytest.raises(InputError, match="each question must be unique; '7' is in lines 2 and 3"):
        read_labels(parts, SCALE, id=["question"])
    # A column `item_id` keeps its cells under another name, as beside any other id.
    beside = text("i.csv", "item_id,question,model,label", "1,7,gpt,1", "2,7,other,2")
    for id, first in (("question,model", "7|gpt"), ("Item_ID,model", "1|gpt")):
        table = read_labels(beside, SCALE, id=[id])
        assert table.item_ids[0] == first and table.extras["input_item_id"] == ["1", "2"]
    bars = text("b.csv", "question,model,label", "x|y,z,1", "x,y|z,2")
    assert read_labels(bars, SCALE, id=["question,model"]).item_ids == [r"x\|y|z", r"x|y\|z"]


def test_one_label_of_several(text):
    path = text(
        "l.csv", "item_id,annotator,label,weight",
        "a,x,1,1", "a,y,3,3", "b,x,2,1", "c,x,1,1", "c,y,2,1", "c,z,3,1",
    )  # fmt: skip
    found = read_labels(path, SCALE, annotators="median", round="half-up")
    assert (found.item_ids, found.labels.tolist()) == (["a", "b", "c"], [2, 1, 1])
    assert found.weights.tolist() == [2, 1, 1] and found.annotators is None
    found = read_labels(path, SCALE, annotators="mean", round="split")
    assert found.labels.tolist() == [1, 2, 1, 1] and found.weights.tolist() == [1, 1, 1, 1]
    with pytest.raises(InputError, match="mean labels .* 1 of 3 .* for example 2.5 in line 2"):
        read_labels(path, SCALE, annotators="mean")


def test_a_mean_of_equal_labels_is_that_label(text):
    """Also where the weights' sums round."""
    rows = [f"a,{who},5,{weight}" for who, weight in zip("xyz", (0.1, 0.7, 0.3), strict=True)]
    path = text("l.csv", "item_id,annotator,label,weight", *rows)
    found = read_labels(path, Scale(tuple("12345")), annotators="mean")
    assert found.labels.tolist() == [4]


def test_options_never_take_the_place_of_a_gap(text):
    """Nor of columns that fall, or that other names are mixed with."""
    for names in ("p_1,p_2,p_4", "p_1,p_2,p_good", "p_3,p_2,p_1"):
        path = text("r.csv", f"item_id,{names}", "x,.2,.3,.5")
        for options in (("0", "1", "2"), ("poor", "fair", "better")):
            with pytest.raises(InputError, match="has columns that do not match the options"):
                read_readings(path, options=options)
    assert read_readings(path).scale.options == ("3", "2", "1")
    words = text("w.csv", "item_id,p_poor,p_fair,p_good", "x,.2,.3,.5")
    with pytest.raises(InputError, match="has columns that do not match the options"):
        read_readings(words, options=("bad", "fair", "good"))
    assert read_readings(words, options=("1", "2", "3")).scale.aliases == ("poor", "fair", "good")


def test_options_that_columns_number_otherwise(text):
    """Labels are then the options' own numbers, never those of columns."""
    readings = text("r.csv", "item_id,reader,p_1,p_2,p_3", "x,a,.2,.3,.5", "x,b,.2,.3,.5")
    table = read_several([readings], options=("0", "1", "2"))
    assert table.scale.options == ("0", "1", "2") and table.readers == ("a", "b")
    np.testing.assert_allclose(softmax(table.logits[0], axis=1), [[0.2, 0.3, 0.5]] * 2)
    labels = text("l.csv", "item_id,label", "x,2")
    assert read_labels(labels, table.scale).labels.tolist() == [2]
    with pytest.raises(InputError, match="0..2; found '3' in line 2"):
        read_labels(text("m.csv", "item_id,label", "x,3"), table.scale)
    words = read_readings(readings, reader="a", options=("poor", "fair", "good")).scale
    assert read_labels(labels, words).labels.tolist() == [1]
    assert read_labels(text("w.csv", "item_id,label", "x,Good"), words).labels.tolist() == [2]
    # A calibrator's scale gives words for numbers, and no other numbers.
    for own, fits in ((Scale(("poor", "fair", "good")), True), (Scale(("0", "1", "2")), False)):
        if fits:
            assert read_readings(readings, reader="a", options=own).scale.aliases == ("1", "2", "3")
        else:
            with pytest.raises(InputError, match="has columns that do not match the options"):
                read_readings(readings, reader="a", options=own)


def test_one_table_of_several_readers(text):
    """Of different kinds, with gaps."""
    rows = "a,one,.5,.5,,1", "b,one,.2,.8,,2", "c,one,.1,.9,,3", "c,two,,,no,3", "b,two,,,yes,2"
    path = text("r.csv", "item_id,reader,p_no,p_yes,rating,length", *rows)
    table = read_several([path])
    assert table.readers == ("one", "two") and table.item_ids == ["a", "b", "c"]
    assert table.scale.options == ("no", "yes") and table.kind == "p"
    assert np.isnan(table.logits[0, 1]).all()
    assert table.logits[1:, 1].argmax(axis=1).tolist() == [1, 0]
    assert table.extras == {"length": ["1", "2", "3"]}
    swapped = read_several([path], readers=["two", "one"])
    assert swapped.item_ids == ["c", "b", "a"]
    np.testing.assert_array_equal(swapped.logits[::-1, ::-1], table.logits)


def test_a_cell_in_which_readers_differ_makes_a_column_each(text):
    rows = [f"t{i},{reader},{reader}-4,{i % 3},.9,.1" for reader in "ab" for i in range(30)]
    path = text("r.csv", "item_id,reader,model,system,p_1,p_2", *rows)
    assert "system" in read_several([path]).columns.schema
    path.write_text(path.read_text().replace("t17,b,b-4,2", "t17,b,b-4,1"))
    assert {"system_a", "system_b", "model_a"} < {*read_several([path]).columns.schema}


def test_columns_of_annotators(text):
    path = text("l.csv", "item_id,label,label_x,label_y,y", "a,3,1,2,note", "b,3,,2,note")
    found = read_labels(path, SCALE, label=["label_x", "label_y"])
    assert list(zip(found.item_ids, found.annotators or (), found.labels, strict=True)) == [
        ("a", "x", 0), ("a", "y", 1), ("b", "y", 1)
    ]  # fmt: skip
    # The labels of a text count as one.
    assert found.weights.tolist() == [0.5, 0.5, 1]
    assert found.extras["y"] == ["note"] * 3 and found.extras["input_label"] == ["3"] * 3
    assert read_labels(path, SCALE).labels.tolist() == [2, 2]
    part = text("p.csv", "item_id,label,label_x,label_y", "a,3,,", "b,,1,3", "c,,3,")
    with pytest.raises(SettingNeeded, match="'label' is empty in rows where 'label_x'") as raised:
        read_labels(part, SCALE)
    assert (raised.value.setting, raised.value.value) == ("label", ("label_x", "label_y"))
    notes = text("n.csv", "item_id,label,label_by,label_why", "a,3,x,poor", "b,,x,unclear")
    with pytest.warns(CordialWarning, match="skipped 1 of 2 rows"):
        assert read_labels(notes, SCALE).item_ids == ["a"]
    for decided in ("final", "gold", "mode", "avg", "consensus"):
        names = f"item_id,label,label_x,label_y,label_{decided}"
        found = read_labels(text("d.csv", names, "a,,1,2,2"), SCALE)
        assert found.annotators == ["x", "y"] and found.extras[f"label_{decided}"] == ["2", "2"]


def test_columns_without_a_name(text):
    """As pandas writes an index: an ordinary column, called by its position."""
    path = text("r.csv", ",p_1,p_2,,", "a,.5,.5,,x", "b,.25,.75,,")
    assert [*read_columns(path).schema] == ["column_1", "p_1", "p_2", "column_5"]
    table = read_readings(path, id=["column_1"])
    assert (table.item_ids, table.extras) == (["a", "b"], {"column_5": ["x", ""]})


PARTS = st.text("a|\\", max_size=4)


@given(st.lists(st.tuples(PARTS, PARTS), min_size=2, max_size=2, unique=True))
def test_different_texts_have_different_joined_names(pairs):
    assert len(set(map(join_parts, pairs))) == 2


def test_a_part_of_an_id_may_be_missing_in_one_place(text):
    path = text("r.csv", "q,model,p_1,p_2", "x,,.4,.6", ",x,.5,.5")
    assert read_readings(path, id=["q,model"]).item_ids == ["x|", "|x"]
    path = text("r.csv", "q,model,p_1,p_2", "x,,.4,.6", ",,.5,.5")
    with pytest.raises(InputError, match="item_id is missing in line 3"):
        read_readings(path, id=["q,model"])


def test_the_first_place_without_a_reading_is_named_whatever_the_batch(text, monkeypatch):
    monkeypatch.setattr(reading_table, "CHECKED", 2)
    path = text(
        "r.csv", "item_id,logit_1,logit_2,logit_3", "a,0,1,2", "b,1,0,2", "c,,0,1", "d,0,1,"
    )
    with pytest.warns(CordialWarning, match="2 missing readings.*line 4"):
        reading_table.open_readings(path).check()
    path = text(
        "s.csv", "item_id,logit_1,logit_2,logit_3", "a,0,1,2", "b,,0,2", "c,2,0,1", "d,0,1,"
    )
    with pytest.warns(CordialWarning, match="2 missing readings.*line 3"):
        reading_table.open_readings(path).check()
