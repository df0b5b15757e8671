"""Tables with users: whose labels there are, and what users would say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from cordial_ppl.errors import count, naming
from cordial_ppl.estimators.bulk.predictor import add_extras, name_predictions
from cordial_ppl.estimators.users.users import UserShift
from cordial_ppl.estimators.users.validation import as_order, as_users
from cordial_ppl.runtime.text_table import align
from cordial_ppl.tables import LabelledReadings, ReadingTable, write_table

SHOWN = 10
"""Users in the summary: those who differ most from the population."""


def read_users(read: LabelledReadings) -> tuple[Any, Any, Any]:
    """Read whose label is predicted, and whose labels there are, with their order if it is known.

    Args:
        read: The readings of all texts, read with the column `per` of users, and the labels.

    Raises:
        InputError: A user is not named, or the order is no order.
    """
    table, labels, rows = read
    with naming(table.columns.path):
        users = as_users(table.extras[table.per or "user"], len(table), table.columns.where)
    with naming(labels.columns.path):
        order = None if "order" in labels.columns.apart else labels.extras.get("order")
        as_order(order, len(rows), labels.columns.where)
        raters = labels.annotators or [users[row] for row in rows]
        return users, as_users(raters, len(rows), labels.columns.where), order


def write_users(
    output: Path, table: ReadingTable, users: Sequence[str], probs: Float[np.ndarray, "m K"]
) -> None:
    """Write what each text's user would say of it, by the probabilities of that user's label."""
    named = {"item_id": table.item_ids, "user": users} | name_predictions(table.scale, probs)
    write_table(output, add_extras(pl.DataFrame(named), table, ["user"]).lazy(), table.columns)


def list_users(shifts: UserShift) -> str:
    """Set out the users that differ most from the population."""
    values = sorted(shifts.values_.items(), key=lambda pair: -abs(pair[1]))
    lines = [(user, str(shifts.counts_[user]), f"{value:+.2f}") for user, value in values[:SHOWN]]
    title = f"Shifts of {count(len(values), 'user')} towards the best option, measured in options"
    title += f" (standard deviation {shifts.sigma_:.2f}{'; largest shown' * (len(values) > SHOWN)})"
    return "\n".join([title, *align(("", "labels", "shift"), *lines)])
