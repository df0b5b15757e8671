"""Options that go together, as records that commands take."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

OWN_PRIOR = "own"
"""The value of --prior that chooses the prior in each channel's file."""


@dataclass(frozen=True)
class Columns:
    """Choice of what is read from the tables."""

    options: str | None = None
    reader: str | None = None
    task: str | None = None
    id: list[str] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Return arguments of the functions that read tables."""
        options = split_names("--options", self.options)
        chosen = {"reader": self.reader, "task": self.task, "id": tuple(self.id or ())}
        return {"options": options, **chosen}


@dataclass(frozen=True)
class Labelling:
    """Columns of labels, and rules by which they are taken."""

    label: str | None = None
    annotator: str | None = None
    annotators: str = "each"
    round: str | None = None

    @property
    def label_settings(self) -> dict[str, Any]:
        """Return arguments of the functions that read labels."""
        label = split_names("--label", self.label) or ()
        who = {"annotator": self.annotator, "annotators": self.annotators}
        return {"label": label, "round": self.round, **who}


@dataclass(frozen=True, kw_only=True)
class Tables(Labelling, Columns):
    """Two tables, readings of all texts and labels of some, and what is read from them."""

    readings: Path
    labels: Path

    def read(self, **settings: Any) -> tuple[Any, Any, np.ndarray]:
        """Read both tables, as `read_labelled` does.

        Args:
            settings: Arguments that take the place of those of the command.

        Returns:
            The readings, the labels, and the rows of the labelled texts.

        Raises:
            InputError: A table is not as it must be, or they do not fit together.
        """
        from cordial_ppl.tables import read_labelled

        settings = self.settings | self.label_settings | settings
        with doing("reading"):
            return read_labelled(self.readings, self.labels, **settings)


@dataclass(frozen=True)
class Fitting:
    """Settings of a fit."""

    channel: list[Path] | None = None
    prior: Path | None = None
    inference: str = "default"
    seed: int = 0
    prior_of: list[str] | None = None

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
            prior = dict(split_pairs("--prior-of", self.prior_of, "offset=0,0.5", _as_normal))
        elif prior is not None and str(prior) == OWN_PRIOR and not prior.exists():
            prior = OWN_PRIOR
        channels = tuple(map(str, self.channel or ()))
        return {
            "channels": channels,
            "prior": prior,
            "inference": self.inference,
            "seed": self.seed,
        }


def _as_normal(text: str) -> tuple[float, float]:
    """Read location and scale."""
    loc, scale = map(float, text.split(","))
    return loc, scale


def split_names(option: str, text: str | None) -> tuple[str, ...] | None:
    """Split "1,2,3" into names; one with a comma stands in quotes.

    Args:
        option: The option that names them.
        text: Its value, or None.

    Raises:
        InputError: The quotes do not match.
    """
    if text is None:
        return None
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"{option} must be names with commas between; found {text!r}.") from error
    return tuple(names)


def split_pairs[T](
    option: str, texts: Iterable[str] | None, example: str, read: Callable[[str], T]
) -> list[tuple[str, T]]:
    """Split "NAME=VALUE", once for each time that an option is given.

    Args:
        option: The option.
        texts: Its values, or None.
        example: One that is right, for the message.
        read: Reads what stands behind the sign; it raises a ValueError if that has another form.

    Raises:
        InputError: A text has another form.
    """
    pairs = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        try:
            if not (name.strip() and equals and value.strip()):
                raise ValueError
            pairs.append((name.strip(), read(value)))
        except ValueError:
            raise InputError(f"{option} must be as in {example}; found {text!r}.") from None
    return pairs
