"""What is written of each text: its probabilities, their mean with its interval, and the label."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cordial_ppl.compilation import workers

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.fusion import Fusion

LEVEL = 0.9
"""Probability that the mean lies between `low` and `high`."""

ROWS = 1 << 15
"""Texts that one thread predicts at a time."""


def predict_texts(
    judge: "Stack | Fusion",
    logits: Float[np.ndarray, "n *readers K"],
    covariates: Mapping[str, Float[np.ndarray, " n"]],
) -> dict[str, Sequence | np.ndarray]:
    """Predict texts, on all cores.

    Args:
        judge: The fitted judge.
        logits: Centred logits (nats).
        covariates: What the judge was fitted with beside them, by name.

    Returns:
        The columns `p_<option>`, `mean`, `low`, `high` and `label`.
    """
    count = len(logits)
    parts = [slice(start, start + ROWS) for start in range(0, count, ROWS)]

    def predict(rows: slice) -> Float[np.ndarray, "_ _"]:
        own, extra = logits[rows], {name: column[rows] for name, column in covariates.items()}
        probs = judge.predict_proba(own, extra)
        mean = probs @ judge.scale_.values
        low, high = judge.predict_interval(own, LEVEL, extra, mean=mean)
        return np.column_stack([probs, mean, low, high])

    names = *(f"p_{option}" for option in judge.scale_.options), "mean", "low", "high"
    found = np.empty((0, len(names)))
    if len(parts) == 1:
        found = predict(parts[0])
    elif parts:
        with ThreadPoolExecutor(max_workers=workers(len(parts))) as pool:
            found = np.concatenate(list(pool.map(predict, parts)))
    best = found[:, : judge.scale_.size].argmax(axis=1)
    columns: dict[str, Sequence | np.ndarray] = dict(zip(names, found.T, strict=True))
    return columns | {"label": judge.scale_.decode(best)}


def rename_extras(
    names: Iterable[str], taken: Collection[str], kind: str | None = None
) -> dict[str, str]:
    """Name the columns that are passed through beside those that are written.

    A column gives way, as `input_...`, to one of the same name.

    Args:
        names: The columns.
        taken: The columns that are written.
        kind: The kind of the readings; readings of an option that only other tasks have are left
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
