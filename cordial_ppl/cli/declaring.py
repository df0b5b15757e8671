"""From the parameters of a command and its lines of help to what typer needs."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import partial
from inspect import Parameter
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer

from cordial_ppl.cli.messages import RENAMED
from cordial_ppl.cli.options import COMMANDS, SHARED, Written
from cordial_ppl.errors import InputError

KEYWORD = Parameter.KEYWORD_ONLY
COMMON = ("json", "quiet")
"""Options of every command."""


def read_number(text: Any, whole: bool) -> float:
    """Read a number; a message says what came."""
    try:
        return int(text) if whole else float(text)
    except ValueError:
        kind = "whole number" if whole else "number"
        raise typer.BadParameter(f"it must be a {kind}; got {text!r}") from None


class Option(NamedTuple):
    """What a line says.

    Attributes:
        group: The heading that it is listed under.
        names: How it is typed; none for an argument.
        value: What its value is called, and "=" and its choices, with "|" between; or these alone.
            Empty for a flag.
        text: What it is for.
    """

    group: str
    names: tuple[str, ...]
    value: str
    text: str


def parse(text: str) -> dict[str, Option]:
    """Read lines as above: options by the names of their parameters."""
    options: dict[str, Option] = {}
    group = name = ""
    for line in text.strip().splitlines():
        head, _, help = line.strip().partition("  ")
        if not line.startswith(" "):
            group = line
        elif line.startswith(" " * 10):
            option = options[name]
            options[name] = option._replace(text=f"{option.text} {line.strip()}".strip())
        elif head.startswith("-"):
            *names, last = head.split(", ")
            long, _, value = last.partition(" ")
            name = long.removeprefix("--").replace("-", "_")
            options[name] = Option(group, (*names, long), value, help.strip())
        else:
            name = head.split()[0].lower()
            options[name] = Option(group, (), head, help.strip())
    return options


class Declared(NamedTuple):
    """A parameter of a command.

    Attributes:
        parameter: The parameter as typer needs it.
        read: Turns what typer makes of a value into what the command takes.
        default: What it takes where nothing is typed.
        endings: The endings of a file that is written, none for those of a table; else None.
    """

    parameter: Parameter
    read: Callable[[Any], Any]
    default: Any
    endings: tuple[str, ...] | None


def declare(command: str, parameters: Iterable[Parameter]) -> list[Declared]:
    """Declare the parameters of a command, and the options that every command has.

    A whole number is from 1, or from 0 if that is its default. "A,B,..." is split into names.

    Args:
        command: Its name.
        parameters: Its parameters; those whose type is a dataclass stand for its fields.
    """
    lines = parse(SHARED) | parse(COMMANDS.get(command, ""))
    common = [Parameter(name, KEYWORD, default=False, annotation=bool) for name in COMMON]
    spread = [*_spread(parameters), *common]
    return [_declare(lines[RENAMED.get(each.name, each.name.rstrip("_"))], each) for each in spread]


def _spread(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """Put the fields of records in their place; one without a default is needed."""
    for parameter in parameters:
        if is_dataclass(parameter.annotation):
            for field in fields(parameter.annotation):
                default = Parameter.empty if field.default is MISSING else field.default
                yield Parameter(field.name, KEYWORD, default=default, annotation=field.type)
        else:
            yield parameter.replace(kind=KEYWORD)


def _declare(line: Option, parameter: Parameter) -> Declared:
    kind: Any = parameter.annotation
    default, read = parameter.default, lambda value: value
    needed = default is Parameter.empty
    endings = [e.endings for e in getattr(kind, "__metadata__", ()) if isinstance(e, Written)]
    common: dict[str, Any] = {"help": line.text, "rich_help_panel": line.group}
    if line.value.endswith(",..."):
        kind, read = str if needed else str | None, partial(split_names, line.names[-1])
    elif get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]]
        kind = kind if needed else kind | None
    elif "|" in line.value:
        choices = line.value.partition("=")[2] or line.value
        kind = StrEnum(parameter.name, [(name, name) for name in choices.split("|")])
        kind, read = kind if default else kind | None, lambda choice: choice.value
    elif line.value == "N":
        common |= {"min": 0 if default == 0 else 1, "max": 2**32 - 1}
    elif kind in (float, float | None, int | None):
        common["parser"] = lambda text, whole=kind == int | None: read_number(text, whole)
    declare = typer.Option if line.names else typer.Argument
    metavar = line.value.partition("=")[0] if "|" in line.value else line.value
    kind = Annotated[kind, declare(*line.names, metavar=metavar or None, **common)]
    typed = parameter.replace(annotation=kind, default=None if default == () else default)
    return Declared(typed, read, default, endings[0] if endings else None)


def split_names(option: str, text: str) -> tuple[str, ...]:
    """Split "1,2,3" into names; one with a comma stands in quotes.

    Args:
        option: The option that names them.
        text: Its value.

    Raises:
        InputError: The quotes do not match.
    """
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"{option} must be names with commas between; found {text!r}.") from error
    return tuple(names)
