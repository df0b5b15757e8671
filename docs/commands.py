"""The commands of `cordial`, as `docs/cli.md` lists them after its first part.

    python docs/commands.py

Writes that part anew from the commands and their options.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from cordial_ppl.cli.app import COMMANDS, app

PAGE = Path(__file__).parent / "cli.md"
MARK = "<!-- From here on: python docs/commands.py -->\n"
SEVERAL = 4
"""Commands from which on an option is listed once for all."""


class Recorder:
    """A help page that is kept: its options, with the help of each, and what stands above them."""

    def __init__(self):
        """Begin with nothing."""
        self.options: list[tuple[str, str]] = []
        self.words: list[str] = []

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Keep a group of options."""
        for each in panel.entries:
            names = ", ".join(sorted(each.all_options, key=len))
            name = each.positional_label or f"{names} {each.metavar or ''}".strip()
            default = f" [default: {each.default}]" if each.default else ""
            self.options.append((name, each.description.primary_renderable.plain.strip() + default))

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Keep how the command is called."""
        words = str(usage).removeprefix("Usage: ").replace("[ARGS]", "[LABELS]").strip()
        self.words.append(f"```text\n{words}\n```")

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Keep what the command does."""
        self.words.append(description.primary_renderable.plain.strip())


def record(name: str) -> Recorder:
    """Return the help page of a command."""
    kept, shown = Recorder(), app.help_formatter
    app.help_formatter = kept
    try:
        app.help_print([name])
    finally:
        app.help_formatter = shown
    return kept


def tabulate(options: list[tuple[str, str]]) -> list[str]:
    """Return a table of options."""
    names = [re.sub(r"(-[-\w]+)", r"`\1`", name) for name, _ in options]
    rows = [f"| {name} | {text} |" for name, (_, text) in zip(names, options, strict=True)]
    return ["| | |", "|---|---|", *rows, ""]


def page() -> str:
    """Return the page, its second part made anew."""
    first, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    groups = {
        title: [each.__name__.replace("_", "-") for each in commands]
        for title, commands in COMMANDS.items()
    }
    records = {name: record(name) for names in groups.values() for name in names}
    counts = Counter(option for each in records.values() for option in each.options)
    common = [option for option, number in counts.items() if number >= SEVERAL]
    lines = ["## Options of several commands", "", *tabulate(common)]
    for title, names in groups.items():
        lines += [f"## {title}", ""]
        for name in names:
            options = [option for option in records[name].options if option not in common]
            lines += [f"### cordial {name}", "", "\n\n".join(records[name].words), ""]
            lines += tabulate(options) if options else []
    return "\n".join([f"{first}{MARK}", *lines])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
