"""Tables as people have them: each is read as it is, or with the one setting that is named."""

import json
import re
import shlex
import warnings
import zipfile
from typing import Any

import numpy as np
import polars as pl
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded
from cordial_ppl.tables import (
    match_labels,
    open_readings,
    read_labels,
    read_readings,
    read_several,
)

WORDS = ("poor", "fair", "good", "very good", "excellent")
WHO = "--annotator", "who"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """The readings, and the cells of the labels."""
    readings, labels = write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    return read_readings(readings), read(labels)


def lines(columns, separator=";"):
    rows = zip(*columns.values(), strict=True)
    return "\r\n".join(separator.join(map(str, row)) for row in [tuple(columns), *rows]) + "\r\n"


def write(name, columns, separator=";", encoding="utf-8"):
    with open(name, "w", newline="", encoding=encoding) as file:
        file.write(lines(columns, separator))


def half(columns):
    return columns | {"label": ["2.5", *columns["label"][1:]]}


def others(columns):
    return ["4" if k == "5" else k for k in columns["label"]]


def long(columns):
    """Two people's labels of each text, which differ in some."""
    pairs = zip(columns["label"], others(columns), strict=True)
    return {
        "item_id": [item for item in columns["item_id"] for _ in "ab"],
        "who": ["ann", "bob"] * LABELLED,
        "label": [label for pair in pairs for label in pair],
    }


def wide(columns, ann="label_ann", bob="label_bob"):
    return {"item_id": columns["item_id"], ann: columns["label"], bob: ["", *others(columns)[1:]]}


def some_blank(columns):
    return columns | {"label": ["", " ", "NA", "n/a", "NaN", *columns["label"][5:]]}


def renamed(columns, item="item_id", label="label"):
    return {item: columns["item_id"], label: columns["label"]}


FILES: dict[str, tuple[Any, dict[str, Any], int]] = {
    "a byte order mark": (lambda c: ("\ufeff", lines(c)), {}, 20),
    "blank labels": (lambda c: lines(some_blank(c)), {}, 15),
    "blank rows": (lambda c: (lines({**c, "": [""] * LABELLED}), ";;\r\n;;\r\n"), {}, 20),
    "another id": (lambda c: lines(renamed(c, "ItemID"), ","), {"id": "ItemID"}, 20),
    "words of an id": (lambda c: lines(renamed(c, "Text  ID")), {"id": "Text  ID"}, 20),
    "another name": (
        lambda c: lines(renamed(c, label="Human Label"), ","),
        {"label": "Human Label"},
        20,
    ),
    "half points": (lambda c: lines(half(c), ","), {"round": "split"}, 21),
    "decimal commas": (lambda c: lines(half(c)).replace(".", ","), {"round": "split"}, 21),
    "annotators long": (lambda c: lines(long(c)), {"annotator": "who"}, 40),
    "annotators wide": (lambda c: lines(wide(c)), {}, 39),
    "one mistaken": (lambda c: lines(wide(c, "Ann", "Bob")), {"label": ("Ann", "Bob")}, 39),
    "a weight": (lambda c: lines({**c, "weight": ["0,5"] * LABELLED}), {}, 20),
}


@pytest.mark.parametrize(("content", "needed", "count"), FILES.values(), ids=FILES)
def test_files_of_a_desk(desk, content, needed, count):
    """The one setting that a refusal names is right."""
    readings, columns = desk
    text = content(columns)
    with open("desk.csv", "w", newline="", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else "".join(text))
    chosen: dict[str, Any] = {"label": ["Ann", "Bobb"]} if "Bob" in str(needed) else {}
    for setting, value in needed.items():
        with pytest.raises(SettingNeeded) as raised:
            read_labels("desk.csv", readings.scale, **chosen)
        assert (raised.value.setting, raised.value.value) == (setting, value)
        several = setting in ("id", "label") and isinstance(value, str)
        chosen[setting] = [value] if several else value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_labels("desk.csv", readings.scale, **chosen)
    assert len(found.labels) == count and len(caught) == (count == 15)
    plain = dict(zip(columns["item_id"][5:], columns["label"][5:], strict=True))
    first = dict(zip(reversed(found.item_ids), reversed(found.labels + 1), strict=True))
    assert {item: str(first[item]) for item in plain} == plain
    np.testing.assert_array_equal(match_labels(readings, found)[1][-1:], [LABELLED - 1])


def test_the_command_names_an_option_that_works(desk, cordial):
    """The program, with what it proposes; a table of labels without readings is no reason to."""
    _, columns = desk
    write("desk.csv", renamed(half(columns), label="Human Label") | {"note": ["x"] * LABELLED})
    arguments = list(fast("calibrate", "r.csv", "desk.csv", "-o", "o.csv"))
    for option in ("--label", "--round"):
        said = cordial(*arguments, status=2).stderr
        (named,) = re.findall(rf": ({option} .*)\.$", said)
        arguments += shlex.split(named)
    cordial(*arguments)
    assert len(read("o.csv")["item_id"]) == TEXTS
    more = {name: [*cells, "refused" if name == "item_id" else "3"] for name, cells in
            columns.items()}  # fmt: skip
    write("desk.csv", more)
    said = cordial("calibrate", "r.csv", "desk.csv", "-o", "o.csv", "--inference", "mode").stderr
    assert "1 of 21" in said and "'refused'" in said and "20 labels" in said


def test_a_workbook(desk):
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    readings, columns = desk
    cells = {"item_id": columns["item_id"], "label": [float(k) for k in columns["label"]]}
    pl.DataFrame(cells).write_excel("desk.xlsx")
    found = read_labels("desk.xlsx", readings.scale)
    assert (found.labels + 1).tolist() == cells["label"] and found.item_ids == cells["item_id"]
    # The row of a cell is that of Excel.
    cells["label"][3] = 7.0
    pl.DataFrame(cells).write_excel("desk.xlsx")
    with pytest.raises(InputError, match="'7' in row 5"):
        read_labels("desk.xlsx", readings.scale)


def rewrite(path, pattern, text):
    """Replace what a pattern finds in a workbook's first sheet."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            sheet = name.endswith("sheet1.xml")
            archive.writestr(name, re.sub(pattern, text, part, count=1) if sheet else part)


@pytest.mark.parametrize(
    "doubt", ["", "hidden", "empty hidden", "column", "sheet", "merged", "formula"]
)
def test_what_a_sheet_shows_otherwise(desk, doubt):
    """What is hidden, merged cells and formulas without a value are warned of by their place."""
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    readings, columns = desk
    with xlsxwriter.Workbook("desk.xlsx") as book:
        if doubt == "sheet":
            draft = book.add_worksheet("draft")
            draft.write_column(0, 0, ["item_id", "r1"])
            draft.very_hidden()
        sheet = book.add_worksheet("final")
        sheet.activate()
        sheet.set_column("E:XFD", None, None, {"hidden": True})
        if doubt == "column":
            sheet.write_column("AB1", ["notes", "a note"])
        for column, (name, cells) in enumerate(columns.items()):
            sheet.write_column(0, column, [name, *cells])
        if "hidden" in doubt:
            sheet.set_row(4 if doubt == "hidden" else 40, options={"hidden": True})
        if doubt == "merged":
            sheet.merge_range("D4:D5", "a remark")
            sheet.write("D1", "remark")
        if doubt == "formula":
            sheet.write_formula("B4", "=B3", value=columns["label"][2])
            sheet.write_formula("B5", "=B3", value=columns["label"][2])
    if doubt == "formula":
        rewrite("desk.xlsx", rb"</f><v>[^<]*</v>", b"</f>")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_labels("desk.xlsx", readings.scale)
    places = {"hidden": "row 5", "column": "hidden columns were read (1 found: AB)"}
    places |= {"sheet": "'final', and ignored 'draft'", "merged": "D4:D5", "formula": "B4"}
    texts = [str(warning.message) for warning in caught if "no label" not in str(warning.message)]
    assert [places[doubt] in text for text in texts] == [True] * (doubt in places)
    assert len(found.labels) == LABELLED - (doubt == "formula")


def test_words_and_numbers_for_options(desk):
    readings, columns = desk
    named = read("r.csv")
    for k, word in enumerate(WORDS, 1):
        named[f"logit_{word}"] = named.pop(f"logit_{k}")
    write("words.csv", named, ",")
    scale = read_readings("words.csv").scale
    expected = [int(k) - 1 for k in columns["label"]]
    spelt = [f" {WORDS[k].upper().replace(' ', '  ')} " for k in expected]
    write("desk.csv", columns | {"label": spelt}, ",")
    assert read_labels("desk.csv", scale).labels.tolist() == expected
    # Options that are numbered in both files get names, in labels too.
    numbered = read_readings("r.csv", options=WORDS).scale
    assert read_labels("desk.csv", numbered).labels.tolist() == expected
    with pytest.raises(SettingNeeded, match="WORST"):
        read_labels("desk.csv", readings.scale)
    # Numbers for words may count from 0 or from 1.
    write("desk.csv", columns, ",")
    with pytest.warns(CordialWarning, match=r"from 1 .'poor'. to 5 .'excellent'"):
        assert read_labels("desk.csv", scale).labels.tolist() == expected
    few = [row for row, k in enumerate(expected) if k < 4]
    write("desk.csv", {name: [cells[row] for row in few] for name, cells in columns.items()}, ",")
    with pytest.raises(SettingNeeded) as raised:
        read_labels("desk.csv", scale)
    assert (raised.value.setting, raised.value.value) == ("options", tuple("12345"))
    # A single word among numbers is a mistake, and so are more words than options.
    for labels in (["good", *columns["label"][1:]], [f"word {k}" for k in range(LABELLED)]):
        write("desk.csv", columns | {"label": labels}, ",")
        with pytest.raises(InputError, match=r"whole numbers 1\.\.5") as refused:
            read_labels("desk.csv", readings.scale)
        assert not isinstance(refused.value, SettingNeeded)


def test_readers_in_another_column(desk, cordial):
    cells = read("r.csv")
    both = {name: column * 2 for name, column in cells.items()}
    write("both.csv", both | {"judge": ["a"] * TEXTS + ["b"] * TEXTS}, ",")
    one = read_readings("both.csv", reader="judge=a")
    assert len(one) == TEXTS and one.extras == {"reader": ["a"] * TEXTS}
    with pytest.raises(SettingNeeded, match="2 judges: 'a', 'b'") as raised:
        read_readings("both.csv", reader="judge")
    assert (raised.value.setting, raised.value.value) == ("reader", "judge=a")
    with pytest.raises(SettingNeeded, match="unique") as raised:
        read_readings("both.csv")
    assert (raised.value.setting, raised.value.value) == ("reader", "COLUMN=NAME")
    for readers in (["judge"], ["judge=a", "judge=b"]):
        assert read_several(["both.csv"], readers=readers).readers == ("a", "b")
    cordial(*fast("fuse", "both.csv", "l.csv", "-o", "o.csv", "--reader", "judge"), "--save",
            "j.cordial")  # fmt: skip
    cordial("predict", "j.cordial", "both.csv", "--reader", "judge", "-o", "again.csv")
    assert read("again.csv") == read("o.csv")


def test_a_column_that_is_missing_among_numbers(desk):
    cells = read("r.csv")
    del cells["logit_3"]
    write("gap.csv", cells, ",")
    with pytest.raises(SettingNeeded, match="skip an option") as raised:
        read_readings("gap.csv")
    assert raised.value.setting == "options"
    with pytest.warns(CordialWarning, match="'3'"):
        assert open_readings("gap.csv", options=tuple("12345")).scale.size == 5
    assert read_readings("gap.csv", options=tuple("1245")).scale.size == 4


def test_one_label_a_text_where_several_are_of_no_use(desk, cordial):
    _, columns = desk
    learn = "learn-prior", "r.csv", "desk.csv", "-o", "p.cordial"
    check = "check", "mixture", "--readings", "r.csv", "--labels", "desk.csv"
    write("desk.csv", long(columns))
    for command in (learn, check):
        assert "--annotators mean" in cordial(*command, *WHO, status=2).stderr
    write("desk.csv", half(columns), ",")
    assert "--round nearest-even" in cordial(*learn, "--round", "split", status=2).stderr
    write("desk.csv", {**columns, "weight": ["2"] * LABELLED}, ",")
    assert "'weight'" in cordial(*learn, status=2).stderr


def test_an_estimate_takes_the_mean_of_a_texts_labels(desk, cordial):
    """Alike, each twice: what is estimated is the same, also from a design."""
    _, columns = desk
    design = {"stratum": ["0"] * LABELLED, "probability": ["0.25"] * LABELLED}
    write("once.csv", columns | design)
    cells = {name: [cell for cell in own for _ in "ab"] for name, own in (columns | design).items()}
    write("twice.csv", cells | {"annotator": ["a", "b"] * LABELLED})
    once, twice = (
        json.loads(cordial("estimate", "r.csv", name, "--json").stdout)
        for name in ("once.csv", "twice.csv")
    )
    assert once["populations"][0]["labels"] == twice["populations"][0]["labels"] == LABELLED
    assert once["rectified"] == twice["rectified"]


@pytest.mark.usefixtures("few_resamples", "undrawn")
def test_commands_that_take_several_labels_of_a_text(desk, cordial):
    _, columns = desk
    write("desk.csv", long(columns))
    cells = read("r.csv")
    both = {name: column * 2 for name, column in cells.items()}
    write("both.csv", both | {"reader": ["a"] * TEXTS + ["b"] * TEXTS})
    said = cordial("fuse", "both.csv", "desk.csv", "-o", "o.csv", *WHO, "--inference", "mode")
    assert "40 labels for 20 texts" in said.stderr
    median = *WHO, "--annotators", "median", "--round", "half-up", "--inference", "mode"
    said = cordial("calibrate", "r.csv", "desk.csv", "-o", "o.csv", *median).stderr
    assert "calibrated with 20 labels" in said
    # Users are the annotators of their labels.
    write("users.csv", cells | {"user": ["ann", "bob"] * (TEXTS // 2)})
    named = {"user" if name == "who" else name: column for name, column in long(columns).items()}
    write("named.csv", named)
    shift = fast("shift", "users.csv", "named.csv", "-o", "o.csv")
    cordial(*shift)
    assert "--annotators each" in cordial(*shift, "--annotators", "mean", status=2).stderr
    plan = cordial("plan", "r.csv", "--labelled", "desk.csv", *WHO, "-o", "p.csv", "--json").stdout
    assert json.loads(plan)["labelled"] == 20
    cordial(*fast("fit", "r.csv", "desk.csv", "-o", "f.cordial", *WHO))
    page = cordial("report", "f.cordial", "r.csv", "desk.csv", *WHO, "-o", "page.html", "--json")
    assert json.loads(page.stdout)["labelled"] == 20


def test_both_columns_by_other_names(desk):
    readings, columns = desk
    named = renamed(columns, "Text ID", "Rating")
    other: dict[str, Any] = {"id": ["Text ID"], "label": ["Rating"]}
    # Two that differ in capitals alone are told apart by these.
    write("desk.csv", named | {"text id": ["x"] * LABELLED}, ",")
    assert len(read_labels("desk.csv", readings.scale, **other).labels) == LABELLED
    other["id"] = ["TEXT ID"]
    with pytest.raises(SettingNeeded, match="'TEXT ID'"):
        read_labels("desk.csv", readings.scale, **other)


def test_labels_of_weight_zero_are_left_out(desk):
    readings, columns = desk
    columns |= {"weight": ["0", "2", *["1"] * (LABELLED - 2)]}
    write("desk.csv", columns, ",")
    write("less.csv", {name: cells[1:] for name, cells in columns.items()}, ",")
    found, expected = (read_labels(name, readings.scale) for name in ("desk.csv", "less.csv"))
    assert found.item_ids == expected.item_ids and len(found.item_ids) == LABELLED - 1
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.weights, expected.weights)
    write("desk.csv", columns | {"weight": ["0"] * LABELLED}, ",")
    with pytest.raises(InputError, match="'weight' is 0 in every row"):
        read_labels("desk.csv", readings.scale)
