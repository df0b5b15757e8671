"""The program `cordial`: its commands, its version, and its exit status."""

import gc
import logging
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cordial_ppl.cli.ask import ask
from cordial_ppl.cli.calibrate import calibrate, fit
from cordial_ppl.cli.check import check
from cordial_ppl.cli.demo import demo
from cordial_ppl.cli.estimate import compare, estimate
from cordial_ppl.cli.fuse import fuse
from cordial_ppl.cli.learn import learn_prior
from cordial_ppl.cli.messages import reporting
from cordial_ppl.cli.options import GROUPS, Written, declare
from cordial_ppl.cli.output import check_outputs
from cordial_ppl.cli.plan import plan
from cordial_ppl.cli.predict import predict
from cordial_ppl.cli.read import read
from cordial_ppl.cli.report import report
from cordial_ppl.cli.shift import shift
from cordial_ppl.cli.sweep import sweep
from cordial_ppl.runtime.cache import cache_programs
from cordial_ppl.runtime.progress import doing, showing

WIDTH = 18
"""Characters of an option and its value in `-h`; after longer ones the text is on the next line."""


class Commands(TyperGroup):
    """The commands; an error of the package becomes a message and an exit status."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command; nothing at all asks for help."""
        with reporting() if args else nullcontext():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with reporting():
            return super().invoke(ctx)


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
    """Return the help of a parameter, with a number that is its default; of choices it is the first."""
    default = parameter.default
    shown = _is_option(parameter) and isinstance(default, int | float) and default
    return f"{parameter.help} [default: {default}]" if shown else parameter.help


def as_command(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into one that typer takes: fields of records become options of their own.

    Files to write are checked before it runs. What it takes long for is shown, unless it has an
    option `quiet` that is set.

    Args:
        command: A function, some of whose parameters have a dataclass as their type.

    Returns:
        A function as typer needs it, with the options of records last.
    """
    typed = list(signature(command).parameters.values())
    parameters = declare(command.__name__.replace("_", "-"), typed)
    records: dict[str, Any] = {p.name: p.annotation for p in typed if is_dataclass(p.annotation)}
    outputs: dict[str, tuple[str, ...]] = {
        p.name: extra.endings
        for p in parameters
        for extra in p.annotation.__metadata__
        if isinstance(extra, Written)
    }

    def run(**values: Any) -> None:
        values = {k: v.value if isinstance(v, Enum) else v for k, v in values.items()}
        quiet, json = values.get("quiet", False), values.get("json", False)
        written = [(values[name], endings) for name, endings in outputs.items() if values[name]]
        check_outputs(
            written, [p for name in values.keys() - outputs for p in _paths(values[name])]
        )
        for name, kind in records.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        with showing(quiet=quiet, plain=not json), doing("working"):
            command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _paths(value: Any) -> list[Path]:
    """Return the paths that the value of an option holds."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, Path)]


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> bool:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"cordial {version('cordial-ppl')}")
        raise typer.Exit
    return wanted


@app.callback()
def cordial(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Turn a language model's ratings into calibrated probabilities with twenty labels.

    Exit status: 0 done, 2 wrong usage or bad input, 1 anything else.
    """


COMMANDS = (
    *(demo, read, ask, plan, calibrate, fit, predict, report),
    *(estimate, compare, fuse, learn_prior, shift, check, sweep),
)
for command in COMMANDS:
    app.command(cls=Command)(as_command(command))


def main() -> None:
    """Run the program with the arguments of the process."""
    # Importing and tracing make many objects, and little garbage.
    gc.set_threshold(50_000)
    # JAX's own log is silent, unless the environment asks for it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    cache_programs()
    app(prog_name="cordial")
