"""`cordial agree`: how people agree, with one another and with the judge."""

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.estimate_commands import read_grouping
from cordial_ppl.cli.options import BothColumns, Column, Fitting
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.errors import InputError, quote, warn


@command
def agree(
    labels: options.Given,
    readings: Annotated[Path | None, options.option(options.LAYOUT, group=options.FILES)] = None,
    /,
    *,
    columns: BothColumns = BothColumns(),
    cluster: Column = None,
    text: Column = None,
    texts: options.File = None,
    level: options.Level = 0.9,
) -> Result:
    """How well do people agree with one another, and with the judge before and after calibration?

    The judge is compared with one person at a time, just as people are compared with one another.
    The calibrated prediction for a text does not use the labels of that text. The last column shows
    the best agreement that any judge could reach, given that people disagree.

    Args:
        labels: Table with item_id, label and annotator, or item_id and one column per annotator.
        cluster: Column of LABELS that groups related texts, such as `conversation`.
        text: Column with the texts, used to show those on which people disagree most.
        texts: Table with item_id and the texts, if READINGS does not contain the texts.
    """
    import numpy as np

    from cordial_ppl.decisions.votes import tabulate
    from cordial_ppl.tables import read_labels, read_scale, read_words

    columns.keep_each("agree")
    apart = (cluster,) if cluster else ()
    if readings is None:
        scale = read_scale(labels, **vars(columns), apart=apart)
        read, judges = read_labels(labels, scale, **vars(columns), apart=apart), {}
    else:
        tables = Fitting(readings, labels, **vars(columns))
        whole = tables.read(apart=apart)
        scale, read, judges = whole.readings.scale, whole.labels, _predict(tables, whole)
    options.refuse_split(read, "agree")
    if "weight" in read.columns.free and np.ptp(read.weights):
        warn(f"{labels}: agreement ignores column 'weight', which changes only the calibration.")
    votes, first, people = tabulate(scale.decode(read.labels), read.item_ids, read.annotators)
    groups = read_grouping(read.columns, cluster=cluster).get("cluster")
    settings = {"clusters": groups and [groups[row] for row in first], "level": level}
    settings["predictions"] = {name: probs[first] for name, probs in judges.items()}
    made = cp.agreement(votes, scale, **settings)
    if not made.values:
        raise InputError(
            f"no text in {labels} has labels from two people, so there is nothing to compare. Add "
            "labels from a second person, or pass the judge's table as READINGS."
        )
    items = [read.item_ids[first[row]] for row in made.apart]
    rated = [dict(compress(zip(people, votes[row], strict=True), votes[row])) for row in made.apart]
    far: dict[str, Sequence[Any]] = {"item_id": items, "labels": rated}
    shown = [items, [", ".join(map(" ".join, each.items())) for each in rated]]
    if text:
        words = far["text"] = read_words(texts or readings or labels, items, text, columns.id)
        shown.append([quote(word)[1:-1] for word in words])
    title = "\nTexts on which people disagree most"
    listed = as_table(title, [*far], zip(*shown, strict=True)) if items else ""
    apart = [dict(zip(far, cells, strict=True)) for cells in zip(*far.values(), strict=True)]
    return Result(made.to_dict() | {"apart": apart}, str(made), listed)


def _predict(tables: Fitting, read: Any) -> dict[str, Any]:
    """Find what the judge states of each label's text, and what is predicted out of fold."""
    import numpy as np

    from cordial_ppl.data.number_table import is_unread
    from cordial_ppl.data.ratings import state

    fit, logits, judges = tables.fit(read).fit_, read.readings.logits[read.rows], {}
    rated = ~is_unread(logits)
    for name, probs in (("judge", state(logits[rated])[0]), ("calibrated", fit.out_of_fold)):
        judges[name] = np.full(logits.shape, np.nan)
        judges[name][rated] = np.nan if probs is None else probs
    return judges
