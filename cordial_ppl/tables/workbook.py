"""Sheets of Excel: the rows of the first visible one, and what a table cannot show of it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial, reduce
from pathlib import Path
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from cordial_ppl.errors import FileError, list_names, quote, warn
from cordial_ppl.tables.frame import first_line

DOUBTS = {
    "hidden": "hidden rows were read ({}). To exclude them, copy only the visible cells.",
    "column": "hidden columns were read ({}). To exclude them, copy only the visible cells.",
    "merged": "merged ranges hold a value only in the first cell ({}). Unmerge and fill them.",
    "empty": "formulas without a stored value were read as empty ({}). Save the file in Excel.",
}
"""What is warned of, with what to do."""

YES = "1", "true"


def read_sheet(path: Path) -> Iterator[tuple[int, Sequence[str]]]:
    """Read the rows of the first visible sheet as text, from 1, and warn of what is left out.

    Raises:
        FileError: The file is no workbook, or fastexcel is not installed.
    """
    try:
        import fastexcel
    except ModuleNotFoundError as error:
        needed = 'fastexcel. Run pip install "cordial-ppl[excel]".'
        raise FileError(f"reading {path} needs {needed}") from error
    try:
        book = fastexcel.read_excel(path)
        # Without a header polars keeps the rows where they are; all cells are text, as in a CSV.
        load = partial(book.load_sheet, header_row=None, dtypes="string")
        sheets = map(load, book.sheet_names)
        sheet = next((sheet for sheet in sheets if sheet.visible == "visible"), None) or load(0)
        rows = sheet.to_polars().fill_null("").iter_rows()
    except (fastexcel.FastExcelError, ValueError) as error:
        raise FileError(f"{path} is damaged or is not a workbook: {first_line(error)}.") from error
    if others := [name for name in book.sheet_names if name != sheet.name]:
        shown = f"{quote(sheet.name)}, and ignored {list_names(others)}"
        warn(f"{path}: read only the first visible sheet, {shown}.")
    # What Excel alone can tell is asked of the XML, if it has the usual form.
    with suppress(BadZipFile, KeyError, StopIteration, ElementTree.ParseError):
        for doubt, places in _find_doubts(path, sheet.name).items():
            if places:
                shown = ", ".join(places[:3]) + ", ..." * (len(places) > 3)
                warn(f"{path}: {DOUBTS[doubt].format(f'{len(places)} found: {shown}')}")
    return enumerate(rows, 1)


def _find_doubts(path: Path, name: str) -> dict[str, list[str]]:
    """Find what is hidden, merged cells, and formulas without a value in a sheet."""
    places: dict[str, list[str]] = {doubt: [] for doubt in DOUBTS}
    hidden: list[range] = []
    with ZipFile(path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
        sheet = next(each for each in book.iterfind(".//{*}sheet") if each.get("name") == name)
        link = next(value for name, value in sheet.items() if name.endswith("}id"))
        target = next(each.attrib["Target"] for each in links if each.get("Id") == link)
        name = target[1:] if target.startswith("/") else f"xl/{target}"
        with archive.open(name) as file:
            for _, element in ElementTree.iterparse(file):
                kind = element.tag.rpartition("}")[2]
                if kind == "mergeCell":
                    places["merged"].append(element.attrib["ref"])
                elif kind == "col" and element.get("hidden") in YES:
                    hidden.append(range(int(element.attrib["min"]), int(element.attrib["max"]) + 1))
                elif kind == "c":
                    cell = element.get("r", "a cell")
                    if {each.tag[-2:] for each in element} == {"}f"}:
                        places["empty"].append(cell)
                    letters = cell.rstrip("0123456789")
                    if letters not in places["column"] and any(element.itertext()):
                        number = reduce(lambda sum, letter: 26 * sum + ord(letter) - 64, letters, 0)
                        places["column"] += [letters] * any(number in part for part in hidden)
                elif kind == "row":
                    if element.get("hidden") in YES and any(element.itertext()):
                        places["hidden"].append(f"row {element.get('r')}")
                    element.clear()
    return places
