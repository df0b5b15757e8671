"""`cordial check`: tests of a channel."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cordial_ppl.cli.messages import leaving_at_once, say
from cordial_ppl.cli.options import Chosen, Labelling, Seed, Shown, argument, option
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing

CHANNEL = "A channel file, whose code is run, or the name of a channel."
READINGS = "Check it on these readings; needs --labels."
SIMULATIONS = "Data sets for simulation-based calibration, such as 200; none by default."
RANKS = "Figure of the simulations' ranks (.png, .pdf, .svg)."
FIGURES = (".png", ".pdf", ".svg")


def check(
    channel: Annotated[str, argument("CHANNEL", CHANNEL)],
    chosen: Chosen,
    labelling: Labelling,
    shown: Shown,
    readings: Annotated[Path | None, option("FILE", READINGS)] = None,
    labels: Annotated[Path | None, option("FILE", "Labels of some of the texts.")] = None,
    simulations: Annotated[int, option("N", SIMULATIONS, min=0)] = 0,
    plot: Annotated[Path | None, option("FILE", RANKS)] = None,
    seed: Seed = 0,
) -> None:
    """Check a channel: contract, gradients, order, posteriors against NUTS, prior, predictions.

    One line a finding, pass, warn or fail. Without readings it is checked on made-up reviews.
    Exit status: 0 if nothing fails, 1 if something does, 2 wrong usage or bad input.
    """
    with doing("loading"):
        from cordial_ppl.evaluation.checks import check_channel
    from cordial_ppl.cli.output import STDOUT, check_output, show_json

    settings = chosen.settings | labelling.label_settings
    if (readings is None) != (labels is None):
        raise InputError("--readings and --labels go together: give both, or neither.")
    if plot is not None:
        if not simulations:
            raise InputError("--plot draws the ranks of simulations: give --simulations 200, too.")
        check_output(plot, [path for path in (readings, labels) if path], endings=FIGURES)
    with doing("reading"), leaving_at_once():
        texts = _read(channel, readings, labels, settings)
        report = check_channel(channel, *texts, simulations=simulations, seed=seed)
    if plot is not None and report.ranks:
        from cordial_ppl.plots.ranks import write_ranks

        title = f"Simulation-based calibration of {report.channel}, {simulations} data sets"
        write_ranks(plot, report.ranks, title)
    if shown.json:
        show_json(report.to_dict())
    else:
        STDOUT.print(report.text)
        if plot is not None and report.ranks and not shown.quiet:
            say(f"wrote {plot}")
    if report.status == "fail":
        raise typer.Exit(1)


def _read(
    channel: str, readings: Path | None, labels: Path | None, settings: dict[str, Any]
) -> tuple[Any, ...]:
    """Readings with those that are labelled first, their labels, and covariates."""
    if readings is None or labels is None:
        return ()
    from cordial_ppl.cli.calibrate import take_covariates
    from cordial_ppl.tables import read_labelled

    table, labelled, rows = read_labelled(readings, labels, **settings)
    labelled.check_single("cordial check")
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(table)), rows)])
    covariates = take_covariates(table, [channel])
    extra = {name: column[order] for name, column in covariates.items()}
    return table.logits[order], labelled.labels, extra
