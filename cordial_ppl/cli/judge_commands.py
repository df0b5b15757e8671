"""`cordial fuse` and `cordial shift`: several judges of the same texts, and several users."""

from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from cordial_ppl.cli import options
from cordial_ppl.cli.calibrator_commands import load_calibrator
from cordial_ppl.cli.command import command
from cordial_ppl.cli.fit_commands import say_labels
from cordial_ppl.cli.options import Fitting
from cordial_ppl.cli.output import Result
from cordial_ppl.errors import InputError, SettingsClash, count
from cordial_ppl.runtime.progress import doing


@Parameter(name="*", group=options.COLUMNS)
@dataclass(frozen=True, kw_only=True)
class SeveralTables(Fitting):
    """Tables with readings by several judges, and settings of a fit."""

    also: options.Also = ()
    "Another table, with readings by other judges; may be repeated."
    readers: options.List = ()
    "Columns of ratings, one per judge; needs --options."
    reader: options.Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Judge to take, from column `reader` (or COLUMN=NAME); may be repeated."


@command
def fuse(tables: SeveralTables, *, output: options.TableOut, save: options.Saved = None) -> Result:
    """Combine several judges of the same texts; calibrate all texts that one of them has read.

    READINGS has a row for each text and judge, named in the column `reader`, or a column of ratings
    for each judge. Judges need not have read every text.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): p_..., mean and interval, label.
        save: Calibrator to write (.cordial), for `cordial predict`.
    """
    from cordial_ppl.tables import match_labels, read_labels, read_several

    settings = tables.settings
    with doing("reading"):
        columns, paths = tables.of_readings, [tables.readings, *tables.also]
        both = {*tables.readers} & {*(tables.label or ["label"])}
        if both and tables.readings == tables.labels:
            raise InputError(f"column {min(both)!r} has labels: leave it out of --readers.")
        columns["readers"] = (*columns.pop("reader"), *tables.readers) or None
        table = read_several(paths, **columns)
        labels = read_labels(tables.labels, table.scale, **tables.of_labels)
        labels, rows = match_labels(table, labels)
    with doing("loading"):
        from cordial_ppl.decisions import answers
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion
        from cordial_ppl.estimators.task_tables import take_labelled

        fusion = Fusion(table.scale, readers=table.readers, **settings)
        fusion.fit(**take_labelled(table, labels, rows, tables.channel))
    if save is not None:
        fusion.save(save)
    predict_table(fusion, table, output)
    fit, verdict = fusion.fit_, answers.verdict(fusion.fit_)
    content = {"output": output, "texts": len(table), "labels": len(rows)}
    content |= {"weights": fusion.weights_, "shares": fusion.shares_}
    readers = {name: answers.describe(each).to_dict() for name, each in fit.fits.items()}
    content |= {"expected": fit.expected._asdict(), "readers": readers}
    content["verdict"] = verdict and verdict.to_dict()
    done = f"wrote {output}: {count(len(table), 'text')}, calibrated on {say_labels(labels)}"
    saved = "" if save is None else f", and the calibrator to {save}"
    return Result(content, text=fusion.summary(), done=[done + saved])


@command
def shift(
    tables: Fitting,
    *,
    output: options.TableOut,
    user: options.Column = None,
    calibrator: options.File = None,
) -> Result:
    """Calibrate all texts for their users: some rate higher than others, some lower.

    READINGS names in a column `user` whose label is predicted. LABELS may have a column `user`, or
    `annotator`, too, and a column `order`: numbers that grow with time, or dates in ISO 8601.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): item_id, user, p_..., mean, label.
        user: Column that names users, if not `user`.
        calibrator: Calibrator of the population; by default one is fitted to LABELS.
    """
    from cordial_ppl.tables import read_columns
    from cordial_ppl.tables.proposals import spell

    fitted, more = None, dict[str, Any](apart=(user,) if user else ())
    if calibrator is not None:
        if tables.settings["prior"]:
            raise SettingsClash("calibrator", "prior")
        fitted = load_calibrator(calibrator, tables.channel)
        more["options"] = tables.options or fitted.fit_.scale
    if user is not None:
        more["annotator"] = tables.annotator or spell(read_columns(tables.labels), user)
    table, labels, rows = read = tables.read(**more)
    from cordial_ppl import scores
    from cordial_ppl.estimators.users import UserShift, user_tables
    from cordial_ppl.stack.stacking import MIN_LABELS

    users, raters, order = user_tables.read_users(*read, user or "user")
    if fitted is None and len(rows) < MIN_LABELS:
        raise InputError(
            f"{count(len(rows), 'label')} are too few to compare users: {MIN_LABELS} are needed, "
            "or a calibrator fitted to other labels (--calibrator)."
        )
    fitted = fitted or tables.fit(*read)
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    population = fitted.predict_proba(table.logits, covariates)
    labelled = population[rows] if calibrator else fitted.fit_.out_of_fold
    with doing("comparing users"):
        rated = labelled, table.scale.decode(labels.labels), raters, order
        weights = labels.weights if "weight" in labels.columns.schema else None
        shifts = UserShift(table.scale).fit(*rated, sample_weight=weights)
        in_order, _ = shifts.predict_in_order(*rated, afresh=True)
        before, after = (scores.log_loss(part, labels.labels) for part in (labelled, in_order))
        user_tables.write_users(output, table, users, shifts.predict_proba(population, users))
    content = {"output": output, "texts": len(users), "labels": len(rows)}
    content |= {"spread": shifts.sigma_, "shifts": shifts.values_, "labels_of": shifts.counts_}
    content |= {"log_loss_population": before, "log_loss_in_order": after}
    unseen = "if the calibrator was not fitted to them" if calibrator else "out of fold"
    losses = f"{before:.3f} by the population, {after:.3f} with the earlier labels of each user"
    done = [f"log loss of the labels, {unseen}: {losses}"]
    if after >= before:
        done.append("earlier labels of a user do not help to predict the later ones here")
    done.append(f"wrote {output}: {count(len(users), 'text')}")
    return Result(content, text=user_tables.list_users(shifts), done=done)
