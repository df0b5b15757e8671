"""An estimate as text: a line for what is known of all texts, a table of the groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cordial_ppl.decisions.estimates.quantities import (
    RESOLVING,
    TARGETS,
    in_percent,
    in_words,
    round_ends,
)
from cordial_ppl.scores import Interval

if TYPE_CHECKING:
    from cordial_ppl.decisions.estimates.estimate import Estimate


def write_estimate(made: "Estimate", by: str) -> str:
    """Write what is known of all texts, and a table of the groups if there are any."""
    parts = [f"{name}: {100 * part:.0f} %" for name, part in made.overall.shares.items()]
    lines = _write_whole(made, ", ".join(parts))
    if made.groups:
        rates = ("pass",) if made.passing else ()
        cells = []
        for name in made.ranking:
            each = made.groups[name]
            passing = (in_percent(each.passing),) if each.passing else ()
            cells.append((name, f"{each.texts:,}", f"{each.labels}", *_cells(each.mean), *passing))
        lines += ["", *align((by, "texts", "labels", "mean", "", *rates), *cells)]
    return "\n".join(lines)


def write_ranking(made: "Estimate", by: str) -> str:
    """Write the groups from the best to the worst, with their differences to the best."""
    best = made.ranking[0]
    cells = [
        (
            *(name, f"{made.groups[name].labels}", *_cells(made.groups[name].mean)),
            *(("", "") if name == best else _cells(made.difference(name, best), "+")),
            f"{100 * made.best[name]:.0f} %",
        )
        for name in made.ranking
    ]
    total, resolved, wrong = made.pairs
    few = any(group.labels < RESOLVING for group in made.groups.values())
    only = f" (each {by} needs {RESOLVING} labels)" if few else ""
    table = align((by, "labels", "mean", "", "to the best", "", "P(best)"), *cells)
    count = (
        f"{resolved} of {total} differences are resolved at {100 * made.level:.0f} %{only}; about "
        f"{wrong:.1f} of these have the wrong sign."
    )
    return "\n".join([*_write_whole(made), "", *table, "", count])


def _write_whole(made: "Estimate", shares: str = "") -> list[str]:
    """Say what is labelled, what the intervals are of, and the mean of all texts for both."""
    whole, alone = made.overall, "from sampling alone"
    kind, other = "texts like these", "just these texts"
    kind, other = (kind, other) if made.of == TARGETS[0] else ("these texts", kind)
    be = "is" if whole.labels == 1 else "are"
    clusters = "" if made.clusters is None else f", in {made.clusters} clusters,"
    lines = [
        f"{whole.labels} of {whole.texts:,} texts{clusters} {be} labelled; "
        f"intervals of {100 * made.level:.0f} % for {kind}",
        f"  mean {in_words(whole.mean)}; {alone} {in_words(made.rectified)}",
    ]
    if made.other:
        mean, rectified = map(in_words, made.other)
        lines.append(f"  of {other}: {mean}; {alone} {rectified}")
    return [*lines, *(f"  {more}" for more in (shares, made.passing) if more)]


def _cells(result: Interval, sign: str = "") -> tuple[str, str]:
    """Return a mean, and its interval, for a column each."""
    mean, lower, upper = round_ends(result)
    return f"{mean:{sign}.2f}", f"({lower:{sign}.2f} to {upper:{sign}.2f})"


def align(*rows: Sequence[str]) -> list[str]:
    """Return lines of a table, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if position else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
