"""Prompts: a template with the options and a text."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError, as_path, name_rows
from cordial_ppl.tables import is_filled, read_columns
from cordial_ppl.tables.choices import read_items
from cordial_ppl.tables.columns import is_reading, passed_through

Order = tuple[int, ...]
"""Positions on the scale, in the order in which the prompt lists them."""

TEMPLATE = """\
{question}

Text:
{text}

Answer with one of: {options}. Give the answer alone, nothing else.
"""

QUESTION = "Rate the text below on the scale from {lowest} (lowest) to {highest} (highest)."

FIELD = re.compile(r"\{\{([^\W\d][\w .-]*)\}\}|\{([^\W\d][\w .-]*)\}")
"""A field, `{text}`, or literal braces, `{{text}}`; all other braces are plain text."""

RESERVED = frozenset(("options", "lowest", "highest"))
"""Fields that come from the scale, even if the table has such columns."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for texts.

    Attributes:
        scale: The options.
        text: A text with the fields `{options}`, `{lowest}`, `{highest}`, and columns of texts.
        orders: Orders in which the options are listed.
    """

    scale: Scale
    text: str
    orders: Sequence[Order]

    @property
    def columns(self) -> frozenset[str]:
        """Return the columns that the prompt uses."""
        return _fields_of(self.text) - RESERVED

    @property
    def digest(self) -> str:
        """Identify the prompt, its options and orders by 12 digits of their SHA-256."""
        content = json.dumps([self.text, self.scale.options, self.orders], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def fill(self, fields: Mapping[str, str], order: Order) -> str:
        """Ask about a text.

        Args:
            fields: The text's columns.
            order: The order in which the options are listed.

        Returns:
            The question, to be answered with an option.
        """
        options = self.scale.options
        listed = [options[k] for k in order]
        values = dict(fields) | {
            "options": ("; " if any("," in name for name in listed) else ", ").join(listed),
            "lowest": options[0],
            "highest": options[-1],
        }
        # Only once: braces in a text do nothing.
        return FIELD.sub(lambda it: values[it[2]] if it[2] else f"{{{it[1]}}}", self.text).strip()


def make_prompt(
    scale: Scale,
    path: str | Path | None = None,
    question: str | None = None,
    permutations: int = 1,
    seed: int = 0,
) -> Prompt:
    """Make a prompt.

    Args:
        scale: The options.
        path: A file with the template; None for the default one.
        question: The value of `{question}`, which may have fields too.
        permutations: Number of orders of the options.
        seed: Seed of the orders.

    Returns:
        The prompt.

    Raises:
        FileError: The file cannot be read, or is not UTF-8.
        InputError: The template names no column, or has no place for the question or the options.
    """
    try:
        template = TEMPLATE if path is None else as_path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8: {error}. Save it as UTF-8.") from error
    if question is not None and "question" not in _fields_of(template):
        raise InputError("a question is given (--question), but the prompt has no {question}.")
    if question is not None or path is None:
        words = question or QUESTION
        template = FIELD.sub(lambda it: words if it[2] == "question" else it[0], template)
    prompt = Prompt(scale, template, option_orders(scale.size, permutations, seed))
    if not prompt.columns:
        names = ", ".join(f"{{{name}}}" for name in sorted(_fields_of(template))) or "no field"
        raise InputError(f"a prompt must contain {{text}}, or another column; found {names}.")
    if permutations > 1 and "options" not in _fields_of(template):
        raise InputError(
            "--permutations lists the options in several orders, but the prompt has no {options}."
        )
    return prompt


def _fields_of(template: str) -> frozenset[str]:
    return frozenset(match[2] for match in FIELD.finditer(template) if match[2])


def option_orders(size: int, number: int, seed: int = 0) -> list[Order]:
    """Choose orders in which options are listed.

    Readers prefer options by their place in the list. If a place adds a constant to an option's
    logit, the constants cancel in the mean of logits over orders in which every option takes every
    place equally often. One order is the scale's; several are rotations of random orders, so that
    in every K of them each option takes each place once.

    Args:
        size: Number of options K.
        number: The number of orders, at most K!.
        seed: Seed of the random orders.

    Returns:
        Different orders.

    Raises:
        InputError: There are fewer orders.
    """
    if number > math.factorial(size):
        raise InputError(
            f"{size} options have {math.factorial(size)} orders; --permutations asks for {number}."
        )
    if number == 1:
        return [tuple(range(size))]
    rng = np.random.default_rng(seed)
    orders: dict[Order, None] = {}
    while len(orders) < number:
        order = rng.permutation(size)
        orders |= {tuple(np.roll(order, -turn).tolist()): None for turn in range(size)}
    return list(orders)[:number]


def read_texts(
    path: str | Path, prompt: Prompt
) -> tuple[dict[str, dict[str, str]], dict[str, list]]:
    """Read a table of texts.

    Args:
        path: A table with `item_id` and the prompt's columns.
        prompt: The prompt.

    Returns:
        The columns that the prompt uses by the text's name, and the other columns, but for those
        that would be taken for readings.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column is missing, a text has no name or occurs twice, or a cell that the
            prompt uses is empty.
    """
    columns, used = read_columns(path), sorted(prompt.columns)
    items = read_items(columns)
    for name in used:
        columns.require(name)
        empty = [i for i, cell in enumerate(columns.cells[name]) if not is_filled(cell)]
        if empty:
            rows = name_rows(empty, columns.where)
            raise InputError(f"{path}: the column {name!r} is empty in {rows}.")
    rows = zip(*(map(str, columns.cells[name]) for name in used), strict=True)
    fields = [dict(zip(used, row, strict=True)) for row in rows]
    extras = passed_through(columns, ["item_id", *used])
    kept = {name: cells for name, cells in extras.items() if not is_reading(name)}
    return dict(zip(items, fields, strict=True)), kept
