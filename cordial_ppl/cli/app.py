"""The program `cordial`: its commands, which are imported when they are called, and its status."""

import gc
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial

from cyclopts import App, CycloptsError, Group, Parameter

from cordial_ppl.cli.config_file import fill_in
from cordial_ppl.cli.help_page import HelpPage
from cordial_ppl.cli.messages import complain, warning_in_lines
from cordial_ppl.cli.options import FILES, MODEL
from cordial_ppl.errors import CordialError
from cordial_ppl.runtime.cache import cache_programs
from cordial_ppl.runtime.platform import counting_memory

COMMANDS = {
    "Start": {
        "demo": ("fit_commands:demo", "Show what calibration does, on made-up reviews."),
        "read": ("log_commands:read", "Make a table of readings from judgments or a tool's log."),
        "ask": ("log_commands:ask", "Ask a model to rate texts."),
        "plan": (
            "plan_command:plan",
            "Choose texts to label; forecast what more labels give.",
        ),
    },
    "Calibrate": {
        "calibrate": ("fit_commands:calibrate", "Fit on the labelled texts, calibrate all."),
        "fit": ("fit_commands:fit", "Fit on the labelled texts, save the calibrator."),
        "predict": ("calibrator_commands:predict", "Calibrate texts with a saved calibrator."),
        "fuse": ("judge_commands:fuse", "Calibrate several judges of the same texts together."),
        "shift": ("judge_commands:shift", "Calibrate texts for each of their users."),
    },
    "Decide": {
        "estimate": (
            "estimate_commands:estimate",
            "Estimate the mean label and shares of options.",
        ),
        "compare": ("estimate_commands:compare", "Rank groups of texts, such as systems."),
        "decide": ("decide_command:decide", "Pass, fail or ask a person, for each text."),
        "monitor": ("calibrator_commands:monitor", "Check whether it is still the same judge."),
        "report": ("calibrator_commands:report", "Write a page about a judge and its calibration."),
    },
    "Study": {
        "learn-prior": ("study_commands:learn_prior", "Learn a prior from tasks with many labels."),
        "check": ("study_commands:check", "Test a channel."),
        "sweep": ("study_commands:sweep", "Compare calibrators on subsets of the labels."),
    },
}
"""The commands by group: the function that runs each, and what it does."""

NAMES = [name for commands in COMMANDS.values() for name in commands]


def _find_version() -> str:
    """Return the program's name and version."""
    from importlib.metadata import version

    return f"cordial {version('cordial-ppl')}"


def _show_number(default: object) -> str:
    """Return a default that the help shows: numbers but 0."""
    return f"{default:g}" if type(default) in (int, float) and default else ""


SHOWN = Parameter(negative=(), show_default=_show_number, allow_repeating=True)
app = App(
    name="cordial",
    help="Turn a language model's ratings into calibrated probabilities with twenty labels.\n\n"
    "`cordial COMMAND --help` explains a command. Exit status: 0 done, 2 wrong usage or bad input, "
    "1 anything else.",
    version=_find_version,
    help_format="plaintext",
    help_formatter=HelpPage(),
    group_arguments=FILES,
    group_parameters=MODEL,
    default_parameter=SHOWN,
)
app.config = partial(fill_in, app)
for number, (title, commands) in enumerate(COMMANDS.items()):
    group = Group(title, sort_key=number)
    for order, (name, (function, text)) in enumerate(commands.items()):
        path = f"cordial_ppl.cli.{function}"
        about = {"help": text, "group": group, "sort_key": order, "default_parameter": SHOWN}
        app.command(path, name=name, **about)
for flag in (*app.help_flags, *app.version_flags):
    app[flag].show = False


def explain(name: str) -> None:
    """Give a command its function's docstring as help, in place of its line in the list."""
    app[name].help = app[name].default_command.__doc__


def run(words: Sequence[str]) -> int:
    """Run a command; errors and warnings of the package become lines on stderr.

    Args:
        words: What is typed after the name of the program.

    Returns:
        The exit status: 2 where the input or the command is at fault, 130 after Ctrl-C, 1 for
        another error of the package. Any other exception passes through.
    """
    names = [word for word in words[:1] if word in NAMES]
    with warning_in_lines():
        try:
            for name in names:
                explain(name)
            cache_programs()
            command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
            with counting_memory():
                return command(*bound.args, **bound.kwargs) or 0
        except (CordialError, CycloptsError) as error:
            return complain(" ".join(["cordial", *names]), error)
        except KeyboardInterrupt:
            return 130


def main() -> None:
    """Run the command that the arguments of the process name, and end with its status."""
    # Importing and tracing make many objects, and little garbage.
    gc.set_threshold(50_000)
    # JAX's own log is silent, unless the environment asks for it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    sys.exit(run(sys.argv[1:]))
