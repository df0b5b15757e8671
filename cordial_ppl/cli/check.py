"""`cordial check`: whether a channel deserves belief."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cordial_ppl.cli.messages import leaving_at_once, progressing, say
from cordial_ppl.cli.options import Json, Options, Quiet, Reader, Seed, Task, split_options
from cordial_ppl.errors import InputError

ChannelPath = Annotated[
    str,
    typer.Argument(
        metavar="CHANNEL",
        help="A channel file, whose code is run, or the name of a channel.",
    ),
]
Readings = Annotated[
    Path | None,
    typer.Option("--readings", metavar="FILE", help="Check it on these readings; needs --labels."),
]
Labels = Annotated[
    Path | None, typer.Option("--labels", metavar="FILE", help="Labels of some of the texts.")
]
Simulations = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Data sets for simulation-based calibration, such as 200; none by default.",
    ),
]
Ranks = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Figure of the simulations' ranks (.png, .pdf, .svg)."
    ),
]
FIGURES = (".png", ".pdf", ".svg")


def check(
    channel: ChannelPath,
    readings: Readings = None,
    labels: Labels = None,
    simulations: Simulations = 0,
    plot: Ranks = None,
    options: Options = None,
    reader: Reader = None,
    task: Task = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a channel: contract, gradients, order, posteriors against NUTS, prior, predictions.

    One line a finding, pass, warn or fail. Without readings it is checked on made-up reviews.
    Exit status: 0 if nothing fails, 1 if something does, 2 wrong usage or bad input.
    """
    from cordial_ppl.checks import check_channel
    from cordial_ppl.cli.output import STDOUT, check_output, show_json

    names = split_options(options)
    if (readings is None) != (labels is None):
        raise InputError("--readings and --labels go together: give both, or neither.")
    if plot is not None:
        if not simulations:
            raise InputError("--plot draws the ranks of simulations: give --simulations 200, too.")
        check_output(plot, [path for path in (readings, labels) if path], endings=FIGURES)
    with progressing(quiet) as progress, leaving_at_once():
        texts = _read(channel, readings, labels, names, reader, task)
        report = check_channel(
            channel, *texts, simulations=simulations, seed=seed, progress=progress
        )
    if plot is not None and report.ranks:
        from cordial_ppl.checks.picture import write_ranks

        title = f"Simulation-based calibration of {report.channel}, {simulations} data sets"
        write_ranks(plot, report.ranks, title)
    if json:
        show_json(report.to_dict())
    else:
        STDOUT.print(report.text)
        if plot is not None and report.ranks and not quiet:
            say(f"wrote {plot}")
    if report.status == "fail":
        raise typer.Exit(1)


def _read(
    channel: str,
    readings: Path | None,
    labels: Path | None,
    options: tuple[str, ...] | None,
    reader: str | None,
    task: str | None,
) -> tuple[Any, ...]:
    """Readings with those that are labelled first, their labels, and covariates."""
    if readings is None or labels is None:
        return ()
    from cordial_ppl.cli.fitting import covariates_of, read_labelled
    from cordial_ppl.tables import match_labels

    table, found = read_labelled(readings, labels, options=options, reader=reader, task=task)
    rows = match_labels(table, found)
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(table.item_ids)), rows)])
    extra = covariates_of(table, [channel])
    return table.logits[order], found.labels, {k: values[order] for k, values in extra.items()}
