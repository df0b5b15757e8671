"""A function as a command: options that every command has, checks before it, what it prints."""

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter as Argument
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli.options import OUTPUT, Written
from cordial_ppl.cli.output import Result, show
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.outputs import check_writable
from cordial_ppl.runtime.progress import doing


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class Printing:
    """Options of every command."""

    config: Annotated[Path | None, Parameter(metavar="FILE")] = None
    "Read options from this TOML file; those on the command line count instead."
    json: bool = False
    "Print the results as JSON and nothing else."
    quiet: Annotated[bool, Parameter(alias="-q")] = False
    "Print only warnings, errors, and results that go into no file."


def command(function: Callable[..., Result]) -> Callable[..., int]:
    """Turn a function into a command, which prints what it returns and has the exit status.

    Files to write are checked before it runs. It gets the options of `Printing`.

    Args:
        function: A function whose parameters are arguments and options, or records of options.
    """

    @wraps(function)
    def run(*arguments: Any, printing: Printing = Printing(), **options: Any) -> int:
        paths = list(_list_paths([*arguments, *options.values(), printing]))
        written = [path for path in paths if isinstance(path, Written)]
        check_outputs(written, [path for path in paths if not isinstance(path, Written)])
        with doing("working", plain=not printing.json, quiet=printing.quiet):
            result = function(*arguments, **options)
            if printing.config is not None:
                name = str(printing.config)
                content = {**result.content, "config": name}
                result = result._replace(content=content, done=[f"options of {name}", *result.done])
            show(result, json=printing.json, quiet=printing.quiet)
        return result.status

    parameters = signature(function).parameters.values()
    printing = Argument("printing", Argument.KEYWORD_ONLY, default=Printing(), annotation=Printing)
    run.__signature__ = signature(function).replace(  # pyright: ignore[reportAttributeAccessIssue]
        parameters=[*parameters, printing], return_annotation=int
    )
    return run


def _list_paths(values: Iterable[Any]) -> Iterable[Path]:
    """List the paths among the values of options, their records and lists."""
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list | tuple):
            yield from _list_paths(value)
        elif is_dataclass(value):
            yield from _list_paths(vars(value).values())


def check_outputs(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Check before the work that outputs can be written and replace nothing that is needed.

    Args:
        outputs: The files to write, which have the endings of a table but for those `Written`.
        inputs: The files that are read.

    Raises:
        InputError: One cannot be written, is one of the inputs, or is written twice.
    """
    for path in outputs:
        endings: Collection[str] = getattr(path, "endings", ())
        if not endings:
            from cordial_ppl.tables.writing import SINKS

            endings = SINKS
        check_writable(path, endings=endings)
        for source in inputs:
            if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
                raise InputError(
                    f"the output {path} would replace the input {source}: name another."
                )
    names = [path.absolute() for path in outputs]
    for path in outputs:
        if names.count(path.absolute()) > 1:
            raise InputError(f"two outputs would both be {path}: name another for one.")
