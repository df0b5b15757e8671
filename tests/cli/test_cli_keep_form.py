"""`--keep-form`: what comes out looks like what went in, and Excel opens it."""

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

COMMANDS = [
    ("calibrate", "r.csv", "l.csv", "--inference", "mode"),
    ("fuse", "r.csv", "l.csv", "--inference", "mode"),
    ("shift", "r.csv", "l.csv", "--inference", "mode", "--user", "who"),
    ("decide", "r.csv", "l.csv", "--inference", "laplace", "--pass", "4,5", "--agree", ".9"),
    ("plan", "r.csv"),
]
FORMS = (";", ",", "utf-8-sig"), (";", ".", "utf-8"), ("\t", ".", "utf-8-sig")
"""Separator, decimal point and encoding; for each change a command is tried in one of them."""


def write(path, columns, separator, point, encoding="utf-8-sig"):
    """Write a table as a desk's Excel does."""
    rows = [columns, *zip(*columns.values(), strict=True)]
    lines = [separator.join(str(cell).replace(".", point) for cell in row) for row in rows]
    path.write_text("\r\n".join(lines) + "\r\n", encoding)


@pytest.mark.parametrize(
    ("command", "separator", "point", "encoding"),
    [
        pytest.param(command, *form, marks=() if daily else pytest.mark.nightly)
        for place, command in enumerate(COMMANDS)
        for number, form in enumerate(FORMS)
        for daily in [place % len(FORMS) == number]
    ],
)
def test_an_output_is_written_as_the_input(
    cordial, tmp_path, monkeypatch, command, separator, point, encoding
):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path, Länge=np.arange(TEXTS) + 0.5, who=["ä", "b"] * (TEXTS // 2))
    plain = [*command, "-o", "plain.csv", "--quiet"]
    cordial(*plain)
    for name in ("r.csv", "l.csv"):
        cells = read(name)
        write(
            tmp_path / name, {"Text ID": cells.pop("item_id"), **cells}, separator, point, encoding
        )
    cordial(*command, "-o", "o.csv", "--quiet", "--id", "Text ID", "--keep-form")
    content = (tmp_path / "o.csv").read_bytes().decode("utf-8")
    mark = "\ufeff" * (encoding == "utf-8-sig")
    assert content.startswith(f"{mark}Text ID{separator}")
    first, expected = read("o.csv"), read("plain.csv")
    assert first.pop("Text ID") == expected.pop("item_id")
    swapped = {name: [cell.replace(point, ".") for cell in first[name]] for name in first}
    assert swapped == expected


def test_labels_that_were_filled_in_are_read_back(cordial, tmp_path, monkeypatch):
    """A plan in the input's form is a table of labels."""
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    cells, truth = read("r.csv"), dict(zip(*read("l.csv").values(), strict=True))
    write(tmp_path / "r.csv", {"Text ID": cells.pop("item_id"), **cells}, ";", ",")
    cordial("plan", "r.csv", "-o", "p.csv", "--id", "Text ID", "--keep-form", "-n", LABELLED)
    planned = read("p.csv")
    planned["label"] = [truth.get(item, "3") for item in planned["Text ID"]]
    write(tmp_path / "p.csv", planned, ";", ",")
    found = cordial("estimate", "r.csv", "p.csv", "--id", "Text ID", "--inference", "laplace")
    assert "mean" in found.stdout


@pytest.mark.parametrize("ids", ["1.10", "1.11.0"])
@pytest.mark.parametrize("cell", ["3,5", "3.5", "3"])
def test_ids_with_points_leave_the_decimal_commas(cordial, tmp_path, monkeypatch, ids, cell):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{ids}{row};{1 + row % 5};{cell}\n" for row in range(20))
    (tmp_path / "r.csv").write_text(f"item_id;rating;length\n{rows}")
    chosen = "--options", "1,2,3,4,5", "-o", "p.csv", "-n", "5", "--keep-form"
    cordial("plan", "r.csv", *chosen)
    planned = (tmp_path / "p.csv").read_text().splitlines()
    assert planned[0].startswith("item_id;") and cell in planned[1]
    comma = cell == "3,5" or cell == "3" and ids.count(".") > 1
    marks = {mark for mark in ",." if mark in planned[1].replace(cell, "").partition(";")[2]}
    assert marks == ({","} if comma else {"."})
