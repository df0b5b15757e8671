"""Options that go together, as records that commands take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from cyclopts import Parameter
from jaxtyping import Int64

from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    MODEL,
    Channels,
    Names,
    ReadingsFile,
    Seed,
    names,
    option,
)
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.tables import LabelTable, ReadingTable

OWN_PRIOR = "own"
"""The value of --prior that chooses the prior in each channel's file."""

Rounding = Annotated[
    Literal["half-up", "nearest-even", "split"] | None,
    option(ADVANCED, "What a label between two options counts for.", "RULE"),
]
Inference = Annotated[
    Literal["default", "laplace", "mode", "nuts"],
    option(ADVANCED, "How to find posteriors: laplace (the paper's), mode, or nuts.", "METHOD"),
]
Task = option(COLUMNS, "Task to take of several, from column `task` (or COLUMN=NAME).", "NAME")
Judges = Annotated[
    Sequence[str],
    option(
        COLUMNS, "Judge to take, from column `reader` (or COLUMN=NAME); may be repeated.", "NAME"
    ),
]
Judge = option(COLUMNS, "Judge to take of several, from column `reader` (or COLUMN=NAME).", "NAME")


class Read(NamedTuple):
    """What is read of two tables.

    Attributes:
        table: The readings of all texts.
        labels: The labels, each of a text that has a reading.
        rows: The rows of the labelled texts, one per label.
    """

    table: "ReadingTable"
    labels: "LabelTable"
    rows: Int64[np.ndarray, " n"]

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """List what may name groups of the labelled texts, by column."""
        from cordial_ppl.tables import list_groups

        return list_groups(self.table, self.rows, self.labels)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Choice of what is read from the tables: arguments of functions that read readings."""

    options: Annotated[
        Names, names(COLUMNS, "Options of the scale in order, as 1,2,3,4,5, if not in READINGS.")
    ] = None
    reader: Annotated[str | None, Judge] = None
    task: Annotated[str | None, Task] = None
    id: Annotated[
        Sequence[str],
        option(COLUMNS, "Column of the texts' ids, if not `item_id`; may be repeated.", "COLUMN"),
    ] = ()
    rating: Annotated[
        str | None, option(COLUMNS, "Column of ratings, one per text; needs --options.", "COLUMN")
    ] = None
    round: Rounding = None

    @property
    def choice(self) -> dict[str, Any]:
        """Return arguments that readings and labels have in common."""
        return {"task": self.task, "id": self.id, "round": self.round}


EVERY = Columns()
"""The choice where nothing is typed."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Labelling:
    """Columns of labels, and rules by which they are taken: arguments of `read_labels`."""

    label: Annotated[
        Names,
        names(
            COLUMNS,
            "Column of labels, if not `label`; or a column for each annotator.",
            "COLUMN,...",
        ),
    ] = ()
    annotator: Annotated[
        str | None,
        option(COLUMNS, "Column that names who gave a label, if not `annotator`.", "COLUMN"),
    ] = None
    annotators: Annotated[
        Literal["each", "mean", "median"],
        option(ADVANCED, "Several labels of one text: keep each, or use mean or median.", "RULE"),
    ] = "each"


PLAIN = Labelling()
"""The labels where nothing is typed."""


@dataclass(frozen=True)
class Files:
    """A table of readings of all texts, and one of labels of some."""

    readings: ReadingsFile
    labels: Annotated[
        Path,
        Parameter(group=FILES, help="Table of labels: item_id and label, a row for each label."),
    ]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Tables(Labelling, Columns, Files):
    """Two tables, and what is read of them: arguments of `read_labelled`."""

    @property
    def labelling(self) -> dict[str, Any]:
        """Return arguments of `read_labels`."""
        return {field.name: getattr(self, field.name) for field in fields(Labelling)}

    def read(self, **settings: Any) -> Read:
        """Read both tables.

        Args:
            settings: Arguments that take the place of those of the command.

        Raises:
            InputError: A table is not as it must be, or they do not fit together.
        """
        from cordial_ppl.tables import read_labelled

        with doing("reading"):
            return Read(*read_labelled(**(vars(self) | settings)))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fitting:
    """Settings of a fit."""

    channel: Channels = ()
    prior: Annotated[
        Path | None,
        option(MODEL, "Prior, from `cordial learn-prior`; or `own`, each channel's own.", "FILE"),
    ] = None
    seed: Seed = 0
    inference: Inference = "default"
    prior_of: Annotated[
        Sequence[str],
        option(
            ADVANCED,
            "Prior of one parameter, in logs if positive, in log odds if a strength.",
            "NAME=LOC,SCALE",
        ),
    ] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """Return settings of an estimator.

        Raises:
            InputError: The prior is given twice, or the text of --prior-of has another form.
        """
        prior: Any = self.prior
        if self.prior_of and prior is not None:
            raise InputError("--prior and --prior-of cannot be given together: choose one.")
        if self.prior_of:
            form = "NAME=LOC,SCALE, such as offset=0,0.5"
            pairs = split_pairs("--prior-of", self.prior_of, form, _as_normal)
            prior = dict(pairs)
            if len(prior) < len(pairs):
                raise InputError("--prior-of names a parameter twice: name each once.")
        elif prior is not None and str(prior) == OWN_PRIOR and not prior.exists():
            prior = OWN_PRIOR
        settings = {"inference": self.inference, "seed": self.seed, "prior": prior}
        return settings | {"channels": tuple(map(str, self.channel))}


DEFAULTS = Fitting()
"""The settings of a fit where nothing is typed."""


def _as_normal(text: str) -> tuple[float, float]:
    """Read location and scale."""
    loc, scale = map(float, text.split(","))
    return loc, scale


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
