"""Options from a TOML file that the user names: plain keys, and a section for each command."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cyclopts import App, ArgumentCollection
from cyclopts.config import Dict

from cordial_ppl.errors import FileError, InputError, quote, say_error


def fill_in(
    program: App, command: App, names: tuple[str, ...], arguments: ArgumentCollection
) -> None:
    """Fill in the options that are not typed from the file of `--config`, if that is typed.

    A plain key is an option of any command; a section, named like a command, holds its options.

    Args:
        program: The program, of all commands.
        command: The command that is typed.
        names: Its name.
        arguments: What is typed after it.

    Raises:
        InputError: The file is not TOML, or a key or a value of it is no option's.
    """
    (config,) = (each for each in arguments if each.name == "--config")
    if not config.tokens:
        return
    path = Path(config.tokens[0].value)
    content, options = _read(path), _list_options(arguments)
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    commands = [name for name in program if not name.startswith("-")]
    for key in sections:
        if key not in commands:
            raise InputError(f"{path}: [{key}] is no command.{hint(key, commands)}")
    section = sections.get(names[0], {})
    settings = {key: value for key, value in content.items() if key in options} | section
    unknown = [key for key in content if key not in options and key not in sections]
    if unknown:
        others = (program[name].assemble_argument_collection() for name in commands)
        every = options.union(*map(_list_options, others))
        unknown = [key for key in unknown if key not in every]
    for key in (*unknown, *(key for key in section if key not in options)):
        raise InputError(f"{path}: {quote(key)} is no option.{hint(key, options)}")
    for key, value in settings.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float):
                raise InputError(f"{path}: {key} must be text, a number, or a list of these.")
    Dict(data=settings, source=str(path), use_commands_as_keys=False)(command, names, arguments)


def hint(name: str, names: Iterable[str]) -> str:
    """Ask whether the one name that is much like another was meant."""
    near = get_close_matches(name, names, n=1, cutoff=0.75)
    return f" Did you mean {near[0]}?" if near else ""


def _read(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise FileError(f"{path} is not a TOML file: {say_error(error, path)}.") from error


def _list_options(arguments: ArgumentCollection) -> set[str]:
    """List the options that a file may hold, as its keys."""
    names = {name for each in arguments for name in each.names}
    return {name[2:] for name in names if name.startswith("--") and name != "--config"}
