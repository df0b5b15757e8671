"""Defaults of options, as the file `cordial.toml` beside the readings keeps them.

A key is an option without its dashes; a table is of the command of its name alone. What names a
file or a server is typed: a folder of somebody else's must not have code run or files replaced.
"""

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.cli.messages import RENAMED, join_names
from cordial_ppl.errors import FileError, InputError, naming

FILE = "cordial.toml"

INPUTS = ("readings", "old", "tables", "file", "texts")
"""Arguments beside which the file lies, in the order of preference."""

RAW = {name: ("label", "annotator", "reader", "task") for name in ("read", "ask")}
"""Commands whose input has fields, and options that name these where others' name columns."""

TYPED = ("FILE", "PATH", "URL", "local", "key-variable")
"""Kinds of values, and options, that are typed, beside those of the group Files."""


class Defaults(NamedTuple):
    """Defaults of a command that nothing typed replaces, and the file that keeps them.

    Attributes:
        path: The file.
        values: Values by option, in the order of the file.
        parsed: The same by parameter, as a parser takes them.
    """

    path: Path
    values: Mapping[str, list[Any]] = {}
    parsed: Mapping[str, Any] = {}

    def __str__(self) -> str:
        """Write them as they would be typed."""
        words = (
            f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}"
            for key, values in self.values.items()
            for value in values
        )
        return f"{self.path}: {' '.join(words)}"

    def blame(self, error: Exception) -> str:
        """Name the file and those of its values that an error is about; "" if it is about none."""
        problem = str(error).partition("; found")[0]
        names = getattr(getattr(error, "param", None), "opts", ())
        setting = getattr(error, "setting", "")
        keys = [
            f"{key} = {', '.join(map(repr, values))}"
            for key, values in self.values.items()
            if key == RENAMED.get(setting, setting)
            or f"--{key}" in names
            or any(repr(value) in problem for value in values)
        ]
        return f"{self.path} ({'; '.join(keys)})" if keys else ""


def read_defaults(ctx: Any, arguments: Mapping[str, Any]) -> Defaults:
    """Read the defaults of a command; there are none without a file.

    Args:
        ctx: The context of the command.
        arguments: What is typed, by parameter.

    Raises:
        FileError: The file is not TOML.
        InputError: A key is no option, or its value has to be typed.
    """
    inputs = map(arguments.get, INPUTS)
    paths = (each for each in inputs if each and isinstance(each, str | list | tuple))
    first = next((each if isinstance(each, str) else each[0] for each in paths), None)
    path = Path(first or FILE).parent / FILE
    if first is None or arguments.get("help") or not path.is_file():
        return Defaults(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path} is not TOML: {error}.") from error
    commands = ctx.parent.command.commands
    tables = {k: v for k, v in content.items() if k in commands and isinstance(v, Mapping)}
    shared = {k: v for k, v in content.items() if k not in tables}
    options, special = _options(ctx.command), tables.get(ctx.info_name, {})
    with naming(path):
        _check(shared, {k: v for one in commands.values() for k, v in _options(one).items()})
        _check(special, options)
    shared = {k: v for k, v in shared.items() if k not in RAW.get(ctx.info_name, ())}
    kept = {
        key: _as_typed(value, options[key])
        for key, value in (shared | special).items()
        if key in options and arguments.get(options[key].name) is None
    }
    values = {key: value if isinstance(value, list) else [value] for key, value in kept.items()}
    return Defaults(path, values, {options[key].name: value for key, value in kept.items()})


def _options(command: Any) -> dict[str, Any]:
    """List the options of a command by their names without dashes."""
    names = {name: each for each in command.params for name in each.opts}
    return {name.removeprefix("--"): names[name] for name in names if name.startswith("--")}


def _check(keys: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Check that keys are options which may stand in the file."""
    for key, value in keys.items():
        if key not in options:
            from cordial_ppl.tables.proposals import nearest

            near = nearest(key, options)
            hint = f" Did you mean {near}?" if near else ""
            raise InputError(f"{key!r} is no option of a command.{hint}")
        option = options[key]
        if option.rich_help_panel == "Files" or {key, option.metavar} & {*TYPED}:
            raise InputError(f"{key!r} cannot stand here, where others may set it: type --{key}.")
        if isinstance(value, Mapping):
            raise InputError(f"{key!r} must be a value or a list of values; found a table.")


def _as_typed(value: Any, option: Any) -> Any:
    """Return a value as a parser takes it from the command line."""
    values = value if isinstance(value, list) else [value]
    texts: list[Any] = [each if isinstance(each, bool) else str(each) for each in values]
    return texts if option.multiple else texts[0] if len(texts) == 1 else join_names(texts)
