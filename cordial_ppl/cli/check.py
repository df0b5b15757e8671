"""`cordial check`: tests of a channel."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import FILES, MODEL, WHOLE, LabelsOrNot, Seed, option
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import EVERY, PLAIN, Columns, Labelling
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def check(
    channel: Annotated[str, option(FILES, "Channel file, whose code is run, or a channel's name.")],
    *,
    columns: Columns = EVERY,
    labelling: Labelling = PLAIN,
    readings: Annotated[Path | None, option(FILES, "Readings to check it on.", "READINGS")] = None,
    labels: LabelsOrNot = None,
    simulations: Annotated[
        int,
        option(MODEL, "Data sets for simulation-based calibration, as 200.", "N", validator=WHOLE),
    ] = 0,
    seed: Seed = 0,
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
    return Result(report.to_dict(), report.text, status=report.status == "fail")


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
