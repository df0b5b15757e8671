"""Defaults of options, as the file `cordial.toml` beside the readings keeps them.

A key is an option without its dashes; a table is of the command of its name alone. What names a
file or a server is typed: a folder of somebody else's must not have code run or files replaced.
"""

import csv
import io
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError, InputError, SettingNeeded, naming

FILE = "cordial.toml"

INPUTS = ("readings", "tables", "file", "texts")
"""Arguments beside which the file lies, in the order of preference."""

RAW = ("read", "ask")
"""Commands whose input has fields, and no columns of a table of readings."""

COLUMNS = ("label", "annotator", "reader", "task")
"""Options of these that name such fields; what other commands call so is another column."""

TYPED = ("FILE", "PATH", "URL")
"""Values, beside those of the group Files, that are typed."""


class Defaults(NamedTuple):
    """Defaults of a command, and the file that keeps them.

    Attributes:
        path: The file.
        values: Values by the name of the parameter, as they are typed.
    """

    path: Path
    values: Mapping[str, Any]

    def used(self, ctx: Any) -> dict[str, list[Any]]:
        """List the values that nothing typed replaces, by option."""
        names = {each.name: key for key, each in _options(ctx.command).items()}
        return {
            names[name]: value if isinstance(value, list) else [value]
            for name, value in self.values.items()
            if (source := ctx.get_parameter_source(name)) and source.name == "DEFAULT_MAP"
        }

    def tell(self, ctx: Any) -> str:
        """Write these as they would be typed; "" if there are none."""
        words = [
            f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}"
            for key, values in self.used(ctx).items()
            for value in values
        ]
        return f"{self.path}: {' '.join(words)}" if words else ""

    def blame(self, ctx: Any, error: Exception) -> str:
        """Name the file and those of its values that an error is about; "" if it is about none."""
        setting = error.setting if isinstance(error, SettingNeeded) else None
        option, problem = _options(ctx.command).get, str(error).partition("; found")[0]
        keys = [
            f"{key} = {', '.join(map(repr, values))}"
            for key, values in self.used(ctx).items()
            if key == setting
            or option(key) is getattr(error, "param", None)
            or any(repr(value) in problem for value in values)
        ]
        return f"{self.path} ({'; '.join(keys)})" if keys else ""


def read_defaults(ctx: Any, arguments: Mapping[str, Any]) -> Defaults | None:
    """Read the defaults of a command.

    Args:
        ctx: The context of the command.
        arguments: What is typed, by parameter.

    Returns:
        The defaults; None if there is no file.

    Raises:
        FileError: The file is not TOML.
        InputError: A key is no option, or its value has to be typed.
    """
    inputs = (each for each in map(arguments.get, INPUTS) if each)
    first = next((each if isinstance(each, str) else each[0] for each in inputs), None)
    path = None if first is None else Path(first).parent / FILE
    if path is None or arguments.get("help") or not path.is_file():
        return None
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
    if ctx.info_name in RAW:
        shared = {k: v for k, v in shared.items() if k not in COLUMNS}
    kept = {k: v for k, v in (shared | special).items() if k in options}
    return Defaults(path, {options[k].name: _as_typed(v, options[k]) for k, v in kept.items()})


def _options(command: Any) -> dict[str, Any]:
    """List the options of a command by their names without dashes."""
    pairs: Iterator[tuple[str, Any]] = (
        (name, each) for each in command.params for name in each.opts
    )
    return {name.removeprefix("--"): each for name, each in pairs if name.startswith("--")}


def _check(keys: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Check that keys are options which may stand in the file."""
    for key in keys:
        if key not in options:
            from cordial_ppl.tables.proposals import nearest

            near = nearest(key, options)
            hint = f" Did you mean {near}?" if near else ""
            raise InputError(f"{key!r} is no option of a command.{hint}")
        option = options[key]
        if option.rich_help_panel == "Files" or option.metavar in TYPED:
            raise InputError(f"{key!r} cannot stand here, for it names a file: type --{key}.")


def _as_typed(value: Any, option: Any) -> Any:
    """Return a value as the parser takes it from the command line."""
    values = value if isinstance(value, list) else [value]
    texts = [each if isinstance(each, bool) else str(each) for each in values]
    if option.multiple:
        return texts
    if isinstance(value, list):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(texts)
        return line.getvalue()
    return texts[0]
