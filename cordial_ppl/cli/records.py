"""Options that go together, as records that commands take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.tables import LabelTable, ReadingTable

OWN_PRIOR = "own"
"""The value of --prior that chooses the prior in each channel's file."""

Names = tuple[str, ...] | None


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


@dataclass(frozen=True)
class Columns:
    """Choice of what is read from the tables: arguments of functions that read readings."""

    options: Names = None
    reader: str | None = None
    task: str | None = None
    id: Sequence[str] = ()
    rating: str | None = None
    round: str | None = None


@dataclass(frozen=True)
class Labelling:
    """Columns of labels, and rules by which they are taken: arguments of `read_labels`."""

    label: Names = ()
    annotator: str | None = None
    annotators: str = "each"


@dataclass(frozen=True, kw_only=True)
class Tables(Labelling, Columns):
    """Two tables, readings of all texts and labels of some: arguments of `read_labelled`."""

    readings: Path
    labels: Path

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


@dataclass(frozen=True)
class Fitting:
    """Settings of a fit."""

    channel: Sequence[Path] = ()
    prior: Path | None = None
    inference: str = "default"
    seed: int = 0
    prior_of: Sequence[str] = ()

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
