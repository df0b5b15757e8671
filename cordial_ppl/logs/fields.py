"""Fields of rows, named by keys or by JMESPath expressions, and what they hold as evidence."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

from cordial_ppl.errors import InputError, list_names, quote
from cordial_ppl.logs.evidence import ROUNDING, Answer, Evidence, Scores, as_text, make_position
from cordial_ppl.logs.protocols import read_choice, read_response
from cordial_ppl.logs.rows import Row
from cordial_ppl.tables import is_filled

SIMPLE = re.compile(r"""(?P<field>[^=<>'"`]*?)\s*(?P<equals>!?=)\s*(?P<value>[^='"`]*)""")
"""A condition that a shell does not get in the way of: FIELD=VALUE or FIELD!=VALUE."""

UNSURE = 0.02
"""How far from 1 rounding may put a sum of probabilities."""


class _Functions(Functions):
    """JMESPath's functions, and those for JSON in texts, objects by name and responses."""

    @signature({"types": ["string", "null", "object", "array"]})
    def _func_parse_json(self, text: Any) -> Any:
        try:
            return json.loads(text) if isinstance(text, str) and text.strip() else text
        except ValueError as error:
            raise InputError(f"parse_json: {quote(text)} is not JSON ({error}).") from error

    @signature({"types": ["object", "null"]})
    def _func_items(self, fields: Any) -> Any:
        return fields and [{"key": key, "value": value} for key, value in fields.items()]

    @signature({"types": ["object"]})
    def _func_is_response(self, value: Any) -> bool:
        return read_response(value) is not None or "custom_id" in value


_OPTIONS = jmespath.Options(custom_functions=_Functions())


@dataclass(frozen=True)
class Field:
    """A field of rows: the key that is called so, else what a JMESPath expression finds.

    Attributes:
        text: The key or expression; or a condition FIELD=VALUE or FIELD!=VALUE.
    """

    text: str

    @cached_property
    def parsed(self) -> Any:
        """Compile the expression; None if the text is none."""
        try:
            return jmespath.compile(self.text)
        except JMESPathError:
            return None

    @cached_property
    def name(self) -> str:
        """Return the last key of the expression."""
        return re.split(r"[.\[\]|()\s]+", self.text.strip(" )]"))[-1] or self.text

    @cached_property
    def keys(self) -> list[str]:
        """List the paths that the expression is made of."""
        return [self.text, *re.findall(r"[\w.-]+", self.text)]

    def find(self, row: Mapping[str, Any]) -> Any:
        """Find what a row holds there; None if nothing.

        Raises:
            InputError: The expression needs a value of another type.
        """
        if self.text in row:
            return row[self.text]
        try:
            return self.parsed.search(row, _OPTIONS) if self.parsed else None
        except JMESPathError as error:
            raise InputError(f"the field `{self.text}`: {error}.") from error

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Say whether a condition holds: an expression, or FIELD=VALUE whatever its capitals."""
        if simple := SIMPLE.fullmatch(self.text):
            text = as_text(self.subject.find(row)) or ""
            same = text.casefold() == simple["value"].strip().casefold()
            return same == (simple["equals"] == "=")
        return self.find(row) not in (None, False, "", [], {})

    @cached_property
    def subject(self) -> "Field":
        """Return what a condition is about."""
        simple = SIMPLE.fullmatch(self.text)
        return Field(simple["field"].strip()) if simple else self


def fields_of(names: str | Sequence[str]) -> tuple[Field, ...]:
    """Take one expression, several with commas between them, or a list.

    Args:
        names: The text of an expression; or "question_id,turn", one with a comma in quotes.

    Returns:
        The fields.

    Raises:
        InputError: Quotes are not closed.
    """
    if not isinstance(names, str):
        return tuple(map(Field, names))
    if "," not in names or Field(names).parsed:
        return (Field(names),)
    try:
        (parts,) = csv.reader([names], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"fields must be names separated by commas; found {names!r}.") from error
    return tuple(Field(part) for part in parts if part)


def expand(rows: Iterable[Row], steps: Sequence[Field]) -> Iterator[Row]:
    """Take what fields of rows hold as rows: the elements of a list, each with the row as `outer`.

    Args:
        rows: The rows.
        steps: The fields, one inside the other.

    Yields:
        The inner rows.
    """
    if not steps:
        yield from rows
        return
    inner: list[Row] = []
    for row in rows:
        value = steps[0].find(row.value)
        if value is row.value:
            inner = [row]
        elif is_filled(value):
            inner = [
                Row(
                    f"{row.location}, element {number}",
                    {"outer": row.value, **(one if isinstance(one, dict) else {"value": one})},
                )
                for number, one in enumerate(value if isinstance(value, list) else [value])
            ]
        yield from expand(inner, steps[1:])
        inner = []


def list_cells(value: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """List the texts and numbers of an object and of those in it, with their paths."""
    for name, cell in value.items():
        if isinstance(cell, Mapping) and start.count(".") < 3:
            yield from list_cells(cell, f"{start}{name}.")
        elif isinstance(cell, str | int | float) and is_filled(cell):
            yield start + name, cell


def read_value(value: Any, name: str) -> Evidence | None:
    """Read what a field holds as evidence.

    Args:
        value: A text or a number, a list of them, a response of a server, one of its choices or
            its log-probabilities, or an object of numbers by option: log-probabilities (none above
            0), probabilities (which sum to 1), counts (whole) or logits.
        name: The field, for messages.

    Returns:
        The evidence; None if there is nothing.

    Raises:
        InputError: It is something else.
    """
    if not is_filled(value):
        return None
    if (
        isinstance(value, list)
        and value
        and isinstance(value[0], Mapping)
        and "logprob" in value[0]
    ):
        # Tokens have alternatives, alternatives none.
        if any("top_logprobs" in one for one in value):
            return [read_choice({"logprobs": {"content": value}})]
        return [_of_options({str(one["token"]): one["logprob"] for one in value})]
    if isinstance(value, list):
        # A sample that failed, or is empty, is one that names no option.
        read = [read_value(one, name) or [Answer("")] for one in value]
        if any(isinstance(one, list) for one in value) or any(isinstance(r, Scores) for r in read):
            raise InputError(
                f"`{name}` must be one answer or a list of answers; found {quote(value)}."
            )
        return [answer for answers in read if isinstance(answers, list) for answer in answers]
    return (
        _read_object(value, name) if isinstance(value, Mapping) else [Answer(str(as_text(value)))]
    )


def _read_object(value: Mapping[str, Any], name: str) -> Evidence | None:
    """Read a response or a part of one, or numbers by option."""
    if response := read_response(value):
        return response.answers or None
    if any(isinstance(value.get(part), Mapping) for part in ("message", "logprobs")):
        return [read_choice(value)]
    if isinstance(value.get("content"), list) or "token" in value:
        return [read_choice({"logprobs": value if "content" in value else {"content": [value]}})]
    numbers = {option: cell for option, cell in value.items() if cell is not None}
    scores = list(numbers.values())
    if not numbers or not all(type(score) in (int, float) for score in scores):
        first = next(iter(value), "name")
        raise InputError(
            f"`{name}` is an object with {list_names(value, 6)}: name one of its fields, such as "
            f"{name}.{first}, or several with commas."
        )
    if max(scores) <= ROUNDING and any(scores):
        return [_of_options(numbers)]
    if min(scores) >= 0 and all(isinstance(score, int) for score in scores):
        return Scores("n", scores, [*numbers])
    shares = min(scores) >= 0 and abs(fsum(scores) - 1.0) <= UNSURE
    return Scores("p" if shares else "logit", scores, [*numbers])


def _of_options(scores: Mapping[str, float]) -> Answer:
    """Make an answer that is one of several texts, by their log-probabilities."""
    # Of equal ones the first by name, so that the order of keys changes nothing.
    chosen = max(sorted(scores), key=scores.__getitem__)
    return Answer(chosen, [make_position(chosen, None, scores.items())])
