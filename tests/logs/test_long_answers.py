"""Reading takes time that grows as the text does, whatever a model repeats until it is cut off."""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.errors import CordialError
from cordial_ppl.logs.ask.prompt import find_fields
from cordial_ppl.logs.spellings import Spellings, fold, loose

UNITS = (
    *'-_ 1aA"*`({[<\\$.,#=:|/\n+%&;é',
    *(
        "1.",
        "- ",
        "a ",
        "1 ",
        "**",
        "(1",
        "<|",
        "</",
        "[THINK]",
        "<think>",
        "[0]",
        ". ",
        "1,",
        "a-",
    ),
    *(
        "score ",
        'score": ',
        "Score: ",
        "\\\\",
        "a.b",
        "1e",
        "(a",
        "the ",
        "so the ",
        "[[",
        "\\boxed{",
    ),
    *(
        "final-",
        "1-",
        "out of ",
        "not ",
        "cannot ",
        "{a",
        "{{a ",
        "{{",
        "1/",
        "(1)",
        "- 1",
        "~",
        "\t",
    ),
)
LENGTH, QUICK, LINEAR = 5_000, 0.02, 3.0
WORDS = Spellings(Scale.of(("poor", "fair", "good", "very good", "excellent")))


def read_log(row: dict[str, str], text: str) -> Any:
    """Read a log of one row, with a text in place of a field's "..."."""
    cells = {"id": "a", "label": "4"} | {
        name: cell.replace("...", text) for name, cell in row.items()
    }
    with TemporaryDirectory() as folder:
        (path := Path(folder, "log.jsonl")).write_text(json.dumps(cells))
        return cp.read(path, item="id", answer="answer", label="label", options=range(1, 6))


ANSWERS, ANNOTATED = {"answer": "..."}, {"answer": "Score: 4", "label": "..."}
READERS: dict[str, Callable[[str], Any]] = {
    "a log of answers": partial(read_log, ANSWERS),
    "a log of labels": partial(read_log, ANNOTATED),
    "a spelling": WORDS.match,
    "a loose spelling": loose,
    "a folded text": fold,
    "a requirement": parse,
    "a template": find_fields,
}


def seconds(read: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    try:
        read(text)
    except CordialError:
        pass
    return time.process_time() - start


def is_slow(read: Callable[[str], Any], form: str, unit: str) -> bool:
    """Double a text whose time can be told; a quadratic reader takes four times as long."""
    small, large = (form.format(unit * (LENGTH * times // len(unit))) for times in (1, 2))
    if seconds(read, large) < QUICK:
        return False
    times = (min(seconds(read, text) for _ in range(3)) for text in (small, large))
    return next(times) * LINEAR < next(times)


@pytest.mark.nightly
@pytest.mark.parametrize("name", READERS)
def test_a_long_text_takes_no_longer_than_its_length(name: str) -> None:
    forms = "{}", "Score: {}4", "{}!\0", "I think {} is 4"
    read = partial(is_slow, READERS[name])
    assert [(form, unit) for form in forms for unit in UNITS if read(form, unit)] == []


@pytest.mark.parametrize("row", [ANSWERS, ANNOTATED])
def test_twenty_thousand_dashes_are_read_at_once(row: dict[str, str]) -> None:
    assert seconds(partial(read_log, row), f"a{'-' * 20_000}b") < 1
