"""Options that several commands share: how each is typed, its value and its help."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from cordial_ppl.errors import InputError

FILES, COLUMNS, MODEL, OUTPUT, ADVANCED = (
    Group(name, sort_key=place)
    for place, name in enumerate(("Files", "Columns", "Model", "Output", "Advanced"))
)
"""Groups of options, in the order of ``-h``."""

ENDING = ".cordial"
"""The ending of a calibrator's file."""

FIGURES = (".svg", ".png", ".pdf")
"""The endings of a picture's file."""


class Written(NamedTuple):
    """Marks the type of a file that a command writes, which is checked before the command runs.

    Attributes:
        endings: The endings that its name may have; by default those of a table.
    """

    endings: tuple[str, ...] = ()


def split_names(_: Any, tokens: Sequence[Any]) -> tuple[str, ...]:
    """Split "1,2,3" into names; one with a comma stands in quotes.

    Args:
        tokens: The values of an option, each of some names.

    Raises:
        InputError: The quotes do not match, or a name is empty.
    """
    names: list[str] = []
    for token in tokens:
        try:
            (row,) = csv.reader([token.value], skipinitialspace=True, strict=True)
        except (csv.Error, ValueError) as error:
            raise InputError(
                f"{token.keyword} must be names with commas between; found {token.value!r}."
            ) from error
        names += row
    return tuple(names)


def option(group: Group, help: str, value: str | None = None, **settings: Any) -> Parameter:
    """Declare an option.

    Args:
        group: The heading that it is listed under.
        help: What it is for.
        value: What its value is called.
        settings: Further settings of `cyclopts.Parameter`.
    """
    return Parameter(group=group, help=help, metavar=value, **settings)


def names(group: Group, help: str, value: str = "A,B,...", **settings: Any) -> Parameter:
    """Declare an option of several names with commas between, which may be repeated."""
    split = {"n_tokens": 1, "converter": split_names, "allow_leading_hyphen": True}
    return option(group, help, value, **split, **settings)


Names = tuple[str, ...] | None
WHOLE, POSITIVE = Number(gte=0, lt=2**32), Number(gte=1, lt=2**32)

Out = Parameter(alias="-o", group=FILES)
_TABLE = Parameter(metavar="OUT", help="Table to write (.csv, .parquet, .jsonl).")
TableOut = Annotated[Path, Written(), Out, _TABLE]
TableOrNot = Annotated[Path | None, Written(), Out, _TABLE]
CalibratorOut = Annotated[
    Path, Written((ENDING,)), Out, Parameter(metavar="FILE", help="File to write (.cordial).")
]
FigureOrNot = Annotated[
    Path | None, Written(FIGURES), option(FILES, "Picture to write (.svg, .png, .pdf).", "FILE")
]

Channels = Annotated[
    Sequence[Path],
    option(MODEL, "Channel file to add; its code is run, so trust it. May be repeated.", "PATH"),
]
Seed = Annotated[int, option(MODEL, "Seed of all random numbers.", "N", validator=WHOLE)]
Level = Annotated[float, option(MODEL, "Probability inside the intervals.", "P")]
By = option(COLUMNS, "Column of READINGS that names groups, such as `system`.", "COLUMN")
Spell = Annotated[
    Sequence[str],
    option(
        ADVANCED,
        "Another way in which the model writes an option, as 1=A; may be repeated.",
        "OPTION=TEXT",
    ),
]
After = Annotated[
    str | None,
    option(ADVANCED, "What the answer follows, where it is not found without.", "REGEX"),
]
Calibrator = Annotated[Path, Parameter(group=FILES, help="Calibrator, from `cordial fit`.")]
ReadingsFile = Annotated[
    Path,
    Parameter(
        group=FILES,
        help="Table: item_id, and `rating`, or columns p_..., logit_..., logprob_..., n_...",
    ),
]
LabelsOrNot = Annotated[
    Path | None, Parameter(group=FILES, metavar="LABELS", help="Table of labels of these texts.")
]
Also = Annotated[
    Sequence[Path],
    option(FILES, "Another table, with readings by other judges; may be repeated.", "READINGS"),
]
Engine = Annotated[
    Literal["local", "ray"],
    option(ADVANCED, "Work on this machine, or on the cluster that RAY_ADDRESS names.", "ENGINE"),
]
Passing = Annotated[Names, names(MODEL, "Options that pass, as 4,5.", "A,...", name="--pass")]
