"""What a model is asked about a text: a template with the options, and demonstrations before it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.live.demonstrations import Demonstration
from cordial_ppl.live.orders import Order
from cordial_ppl.live.template import fill, find_fields
from cordial_ppl.scale import Scale

Messages = list[dict[str, str]]
"""A conversation, each message with its role and content."""

TEMPLATE = """\
{question}

Text:
{text}

Answer with one of: {options}. Give the answer alone, nothing else.
"""

QUESTION = "Rate the text below on the scale from {lowest} (lowest) to {highest} (highest)."

OURS = frozenset(("options", "lowest", "highest", "demonstrations"))
"""Fields that are filled in from the scale and the demonstrations, whatever columns there are."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for texts.

    Demonstrations stand where the template has `{demonstrations}`; if it has no such field they are
    earlier turns of the conversation: the same prompt with the other text, and its answer.  A text
    is never shown as its own demonstration: neither by its name nor by its words.

    Args:
        scale: The options.
        template: A text with the fields `{options}`, `{lowest}`, `{highest}`, `{question}`,
            `{demonstrations}`, and columns of the table of texts.
        question: What `{question}` stands for; it may have fields too.
        demonstrations: Labelled texts to show.

    Raises:
        InputError: The template has no column of a text, or a place is missing for what is asked.
    """

    scale: Scale
    template: str = TEMPLATE
    question: str | None = None
    demonstrations: Sequence[Demonstration] = ()

    def __post_init__(self) -> None:
        """Check the fields."""
        fields = find_fields(self.template)
        if not self.columns:
            raise InputError(
                "a prompt must put in the text: {text}, or another column in braces; found "
                + (", ".join(f"{{{name}}}" for name in sorted(fields)) or "no field")
                + "."
            )
        if self.question is not None and "question" not in fields:
            raise InputError("a question is given (--question), but the prompt has no {question}.")

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the table that the prompt puts in."""
        fields = find_fields(self.template)
        if "question" in fields and (self.question is not None or self.template == TEMPLATE):
            fields = fields - {"question"} | find_fields(self.question or QUESTION)
        return fields - OURS

    @cached_property
    def lists_options(self) -> bool:
        """Whether the options' order shows."""
        return "options" in find_fields(self.template) | find_fields(self.question or "")

    def messages(self, fields: Mapping[str, str], order: Order, item_id: str = "") -> Messages:
        """Ask about a text.

        Args:
            fields: The text's columns.
            order: In which the options are listed.
            item_id: The text's name.

        Returns:
            The conversation, to be answered with an option.
        """
        shown = [own for own in self.demonstrations if not self._is_of(own, fields, item_id)]
        if "demonstrations" in find_fields(self.template):
            return [_turn("user", self._asked(fields, order, shown))]
        earlier = [
            turn
            for own in shown
            for turn in (
                _turn("user", self._asked(own.fields, order)),
                _turn("assistant", own.answer),
            )
        ]
        return [*earlier, _turn("user", self._asked(fields, order))]

    def digest(self, orders: Sequence[Order]) -> str:
        """Name the prompt, with its demonstrations and orders, by 12 digits of its SHA-256."""
        shown = [[dict(own.fields), own.answer] for own in self.demonstrations]
        content = [self.template, self.question or QUESTION, self.scale.options, shown, orders]
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _is_of(self, own: Demonstration, fields: Mapping[str, str], item_id: str) -> bool:
        """Whether a demonstration is of a text: by its name, or by all that is shown of it."""
        if item_id and own.item_id == item_id:
            return True
        return all(own.fields[name].split() == fields[name].split() for name in self.columns)

    def _asked(
        self, fields: Mapping[str, str], order: Order, shown: Sequence[Demonstration] = ()
    ) -> str:
        options = self.scale.options
        listed = [options[k] for k in order]
        values = dict(fields) | {
            "options": ("; " if any("," in name for name in listed) else ", ").join(listed),
            "lowest": options[0],
            "highest": options[-1],
            "demonstrations": "\n\n".join(self._block(own) for own in shown),
        }
        if "question" not in self.columns:
            values["question"] = fill(self.question or QUESTION, values)
        return fill(self.template, values).strip()

    def _block(self, own: Demonstration) -> str:
        """A demonstration within the prompt: what it puts in of a text, and the answer."""
        names = sorted(self.columns, key=lambda name: self.template.find(f"{{{name}}}"))
        said = [f"{name[:1].upper()}{name[1:]}: {own.fields[name]}" for name in names]
        return "\n".join([*said, f"Answer: {own.answer}"])


def read_template(path: str | Path | None) -> str:
    """Read a template of one's own.

    Args:
        path: A text file; None for the one that is built in.

    Returns:
        The template.

    Raises:
        FileError: The file cannot be read, or is no text.
    """
    if path is None:
        return TEMPLATE
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8: {error}. Save it as UTF-8.") from error


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
