"""`cordial fuse` and `cordial shift`: several judges of the same texts, and several users."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.fit_commands import fit_calibrator, say_labels, take_labelled
from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    COLUMNS,
    FILES,
    TABLE,
    Also,
    CalibratorWritten,
    Column,
    Names,
    Out,
    Some,
    TableOut,
    Written,
    option,
)
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import FITTING, Fitting, Read, Tables
from cordial_ppl.errors import InputError, count, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.estimators.users import UserShift
    from cordial_ppl.tables import ReadingTable

SHOWN = 10
"""Users in the summary: those who differ most from the population."""


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class SeveralTables(Tables):
    """Tables with readings by several judges."""

    also: Also = ()
    readers: Names = None
    "Columns of ratings, one per judge; needs --options."
    reader: Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Judge to take, from column `reader` (or COLUMN=NAME); may be repeated."


Saved = Annotated[
    CalibratorWritten | None,
    option("Calibrator to write (.cordial), for `cordial predict`.", "FILE", FILES),
]


@command
def fuse(
    tables: SeveralTables, *, output: TableOut, fitting: Fitting = FITTING, save: Saved = None
) -> Result:
    """Combine several judges of the same texts; calibrate all texts that one of them has read.

    READINGS has a row for each text and judge, named in the column `reader`, or a column of ratings
    for each judge. Judges need not have read every text.
    """
    from cordial_ppl.tables import match_labels, read_labels, read_several

    settings = fitting.settings
    with doing("reading"):
        chosen = {"task": tables.task, "id": tables.id, "round": tables.round}
        paths = [tables.readings, *tables.also]
        readers = (*tables.reader, *(tables.readers or ())) or None
        readings = {"options": tables.options, "readers": readers, "rating": tables.rating}
        table = read_several(paths, **readings, **chosen)
        labels = read_labels(tables.labels, table.scale, **chosen, **tables.labelling)
        labels, rows = match_labels(table, labels)
    texts = take_labelled(Read(table, labels, rows), fitting.channel)
    with doing("loading"), leaving_at_once():
        from cordial_ppl.decisions import answers
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion

        fusion = Fusion(table.scale, readers=table.readers, **settings)
        fusion.fit(
            texts.logits,
            table.scale.decode(texts.labels),
            texts.covariates,
            sample_weight=texts.weights,
            texts=texts.texts,
        )
    if save is not None:
        fusion.save(save)
    predict_table(fusion, table, output)
    verdict = answers.verdict(fusion.fit_)
    fits = fusion.fit_.fits
    content = {
        "output": str(output),
        "texts": len(table),
        "labels": len(texts.labels),
        "weights": fusion.weights_,
        "shares": fusion.shares_,
        "expected": fusion.fit_.expected._asdict(),
        "readers": {name: answers.describe(fit).to_dict() for name, fit in fits.items()},
        "verdict": verdict and verdict.to_dict(),
    }
    done = f"wrote {output}: {count(len(table), 'text')}, calibrated on {say_labels(labels)}"
    saved = "" if save is None else f", and the calibrator to {save}"
    return Result(content, text=fusion.summary(), done=[done + saved])


OF_USERS = f"Table to write {TABLE}: item_id, user, p_..., mean, label."
UserColumn = Annotated[Column, option("Column that names users, if not `user`.")]
Population = Annotated[
    Path | None,
    option("Calibrator of the population; by default one is fitted to LABELS.", "FILE", FILES),
]


@command
def shift(
    tables: Tables,
    *,
    output: Annotated[
        Written, Out, option(f"Table to write {TABLE}: item_id, user, p_..., mean, label.")
    ],
    fitting: Fitting = FITTING,
    user: UserColumn = None,
    calibrator: Population = None,
) -> Result:
    """Calibrate all texts for their users: some rate higher than others, some lower.

    READINGS names in a column `user` whose label is predicted. LABELS may have a column `user`, or
    `annotator`, too, and a column `order`: numbers that grow with time, or dates in ISO 8601.
    """
    from cordial_ppl import scores
    from cordial_ppl.cli.calibrator_commands import load_calibrator
    from cordial_ppl.estimators.users import UserShift
    from cordial_ppl.stack.stacking import MIN_LABELS

    settings, options, fitted = fitting.settings, tables.options, None
    if calibrator is not None:
        if settings["prior"] is not None:
            raise InputError("--calibrator is fitted already: leave out --prior and --prior-of.")
        fitted, options = load_calibrator(calibrator, options, fitting.channel)
    from cordial_ppl.tables import read_columns
    from cordial_ppl.tables.proposals import spell

    annotator = tables.annotator
    if user is not None and annotator is None:
        annotator = spell(read_columns(tables.labels), user)
    read = tables.read(options=options, annotator=annotator, apart=(user,) if user else ())
    table, labels, rows = read
    users, raters, order = _read_users(tables, read, user or "user")
    if fitted is None and len(rows) < MIN_LABELS:
        raise InputError(
            f"{count(len(rows), 'label')} are too few to compare users: {MIN_LABELS} are needed, "
            "or a calibrator fitted to other labels (--calibrator)."
        )
    if fitted is None:
        texts = take_labelled(read, fitting.channel)
        fitted = fit_calibrator(texts, table.scale, settings)
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    population = fitted.predict_proba(table.logits, covariates)
    labelled = population[rows] if calibrator else fitted.fit_.out_of_fold
    assert labelled is not None  # with so many labels
    with doing("comparing users"):
        rated = table.scale.decode(labels.labels)
        weights = labels.weights if "weight" in labels.columns.schema else None
        shifts = UserShift(table.scale).fit(labelled, rated, raters, order, sample_weight=weights)
        in_order, _ = shifts.predict_in_order(labelled, rated, raters, order, afresh=True)
        before, after = (scores.log_loss(part, labels.labels) for part in (labelled, in_order))
        _write(output, table, users, shifts.predict_proba(population, users))
    content = {
        "output": str(output),
        "texts": len(users),
        "labels": len(rows),
        "spread": shifts.sigma_,
        "shifts": shifts.values_,
        "labels_of": shifts.counts_,
        "log_loss_population": before,
        "log_loss_in_order": after,
    }
    unseen = "if the calibrator was not fitted to them" if calibrator else "out of fold"
    done = [
        f"log loss of the labels, {unseen}: {before:.3f} by the population, {after:.3f} with the "
        "earlier labels of each user"
    ]
    if after >= before:
        done.append("earlier labels of a user do not help to predict the later ones here")
    done.append(f"wrote {output}: {count(len(users), 'text')}")
    return Result(content, text=_list_users(shifts), done=done)


def _read_users(tables: Tables, read: Read, user: str) -> tuple[Any, Any, Any]:
    """Read whose label is predicted, and whose labels there are, with their order if it is known.

    Raises:
        InputError: A user is not named, or the order is no order.
        SettingNeeded: A column is missing.
    """
    from cordial_ppl.estimators.users.validation import as_order, as_users
    from cordial_ppl.tables.annotators import PEOPLE
    from cordial_ppl.tables.proposals import find_columns

    (table, labels, rows), extras = read, read.table.extras
    (user,) = find_columns(table.columns, [user], "user", PEOPLE)
    with naming(tables.readings):
        users = as_users(extras[user], len(table), table.columns.where)
    with naming(tables.labels):
        order = None if "order" in labels.columns.apart else labels.extras.get("order")
        as_order(order, len(rows), labels.columns.where)
        raters = labels.annotators or [users[row] for row in rows]
        return users, as_users(raters, len(rows), labels.columns.where), order


def _write(output: Path, table: "ReadingTable", users: Any, probs: np.ndarray) -> None:
    """Write what each text's user would say of it."""
    import polars as pl

    from cordial_ppl.estimators.bulk.predictor import LEVEL, add_extras
    from cordial_ppl.stack.interval import label_range
    from cordial_ppl.tables import write_table

    scale = table.scale
    first, last = map(scale.decode, label_range(probs, LEVEL))
    columns = {"item_id": table.item_ids, "user": users}
    columns |= {f"p_{option}": probs[:, k] for k, option in enumerate(scale.options)}
    columns |= {"mean": probs @ scale.values, "label": scale.decode(probs.argmax(axis=1))}
    columns |= {"label_low": first, "label_high": last}
    write_table(output, add_extras(pl.DataFrame(columns), table, ["user"]).lazy())


def _list_users(shifts: "UserShift") -> str:
    """Set out the users that differ most from the population."""
    values, counts = shifts.values_, shifts.counts_
    furthest = sorted(values, key=lambda user: -abs(values[user]))[:SHOWN]
    lines = [(user, str(counts[user]), f"{values[user]:+.2f}") for user in furthest]
    title = f"{count(len(values), 'user')}: shifts with standard deviation {shifts.sigma_:.2f}"
    title += f", the {SHOWN} largest" if len(values) > SHOWN else ""
    return as_table(title, ("", "labels", "shift"), lines)
