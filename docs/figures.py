"""Measured figures in pages: placeholders, and the tables of `benchmarks/results/` that fill them.

A page says where a figure comes from, and the build writes it:

    {{ accuracy gain labels=10 half=all set=all stack=default }}
    {{ accuracy gain ± down=stack across=labels→n set=all half=all stack=default→ours;paper }}

The first word names the table; a word without "=" a column, with what to call it after an arrow;
COLUMN=A;B the lines, in this order, again with what to call them.  With ``down`` a placeholder
becomes a table of its own, a line for each value there, and a column for each of ``across``, or of
the columns that are named.  ``±`` adds standard errors, ``digits=2`` rounds to as many decimals (3
by default), and ``percent`` writes shares of a hundred.
"""

import csv
import re
import shlex
from collections.abc import Sequence
from itertools import product
from pathlib import Path

TABLES = Path(__file__).parent.parent / "benchmarks" / "results"
PLACEHOLDER = re.compile(r"(?<!\$)\{\{ (.+?) \}\}", re.DOTALL)
Line = dict[str, str]


def fill(page: str) -> str:
    """Replace all placeholders of a page.

    Raises:
        ValueError: a placeholder names a table, a column or a value that is not there.
    """

    def replace(found: re.Match[str]) -> str:
        try:
            return write(found[1])
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{found[0]}: {error}") from error

    return PLACEHOLDER.sub(replace, page)


def write(placeholder: str) -> str:
    """Write what a placeholder stands for: a figure or a table."""
    name, *words = shlex.split(placeholder)
    options = dict(word.split("=", 1) for word in words if "=" in word)
    flags = {word for word in words if word in ("±", "percent")}
    columns = dict(map(label, (w for w in words if "=" not in w and w not in flags)))
    down, across = options.pop("down", None), options.pop("across", None)
    digits = int(options.pop("digits", "3"))
    lines = read(name)
    chosen = {key: dict(map(label, value.split(";"))) for key, value in options.items()}
    for key, values in chosen.items():
        if absent := [value for value in values if value not in {line[key] for line in lines}]:
            raise ValueError(f"no line has {key} {absent[0]!r}")
        lines = [line for line in lines if line[key] in values]

    def show(column: str, **at: str) -> str:
        found = [line for line in lines if all(line[key] == value for key, value in at.items())]
        if len(at) == 2 and not found:
            return ""
        if len(found) != 1:
            raise ValueError(f"{len(found)} lines have {at or options}")
        return plain(found[0], column, digits, flags)

    def list_values(key: str) -> dict[str, str]:
        every = {line[key]: line[key] for line in lines}
        return {k: v for k, v in chosen.get(key, every).items() if k in every}

    if down is None:
        return show(*columns)
    key, head = label(down)
    if across is None:
        rows = {k: [show(column, **{key: k}) for column in columns] for k in list_values(key)}
        heads = [*columns.values()]
    else:
        other, word = label(across)
        ahead = f"{word} = " if "→" in across else ""
        beside = list_values(other)
        cells = [*product(columns, beside)]
        rows = {
            k: [show(column, **{key: k, other: o}) for column, o in cells] for k in list_values(key)
        }
        names = [""] if len(columns) == 1 else [f"{name}, " for name in columns.values()]
        heads = [f"{each}{ahead}{value}" for each, value in product(names, beside.values())]
    labels = list_values(key)
    body = [[labels[k], *cells] for k, cells in rows.items()]
    return tabulate([head if "→" in down else "", *heads], body)


def label(word: str) -> tuple[str, str]:
    """Split what is called something else after an arrow."""
    key, _, called = map(str.strip, word.partition("→"))
    return key, called or key


def read(name: str) -> list[Line]:
    """Read a measured table."""
    with (TABLES / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def plain(line: Line, column: str, digits: int, flags: set[str]) -> str:
    """Write a number as a reader would: whole ones without decimals, nothing for none."""

    def number(text: str) -> str:
        value = float(text) * (100 if "percent" in flags else 1)
        if "percent" in flags:
            return f"{value:.0f} %"
        whole = value == round(value) and "." not in text
        return f"{value:,.0f}" if whole else f"{round(value, digits) + 0.0:.{digits}f}"

    text, error = line[column], line.get(f"{column} se", "")
    if not text:
        return ""
    try:
        found = number(text)
    except ValueError:
        return text
    return f"{found} ± {number(error)}" if "±" in flags and error else found


def tabulate(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
