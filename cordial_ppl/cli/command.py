"""A function as a command: its options by group in `-h`, checks before it, and what it says."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Signature, signature
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from cordial_ppl.cli.options import GROUPS, Written, declare
from cordial_ppl.cli.output import Result, check_outputs, show
from cordial_ppl.runtime.progress import doing, showing

WIDTH = 18
"""Characters of an option and its value in `-h`; after longer ones the text is on the next line."""


class Command(TyperCommand):
    """A command, whose help lists arguments and options by group."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what has to be typed after the name of the command."""
        needed = [each for each in self.get_params(ctx) if each.required]
        return [*(_name(each) for each in sorted(needed, key=_is_option)), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups that are not empty."""
        parameters = sorted(self.get_params(ctx), key=_is_option)
        for group in GROUPS:
            rows = [
                (_name(each, every=True).ljust(WIDTH), _describe(each))
                for each in parameters
                if (getattr(each, "rich_help_panel", None) or "Output") == group
            ]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows, col_max=WIDTH)


def _is_option(parameter: Any) -> bool:
    """Tell an option from an argument, for these come first."""
    return parameter.param_type_name == "option"


def _name(parameter: Any, every: bool = False) -> str:
    """Return an argument, or an option with its value, by its shortest name or by every name."""
    names = sorted(parameter.opts, key=len) if _is_option(parameter) else []
    value = getattr(parameter, "metavar", None)
    return " ".join(filter(None, (", ".join(names if every else names[:1]), value)))


def _describe(parameter: Any) -> str:
    """Return the help of a parameter, with its default if that is a number."""
    default = parameter.default
    shown = _is_option(parameter) and isinstance(default, int | float) and default
    return f"{parameter.help} [default: {default}]" if shown else parameter.help


def as_command(function: Callable[..., Result]) -> Callable[..., None]:
    """Turn a function into one that typer takes: fields of records become options of their own.

    Files to write are checked before it runs, and what it returns is printed. Every command has the
    options `json` and `quiet`.

    Args:
        function: A function, some of whose parameters may have a dataclass as their type.
    """
    typed = signature(function).parameters.values()
    parameters = declare(function.__name__.replace("_", "-"), typed)
    records: dict[str, Any] = {p.name: p.annotation for p in typed if is_dataclass(p.annotation)}
    outputs: dict[str, tuple[str, ...]] = {
        p.name: extra.endings
        for p in parameters
        for extra in p.annotation.__metadata__
        if isinstance(extra, Written)
    }

    def run(json: bool, quiet: bool, **options: Any) -> None:
        values = {k: v.value if isinstance(v, Enum) else v for k, v in options.items()}
        written = [(values[name], endings) for name, endings in outputs.items() if values[name]]
        read = [values[name] for name in values.keys() - outputs]
        check_outputs(written, [path for value in read for path in _paths(value)])
        for name, kind in records.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        with showing(quiet=quiet, plain=not json), doing("working"):
            show(function(**values), json=json, quiet=quiet)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _paths(value: Any) -> list[Path]:
    """Return the paths that the value of an option holds."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, Path)]
