"""`cordial calibrate` and its first half, `cordial fit`: from two tables to a fitted calibrator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import (
    ENDING,
    CalibratorOut,
    Fitting,
    LabelledTables,
    Shown,
    TableOut,
)
from cordial_ppl.errors import naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.tables import LabelTable, ReadingTable


def calibrate(tables: LabelledTables, output: TableOut, fitting: Fitting, shown: Shown) -> None:
    """Fit on the labelled texts; write calibrated probabilities for every text of READINGS."""
    from cordial_ppl.cli.output import check_output

    check_output(output, [*tables.inputs, *fitting.inputs])
    fitted = fit_tables(tables, fitting)
    from cordial_ppl.estimators.bulk.predictor import predict_table

    texts = predict_table(fitted.calibrator, fitted.table, output)
    labelled = len(fitted.rows)
    done = f"wrote {output}: {count(texts, 'text')}, calibrated on {say_labels(fitted.labels)}"
    _show(fitted, {"output": str(output), "texts": texts, "labels": labelled}, done, shown)


def fit(tables: LabelledTables, output: CalibratorOut, fitting: Fitting, shown: Shown) -> None:
    """Fit on the labelled texts of READINGS and save the calibrator."""
    from cordial_ppl.cli.output import check_output

    check_output(output, [*tables.inputs, *fitting.inputs], endings=[ENDING])
    fitted = fit_tables(tables, fitting)
    fitted.calibrator.save(output)
    labelled = len(fitted.rows)
    done = f"wrote {output}: a calibrator fitted on {say_labels(fitted.labels)}"
    _show(fitted, {"output": str(output), "labels": labelled}, done, shown)


def say_labels(labels: "LabelTable") -> str:
    """Count labels, and say whose label is predicted where texts have several."""
    number = count(len(labels.labels), "label")
    if not labels.several:
        return number
    number = f"{number} of {count(len(labels.first), 'text')}"
    if labels.annotators is None:
        return number
    people = count(len(set(labels.annotators)), "annotator")
    return f"{number} by {people}; a probability is of a single annotator's label"


class FittedTables(NamedTuple):
    """Two tables, and the calibrator that was fitted to them.

    Attributes:
        table: The readings of all texts.
        labels: The labels, in the order of their table, which is that of the fit.
        rows: The labelled texts, in the order of the fit.
        groups: What may name groups of these texts, by column.
        calibrator: The calibrator.
    """

    table: "ReadingTable"
    labels: "LabelTable"
    rows: Int64[np.ndarray, " n"]
    groups: Mapping[str, Sequence[str]]
    calibrator: "Stack"


def fit_tables(
    tables: LabelledTables,
    fitting: Fitting,
    check: Callable[["ReadingTable", "LabelTable"], None] = lambda *_: None,
) -> FittedTables:
    """Read both tables and fit a calibrator on the texts that have labels.

    Args:
        tables: The tables, and what is read from them.
        fitting: Settings of the fit.
        check: Refuses tables that are not as they must be, before the fit.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
        ChannelError: A file's model breaks the contract of a channel.
    """
    from cordial_ppl.stack.sketch import sketch
    from cordial_ppl.tables import list_groups, read_provenance

    settings = fitting.settings
    table, labels, rows = tables.read()
    check(table, labels)
    texts = take_labelled(table, rows, labels, fitting.channel)
    calibrator = fit_calibrator(texts, table.scale, settings)
    provenance = read_provenance(table.columns, rows.tolist())
    fit = replace(calibrator.fit_, provenance=provenance, sketch=sketch(table.logits))
    calibrator.fit_ = fit
    return FittedTables(table, labels, rows, list_groups(table, rows, labels), calibrator)


def take_labelled(
    table: "ReadingTable",
    rows: np.ndarray,
    labels: "LabelTable",
    channels: Sequence[str | Path] | None,
) -> "Labelled":
    """Take the labelled texts of a table, with the covariates that channels ask for.

    Args:
        table: The readings, checked.
        rows: Positions of the labelled texts, one a label.
        labels: Their labels.
        channels: Names or files of channels.

    Raises:
        InputError: A column is missing, or does not hold finite numbers or the levels of a channel.
        ChannelError: A file does not hold a channel.
    """
    from cordial_ppl.data.labelled import Labelled
    from cordial_ppl.data.labelling import as_texts

    columns = take_covariates(table, channels)
    covariates = {name: column[rows] for name, column in columns.items()}
    texts = as_texts(labels.item_ids, len(rows))
    return Labelled(table.logits[rows], labels.labels, covariates, labels.weights, texts)


def take_covariates(
    table: "ReadingTable", channels: Sequence[str | Path] | None
) -> dict[str, np.ndarray]:
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
        from cordial_ppl.estimators import Cordial
        from cordial_ppl.stack.fit import fit_stack

        calibrator = Cordial(scale.options, **settings)
        complete = calibrator.settings
        complete.check(texts.logits, texts.covariates)
        calibrator.fit_ = fit_stack(texts, scale, complete)
        return calibrator


def _show(fitted: FittedTables, counts: dict, done: str, shown: Shown) -> None:
    """Print the summary and one line on stderr, or all of it as JSON."""
    from cordial_ppl.cli.output import STDOUT, show_json
    from cordial_ppl.decisions import answers

    table, calibrator = fitted.table, fitted.calibrator
    covariates = table.covariates(calibrator.fit_.covariates)
    fit, forecast = calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, table.logits, covariates)
    summary, biases = answers.describe(fit, forecast), answers.find_bias(fit, fitted.groups)
    if shown.json:
        rows = [bias._asdict() for bias in biases]
        return show_json({**counts, "summary": summary.to_dict(), "biases": rows})
    if not shown.quiet:
        STDOUT.print(summary.text)
    for bias in biases:
        say(f"warning: {bias}")
    if not shown.quiet:
        say(done)
