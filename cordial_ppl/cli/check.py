"""`cordial check`: tests of a channel."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import Columns, Labelling
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def check(
    channel: str,
    columns: Columns,
    labelling: Labelling,
    readings: Path | None = None,
    labels: Path | None = None,
    simulations: int = 0,
    seed: int = 0,
) -> Result:
    """Check a channel: contract, gradients, order, posteriors against NUTS, prior, predictions.

    One line a finding: pass, warn or fail. Exit status: 0 if nothing fails, 1 if something does,
    2 wrong usage or bad input.
    """
    if (readings is None) != (labels is None):
        raise InputError("--readings and --labels go together: give both, or neither.")
    with doing("loading"):
        from cordial_ppl.evaluation.checks import check_channel
    with doing("reading"), leaving_at_once():
        settings = vars(columns) | vars(labelling)
        texts = _read(channel, readings, labels, settings) if readings and labels else ()
        report = check_channel(channel, *texts, simulations=simulations, seed=seed)
    failure = typer.Exit(1) if report.status == "fail" else None
    return Result(report.to_dict(), report.text, failure=failure)


def _read(channel: str, readings: Path, labels: Path, settings: dict[str, Any]) -> tuple[Any, ...]:
    """Read texts with those that are labelled first, their labels, and covariates."""
    from cordial_ppl.cli.calibrate import take_covariates
    from cordial_ppl.tables import read_labelled

    table, labelled, rows = read_labelled(readings, labels, **settings)
    labelled.check_single("cordial check")
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(table)), rows)])
    covariates = take_covariates(table, [channel])
    extra = {name: column[order] for name, column in covariates.items()}
    return table.logits[order], labelled.labels, extra
