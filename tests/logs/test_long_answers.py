"""Reading takes time that grows as the text does, whatever a model repeats until it is cut off."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.errors import CordialError
from cordial_ppl.logs.answers import Finder
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
READERS: dict[str, Callable[[str], Any]] = {
    "an answer of numbers": Finder(Spellings(Scale.of((1, 2, 3, 4, 5)))).find,
    "an answer of words": Finder(WORDS).find,
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
