"""Prompts: a template with the options, a text, and examples before it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError, as_path

Messages = list[dict[str, str]]
"""A conversation, each message with its role and content."""

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


class Example(NamedTuple):
    """A labelled text, shown as an example: its name, if any, its columns, and its option."""

    item_id: str
    fields: Mapping[str, str]
    answer: str


@dataclass(frozen=True)
class Prompt:
    """A prompt for texts.

    Examples are earlier turns of the conversation: the same prompt with another text, and its
    answer. A text is never an example for itself; texts are compared by name and by content.

    Args:
        scale: The options.
        template: A text with the fields `{options}`, `{lowest}`, `{highest}`, `{question}` and
            columns of the table of texts.
        question: The value of `{question}`; it may have fields too.
        examples: The examples.

    Raises:
        InputError: The template names no column, or has no place for the question.
    """

    scale: Scale
    template: str = TEMPLATE
    question: str | None = None
    examples: Sequence[Example] = ()

    def __post_init__(self) -> None:
        """Check the fields."""
        fields = find_fields(self.template)
        if not self.columns:
            names = ", ".join(f"{{{name}}}" for name in sorted(fields)) or "no field"
            raise InputError(f"a prompt must contain {{text}}, or another column; found {names}.")
        if self.question is not None and "question" not in fields:
            raise InputError("a question is given (--question), but the prompt has no {question}.")

    @cached_property
    def text(self) -> str:
        """Return the template with the question in it; without one `{question}` is a column."""
        if self.question is None and self.template != TEMPLATE:
            return self.template
        question = self.question or QUESTION
        return FIELD.sub(lambda it: question if it[2] == "question" else it[0], self.template)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Return the columns of the table that the prompt uses."""
        return find_fields(self.text) - RESERVED

    def messages(self, fields: Mapping[str, str], order: Order, item_id: str = "") -> Messages:
        """Ask about a text.

        Args:
            fields: The text's columns.
            order: The order in which the options are listed.
            item_id: The text's name.

        Returns:
            The conversation, to be answered with an option.
        """
        turns: Messages = []
        for example in self.examples:
            pairs = ((example.fields[name], fields[name]) for name in self.columns)
            same = all(one.split() == other.split() for one, other in pairs)
            if not same and not (item_id and example.item_id == item_id):
                turns.append({"role": "user", "content": self._fill(example.fields, order)})
                turns.append({"role": "assistant", "content": example.answer})
        return [*turns, {"role": "user", "content": self._fill(fields, order)}]

    def digest(self, orders: Sequence[Order]) -> str:
        """Identify the prompt, its examples and orders by 12 digits of their SHA-256."""
        shown = [[dict(example.fields), example.answer] for example in self.examples]
        content = [self.template, self.question or QUESTION, self.scale.options, shown, orders]
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _fill(self, fields: Mapping[str, str], order: Order) -> str:
        options = self.scale.options
        listed = [options[k] for k in order]
        values = dict(fields) | {
            "options": ("; " if any("," in name for name in listed) else ", ").join(listed),
            "lowest": options[0],
            "highest": options[-1],
        }
        # Only once: braces in a text do nothing.
        return FIELD.sub(lambda it: values[it[2]] if it[2] else f"{{{it[1]}}}", self.text).strip()


def find_fields(template: str) -> frozenset[str]:
    """Find the names of the fields of a template."""
    return frozenset(match[2] for match in FIELD.finditer(template) if match[2])


def read_template(path: str | Path | None) -> str:
    """Read a template from a file in UTF-8; None gives the default template.

    Raises:
        FileError: The file cannot be read, or is not UTF-8.
    """
    if path is None:
        return TEMPLATE
    try:
        return as_path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8: {error}. Save it as UTF-8.") from error
