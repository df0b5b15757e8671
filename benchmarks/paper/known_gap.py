"""When a full channel overtakes the affine one, on made-up labels at a known distance from it."""

from collections.abc import Iterator, Sequence

import numpy as np
from excess import PARAMETERS, ExcessLosses, around_crossover
from jaxtyping import Float
from product import Product, Record, number, tabulate
from styles import Style

from cordial_ppl.plots.figure import INK, PAGE, Figure, looking, new_figure

SIZES = (3, 5, 7)
DELTAS = (0.001, 0.01, 0.09)
DRAWS = 30
FITS = {
    "affine": Style("affine", "#000000", "-", "o"),
    "full": Style("full", "#D55E00", "-", "v"),
    "shrunk": Style("full, shrunk", "#56B4E9", "--", "s"),
}
"""What the three channels are called, and how they are drawn."""


def gap_table(
    sizes: Sequence[int] = SIZES,
    deltas: Sequence[float] = DELTAS,
    draws: int = DRAWS,
    seed: int = 0,
) -> Product:
    """Return what estimating a channel costs, and where the full one overtakes.

    Labels come from a channel that the affine family misses by a known delta; the fits take some
    minutes.

    Args:
        sizes: numbers of options, three or more.
        deltas: gaps (nats).
        draws: samples of labels for each gap and number of labels.
        seed: seed of the populations and of the samples.

    Returns:
        The product `known-gap`.

    Raises:
        InputError: a gap is out of reach with this seed.
    """
    gaps = [around_crossover(delta, size, draws, seed) for size in sizes for delta in deltas]
    table = tabulate(row for losses in gaps for row in _rows(losses))
    return Product(
        name="known-gap",
        title="What estimating a channel costs, at a known gap",
        caption="Made-up labels from a channel that the best affine one misses by delta (nats). "
        "d: twice the number of labels times the mean excess loss of estimation, which should come "
        f"to the number of parameters, {PARAMETERS} for the affine channel and K (K - 1) for the "
        "full one; overtakes: labels from which on the full channel loses no more than the affine "
        "one, over the predicted n* = (K (K - 1) - 4) / (2 delta); ± standard errors over samples.",
        table=table,
        shown=tabulate(map(_summary, gaps)),
        notes=(
            f"{draws} samples of labels for each gap and number of labels.",
            "In known-gap.csv, excess is what estimation loses: the affine channel's is over the "
            "best affine one; over_truth, which the figure shows, has delta besides.",
        ),
        draw=lambda: _draw(gaps, sizes),
    )


def _rows(losses: ExcessLosses) -> Iterator[Record]:
    for fit in FITS:
        moved = fit != "affine"
        overtaking = losses.overtaking(fit) if moved else None
        overtaking_error = losses.overtaking_error(fit) if moved else None
        excess, over_truth = getattr(losses, fit).mean(axis=1), _over_truth(losses, fit)
        both = losses.dimensions(fit), losses.dimension_errors(fit)
        rows = zip(losses.budgets, excess, over_truth, *both, strict=True)
        for n, loss, over, dimensions, error in rows:
            yield {
                "options": losses.options,
                "delta": losses.delta,
                "predicted": losses.crossover,
                "fit": fit,
                "n": int(n),
                "excess": float(loss),
                "over_truth": float(over),
                "d": float(dimensions),
                "d_error": float(error),
                "overtaking": overtaking,
                "overtaking_error": overtaking_error,
            }


def _over_truth(losses: ExcessLosses, fit: str) -> Float[np.ndarray, " budgets"]:
    """Return what a fit loses to the truth: by estimation, and the affine one by its family."""
    return (losses.delta if fit == "affine" else 0.0) + getattr(losses, fit).mean(axis=1)


def _summary(losses: ExcessLosses) -> Record:
    """What the table says of one gap: d at the expected crossover."""
    near = int(abs(losses.budgets - losses.crossover).argmin())
    row: Record = {
        "K": losses.options,
        "delta": number(losses.delta, ".4f"),
        "n*": number(losses.crossover, ".0f"),
    }
    row |= {
        f"d, {look.label}": number(
            losses.dimensions(k)[near], ".1f", losses.dimension_errors(k)[near]
        )
        for k, look in FITS.items()
    }
    for fit in ("full", "shrunk"):
        both = losses.overtaking(fit), losses.overtaking_error(fit)
        ratio, error = (labels / losses.crossover for labels in both)
        row[f"{FITS[fit].label} overtakes, / n*"] = number(ratio, ".2f", error)
    return row


def _draw(gaps: Sequence[ExcessLosses], sizes: Sequence[int]) -> Figure:
    across = len(gaps) // len(sizes)
    with looking():
        figure = new_figure(PAGE, 1.5 * len(sizes) + 0.5)
        axes = figure.subplots(len(sizes), across, squeeze=False)
        for axis, losses in zip(axes.ravel(), gaps, strict=True):
            _draw_gap(axis, losses)
        for row in axes:
            row[0].set_ylabel("log loss over the truth's (nats)")
        for axis in axes[-1]:
            axis.set_xlabel("number of labels")
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def _draw_gap(axis, losses: ExcessLosses) -> None:
    axis.set_title(f"K = {losses.options}, delta = {losses.delta:.3g}")
    n = losses.budgets
    for fit, look in FITS.items():
        over = _over_truth(losses, fit)
        lines = {"color": look.color, "ls": look.dash, "marker": look.mark, "mfc": "none"}
        axis.plot(n, over, label=look.label, **lines)
    full = losses.options * (losses.options - 1)
    axis.plot(
        n, losses.delta + PARAMETERS / (2 * n), color=INK, lw=0.6, ls=":", label="gap + d / (2 n)"
    )
    axis.plot(n, full / (2 * n), color=INK, lw=0.6, ls=":")
    axis.axvline(losses.crossover, color=INK, lw=0.5, label="predicted crossover")
    axis.set_xscale("log")
    axis.set_yscale("log")
    # Names of minor ticks overlap where an axis is short.
    axis.set_xticks(n[::2], n[::2])
    axis.tick_params(axis="x", which="minor", bottom=False)
    for each in (axis.xaxis, axis.yaxis):
        each.set_minor_formatter("")
