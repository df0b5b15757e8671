"""The program `cordial`: its commands and its exit status."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclopts import App, ArgumentCollection, CycloptsError, Group, Parameter
from cyclopts.config import Dict
from cyclopts.help import DefaultFormatter, PanelSpec
from rich.box import SIMPLE

from cordial_ppl.cli.agreement_commands import agree
from cordial_ppl.cli.calibrator_commands import monitor, predict, report
from cordial_ppl.cli.estimate_commands import compare, estimate
from cordial_ppl.cli.fit_commands import calibrate, demo, fit, fuse, shift
from cordial_ppl.cli.labelling_commands import decide, label, plan
from cordial_ppl.cli.log_commands import ask, read
from cordial_ppl.cli.output import complain
from cordial_ppl.cli.study_commands import check, learn_prior, sweep
from cordial_ppl.errors import CordialError, FileError, InputError, say_error
from cordial_ppl.runtime.platform import counting_memory

COMMANDS = {
    "Start": (demo, read, ask, plan, label),
    "Calibrate": (calibrate, fit, predict, fuse, shift),
    "Decide": (agree, estimate, compare, decide, monitor, report),
    "Study": (learn_prior, check, sweep),
}
"""The commands by group."""


def _read_config(command: App, names: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Take the options that are not typed from the file of `--config`, if that is typed.

    A plain key is an option of any command; a section, named like a command, holds its options.
    """
    if (path := next((token.value for token in arguments["--config"].tokens), None)) is None:
        return
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise FileError(f"{path} is not a valid TOML file: {say_error(error, path)}.") from error
    every = [each for name in NAMES for each in app[name].assemble_argument_collection()]
    elsewhere = {name[2:] for each in every for name in each.names}
    elsewhere -= {name[2:] for each in arguments for name in each.names}
    sections = {name: content.pop(name) for name in NAMES if isinstance(content.get(name), dict)}
    settings = {k: v for k, v in content.items() if k not in elsewhere} | sections.get(names[0], {})
    for key, value in settings.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float | dict):
                raise InputError(f"{path}: {key} must be text, a number, or a list of either.")
    Dict(data={names[0]: settings}, source=path)(command, names, arguments)


def _find_version() -> str:
    from importlib.metadata import version

    return f"cordial {version('cordial-ppl')}"


class Formatter(DefaultFormatter):
    """Pages of help that name the argument which may be left out."""

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Show how a command is called."""
        super().render_usage(console, options, str(usage).replace("[ARGS]", "[LABELS]"))


app = App(
    name="cordial",
    help="Turn an LLM judge's ratings into calibrated probabilities with twenty human labels.\n\n"
    "`cordial COMMAND --help` explains a command. Exit status: 0 success, 2 invalid usage or "
    "input, 1 other failure. `cordial monitor` and, with --require, `cordial estimate` and "
    "`cordial compare` also return 3 (no) or 4 (unclear).",
    version=_find_version,
    help_format="plaintext",
    help_formatter=Formatter(panel_spec=PanelSpec(box=SIMPLE, padding=0)),
    config=_read_config,
    default_parameter=Parameter(
        negative=(),
        show_default=lambda x: f"{x:g}" if type(x) in (int, float) and x else None,
        allow_repeating=True,
    ),
)
for number, (title, functions) in enumerate(COMMANDS.items()):
    group = Group(title, sort_key=number)
    for order, function in enumerate(functions):
        app.command(function, group=group, sort_key=order)
app["agree"].usage = "Usage: cordial agree LABELS [READINGS] [OPTIONS]"
NAMES = [name for name in app if name[0] != "-"]
for flag in (*app.help_flags, *app.version_flags):
    app[flag].show = False


def run(words: Sequence[str]) -> int:
    """Run a command; errors of the package become lines on stderr.

    Args:
        words: What is typed after the name of the program.

    Returns:
        The exit status: 2 where the input or the command is at fault, 130 after Ctrl-C, 1 for
        another error of the package. Any other exception passes through.
    """
    program = " ".join(["cordial", *(word for word in words[:1] if word in app)])
    try:
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        with counting_memory():
            return command(*bound.args, **bound.kwargs) or 0
    except (CordialError, CycloptsError) as error:
        return complain(program, error)
    except KeyboardInterrupt:
        return 130
