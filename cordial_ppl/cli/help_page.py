"""What `--help` prints: plain lines by group, no wider than the terminal or a hundred columns."""

from textwrap import wrap
from typing import Any

from cyclopts.help import HelpEntry, HelpPanel
from rich.console import Console

WIDEST = 100
"""Characters of a line at most."""

MARGIN = 20
"""Characters of an option and its value; after longer ones the text is on the next line."""


class HelpPage:
    """Formatter of a page."""

    def __call__(self, console: Console, options: Any, panel: HelpPanel) -> None:
        """Print a group of options or of commands."""
        if not panel.entries:
            return
        print(f"\n{panel.title}:")
        for entry in panel.entries:
            name, text = f"  {name_entry(entry)}", describe_entry(entry)
            lines = wrap(text, max(_width(console) - MARGIN, MARGIN))
            if len(name) >= MARGIN - 1:
                print(name)
            elif lines:
                print(f"{name:<{MARGIN}}{lines.pop(0)}")
            for line in lines:
                print(f"{'':<{MARGIN}}{line}")

    def render_usage(self, console: Console, options: Any, usage: Any) -> None:
        """Print how the command is called."""
        print(f"Usage: {usage.plain.strip()}")

    def render_description(self, console: Console, options: Any, description: Any) -> None:
        """Print what the command does."""
        for paragraph in _plain(description).strip().split("\n\n"):
            print("\n" + "\n".join(wrap(paragraph, _width(console))))


def name_entry(entry: HelpEntry) -> str:
    """Return an argument, or an option by its names and its value: "-o, --output OUT"."""
    names = ", ".join(sorted(entry.all_options, key=len))
    return entry.positional_label or f"{names} {entry.metavar or ''}".strip()


def describe_entry(entry: HelpEntry) -> str:
    """Return the help of an option or a command, with its default if that is shown."""
    default = f" [default: {entry.default}]" if entry.default else ""
    return f"{_plain(entry.description).strip()}{default}"


def _plain(text: Any) -> str:
    """Return the text that is printed, which keeps its form in a help of plain text."""
    return getattr(text, "primary_renderable", text).plain


def _width(console: Console) -> int:
    """Return the characters of a line."""
    return max(min(console.width, WIDEST), MARGIN)
