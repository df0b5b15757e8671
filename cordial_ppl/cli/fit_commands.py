"""`cordial calibrate`, its first half `cordial fit`, and `cordial demo`: what is fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cordial_ppl.cli.command import command
from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import OUTPUT, CalibratorOut, Inference, Seed, TableOut, option
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import FITTING, Fitting, Read, Tables
from cordial_ppl.errors import count, naming
from cordial_ppl.runtime.progress import doing

FIGURES = {"draws": "draws", "khat": "k-hat", "ess": "effective draws"}
"""Diagnostics of a posterior, and what they are called."""

if TYPE_CHECKING:
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.tables import LabelTable, ReadingTable


DEMONSTRATED = 20
"""Reviews of the demonstration whose labels are used."""

NEXT = """\
Now with your own readings and labels (one row per text; item_id, logit_1 ... and item_id, label):
  cordial calibrate readings.csv labels.csv -o calibrated.csv"""

Verbose = Annotated[bool, option("Print how well each posterior is known, too.", group=OUTPUT)]


@command
def calibrate(
    tables: Tables, *, output: TableOut, fitting: Fitting = FITTING, verbose: Verbose = False
) -> Result:
    """Fit on the labelled texts; write calibrated probabilities for all texts."""
    read = tables.read()
    calibrator = fit_tables(read, fitting)
    from cordial_ppl.estimators.bulk.predictor import predict_table

    texts = predict_table(calibrator, read.table, output)
    counts = {"output": str(output), "texts": texts, "labels": len(read.rows)}
    done = f"wrote {output}: {count(texts, 'text')}, calibrated on {say_labels(read.labels)}"
    return _describe(calibrator, read, counts, done, verbose)


@command
def fit(
    tables: Tables, *, output: CalibratorOut, fitting: Fitting = FITTING, verbose: Verbose = False
) -> Result:
    """Fit on the labelled texts; save the calibrator for `cordial predict`."""
    read = tables.read()
    calibrator = fit_tables(read, fitting)
    calibrator.save(output)
    counts = {"output": str(output), "labels": len(read.rows)}
    done = f"wrote {output}: a calibrator fitted on {say_labels(read.labels)}"
    return _describe(calibrator, read, counts, done, verbose)


@command
def demo(*, inference: Inference = "default", seed: Seed = 0) -> Result:
    """Show what calibration does: fit on 20 labels of made-up reviews, score the others."""
    from cordial_ppl import scores
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.readings import as_logits, label_histogram
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.decisions.answers import describe
    from cordial_ppl.evaluation import synthetic
    from cordial_ppl.stack.weighing import stated

    reviews = synthetic.reviews()
    logits, unseen = as_logits(reviews.logits[:DEMONSTRATED]), reviews.logits[DEMONSTRATED:]
    labels, truth = reviews.labels[:DEMONSTRATED], reviews.labels[DEMONSTRATED:]
    settings = Fitting(seed=seed, inference=inference).settings
    calibrator = fit_calibrator(Labelled(logits, labels, {}), Scale(reviews.options), settings)
    histogram = label_histogram(labels, len(reviews.options))
    predictions = {
        "raw reading": stated(unseen),
        "label histogram": np.tile(histogram, (len(unseen), 1)),
        "calibrated": calibrator.predict_proba(unseen),
    }
    scored = {
        name: {
            "log_loss": scores.log_loss(probs, truth),
            "accuracy": scores.accuracy(probs, truth),
            "confidence": float(probs.max(axis=1).mean()),
        }
        for name, probs in predictions.items()
    }
    summary = describe(calibrator.fit_)
    content = {"labels": DEMONSTRATED, "held_out": len(unseen), "scores": scored}
    title = f"\nOn {len(unseen)} held-out texts, after {DEMONSTRATED} labels"
    rows = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in scored.items()]
    table = as_table(title, ("", "log loss", "accuracy", "mean confidence"), rows)
    content["summary"] = summary.to_dict()
    return Result(content, f"{summary.text}\n{table}", f"\n{NEXT}")


def _describe(
    calibrator: "Stack", read: Read, counts: Mapping[str, Any], done: str, verbose: bool
) -> Result:
    """Return the summary, with warnings of groups that are rated otherwise."""
    from cordial_ppl.decisions import answers

    table, fit, forecast = read.table, calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, table.logits, table.covariates(fit.covariates))
    summary, biases = answers.describe(fit, forecast), answers.find_bias(fit, read.groups)
    content = {"summary": summary.to_dict(), "biases": [bias._asdict() for bias in biases]}
    text = summary.text
    for name, each in summary.diagnostics.items() if verbose else ():
        figures = (f", {word} {each[key]:.4g}" for key, word in FIGURES.items() if each[key])
        text += f"\nPosterior of {name}: {each['method']}{''.join(figures)}"
    return Result({**counts, **content}, text=text, warnings=map(str, biases), done=[done])


def say_labels(labels: "LabelTable") -> str:
    """Count labels, and say whose label is predicted where texts have several."""
    number = count(len(labels.labels), "label")
    if labels.several:
        number += f" of {count(len(labels.first), 'text')}"
    if labels.several and labels.annotators is not None:
        people = count(len(set(labels.annotators)), "annotator")
        number += f" by {people}; a probability is of a single annotator's label"
    return number


def fit_tables(read: Read, fitting: Fitting) -> "Stack":
    """Fit a calibrator on the texts that have labels; it keeps what later readings must be like.

    Args:
        read: The readings and the labels.
        fitting: Settings of the fit.

    Raises:
        InputError: The labels, the readings or the covariates do not allow this fit.
        ChannelError: A file's model breaks the contract of a channel.
    """
    from cordial_ppl.stack.sketch import sketch
    from cordial_ppl.tables import read_provenance

    texts = take_labelled(read, fitting.channel)
    calibrator = fit_calibrator(texts, read.table.scale, fitting.settings)
    provenance = read_provenance(read.table.columns, read.rows.tolist())
    calibrator.fit_ = replace(
        calibrator.fit_, provenance=provenance, sketch=sketch(read.table.logits)
    )
    return calibrator


def take_labelled(read: Read, channels: Sequence[str | Path]) -> "Labelled":
    """Take the labelled texts, with the covariates that channels ask for.

    Args:
        read: The readings and the labels.
        channels: Names or files of channels.

    Raises:
        InputError: A column is missing, or does not hold finite numbers or the levels of a channel.
        ChannelError: A file does not hold a channel.
    """
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.labelling import as_texts

    table, labels, rows = read
    columns = take_covariates(table, channels)
    covariates = {name: column[rows] for name, column in columns.items()}
    texts = as_texts(labels.item_ids, len(rows))
    return Labelled(table.logits[rows], labels.labels, covariates, labels.weights, texts)


def take_covariates(table: "ReadingTable", channels: Sequence[str | Path]) -> dict[str, np.ndarray]:
    """Take the columns that channels ask for, of all texts; raises as `take_labelled`."""
    covariates: dict[str, np.ndarray] = {}
    if channels:
        from cordial_ppl.channels.channel import count_levels
        from cordial_ppl.channels.loading import load_channel
        from cordial_ppl.inference.tracing import find_covariates

        for channel in map(load_channel, channels):
            with naming(f"channel {channel.name!r}"):
                names = find_covariates(channel, table.scale.size)
                covariates |= table.covariates(names, count_levels(channel))
    return covariates


def fit_calibrator(texts: "Labelled", scale: "Scale", settings: Mapping[str, Any]) -> "Stack":
    """Fit a calibrator to checked texts.

    Args:
        texts: The labelled texts.
        scale: The options.
        settings: Settings of `Cordial`.

    Raises:
        InputError: Nothing can be learned from these labels.
        ChannelError: A file's model breaks the contract of a channel.
    """
    with doing("loading"), leaving_at_once():
        from cordial_ppl.estimators.named import Cordial
        from cordial_ppl.stack.fit import fit_stack

        calibrator = Cordial(scale.options, **settings)
        complete = calibrator.settings
        complete.check(texts.logits, texts.covariates)
        calibrator.fit_ = fit_stack(texts, scale, complete)
        return calibrator
