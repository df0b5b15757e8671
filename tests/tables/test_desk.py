"""Tables as people have them: each is calibrated as it is, or with the one option that is named."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.tables import read_labels, read_readings

WORDS = ("poor", "fair", "good", "very good", "excellent")


@pytest.fixture
def desk(cordial, tmp_path):
    """Calibrate a table of labels; a refusal names one option, which is then given."""
    readings, labels = write_tables(tmp_path)
    columns = read(labels)

    def calibrate(name, needed, *more, readings=readings):
        """What was said, after the option that the message named and that is expected."""
        arguments = "calibrate", readings, name, "-o", "o.csv", *more
        if needed:
            said = cordial(*fast(*arguments), status=2).stderr
            (named,) = re.findall(r": (--.*)\.$", said)
            assert re.fullmatch(needed, named)
            arguments = *arguments, *shlex.split(named)
        result = cordial(*fast(*arguments))
        assert len(read("o.csv")["item_id"]) == TEXTS
        return result.stderr

    return calibrate, columns, readings


def lines(columns, separator=";"):
    rows = zip(*columns.values(), strict=True)
    return "\r\n".join(separator.join(map(str, row)) for row in [tuple(columns), *rows]) + "\r\n"


def half(columns):
    return columns | {"label": ["2.5", *columns["label"][1:]]}


def long(columns):
    """Two people's labels of each text, which differ in some."""
    items = [item for item in columns["item_id"] for _ in "ab"]
    other = ["4" if k == "5" else k for k in columns["label"]]
    labels = [k for both in zip(columns["label"], other, strict=True) for k in both]
    return {"item_id": items, "who": ["ann", "bob"] * LABELLED, "label": labels}


def wide(columns):
    other = ["4" if k == "5" else k for k in columns["label"]]
    return {
        "item_id": columns["item_id"],
        "label_ann": columns["label"],
        "label_bob": ["", *other[1:]],
    }


def some_blank(columns):
    marks = ["", " ", "NA", "n/a", "NaN"]
    return columns | {"label": [*marks, *columns["label"][5:]]}


FILES = {
    "a byte order mark": (lambda c: lines(c), "utf-8-sig", ""),
    "blank labels": (lambda c: lines(some_blank(c)), "", ""),
    "blank rows": (lambda c: lines({**c, "": [""] * LABELLED}) + ";;\r\n;;\r\n", "", ""),
    "another id": (
        lambda c: lines({"ItemID": c["item_id"], "label": c["label"]}, ","),
        "",
        "--id ItemID",
    ),
    "another name": (
        lambda c: lines({"item_id": c["item_id"], "Human Label": c["label"]}, ","),
        "",
        "--label 'Human Label'",
    ),
    "half points": (lambda c: lines(half(c), ","), "", "--round split"),
    "half points with commas": (
        lambda c: lines(half(c)).replace(".", ","),
        "",
        "--round split",
    ),
    "annotators long": (lambda c: lines(long(c)), "", "--annotator who"),
    "annotators wide": (lambda c: lines(wide(c)), "", ""),
    "one without a reading": (
        lambda c: lines({n: [*v, "refused" if n == "item_id" else "3"] for n, v in c.items()}),
        "",
        "",
    ),
    "a weight": (lambda c: lines({**c, "weight": ["0,5"] * LABELLED}), "", ""),
}


@pytest.mark.parametrize(("write", "encoding", "needed"), FILES.values(), ids=FILES)
def test_files_of_a_desk(desk, tmp_path, write, encoding, needed):
    calibrate, columns, _ = desk
    (tmp_path / "desk.csv").write_bytes(write(columns).encode(encoding or "utf-8"))
    said = calibrate("desk.csv", needed)
    if write is FILES["blank labels"][0]:
        assert "5 of 20 rows have no label" in said
    elif write is FILES["one without a reading"][0]:
        assert "1 of 21 labels are for items without a reading and are left out: 'refused'" in said
    else:
        assert said == ""


def test_a_workbook(desk, tmp_path):
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    calibrate, columns, _ = desk
    cells = {"item_id": columns["item_id"], "label": [float(k) for k in columns["label"]]}
    pl.DataFrame(cells).write_excel(tmp_path / "desk.xlsx")
    calibrate("desk.xlsx", "")
    plain = read("o.csv")
    calibrate("l.csv", "")
    assert read("o.csv") == plain
    # Sheets are counted, and the row of a cell is that of Excel.
    cells["label"][3] = 7.0
    pl.DataFrame(cells).write_excel(tmp_path / "desk.xlsx")
    table = read_readings("r.csv")
    with pytest.raises(ValueError, match="found '7' in row 5"):
        read_labels("desk.xlsx", table.scale)


def test_words_in_other_capitals(desk, tmp_path):
    calibrate, columns, readings = desk
    named = read(readings)
    for k, word in enumerate(WORDS, 1):
        named[f"logit_{word}"] = named.pop(f"logit_{k}")
    (tmp_path / "words.csv").write_text(lines(named, ","))
    spelt = [f" {WORDS[int(k) - 1].upper().replace(' ', '  ')} " for k in columns["label"]]
    (tmp_path / "desk.csv").write_text(lines(columns | {"label": spelt}, ","))
    assert calibrate("desk.csv", "", readings="words.csv") == ""
    # Numbers for words may count from 0 or from 1.
    few = {name: [c for c, k in zip(cells, columns["label"], strict=True) if k != "5"]
           for name, cells in columns.items()}  # fmt: skip
    (tmp_path / "desk.csv").write_text(lines(few, ","))
    calibrate("desk.csv", "--options 1,2,3,4,5", readings="words.csv")
    (tmp_path / "desk.csv").write_text(lines(columns, ","))
    said = calibrate("desk.csv", "", readings="words.csv")
    assert "labels are taken to count the options from 1, 'poor', to 5, 'excellent'" in said
    # Options that are numbered in both files get names.
    words = ",".join(WORDS)
    assert calibrate("desk.csv", "", "--options", words) == ""
    assert set(read("o.csv")["label"]) <= {*WORDS}


def test_readers_in_another_column(desk, tmp_path, cordial):
    calibrate, _, readings = desk
    cells = read(readings)
    both = {name: column * 2 for name, column in cells.items()}
    both["judge"] = ["a"] * TEXTS + ["b"] * TEXTS
    (tmp_path / "both.csv").write_text(lines(both, ","))
    calibrate("l.csv", "", "--reader", "judge=a", readings="both.csv")
    said = cordial("calibrate", "both.csv", "l.csv", "-o", "o.csv", "--reader", "judge", status=2)
    assert "both.csv holds 2 readers: 'a', 'b'. Choose one" in said.stderr
    assert said.stderr.endswith("--reader judge=a.\n")
    fuse = "fuse", "both.csv", "l.csv", "-o", "o.csv", "--reader"
    found = cordial(*fast(*fuse, "judge"), "--json").stdout
    assert '"a"' in found and '"b"' in found
    assert cordial(*fast(*fuse, "judge=a", "--reader", "judge=b"), "--json").stdout == found
    cordial(*fast(*fuse, "judge", "--save", "j.cordial"))
    before = (tmp_path / "o.csv").read_text()
    cordial("predict", "j.cordial", "both.csv", "--reader", "judge", "-o", "again.csv")
    assert (tmp_path / "again.csv").read_text() == before


def test_a_column_that_is_missing_among_numbers(desk, tmp_path):
    calibrate, _, readings = desk
    cells = read(readings)
    del cells["logit_3"]
    (tmp_path / "gap.csv").write_text(lines(cells, ","))
    said = calibrate("l.csv", "--options 1,2,3,4,5", readings="gap.csv")
    assert "gap.csv has no column for '3': no text has such a reading" in said


def test_one_label_a_text_where_several_are_of_no_use(desk, tmp_path, cordial):
    _, columns, _ = desk
    (tmp_path / "desk.csv").write_text(lines(long(columns)))
    learn = "learn-prior", "r.csv", "desk.csv", "-o", "p.cordial"
    said = cordial(*learn, "--annotator", "who", status=2).stderr
    assert said.endswith("Take the mean of each text's labels: --annotators mean.\n")
    (tmp_path / "desk.csv").write_text(lines(half(columns), ","))
    said = cordial(*learn, "--round", "split", status=2).stderr
    assert said.endswith("Round it: --round nearest-even.\n")
    (tmp_path / "desk.csv").write_text(lines({**columns, "weight": ["2"] * LABELLED}, ","))
    assert cordial(*learn, status=2).stderr.endswith("remove the column 'weight'.\n")


def test_an_estimate_takes_the_mean_of_a_texts_labels(desk, tmp_path, cordial):
    """Alike, each twice: what is estimated is the same, also from a design."""
    _, columns, readings = desk
    design = {"stratum": ["0"] * LABELLED, "probability": ["0.25"] * LABELLED}
    (tmp_path / "once.csv").write_text(lines(columns | design))
    cells = {name: [cell for cell in own for _ in "ab"] for name, own in (columns | design).items()}
    (tmp_path / "twice.csv").write_text(lines(cells | {"annotator": ["a", "b"] * LABELLED}))
    once, twice = (
        json.loads(cordial("estimate", readings, name, "--json").stdout)
        for name in ("once.csv", "twice.csv")
    )
    assert once["populations"][0]["labels"] == twice["populations"][0]["labels"] == LABELLED
    assert once["rectified"] == twice["rectified"]


def test_what_is_predicted_is_said(desk, tmp_path, cordial):
    _, columns, _ = desk
    (tmp_path / "desk.csv").write_text(lines(wide(columns)))
    arguments = "calibrate", "r.csv", "desk.csv", "-o", "o.csv", "--inference", "mode"
    said = cordial(*arguments).stderr
    assert "39 labels of 20 texts by 2 annotators; a probability is of a single annotator's" in said
    more = "--annotators", "median", "--round", "half-up"
    assert cordial(*arguments, *more).stderr.endswith("calibrated on 20 labels\n")


def test_commands_that_take_several_labels_of_a_text(desk, tmp_path, cordial):
    _, columns, readings = desk
    (tmp_path / "desk.csv").write_text(lines(long(columns)))
    who = "--annotator", "who"
    cells = read(readings)
    both = {name: column * 2 for name, column in cells.items()}
    (tmp_path / "both.csv").write_text(lines(both | {"reader": ["a"] * TEXTS + ["b"] * TEXTS}))
    said = cordial("fuse", "both.csv", "desk.csv", "-o", "o.csv", *who, "--inference", "mode")
    assert "calibrated on 40 labels of 20 texts" in said.stderr
    # Users are the annotators of their labels.
    (tmp_path / "users.csv").write_text(lines(cells | {"user": ["ann", "bob"] * (TEXTS // 2)}))
    named = {"user" if name == "who" else name: column for name, column in long(columns).items()}
    (tmp_path / "named.csv").write_text(lines(named))
    cordial(*fast("shift", "users.csv", "named.csv", "-o", "o.csv"))
    plan = cordial("plan", readings, "--labelled", "desk.csv", *who, "-o", "p.csv", "--json").stdout
    assert '"labelled": 20' in plan
    learn = "learn-prior", readings, "desk.csv", "-o", "p.cordial"
    check = "check", "mixture", "--readings", readings, "--labels", "desk.csv"
    for command in (learn, check):
        assert "--annotators mean" in cordial(*command, *who, status=2).stderr
    cordial(*fast("fit", readings, "desk.csv", "-o", "f.cordial", *who))
    page = cordial("report", "f.cordial", readings, "desk.csv", *who, "-o", "page.html", "--json")
    assert json.loads(page.stdout)["labelled"] == 20 and (tmp_path / "page.html").exists()


def refusal(cordial, path, content, *more):
    """What is said of a table of labels that cannot be used."""
    path.write_text(content)
    said = cordial(*fast("calibrate", "r.csv", path, "-o", "none.csv", *more), status=2).stderr
    assert not (path.parent / "none.csv").exists()
    return said


def test_two_columns_of_labels_by_any_name(desk, tmp_path):
    calibrate, columns, _ = desk
    both = dict(zip(("item_id", "Ann", "Bob"), wide(columns).values(), strict=True))
    both |= {"order": ["1"] * LABELLED, "length": ["301"] * LABELLED}
    (tmp_path / "desk.csv").write_text(lines(both, ","))
    # One name is mistaken, the other stays.
    calibrate("desk.csv", "--label Ann,Bob", "--label", "Ann,Bobb")
    named = {name.replace("Ann", "label ann").replace("Bob", "NA"): c for name, c in both.items()}
    (tmp_path / "desk.csv").write_text(lines(named, ","))
    assert calibrate("desk.csv", "", "--label", "label ann,NA") == ""


def test_both_columns_by_other_names(desk, tmp_path, cordial):
    calibrate, columns, readings = desk
    named = {"Text ID": columns["item_id"], "Rating": columns["label"]}
    (tmp_path / "desk.csv").write_text(lines(named, ","))
    calibrate("desk.csv", "--label Rating", "--id", "Text ID")
    calibrate("desk.csv", "", "--id", "text  id", "--label", "Rating")
    said = refusal(cordial, tmp_path / "desk.csv", lines(named, ","))
    assert "no column 'item_id'; found 'Text ID', 'Rating'. If these are the columns" in said
    assert "name them: --id 'Text ID' --label Rating. Or keep them in" in said
    scale = read_readings(readings).scale
    # Two that differ in capitals alone are told apart by these.
    (tmp_path / "desk.csv").write_text(lines(named | {"text id": ["x"] * LABELLED}, ","))
    assert len(read_labels("desk.csv", scale, id=["Text ID"], label=["Rating"]).labels) == LABELLED
    with pytest.raises(ValueError, match="no column 'item_id'"):
        read_labels("desk.csv", scale, id=["TEXT ID"], label=["Rating"])


def test_words_for_columns_that_are_numbered(desk, tmp_path, cordial):
    calibrate, columns, _ = desk
    spelt = [WORDS[int(k) - 1] for k in columns["label"]]
    words = lines(columns | {"label": spelt}, ",")
    said = refusal(cordial, tmp_path / "desk.csv", words)
    found = ", ".join(map(repr, dict.fromkeys(spelt)))
    assert f"If the options are words, {found} here, name all 5 worst first:" in said
    assert said.endswith("--options WORST,...,BEST.\n")
    calibrate("desk.csv", "", "--options", ",".join(WORDS))
    # A single word among numbers is a mistake, and so are more words than options.
    mixed = columns | {"label": ["good", *columns["label"][1:]]}
    many = columns | {"label": [f"word {k}" for k in range(LABELLED)]}
    for wrong in (mixed, many):
        said = refusal(cordial, tmp_path / "desk.csv", lines(wrong, ","))
        assert "whole numbers 1..5" in said and "--options" not in said


@pytest.mark.parametrize("name", ["weights", "Weight"])
def test_a_column_that_is_nearly_a_weight(desk, tmp_path, name):
    calibrate, columns, _ = desk
    (tmp_path / "desk.csv").write_text(lines(columns | {name: ["2"] * LABELLED}, ","))
    said = calibrate("desk.csv", "")
    assert f"column '{name}' is not used; rename it to 'weight' if it says how many" in said
    both = columns | {name: ["2"] * LABELLED, "weight": ["1"] * LABELLED}
    (tmp_path / "desk.csv").write_text(lines(both, ","))
    assert calibrate("desk.csv", "") == ""


def test_labels_of_weight_zero_are_left_out(desk, tmp_path):
    _, columns, _ = desk
    weights = ["0", "2", *["1"] * (LABELLED - 2)]
    (tmp_path / "desk.csv").write_text(lines(columns | {"weight": weights}, ","))
    (tmp_path / "less.csv").write_text(
        lines({name: cells[1:] for name, cells in (columns | {"weight": weights}).items()}, ",")
    )
    scale = read_readings(tmp_path / "r.csv").scale
    with pytest.warns(CordialWarning, match="1 of 20 labels have weight 0 and are left out"):
        found = read_labels(tmp_path / "desk.csv", scale)
    expected = read_labels(tmp_path / "less.csv", scale)
    assert found.item_ids == expected.item_ids and len(found.item_ids) == LABELLED - 1
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.weights, expected.weights)
    (tmp_path / "desk.csv").write_text(lines(columns | {"weight": ["0"] * LABELLED}, ","))
    with pytest.raises(InputError, match="column 'weight' is 0 in all rows: no label counts"):
        read_labels(tmp_path / "desk.csv", scale)
