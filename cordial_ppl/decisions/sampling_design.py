"""How texts are drawn by groups, and how the labelled ones were, as the table of labels says it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cordial_ppl.decisions.estimates.rectified import is_even
from cordial_ppl.decisions.planning import expected_scores, score_strata, share_drawn
from cordial_ppl.errors import InputError, count, list_names, name_rows, naming, warn
from cordial_ppl.tables import LabelledReadings, read_groups
from cordial_ppl.tables.columns import finite

FAR = 4
"""Standard errors of the number of texts that labels stand for at which it is far off."""


def read_design(read: LabelledReadings) -> tuple[dict[str, Any], str]:
    """Read how texts were drawn from the labels' table, with a line of what weighs them if any.

    After a plan by groups that is how much of each is labelled, for people may stop early.

    Args:
        read: The readings of all texts, and the labels.

    Raises:
        InputError: A probability is not above 0 and at most 1; the readings lack the plan's groups.
    """
    table, labels, rows = read
    design, weighed = dict[str, Any](), ""
    columns, by = labels.columns, labels.planned_by
    if planned := "stratum" in columns.free:
        scores = expected_scores(table.logits, table.scale)
        design["strata"] = score_strata(scores, len(labels.first))
    if by is not None:
        with naming(f"{columns.path}, a plan by {by}"):
            table.columns.require(by)
        groups = read_groups(table.columns, by)
        shares = share_drawn([groups[row] for row in rows[labels.first]], groups)
        if not is_even(1 / shares):
            design["strata"] = groups
        design["probabilities"] = shares
        weighed = f"the labelled share of each {by}, as {columns.path} was planned by {by}."
    elif "probability" in columns.free:
        with naming(columns.path):
            shares = finite(columns, "probability")
            if (wrong := ((shares <= 0) | (shares > 1)).nonzero()[0]).size:
                raise InputError(
                    "column 'probability' must be each text's chance of being labelled, in (0, "
                    f"1]; got {shares[wrong[0]]:g} in {name_rows(wrong, columns.where)}. Rename "
                    "the column if it means something else."
                )
        others, inverse = len(table) - len(labels.first), 1 / shares[labels.first]
        total, half = inverse.sum(), len(table) / 2
        # The standard error of that sum, were there as many texts as there are.
        spread = np.sqrt((inverse * (inverse - 1)).sum() / total * len(table))
        if not planned:
            # Of a plan, whose texts are in order, the first are a plan themselves.
            if labels.unfilled and (np.ptp(shares) or shares[0] == 1):
                warn(
                    f"{columns.path}: found {count(labels.unfilled, 'row')} with a probability but "
                    "no label, so other labels are weighted to represent them. Label these rows."
                )
            elif others and (shares == 1).all():
                warn(
                    f"{columns.path}: all labels have probability 1, so the other "
                    f"{count(others, 'text')} had no chance of being labelled and may differ from "
                    "the labelled texts. Label a random sample of the other texts as an audit."
                )
            elif not labels.unfilled and abs(total - len(table)) > max(FAR * spread, half):
                warn(
                    f"{columns.path}: according to column 'probability', the labels represent "
                    f"{total:,.0f} texts, not {len(table):,}. Check the probabilities."
                )
            # Texts that were sure to be labelled stand for themselves alone.
            design["strata"] = np.isin(np.arange(len(table)), rows[shares == 1])
        design["probabilities"] = shares[labels.first]
        meaning = "the chance of being selected. Rename the column if it means something else"
        weighed = f"the inverse of column 'probability' in {columns.path}, {meaning}."
    varies = np.ptp(design.get("probabilities", 1.0)) > 0
    return design, f"Labels are weighted by {weighed}" if varies else ""


def count_groups(
    groups: Sequence[str], labelled: Sequence[int], rows: Sequence[int]
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Count texts of each group: all, labelled before, and planned; warn of those with few labels.

    Args:
        groups: The group of each text.
        labelled: Texts that have labels.
        rows: Texts that are to be labelled.
    """
    sizes, before = Counter(groups), Counter(groups[row] for row in labelled)
    planned = Counter(groups[row] for row in rows)
    counts = {
        name: {"texts": size, "labelled": before[name], "planned": planned[name]}
        for name, size in sizes.items()
    }
    labels = {name: before[name] + planned[name] for name in sizes}
    most, doubts = max(labels.values()), []
    none = [name for name in sizes if not labels[name]]
    short = [name for name in sizes if labels[name] == sizes[name] < most - 1]
    if none:
        problem = f"get no label. Plan at least {len(sizes)} labels, one per group"
        doubts.append(f"{len(none)} of {len(sizes)} groups ({list_names(none)}) {problem}.")
    if short:
        problem = "have fewer texts than an equal share, so the other groups get more labels"
        doubts.append(f"{len(short)} of {len(sizes)} groups ({list_names(short)}) {problem}.")
    return counts, doubts
