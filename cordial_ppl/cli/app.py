"""The program `cordial`: its commands, its version, and its exit status."""

import gc
import logging
import os
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cordial_ppl.cli.ask import ask
from cordial_ppl.cli.calibrate import calibrate, fit
from cordial_ppl.cli.check import check
from cordial_ppl.cli.command import Command, as_command
from cordial_ppl.cli.decide import decide
from cordial_ppl.cli.demo import demo
from cordial_ppl.cli.estimate import compare, estimate
from cordial_ppl.cli.fuse import fuse
from cordial_ppl.cli.learn import learn_prior
from cordial_ppl.cli.messages import reporting
from cordial_ppl.cli.monitor import monitor
from cordial_ppl.cli.plan import plan
from cordial_ppl.cli.predict import predict
from cordial_ppl.cli.read import read
from cordial_ppl.cli.report import report
from cordial_ppl.cli.shift import shift
from cordial_ppl.cli.sweep import sweep
from cordial_ppl.runtime.cache import cache_programs


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
    *(estimate, compare, decide, monitor, fuse, learn_prior, shift, check, sweep),
)
for command in COMMANDS:
    app.command(cls=Command)(as_command(command))


def run() -> None:
    """Run the command that the arguments of the process name."""
    # Importing and tracing make many objects, and little garbage.
    gc.set_threshold(50_000)
    # JAX's own log is silent, unless the environment asks for it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    with reporting():
        cache_programs()
    app(prog_name="cordial")
