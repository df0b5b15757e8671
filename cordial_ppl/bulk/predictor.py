"""A calibrator as a function of tables: a batch of readings in, a batch of predictions out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from jaxtyping import Float

from cordial_ppl.errors import InputError
from cordial_ppl.readings import Unread, warn_of_unread
from cordial_ppl.tables.columns import Layout, find_layout, finite
from cordial_ppl.tables.frame import ROW, Columns
from cordial_ppl.tables.rows import name_items

if TYPE_CHECKING:
    from cordial_ppl.channel import Channel
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.fusion import Fusion

LEVEL = 0.9
"""Probability that the mean lies between `low` and `high`."""

ROWS = 1 << 15
"""Texts that one thread predicts at a time."""


class BatchPredictor:
    """Predictions for tables of readings, batch by batch.

    A call is a pure function of its batch: batches may be predicted anywhere, in any order, again
    and in threads.

    Args:
        calibrator: A fitted stack, or the path of its file.
        channels: The channel files that the calibrator was fitted with, if any; their code is run.

    Raises:
        FileError: The calibrator's file cannot be read or is damaged.
        InputError: The file holds something else than a calibrator of one reader.
    """

    def __init__(
        self, calibrator: "Stack | str | Path", *, channels: "Sequence[str | Path | Channel]" = ()
    ):
        """Load the calibrator."""
        from cordial_ppl.cordial.stack import Stack
        from cordial_ppl.saved import load

        named = isinstance(calibrator, str | Path)
        found = load(calibrator, channels=channels) if named else calibrator
        if not isinstance(found, Stack):
            raise InputError(f"{calibrator} is no calibrator of one reader, from `cordial fit`.")
        self.calibrator = found

    def __call__(self, batch: Any) -> Any:
        """Predict the texts of a batch.

        Args:
            batch: The columns `item_id` and the readings', those of the covariates, and any other:
                a frame of polars, or a table or record batch of Arrow.

        Returns:
            The columns `item_id`, `p_<option>`, `mean`, `low`, `high`, `label` and, with their
            types, all others; a table of Arrow for one of Arrow.

        Raises:
            InputError: A column is missing, or a reading is invalid; with its row in the batch.
        """
        rows = pl.DataFrame(batch).with_row_index(ROW)
        columns = Columns(Path("the batch"), rows.lazy())
        layout = find_layout(columns, self.calibrator.scale_)
        found = predict_columns(self.calibrator, columns, layout, warn_of_unread)
        return found if isinstance(batch, pl.DataFrame) else found.to_arrow()


def predict_columns(
    calibrator: "Stack", columns: Columns, layout: Layout, tell: Callable[[Unread], None]
) -> pl.DataFrame:
    """Predict the texts of a table.

    Args:
        calibrator: A fitted stack.
        columns: The table.
        layout: Where its readings are.
        tell: Called with the options without a reading.

    Returns:
        The columns that `BatchPredictor` returns.

    Raises:
        InputError: A cell is invalid; with its row.
    """
    covariates = {name: finite(columns, name) for name in calibrator.covariates_}
    items = name_items(columns)
    logits = layout.logits(columns, tell) if len(items) else np.empty((0, layout.scale.size))
    found = pl.DataFrame({"item_id": items, **predict_texts(calibrator, logits, covariates)})
    names = rename_extras(layout.extras(columns), found.columns, layout.kind)
    return found.hstack(columns.collect(*names).rename(names)) if names else found


def predict_texts(
    calibrator: "Stack | Fusion",
    logits: Float[np.ndarray, "n *readers K"],
    covariates: Mapping[str, Float[np.ndarray, " n"]],
) -> dict[str, Sequence | np.ndarray]:
    """Predict texts, on all cores.

    Args:
        calibrator: A fitted calibrator.
        logits: Centred logits (nats).
        covariates: The covariates that it was fitted with, by name.

    Returns:
        The columns `p_<option>`, `mean`, `low`, `high` and `label`.
    """
    scale = calibrator.scale_
    if len(logits):
        probs, *rest = calibrator.predict_all(logits, LEVEL, covariates)
    else:
        probs, rest = np.empty((0, scale.size)), np.empty((3, 0))
    cells = {f"p_{option}": column for option, column in zip(scale.options, probs.T, strict=True)}
    cells.update(zip(("mean", "low", "high"), rest, strict=True))
    return {**cells, "label": np.array(scale.options)[probs.argmax(axis=1)]}


def rename_extras(
    names: Iterable[str], taken: Collection[str], kind: str | None = None
) -> dict[str, str]:
    """Name the columns that are passed through.

    A column whose name is taken becomes `input_...`.

    Args:
        names: The columns.
        taken: The columns that are written.
        kind: The kind of the readings; readings of options that only other tasks have are left
            out.

    Returns:
        The new name of each column, by the old one.
    """
    found: dict[str, str] = {}
    for name in names:
        if kind is not None and name.startswith(f"{kind}_"):
            continue
        new = name
        while new in taken or new in found.values():
            new = f"input_{new}"
        found[name] = new
    return found
