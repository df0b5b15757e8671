"""Pages of the documents: their code is run as it stands, and printed is what they show.

A page is one session.  Fences of ``python`` share their names.  On a page that makes what they
read, the lines of ``sh`` that begin with ``cordial`` are run; those of ``bash`` are shown only.  A
fence with a title is a file, written if there is none, or else how the file begins.  What is
printed stands in a comment behind each ``print``, or in the fence of ``text`` that follows, where a
line "..." leaves out any number of lines.
"""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import program

FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

LEAST, SHARE = 0.1, 0.2
"""How far numbers of a fence of text may be off, for draws differ from machine to machine.

Pages keep their seeds: over four instruction sets (SSE 4.2, AVX, AVX2 and all) none of 866 numbers
moves by more than a third of it, and 85 in a hundred not at all.
"""

UNITS = 2.0
"""The same of a number in a comment, in units of its last digit: of 70 none moves by more."""


class Fence(NamedTuple):
    """A block of code: its language, its title, and what it holds."""

    language: str
    title: str
    code: str


def fences(text: str) -> list[Fence]:
    """All blocks of code of a page, in order."""
    return [Fence(*found) for found in FENCE.findall(text)]


def commands(fence: Fence) -> list[list[str]]:
    """The arguments of each line of a shell block that runs the program."""
    joined = fence.code.replace("\\\n", " ")
    first = (line.partition("||")[0] for line in joined.splitlines())
    words = [shlex.split(line, comments=True) for line in first]
    return [line[1:] for line in words if line and line[0] == "cordial"]


def run(text: str, folder: Path, shell: bool) -> None:
    """Run a page in a folder, which is the working one; raise where it does not do as it says.

    Args:
        text: the page.
        folder: where its files are.
        shell: whether the page makes what its commands read.
    """
    printed, names = "", {}
    for fence in fences(text):
        if fence.title:
            _keep(folder / fence.title, fence.code)
        elif fence.language == "python":
            assert not printed.strip(), f"the page does not show: {printed}"
            printed = _execute(fence.code, names)
            if shown := SHOWN.findall(fence.code):
                _agree(shown, printed.splitlines(), exact=True)
                printed = ""
        elif fence.language == "sh" and shell:
            printed = "".join(map(invoke, commands(fence)))
        elif fence.language == "text":
            _agree(fence.code.splitlines(), printed.splitlines())
            printed = ""


def _keep(path: Path, content: str) -> None:
    if path.exists():
        lines = content.splitlines()
        _agree(lines, path.read_text().splitlines()[: len(lines)])
    else:
        path.write_text(content)


def _execute(code: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def invoke(arguments: list[str]) -> str:
    """Run the program; return what it prints."""
    result = program.run(*arguments)
    assert result.status == 0, result.output
    return result.output


def _agree(expected: list[str], found: list[str], exact: bool = False) -> None:
    """Compare lines, of which "..." stands for any number; empty ones do not count."""
    expected, found = ([line for line in lines if line.strip()] for lines in (expected, found))
    place, skipping = 0, False
    for line in expected:
        if line == "...":
            skipping = True
            continue
        while skipping and place < len(found) and not alike(line, found[place], exact):
            place += 1
        assert place < len(found), f"the page shows {line!r}, which was not printed: {found}"
        assert alike(line, found[place], exact), f"the page shows {line!r}; found {found[place]!r}"
        place, skipping = place + 1, False
    assert skipping or place == len(found), f"the page does not show {found[place:]}"


def alike(expected: str, found: str, exact: bool) -> bool:
    """Whether two lines are the same but for the noise of their numbers."""
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", found).split():
        return False
    numbers = zip(NUMBER.findall(expected), NUMBER.findall(found), strict=True)
    return all(
        abs(float(one) - float(other))
        <= (UNITS * _digit(one) if exact else max(LEAST, SHARE * abs(float(one)))) + 1e-9
        for one, other in numbers
    )


def _digit(number: str) -> float:
    """The worth of the last digit: 0.01 of "0.50"; a whole number is exact."""
    return 10.0 ** -len(number.partition(".")[2]) if "." in number else 0.0
