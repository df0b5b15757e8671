"""Types of options: how each is typed, what its value is called in the help, and its group."""

import csv
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from cordial_ppl.errors import InputError

FILES = Group("Files", sort_key=0)
COLUMNS = Group("Columns", sort_key=1)
MODEL = Group("Model", sort_key=2)
OUTPUT = Group("Output", sort_key=3)
ADVANCED = Group("Advanced", sort_key=4)


class Written(Path):
    """A file that a command writes, which is checked before the command runs.

    Attributes:
        endings: The endings that its name may have; none for those of a table.
    """

    endings: tuple[str, ...] = ()


class CalibratorWritten(Written):
    """A calibrator or a prior to write."""

    endings = (".cordial",)


class FigureWritten(Written):
    """A picture to write."""

    endings = (".svg", ".png", ".pdf")


class PageWritten(Written):
    """A page to write."""

    endings = (".html",)


def split_names(text: str) -> tuple[str, ...]:
    """Split "1,2,3" into names; one with a comma stands in quotes.

    Raises:
        ValueError: The quotes do not match.
    """
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"it must be names with commas between; found {text!r}.") from error
    return tuple(names)


def _read_names(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names that an option lists, once or several times."""
    return tuple(name for token in tokens for name in split_names(token.value))


def split_pairs[T](
    option: str, texts: Iterable[str], form: str, read: Callable[[str], T]
) -> list[tuple[str, T]]:
    """Split "NAME=VALUE", once for each time that an option is given.

    Args:
        option: The option.
        texts: Its values.
        form: How each must be, for the message.
        read: Reads what stands behind the sign; it raises a ValueError if that has another form.

    Raises:
        InputError: A text has another form.
    """
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not (name.strip() and equals and value.strip()):
                raise ValueError
            pairs.append((name.strip(), read(value)))
        except ValueError:
            raise InputError(f"{option} must be {form}; found {text!r}.") from None
    return pairs


def option(help: str, metavar: str | None = None, group: Group | None = None) -> Parameter:
    """Declare an option by its line of help, what its value is called, and its group."""
    more: dict[str, Any] = {"metavar": metavar, "group": group}
    return Parameter(help=help, **{name: value for name, value in more.items() if value})


def whole(least: int) -> Parameter:
    """Declare an option that is a whole number, such as a seed."""

    def read(_: Any, tokens: Sequence[Token]) -> int:
        """Read it."""
        (token,) = tokens
        with suppress(ValueError):
            if least <= (number := int(token.value)) < 2**32:
                return number
        raise ValueError(f"it must be a whole number from {least}; found {token.value!r}.")

    return Parameter(metavar="N", converter=read)


def listing(metavar: str, **more: Any) -> Parameter:
    """Declare an option that lists names, such as 1,2,3 or -1,0,1."""
    return Parameter(
        metavar=metavar, converter=_read_names, n_tokens=1, allow_leading_hyphen=True, **more
    )


List = Annotated[tuple[str, ...], listing("A,B,...")]
Names = Annotated[tuple[str, ...] | None, listing("A,B,...")]
ColumnList = Annotated[tuple[str, ...], listing("COLUMN,...", group=COLUMNS)]
Some = Annotated[Sequence[str], Parameter(metavar="NAME")]
Column = Annotated[str | None, Parameter(metavar="COLUMN", group=COLUMNS)]
Number = Annotated[int, whole(1)]
Natural = Annotated[int, whole(0)]

READINGS = "Table: item_id, and `rating`, or columns p_..., logit_..., logprob_..., n_..."
TABLE = "(.csv, .parquet, .jsonl)"
Out = Parameter(metavar="OUT", alias="-o", group=FILES)
CALIBRATED = f"Table to write {TABLE}: p_..., mean and interval, label."
TABLE_OUT = option(f"Table of readings to write {TABLE}.")
TableOut = Annotated[Written, Out, Parameter(help=CALIBRATED)]
CalibratorOut = Annotated[CalibratorWritten, Out, option("Calibrator to write (.cordial).")]
CalibratorFile = Annotated[Path, option("Calibrator, from `cordial fit`.", group=FILES)]
Also = Annotated[
    Sequence[Path],
    option("Another table, with readings by other judges; may be repeated.", "READINGS", FILES),
]
Channels = Annotated[
    Sequence[Path],
    option("Channel file to add; its code is run, so trust it. May be repeated.", "PATH", MODEL),
]
Seed = Annotated[Natural, option("Seed of all random numbers.", group=MODEL)]
Level = Annotated[float, option("Probability inside the intervals.", "P", MODEL)]
Engine = Annotated[
    Literal["local", "ray"],
    option(
        "Work on this machine, or on the cluster that RAY_ADDRESS names.",
        "ENGINE",
        ADVANCED,
    ),
]
Spellings = Annotated[
    Sequence[str],
    option(
        "Another spelling of an option by the model, as 1=A; repeatable.",
        "OPTION=TEXT",
        ADVANCED,
    ),
]
Inference = Annotated[
    Literal["default", "laplace", "mode", "nuts"],
    option(
        "How to find posteriors: laplace (the paper's), mode, nuts (minutes).",
        "METHOD",
        ADVANCED,
    ),
]

Rule = Parameter(metavar="RULE", group=ADVANCED)
Rounding = Annotated[Literal["half-up", "nearest-even", "split"] | None, Rule]
