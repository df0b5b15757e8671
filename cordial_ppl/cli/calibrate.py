"""`cordial calibrate` and its first half, `cordial fit`: from two tables to a fitted calibrator."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from cordial_ppl.cli.messages import count, leaving_at_once, say, working
from cordial_ppl.cli.options import (
    ENDING,
    CalibratorOut,
    Chosen,
    Fitting,
    LabelsPath,
    ReadingsPath,
    Shown,
    TableOut,
    Update,
)
from cordial_ppl.errors import naming

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.inference.data import Labelled
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import LabelTable, ReadingTable


def calibrate(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: TableOut,
    chosen: Chosen,
    fitting: Fitting,
    shown: Shown,
    update: Update = None,
) -> None:
    """Fit on the labelled texts; write calibrated probabilities for every text of READINGS."""
    from cordial_ppl.cli.output import check_output

    check_output(output, [readings, labels, *fitting.inputs])
    fitted = fit_tables(readings, labels, chosen, fitting, shown.quiet, update)
    with working("calibrating", shown.quiet):
        from cordial_ppl.bulk.predictor import predict_table

        texts = predict_table(fitted.calibrator, fitted.table, output)
    labelled = len(fitted.rows)
    done = f"wrote {output}: {count(texts, 'text')}, calibrated on {count(labelled, 'label')}"
    _show(fitted, {"output": str(output), "texts": texts, "labels": labelled}, done, shown)


def fit(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: CalibratorOut,
    chosen: Chosen,
    fitting: Fitting,
    shown: Shown,
    update: Update = None,
) -> None:
    """Fit on the labelled texts of READINGS and save the calibrator."""
    from cordial_ppl.cli.output import check_output

    check_output(output, [readings, labels, *fitting.inputs], endings=[ENDING])
    fitted = fit_tables(readings, labels, chosen, fitting, shown.quiet, update)
    fitted.calibrator.save(output)
    labelled = len(fitted.rows)
    done = f"wrote {output}: a calibrator fitted on {count(labelled, 'label')}"
    _show(fitted, {"output": str(output), "labels": labelled}, done, shown)


class FittedTables(NamedTuple):
    """Two tables, and the calibrator that was fitted to them.

    Attributes:
        table: The readings of all texts.
        labels: The labels, in the order of their table, which is that of the fit but for --update.
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
    readings: Path,
    labels: Path,
    chosen: Chosen,
    fitting: Fitting,
    quiet: bool,
    update: Path | None = None,
    check: Callable[["ReadingTable", "LabelTable"], None] = lambda *_: None,
) -> FittedTables:
    """Read both tables and fit a calibrator on the texts that have labels, or update one.

    Args:
        readings: The table of readings.
        labels: The table of labels.
        chosen: What is read from them.
        fitting: Settings of the fit.
        quiet: Whether to show nothing.
        update: The calibrator that is updated, if any.
        check: Refuses tables that are not as they must be, before the fit.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
        ChannelError: A file's model breaks the contract of a channel.
    """
    from cordial_ppl.drift import sketch
    from cordial_ppl.tables import list_groups, match_labels, read_labelled, read_provenance

    if update is not None:
        from cordial_ppl.cli.updating import update_calibrator

        return FittedTables(*update_calibrator(update, readings, labels, chosen, fitting, quiet))
    settings = fitting.settings
    table, found = read_labelled(readings, labels, **chosen.settings)
    rows = match_labels(table, found)
    check(table, found)
    texts = take_labelled(table, rows, found.labels, fitting.channel)
    calibrator = fit_calibrator(texts, table.scale, settings, quiet)
    calibrator.provenance_ = read_provenance(table.columns, rows.tolist())
    calibrator.sketch_ = sketch(table.logits)
    return FittedTables(table, found, rows, list_groups(table, rows, found), calibrator)


def take_labelled(
    table: "ReadingTable",
    rows: np.ndarray,
    labels: np.ndarray,
    channels: Sequence[str | Path] | None,
) -> "Labelled":
    """Take the labelled texts of a table, with the covariates that channels ask for.

    Args:
        table: The readings, checked.
        rows: Positions of the labelled texts.
        labels: Their labels, 0..K-1.
        channels: Names or files of channels.

    Raises:
        InputError: A column is missing, or does not hold finite numbers.
        ChannelError: A file does not hold a channel.
    """
    from cordial_ppl.inference.data import Labelled

    return Labelled(table.logits[rows], labels, take_covariates(table, rows, channels))


def take_covariates(
    table: "ReadingTable", rows: np.ndarray, channels: Sequence[str | Path] | None
) -> dict[str, np.ndarray]:
    """Take the covariates that channels ask for; arguments and errors are `take_labelled`'s."""
    covariates: dict[str, np.ndarray] = {}
    if channels:
        from cordial_ppl.inference.tracing import find_covariates
        from cordial_ppl.loading import load_channel

        for channel in map(load_channel, channels):
            with naming(f"channel {channel.name!r}"):
                for name in find_covariates(channel, table.scale.size):
                    covariates[name] = table.covariate(name)[rows]
    return covariates


def fit_calibrator(
    texts: "Labelled", scale: "Scale", settings: Mapping[str, Any], quiet: bool
) -> "Stack":
    """Fit a calibrator to checked texts, and show on stderr that it takes a moment.

    Args:
        texts: The labelled texts.
        scale: The options.
        settings: Settings of `Cordial`.
        quiet: Whether to show nothing.

    Raises:
        InputError: Nothing can be learned from these labels.
        ChannelError: A file's model breaks the contract of a channel.
    """
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.cordial import Cordial

        return Cordial(scale.options, **settings).fit_labelled(texts, scale)


def _show(fitted: FittedTables, counts: dict, done: str, shown: Shown) -> None:
    """Print the summary and one line on stderr, or all of it as JSON."""
    from cordial_ppl.cli.output import STDOUT, show_json

    table, calibrator = fitted.table, fitted.calibrator
    covariates = {name: table.covariate(name) for name in calibrator.covariates_}
    able = calibrator.can_forecast
    forecast = calibrator.forecast(table.logits, covariates) if able else None
    summary, biases = calibrator.describe(forecast), calibrator.find_bias(fitted.groups)
    if shown.json:
        found = [bias._asdict() for bias in biases]
        show_json({**counts, "summary": summary.to_dict(), "biases": found})
    elif not shown.quiet:
        STDOUT.print(summary.text)
        for bias in biases:
            STDOUT.print(f"\nWarning: {bias}")
        say(done)
