"""A function as a command: options that every command has, checks before it, what it prints."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter as Argument
from inspect import getdoc, signature
from pathlib import Path
from re import sub
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cordial_ppl.cli.options import OUTPUT, Output
from cordial_ppl.cli.output import Result, as_markdown, show, warning
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.cache import cache_programs
from cordial_ppl.runtime.progress import doing


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class Printing:
    """Options of every command."""

    config: Annotated[Path | None, Parameter(metavar="FILE")] = None
    "Read options from this TOML file; options on the command line override those in the file."
    json: bool = False
    "Print only the results, as JSON."
    format: Literal["text", "markdown"] = "text"
    "Print plain text, or Markdown with the warnings included (for pull-request comments)."
    quiet: Annotated[bool, Parameter(alias="-q")] = False
    "Print only warnings, errors, and results that are not written to a file."


def command(function: Callable[..., Result]) -> Callable[..., int]:
    """Turn a function into a command, which prints what it returns and has the exit status.

    Files to write are checked before it runs; warnings of the package become lines on stderr. It
    gets the options of `Printing`.

    Args:
        function: A function whose parameters are arguments and options, or records of options.
    """

    @wraps(function)
    def run(*arguments: Any, printing: Printing = Printing(), **options: Any) -> int:
        _check_outputs([*_list_paths([*arguments, *options.values(), printing])])
        with doing("working", plain=not printing.json, quiet=printing.quiet), warning() as shown:
            cache_programs()
            result = function(*arguments, **options)
            if file := printing.config:
                content, done = {**result.content, "config": file}, [f"used options from {file}"]
                result = result._replace(content=content, done=[*done, *result.done])
            if printing.format == "markdown":
                result = as_markdown(function.__name__.replace("_", "-"), result, shown)
            show(result, json=printing.json, quiet=printing.quiet)
        return result.status

    # Lines of a paragraph are wrapped anew.
    run.__doc__ = sub(r"(?<=\S)\n(?=\S)", " ", getdoc(function) or "")
    before = signature(function)
    printing = Argument("printing", Argument.KEYWORD_ONLY, default=Printing(), annotation=Printing)
    run.__signature__ = before.replace(  # pyright: ignore[reportAttributeAccessIssue]
        parameters=[*before.parameters.values(), printing], return_annotation=int
    )
    return run


def _list_paths(values: Iterable[Any]) -> Iterable[Path]:
    """List the paths among the values of options, their records and lists, and inside folders."""
    for value in values:
        if isinstance(value, Path):
            yield value
            yield from value.iterdir() if value.is_dir() and type(value) is not Output else ()
        elif isinstance(value, list | tuple):
            yield from _list_paths(value)
        elif is_dataclass(value):
            yield from _list_paths(vars(value).values())


def _check_outputs(paths: Collection[Path]) -> None:
    """Refuse before the work an output that is one of the files to read, or is written twice."""
    outputs = [path for path in paths if isinstance(path, Output)]
    inputs = [path for path in paths if not isinstance(path, Output) and path.exists()]
    for output in outputs:
        for path in inputs if output.exists() else ():
            if output.samefile(path):
                raise InputError(
                    f"the output {output} would overwrite the input {path}. Rename the output."
                )
        if [path.absolute() for path in outputs].count(output.absolute()) > 1:
            raise InputError(f"two outputs have the same path, {output}. Choose different paths.")
