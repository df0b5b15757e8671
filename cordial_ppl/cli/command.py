"""A function as a command: its options by group in `-h`, checks before it, and what it says."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Signature, signature
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from cordial_ppl.cli.declaring import declare
from cordial_ppl.cli.options import GROUPS
from cordial_ppl.cli.output import Result, check_outputs, show
from cordial_ppl.runtime.progress import doing

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
    declared = {d.parameter.name: d for d in declare(function.__name__.replace("_", "-"), typed)}
    records: dict[str, Any] = {p.name: p.annotation for p in typed if is_dataclass(p.annotation)}

    def run(json: bool, quiet: bool, **options: Any) -> None:
        values: dict[str, Any] = {}
        written, read = [], []
        for name, value in options.items():
            option = declared[name]
            values[name] = option.default if value is None else option.read(value)
            paths = value if isinstance(value, list) else [value]
            paths = [path for path in paths if isinstance(path, Path)]
            if option.endings is None:
                read += paths
            else:
                written += [(path, option.endings) for path in paths]
        check_outputs(written, read)
        for name, kind in records.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        with doing("working", plain=not json, quiet=quiet):
            show(function(**values), json=json, quiet=quiet)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    parameters = [each.parameter for each in declared.values()]
    run.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
