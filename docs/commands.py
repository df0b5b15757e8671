"""The commands of `cordial`, as `docs/cli.md` lists them after its first part.

    python docs/commands.py

Writes that page anew from the commands and their options.
"""

from pathlib import Path

from cordial_ppl.cli.app import COMMANDS, app

PAGE = Path(__file__).parent / "cli.md"
MARK = "<!-- From here on: python docs/commands.py -->\n"
COMMON = ("--json", "--quiet, -q", "--config FILE")
"""Options of every command, which the first part of the page explains."""


def list_commands() -> str:
    """Return a section for each command: usage, what it does, its options by group."""
    for name in COMMANDS:
        app[name].help = None  # In place of it that of its function, which is longer.
    text = app.generate_docs()
    _, first, rest = text.partition(f"## cordial {next(iter(COMMANDS))}\n")
    common = tuple(f"* `{option}`" for option in COMMON)
    lines = [line for line in (first + rest).splitlines() if not line.startswith(common)]
    return "\n".join(lines).replace("**Output**:\n\n\n", "").replace("```console", "```") + "\n"


def page() -> str:
    """Return the page, its second part made anew."""
    first, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return f"{first}{MARK}\n{list_commands()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
