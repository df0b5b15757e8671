"""The program `cordial`: its commands, its version, and its exit status."""

import gc
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter
from cyclopts.help import DefaultFormatter, PanelSpec, TableSpec
from rich import box

from cordial_ppl.cli.messages import reporting
from cordial_ppl.cli.options import OUTPUT, option

COMMANDS = {
    "demo": ("demo", "Show what calibration does, on made-up reviews."),
    "read": ("read", "Make tables of readings and of labels from judgments or a log."),
    "ask": ("ask", "Ask a model to rate texts; make a table of readings."),
    "plan": ("plan", "Which texts should I label? And how many more?"),
    "calibrate": ("calibrate", "Fit on the labelled texts; calibrate all texts."),
    "fit": ("calibrate", "Fit on the labelled texts; save the calibrator."),
    "predict": ("predict", "Calibrate texts with a saved calibrator."),
    "report": ("report", "Write one page on the judge and what calibration changes."),
    "estimate": ("estimate", "How good are the texts? Means and shares, with intervals."),
    "compare": ("estimate", "Which system is better? Rank groups of texts."),
    "decide": ("decide", "Which texts pass, and which must people see?"),
    "monitor": ("monitor", "Is it still the same judge?"),
    "fuse": ("fuse", "Combine several judges of the same texts."),
    "learn-prior": ("learn", "Learn a prior from tasks with many labels."),
    "shift": ("shift", "Calibrate texts for each user."),
    "check": ("check", "Check a channel."),
    "sweep": ("sweep", "Compare calibrators on many subsets of the labels."),
}
"""Commands, in the order of `cordial -h`: the module of each, and its line there."""


def _describe_version() -> str:
    from importlib.metadata import version

    return f"cordial {version('cordial-ppl')}"


app = App(
    name="cordial",
    help="Turn a language model's ratings into calibrated probabilities with twenty labels.",
    help_epilogue="Exit status: 0 done, 2 wrong usage or bad input, 1 anything else.",
    version=_describe_version,
    version_flags="--version",
    help_format="plaintext",
    help_formatter=DefaultFormatter(
        panel_spec=PanelSpec(box=box.SIMPLE, border_style="none", padding=0),
        table_spec=TableSpec(box=None, padding=(0, 2, 0, 0)),
    ),
    default_parameter=Parameter(negative=(), show_default=lambda value: value or None),
    group_commands=Group("Commands", sort_key=-1),
    group_parameters=OUTPUT,
    result_action="return_value",
)
for place, (name, (module, line)) in enumerate(COMMANDS.items()):
    function = f"cordial_ppl.cli.{module}:{name.replace('-', '_')}"
    app.command(function, name=name, help=line, sort_key=place)


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, option(OUTPUT, "Print the results as JSON and nothing else.")] = False,
    quiet: Annotated[
        bool, option(OUTPUT, "Print only warnings, errors and what goes into no file.", alias="-q")
    ] = False,
    config: Annotated[
        Path | None, option(OUTPUT, "Options in TOML, in a table named after the command.", "FILE")
    ] = None,
) -> None:
    """Run the command that is typed."""
    from cordial_ppl.cli.command import read_config, run_command

    app.config = read_config(config) if config else ()
    command, bound, _ = app.parse_args(tokens, print_error=False, exit_on_error=False)
    if getattr(command, "__self__", None) is None:
        run_command(command, bound.arguments, json=json, quiet=quiet)
    else:  # Help, or the version.
        command(*bound.args, **bound.kwargs)


def run(arguments: Sequence[str]) -> None:
    """Run the command that arguments name.

    Raises:
        SystemExit: With the status, if it is not 0.
    """
    with reporting():
        if arguments and arguments[0] in COMMANDS:
            app[arguments[0]].help = None  # In place of it that of its function, which is longer.
        app.meta(arguments, print_error=False, exit_on_error=False)


def run_process(arguments: Sequence[str]) -> None:
    """Run the command that the arguments of this process name, with its cache of programs."""
    from cordial_ppl.runtime.cache import cache_programs

    # Importing and tracing make many objects, and little garbage.
    gc.set_threshold(50_000)
    # JAX's own log is silent, unless the environment asks for it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    with reporting():
        cache_programs()
    run(arguments)
