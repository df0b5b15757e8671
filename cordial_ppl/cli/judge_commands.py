"""`cordial fuse` and `cordial shift`: several judges of the same texts, and several users."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.fit_commands import fit_calibrator, say_labels
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
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import FITTING, Fitting, Tables
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    pass

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
    from cordial_ppl.estimators.task_tables import take_labelled

    texts = take_labelled(table, labels, rows, fitting.channel)
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
    settings, options, fitted = fitting.settings, tables.options, None
    if calibrator is not None:
        if settings["prior"] is not None:
            raise InputError("--calibrator is fitted already: leave out --prior and --prior-of.")
        from cordial_ppl.cli.calibrator_commands import load_calibrator

        fitted, options = load_calibrator(calibrator, options, fitting.channel)
    from cordial_ppl.tables import read_columns
    from cordial_ppl.tables.proposals import spell

    annotator = tables.annotator
    if user is not None and annotator is None:
        annotator = spell(read_columns(tables.labels), user)
    read = tables.read(options=options, annotator=annotator, apart=(user,) if user else ())
    table, labels, rows = read
    from cordial_ppl import scores
    from cordial_ppl.estimators.task_tables import take_labelled
    from cordial_ppl.estimators.users import UserShift, user_tables
    from cordial_ppl.stack.stacking import MIN_LABELS

    users, raters, order = user_tables.read_users(*read, user or "user")
    if fitted is None and len(rows) < MIN_LABELS:
        raise InputError(
            f"{count(len(rows), 'label')} are too few to compare users: {MIN_LABELS} are needed, "
            "or a calibrator fitted to other labels (--calibrator)."
        )
    if fitted is None:
        texts = take_labelled(*read, fitting.channel)
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
        user_tables.write_users(output, table, users, shifts.predict_proba(population, users))
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
    return Result(content, text=user_tables.list_users(shifts), done=done)
