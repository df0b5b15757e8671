"""What is said of a model that was asked: what it took, and what was lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.output import show_json
from cordial_ppl.cli.reading import as_json, explain_text, report, warn
from cordial_ppl.formats import Collected

if TYPE_CHECKING:
    from cordial_ppl.live.tally import Tally

NAMED = 3
"""Texts that a warning names."""


@dataclass(frozen=True)
class Asked:
    """Readings that were asked for.

    Attributes:
        collected: The readings.
        tally: What it took.
        missing: Texts that got no answer, and why.
        cut: Answers that were cut off before they named an option.
        held_back: Columns of the texts that are not in the table of readings.
    """

    collected: Collected
    tally: "Tally"
    missing: Mapping[str, str]
    cut: int
    held_back: Sequence[str]

    def show(self, model: str, out: Path, *, json: bool, quiet: bool) -> None:
        """Say it: to programs, or to people.

        Args:
            model: The model's name.
            out: Where the readings are.
            json: Whether to print JSON, nothing else.
            quiet: Whether to print only warnings.
        """
        if json:
            took = {
                "requests": self.tally.requests,
                "tokens_read": self.tally.read,
                "tokens_written": self.tally.written,
                "cost": self.tally.cost,
            }
            lost = {
                "missing": dict(self.missing),
                "cut": self.cut,
                "held_back": list(self.held_back),
            }
            show_json({**as_json(self.collected, model), **took, **lost})
            return
        for text in self.collected.explained:
            typer.echo(explain_text(text, self.collected))
        if not quiet:
            if self.tally.requests:
                say(self.tally.words)
            report(self.collected, model, out, None)
        self._warn()

    def _warn(self) -> None:
        if self.missing:
            named = [f"{item!r} ({why})" for item, why in list(self.missing.items())[:NAMED]]
            rest = len(self.missing) - len(named)
            say(
                f"warning: {count(len(self.missing), 'text')} without an answer are left out: "
                + ", ".join(named)
                + (f" and {rest} more" if rest else "")
            )
        warn(self.collected)
        if self.cut:
            say(
                f"warning: {count(self.cut, 'answer')} ended before naming an option, for want of "
                "tokens: raise --max-tokens"
            )
        if self.held_back:
            say(
                "warning: columns that would be taken for readings are not passed on: "
                + ", ".join(self.held_back)
            )
