"""A command that is typed: options from a file, files checked before it runs, and what it says."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from cyclopts.config import Dict

from cordial_ppl.cli.options import Written
from cordial_ppl.cli.output import Result, check_outputs, say, show
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def run_command(
    command: Callable[..., Result], arguments: dict[str, Any], *, json: bool, quiet: bool
) -> None:
    """Check the files of a command, run it, and print what it returns.

    Args:
        command: The function.
        arguments: What is typed, by parameter.
        json: Whether to print all of it as JSON, and nothing else.
        quiet: Whether to print only warnings and what goes into no file.

    Raises:
        CordialError: The command does.
        SystemExit: It ends with another status than 0.
    """
    files = list(_list_files(command, arguments))
    outputs = [(path, written.endings) for path, written in files if written]
    check_outputs(outputs, [path for path, written in files if not written])
    with doing("working", plain=not json, quiet=quiet):
        show(command(**arguments), json=json, quiet=quiet)


def _list_files(typed: Any, arguments: dict[str, Any]) -> Iterator[tuple[Path, Written | None]]:
    """List paths that are typed, with the mark of those that are written."""
    hints = get_type_hints(typed, include_extras=True)
    for name, value in arguments.items():
        if is_dataclass(value):
            yield from _list_files(type(value), vars(value))
            continue
        marks = getattr(hints.get(name), "__metadata__", ())
        written = next((mark for mark in marks if isinstance(mark, Written)), None)
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, Path):
                yield path, written


def read_config(path: Path) -> list[Dict]:
    """Read options from a TOML file, for cyclopts.

    What stands above the first table holds for the command that is typed, a table for the command
    that it is named after. What is typed takes the place of what the file says.

    Raises:
        InputError: The file cannot be read, or is no TOML.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file: {error}.") from error
    say(f"options of {path} are used")
    tables = {name: part for name, part in settings.items() if isinstance(part, dict)}
    common = {name: part for name, part in settings.items() if name not in tables}
    return [
        Dict(common, source=str(path), use_commands_as_keys=False),
        Dict(tables, source=str(path)),
    ]
