"""What is fitted to labelled texts: `cordial calibrate`, `fit`, `fuse`, `shift` and `demo`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.calibrator_commands import load_calibrator
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import Fitting
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.errors import InputError, SettingsClash, count
from cordial_ppl.runtime.progress import doing

FIGURES = {"draws": "draws", "khat": "k-hat", "ess": "effective draws"}
"""Posterior diagnostics and their displayed names."""

DEMONSTRATED = 20
"""Number of demo reviews whose labels are used."""

NEXT = """
Next, use your own readings (item_id, logit_1, ...) and labels (item_id, label), one row per text:
  cordial calibrate readings.csv labels.csv -o calibrated.csv"""

DETAILS = options.option("Print sampling diagnostics for each posterior.", group=options.OUTPUT)
Verbose = Annotated[bool, DETAILS]


@command
def calibrate(tables: Fitting, *, output: options.PredictedOut, verbose: Verbose = False) -> Result:
    """Fit a calibrator to the labelled texts, and write calibrated probabilities for all texts."""
    read = tables.read()
    calibrator = tables.fit(read)
    from cordial_ppl.estimators.bulk.predictor import predict_table

    texts = predict_table(calibrator, read.readings, output)
    done = f"wrote {output}: {count(texts, 'text')}, calibrated with"
    return _describe(calibrator, read, {"output": output, "texts": texts}, done, verbose)


@command
def fit(tables: Fitting, *, output: options.CalibratorOut, verbose: Verbose = False) -> Result:
    """Fit a calibrator to the labelled texts, and save it for `cordial predict`.

    Args:
        output: Calibrator to write (.cordial).
    """
    read = tables.read()
    calibrator = tables.fit(read)
    calibrator.save(output)
    done = f"wrote {output}, a calibrator fitted to"
    return _describe(calibrator, read, {"output": output}, done, verbose)


def _describe(calibrator: Any, read: Any, content: Any, done: str, verbose: bool) -> Result:
    """Return the summary, with warnings of groups that are rated otherwise."""
    from cordial_ppl.decisions import answers

    (table, labels, rows), fit, forecast = read, calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, table.logits, table.covariates(fit.covariates))
    summary = answers.describe(fit, forecast)
    biases = answers.find_bias(fit, options.list_groups(read))
    content |= {"labels": len(rows), "summary": summary.to_dict(), "provenance": fit.provenance}
    content |= {"biases": [bias._asdict() for bias in biases]}
    text = summary.text
    for name, each in summary.diagnostics.items() if verbose else ():
        figures = (f", {word} {each[key]:.4g}" for key, word in FIGURES.items() if each[key])
        text += f"\nPosterior of {name}: {each['method']}{''.join(figures)}"
    done += f" {_say_labels(labels, calibrator)}"
    return Result(content, text=text, warnings=map(str, biases), done=[done])


def _say_labels(labels: Any, calibrator: Any) -> str:
    """Count labels, and say whose label is predicted where texts have several."""
    number = count(len(labels.labels), "label")
    if labels.several:
        number += f" for {count(len(labels.first), 'text')}"
    if people := labels.several and {*(labels.annotators or ())}:
        number += f" by {count(len(people), 'annotator')}"
    if unread := int(calibrator.fit_.entered.unread.sum()):
        number += f", including {unread} for texts without a reading"
    return number + "; probabilities describe a single annotator's label" * bool(people)


@dataclass(frozen=True, kw_only=True)
class SeveralTables(Fitting):
    """Tables with readings by several judges, and settings of a fit."""

    also: options.Also = ()
    "Table of readings from additional judges; may be repeated."
    readers: options.List = ()
    "Columns of ratings, one per judge; requires --options."
    reader: options.Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Judge to use from column `reader`; COLUMN=NAME uses another column; may be repeated."


@command
def fuse(
    tables: SeveralTables, *, output: options.PredictedOut, save: options.Saved = None
) -> Result:
    """Combine the readings of several judges, and calibrate all texts.

    READINGS has either one row per text and judge, with the judge's name in column `reader`, or one
    column of ratings per judge. Not every judge needs to have rated every text. Predictions for
    texts that no judge has rated use only the labels of other such texts.

    Args:
        save: Calibrator to write (.cordial), for use with `cordial predict`.
    """
    from cordial_ppl.tables import read_several

    settings, judges = tables.settings, (*tables.reader, *tables.readers) or None
    people = (tables.annotator,) if tables.annotator else ("annotator", "user")
    people = (*(tables.label or ["label"]), *people)

    def read(path: Path, *, apart: Sequence[str], **more: Any) -> Any:
        return read_several([path, *tables.also], readers=judges, apart=(*apart, *people), **more)

    table, labels, rows = whole = tables.read(reader=None, read=read)
    from cordial_ppl.estimators.bulk.predictor import predict_table
    from cordial_ppl.estimators.task_tables import take_labelled

    if len(table.readers) > 1 and tables.judge in table.readers:
        raise InputError(
            f"fusion uses all {len(table.readers)} judges, but --judge {tables.judge} names only "
            "one. Remove --judge, or calibrate only this judge with `cordial calibrate`."
        )
    fusion = cp.Fusion(table.scale, readers=table.readers, **settings)
    provenance = tables.identify(whole)
    fusion.fit(**take_labelled(whole, tables.channel))
    fusion.fit_ = replace(fusion.fit_, provenance=provenance)
    if save is not None:
        fusion.save(save)
    predict_table(fusion, table, output)
    fit, verdict = fusion.fit_, cp.verdict(fusion)
    content = {"output": output, "texts": len(table), "labels": len(rows)}
    content |= {"weights": fusion.weights_, "shares": fusion.shares_}
    readers = {name: cp.describe(each).to_dict() for name, each in fit.fits.items()}
    content |= {"expected": fit.expected._asdict(), "readers": readers}
    content["verdict"] = verdict and verdict.to_dict()
    done = f"wrote {output}: {count(len(table), 'text')}, calibrated with "
    done += _say_labels(labels, fusion)
    saved = "" if save is None else f"; wrote the calibrator to {save}"
    return Result(content, text=fusion.summary(), done=[done + saved])


@command
def shift(
    tables: Fitting,
    *,
    output: options.TableOut,
    user: options.Column = None,
    calibrator: options.File = None,
) -> Result:
    """Predict the label that each text's user would give, since some users rate higher than others.

    Column `user` of READINGS names the user whose label is predicted. In LABELS, column `user` or
    `annotator` names the person who gave the label. Column `order` of LABELS states the order of
    each person's labels, as increasing numbers or ISO dates.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): item_id, user, p_..., mean, label.
        user: Column that names the user, if not `user`.
        calibrator: Calibrator to add user shifts to; by default, one fitted to LABELS.
    """
    import numpy as np

    from cordial_ppl.tables import read_columns
    from cordial_ppl.tables.roles import spell

    tables.keep_each("shift")
    fitted, more = None, dict[str, Any](apart=(user,) if user else (), per=user or "user")
    if calibrator is not None:
        for name, default in (("prior", None), ("inference", "default")):
            if tables.settings[name] != default:
                raise SettingsClash("calibrator", name)
        fitted, more["options"] = load_calibrator(calibrator, tables.channel, tables.options)
    if user is not None:
        more["annotator"] = tables.annotator or spell(read_columns(tables.labels), user)
    whole = tables.read(**more)
    options.refuse_split(whole.labels, "shift")
    from cordial_ppl.estimators.bulk.intake import warn_of_kind
    from cordial_ppl.estimators.users import user_tables
    from cordial_ppl.stack.stacking import MIN_LABELS

    table, labels, rows = read = whole.drop_unread()
    users, raters, order = user_tables.read_users(read)
    if fitted is None and len(rows) < MIN_LABELS:
        raise InputError(
            f"comparing users needs at least {MIN_LABELS} labels; found {len(rows)}. Add labels, "
            "or pass a calibrator fitted to other labels (--calibrator)."
        )
    if fitted and calibrator:
        stated = tables.identify(whole)
        warn_of_kind(calibrator, fitted.fit_, tables.readings, table, stated)
    fitted = fitted or tables.fit(whole)
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    population = fitted.predict_proba(table.logits, covariates)
    labelled = population[rows] if calibrator else fitted.fit_.out_of_fold
    with doing("comparing users"):
        rated = labelled, table.scale.decode(labels.labels), raters, order
        weights = labels.weights if "weight" in labels.columns.free else None
        shifts = cp.UserShift(table.scale).fit(*rated, sample_weight=weights)
        in_order, _ = shifts.predict_in_order(*rated, afresh=True, sample_weight=weights)
        losses = partial(cp.scores.log_loss, labels=labels.labels, per_text=True)
        before, after = (np.average(losses(each), weights=weights) for each in (labelled, in_order))
        user_tables.write_users(output, table, users, shifts.predict_proba(population, users))
    content = {"output": output, "texts": len(users), "labels": len(rows)}
    content |= {"spread": shifts.sigma_, "shifts": shifts.values_, "labels_of": shifts.counts_}
    content |= {"log_loss_population": before, "log_loss_in_order": after}
    unseen = "valid if the calibrator was not fitted to them" if calibrator else "out of fold"
    told = f"{before:.3f} without user shifts, {after:.3f} with shifts from earlier labels"
    done = [f"log loss of the labels ({unseen}): {told}"]
    if after >= before:
        done.append("users' earlier labels do not help to predict their later labels")
    done.append(f"wrote {output}: {count(len(users), 'text')}")
    return Result(content, text=user_tables.list_users(shifts), done=done)


@command
def demo(*, inference: options.Inference = "default", seed: options.Seed = 0) -> Result:
    """Try calibration on synthetic reviews: fit to 20 labels, then score the other reviews."""
    import numpy as np

    from cordial_ppl.data.readings import label_histogram
    from cordial_ppl.scores import accuracy, log_loss
    from cordial_ppl.stack.weighing import stated

    reviews = cp.synthetic.reviews()
    logits, unseen = np.split(reviews.logits, [DEMONSTRATED])
    labels, truth = np.split(reviews.labels, [DEMONSTRATED])
    calibrator = cp.Cordial(reviews.options, inference=inference, seed=seed)
    calibrator.fit(logits, [reviews.options[label] for label in labels])
    predictions = {
        "raw reading": stated(unseen),
        "label histogram": np.tile(label_histogram(labels, unseen.shape[1]), (len(unseen), 1)),
        "calibrated": calibrator.predict_proba(unseen),
    }
    scored, summary = {}, cp.describe(calibrator)
    for name, probs in predictions.items():
        scored[name] = {"log_loss": log_loss(probs, truth), "accuracy": accuracy(probs, truth)}
        scored[name]["confidence"] = float(probs.max(1).mean())
    title = f"\nOn {len(unseen)} held-out texts, after {DEMONSTRATED} labels"
    rows = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in scored.items()]
    table = as_table(title, ("", "log loss", "accuracy", "mean confidence"), rows)
    content = {"labels": DEMONSTRATED, "held_out": len(unseen), "scores": scored}
    return Result(content | {"summary": summary.to_dict()}, f"{summary.text}\n{table}", NEXT)
