"""Prompts: a template with the options and a text."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError, as_path, naming
from cordial_ppl.tables import read_columns
from cordial_ppl.tables.choices import read_items
from cordial_ppl.tables.columns import filled, is_reading, passed_through

Order = tuple[int, ...]
"""Positions on the scale, in the order in which the prompt lists them."""

TEMPLATE = """\
{question}

Text:
{text}

Answer with one of: {options}. Give the answer alone, nothing else.
"""

QUESTION = "Rate the text below on the scale from {lowest} (lowest) to {highest} (highest)."

FIELD = re.compile(r"\{([^\W\d][\w .-]*)\}")
"""A field, `{text}`; all other braces are plain text."""

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
        return frozenset(FIELD.findall(self.text)) - RESERVED

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
        return FIELD.sub(lambda field: values[field[1]], self.text).strip()


def make_prompt(
    scale: Scale,
    path: str | Path | None = None,
    question: str | None = None,
    permutations: int = 1,
) -> Prompt:
    """Make a prompt.

    Readers prefer options by their place in the list. If a place adds a constant to an option's
    logit, the constants cancel in the mean of logits over all rotations of the K options, in which
    every option takes every place once.

    Args:
        scale: The options.
        path: A file with the template; None for the default one.
        question: What the default template asks, which may have fields too.
        permutations: Number of orders of the options, rotations of the scale's, at most K.

    Returns:
        The prompt.

    Raises:
        FileError: The file cannot be read, or is not UTF-8.
        InputError: The template names no column, has no place for the options, or is given along
            with a question; or there are fewer orders.
    """
    if path is not None and question is not None:
        raise InputError("--prompt FILE is the whole prompt: write the question into FILE.")
    try:
        template = path and as_path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path} as text in UTF-8: {error}.") from error
    text = template or TEMPLATE.replace("{question}", question or QUESTION)
    places = tuple(range(scale.size))
    prompt = Prompt(scale, text, [places[k:] + places[:k] for k in places[:permutations]])
    if not prompt.columns:
        raise InputError("a prompt must contain {text}, or another column of the table.")
    if permutations > (scale.size if "{options}" in text else 1):
        raise InputError(
            f"--permutations lists the options, {{options}} in the prompt, in up to {scale.size} "
            "orders."
        )
    return prompt


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
    with naming(path):
        cells = [map(str, filled(columns, name, "The prompt contains it.")) for name in used]
    fields = [dict(zip(used, row, strict=True)) for row in zip(*cells, strict=True)]
    extras = passed_through(columns, ["item_id", *used])
    kept = {name: cells for name, cells in extras.items() if not is_reading(name)}
    return dict(zip(items, fields, strict=True)), kept
