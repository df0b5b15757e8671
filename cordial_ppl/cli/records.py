"""Options that go together, as records that commands take: each field with its help."""

from collections.abc import Mapping, Sequence
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
    Column,
    ColumnList,
    Inference,
    Names,
    Rounding,
    Rule,
    Seed,
    split_pairs,
)
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.tables import LabelTable, ReadingTable

OWN_PRIOR = "own"
"""The value of --prior that chooses the prior in each channel's file."""


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
        from cordial_ppl.tables import list_cells

        of_labels = list_cells(self.labels.columns, range(len(self.rows)))
        return of_labels | list_cells(self.table.columns, self.rows.tolist())


@dataclass(frozen=True)
class Files:
    """Two tables, readings of all texts and labels of some."""

    readings: Annotated[Path, Parameter(group=FILES)]
    "Table: item_id, and `rating`, or columns p_..., logit_..., logprob_..., n_..."
    labels: Annotated[Path, Parameter(group=FILES)]
    "Table of labels: item_id and label, a row for each label."


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Choice of what is read from tables: arguments of functions that read readings."""

    options: Names = None
    "Options of the scale in order, as 1,2,3,4,5, if not as in READINGS."
    reader: Annotated[str | None, Parameter(metavar="NAME")] = None
    "Judge to take if there are several, from column `reader` (or COLUMN=NAME)."
    task: Annotated[str | None, Parameter(metavar="NAME")] = None
    "Task to take if there are several, from column `task` (or COLUMN=NAME)."
    id: Annotated[Sequence[str], Parameter(metavar="COLUMN")] = ()
    "Column of the texts' ids, if not `item_id`; may be repeated."
    rating: Column = None
    "Column of ratings, one per text, to take as readings; needs --options."
    round: Rounding = None
    "Between options: half-up, nearest-even, or split into two halves."


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Labelling:
    """Columns of labels, and a rule by which they are taken: arguments of `read_labels`."""

    label: ColumnList = ()
    "Column of labels, if not `label`; or a column for each annotator."
    annotator: Column = None
    "Column that names who gave a label, if not `annotator`."
    annotators: Annotated[Literal["each", "mean", "median"], Rule] = "each"
    "Several labels of one text: keep each (the default), or use mean or median."


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Tables(Labelling, Columns, Files):
    """Two tables and what is read from them: arguments of `read_labelled`."""

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


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class Fitting:
    """Settings of a fit."""

    channel: Channels = ()
    prior: Annotated[Path | None, Parameter(metavar="FILE")] = None
    "Prior, from `cordial learn-prior`; or `own`, for the one of each channel."
    seed: Seed = 0
    inference: Inference = "default"

    prior_of: Annotated[Sequence[str], Parameter(metavar="NAME=LOC,SCALE", group=ADVANCED)] = ()
    "Prior of one parameter, in logs if positive, in log odds if a strength."

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


FITTING = Fitting()
CHOICE, LABELLING = Columns(), Labelling()


def _as_normal(text: str) -> tuple[float, float]:
    """Read location and scale."""
    loc, scale = map(float, text.split(","))
    return loc, scale
