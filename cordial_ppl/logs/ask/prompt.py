"""Prompts: a template with the options and a text."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingsClash, as_path
from cordial_ppl.tables import read_columns
from cordial_ppl.tables.choices import read_items
from cordial_ppl.tables.columns import filled, is_reading, passed_through
from cordial_ppl.tables.frame import reading
from cordial_ppl.tables.provenance import digest

TEMPLATE = """\
{question}

Text:
{text}

Answer with one of: {options}. Give the answer alone, nothing else.
"""

QUESTION = "Rate the text below on the scale from {lowest} (lowest) to {highest} (highest)."

FIELD = re.compile(r"\{([^\W\d][\w .-]*)\}")
"""A field, `{text}`; all other braces are plain text."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for texts, which lists the options in one order or in several.

    Readers prefer options by their place in the list. If a place adds a constant to an option's
    logit, the constants cancel in the mean of logits over all rotations of the K options, in which
    every option takes every place once.

    Attributes:
        scale: The options.
        text: A text with the fields `{options}`, `{lowest}`, `{highest}`, and columns of texts.
        permutations: Number of orders, rotations of the scale's, at most K.

    Raises:
        InputError: The text names no column, or there are fewer orders.
    """

    scale: Scale
    text: str
    permutations: int = 1

    def __post_init__(self) -> None:
        """Check that the prompt asks about a text, and lists the options if their order counts."""
        if not self.columns:
            raise InputError("a prompt must refer to a column of the table, such as {text}.")
        if self.permutations > (self.scale.size if "{options}" in self.text else 1):
            raise InputError(
                f"--permutations must be at most {self.scale.size}, or 1 if the prompt does not "
                "contain {options}."
            )

    @property
    def columns(self) -> frozenset[str]:
        """Return the columns that the prompt uses; the scale's fields are none."""
        return frozenset(FIELD.findall(self.text)) - {"options", "lowest", "highest"}

    @property
    def digest(self) -> str:
        """Identify the prompt, its options and orders by 12 digits of their SHA-256."""
        return digest(json.dumps([self.text, self.scale.options, self.permutations]))

    def fill(self, fields: Mapping[str, str]) -> list[str]:
        """Ask about a text by its columns: the question in each order of the options."""
        options, questions = self.scale.options, []
        separator = "; " if any("," in name for name in options) else ", "
        values = {**fields, "lowest": options[0], "highest": options[-1]}
        for k in range(self.permutations):
            values["options"] = separator.join(options[k:] + options[:k])
            # Only once: braces in a text do nothing.
            questions.append(FIELD.sub(lambda field: values[field[1]], self.text).strip())
        return questions

    def read_texts(self, path: Path) -> tuple[dict[str, dict[str, str]], dict[str, list]]:
        """Read a table of texts.

        Args:
            path: A table with `item_id` and the prompt's columns.

        Returns:
            The columns that the prompt uses by the text's name, and the other columns, but for
            those that would be taken for readings.

        Raises:
            FileError: The file cannot be read or is not what its ending says.
            InputError: A column is missing, a text has no name or occurs twice, or a cell that the
                prompt uses is empty.
        """
        columns, used = read_columns(path), sorted(self.columns)
        items = read_items(columns)
        cells = [map(str, filled(columns, name, "Fill in every row.")) for name in used]
        fields = [dict(zip(used, row, strict=True)) for row in zip(*cells, strict=True)]
        left = ["item_id", *used, *filter(is_reading, columns.schema)]
        return dict(zip(items, fields, strict=True)), passed_through(columns, left)


def read_template(path: str | Path | None = None, question: str | None = None) -> str:
    """Read the text of a prompt with its fields: a file's, or the default one with a question.

    Raises:
        FileError: The file cannot be read, or is not UTF-8.
        SettingsClash: There is a file along with a question.
    """
    if path is None:
        return TEMPLATE.replace("{question}", question or QUESTION)
    if question is not None:
        raise SettingsClash("prompt", "question")
    path = as_path(path)
    with reading(path):
        return path.read_text(encoding="utf-8-sig")
