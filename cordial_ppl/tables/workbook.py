"""Sheets of Excel: the rows of the first, and what a table cannot show of it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from cordial_ppl.errors import FileError, list_names, quote, warn
from cordial_ppl.tables.frame import first_line

DOUBTS = {
    "hidden": "hidden rows are read too ({}): to leave them out, copy the visible cells alone.",
    "merged": "merged ranges have a value in their first cell alone ({}): unmerge and fill them.",
    "empty": "formulas without a value are read as empty ({}): save the file in Excel first.",
}
"""What is warned of, with what to do."""


def read_sheet(path: Path) -> Iterator[tuple[int, Sequence[str]]]:
    """Read the rows of the first sheet as text, numbered from 1, and warn of what is left out.

    Raises:
        FileError: The file is no workbook, or fastexcel is not installed.
    """
    try:
        import fastexcel
    except ModuleNotFoundError as error:
        needed = 'fastexcel: pip install -e ".[excel]".'
        raise FileError(f"reading {path} needs {needed}") from error
    try:
        book = fastexcel.read_excel(path)
        first, *others = book.sheet_names
        # Without a header polars keeps the rows where they are; all cells are text, as in a CSV.
        sheet = book.load_sheet(first, header_row=None, dtypes="string")
        rows = sheet.to_polars().fill_null("").iter_rows()
    except (fastexcel.FastExcelError, ValueError) as error:
        raise FileError(f"{path} is damaged or no workbook: {first_line(error)}.") from error
    if others:
        warn(f"{path}: the first sheet is read, {quote(first)}; left out: {list_names(others)}.")
    # What Excel alone can tell is asked of the XML, if it has the usual form.
    with suppress(BadZipFile, KeyError, StopIteration, ElementTree.ParseError):
        for doubt, places in _find_doubts(path).items():
            if places:
                shown = ", ".join(places[:3]) + ", ..." * (len(places) > 3)
                warn(f"{path}: {len(places)} {DOUBTS[doubt].format(shown)}")
    return enumerate(rows, 1)


def _find_doubts(path: Path) -> dict[str, list[str]]:
    """Find hidden rows, merged cells, and formulas without a value in the first sheet."""
    places: dict[str, list[str]] = {doubt: [] for doubt in DOUBTS}
    with ZipFile(path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
        sheet = next(book.iterfind(".//{*}sheet"))
        link = next(value for name, value in sheet.items() if name.endswith("}id"))
        target = next(each.attrib["Target"] for each in links if each.get("Id") == link)
        name = target[1:] if target.startswith("/") else f"xl/{target}"
        with archive.open(name) as file:
            for _, element in ElementTree.iterparse(file):
                kind = element.tag.rpartition("}")[2]
                if kind == "mergeCell":
                    places["merged"].append(element.attrib["ref"])
                elif kind == "c" and {each.tag[-2:] for each in element} == {"}f"}:
                    places["empty"].append(element.get("r", "a cell"))
                elif kind == "row":
                    if element.get("hidden") in ("1", "true") and any(element.itertext()):
                        places["hidden"].append(f"row {element.get('r')}")
                    element.clear()
    return places
