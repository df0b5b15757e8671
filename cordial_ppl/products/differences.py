"""Log losses minus ours, with paired intervals: the numbers, the table and the figure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from cordial_ppl.analyses import Interval, paired_intervals
from cordial_ppl.products.comparison import Key
from cordial_ppl.products.figure import Figure
from cordial_ppl.products.means import paired_draws
from cordial_ppl.products.panels import Line, Panel, draw_panels, panel_title, read_lines
from cordial_ppl.products.product import Record, Table, number, with_labels
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.methods import label

ENOUGH = 3
"""Draws that two methods must share for a difference to be called resolved."""

MARGIN = 0.08
"""Share of a panel's height that is left free above and below."""

WIDEST, NARROWEST = 6.0, 0.2
"""A panel's range ends at so many times the median difference, but at no fewer nats than these."""

_KNOWN: WeakKeyDictionary[Results, dict[tuple[Key, str], dict[str, Interval]]] = WeakKeyDictionary()


def intervals(results: Results, key: Key, ours: str) -> Mapping[str, Interval]:
    """Return each other method's log loss minus ours (nats) in a cell, with its 95 % interval.

    It is `analyses.paired_interval` of each, over report texts and the draws in which the two
    succeeded; a method that shares no draw with ours is left out.  A sweep's intervals are kept as
    long as the sweep: several products need them, and each takes 10,000 resamples.
    """
    known = _KNOWN.setdefault(results, {})
    if (key, ours) not in known:
        known[key, ours] = _intervals(results.cells[key], ours)
    return known[key, ours]


def enough_draws(results: Results, key: Key, method: str, ours: str) -> bool:
    """Return whether a method shares enough draws with ours for its interval to speak of others."""
    return _shared(results, key, method, ours) >= ENOUGH


def resolves(results: Results, key: Key, method: str, ours: str) -> bool:
    """Return whether a method's interval excludes zero, and comes from enough draws."""
    found = intervals(results, key, ours).get(method)
    return found is not None and found.resolved and enough_draws(results, key, method, ours)


def note_few_draws(
    results: Results, keys: Iterable[Key], methods: Sequence[str], ours: str
) -> tuple[str, ...]:
    """Say which methods' intervals come from too few draws: a sentence, or none."""
    pairs = [(key, method) for key in keys for method in methods if method != ours]
    counts = {pair: _shared(results, *pair, ours) for pair in pairs}
    few = dict.fromkeys(label(m) for (_, m), draws in counts.items() if 0 < draws < ENOUGH)
    if not few:
        return ()
    return (
        f"Intervals from fewer than {ENOUGH} shared draws ({', '.join(few)}) say little of other "
        "label subsets, those from one draw nothing: they are over report texts only. None of them "
        "is called resolved.",
    )


def difference_record(
    results: Results, key: tuple[str, str, int], method: str, ours: str
) -> Record:
    """Return a row on a method's log loss minus ours in a cell, empty where it cannot be known."""
    task, reader, n = key
    found = intervals(results, key, ours).get(method, Interval(np.nan, np.nan, np.nan))
    known = not np.isnan(found.mean)
    return {
        "task": task,
        "reader": reader,
        "n": n,
        "method": method,
        "difference": found.mean,
        "lower": found.lower,
        "upper": found.upper,
        "resolved": resolves(results, key, method, ours) if known else None,
        "draws": _shared(results, key, method, ours),
    }


def show_differences(table: Table) -> Table:
    """Lay differences out by number of labels, resolved ones in bold."""

    def shown(record: Record) -> str:
        text = number(record["difference"], "+.3f")
        return f"**{text}**" if record["resolved"] else text

    return with_labels(table).spread(("task", "reader", "method"), ("n",), shown)


def difference_panels(results: Results, table: Table, banded: Sequence[str]) -> list[Panel]:
    """Return what a figure of differences shows; some have bands, and set the vertical range.

    Args:
        results: the sweep.
        table: its differences.
        banded: the methods that get bands.
    """
    panels = []
    for task, reader in results.pairs:
        lines = read_lines(table, task, reader, "difference", banded)
        panels.append(Panel(task, panel_title(results, task, reader), lines, _limits(lines)))
    return panels


def describe_range(panels: Sequence[Panel]) -> str:
    """Say for a caption what a figure of differences cuts, and which methods it hides."""
    shown = Counter(line.method for panel in panels for line in panel.lines)
    hidden: dict[str, list[str]] = {}
    for panel in panels:
        for line in filter(panel.hides, panel.lines):
            hidden.setdefault(line.method, []).append(panel.title)
    named = ", ".join(
        label(method) + (f" (in {'; '.join(titles)})" if len(titles) < shown[method] else "")
        for method, titles in hidden.items()
    )
    return "the figure cuts what is far above most differences" + (
        f", which leaves nothing in sight of {named}." if named else "."
    )


def draw_differences(results: Results, panels: Sequence[Panel], ours: str) -> Figure:
    """Draw differences from ours by number of labels."""
    return draw_panels(results, panels, "log loss\nminus ours (nats)", zero=f"{label(ours)} (ours)")


def _shared(results: Results, key: Key, method: str, ours: str) -> int:
    return int(paired_draws(results.cells[key], method, ours).sum())


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    """Return a range for what is usual among the lines with bands, and all lines below zero.

    A method that leads ours is in sight however far it leads; bands and what trails are cut where
    they are far from the usual difference: one wild fit would flatten all others.
    """
    leading = [line for line in lines if line.band] or lines
    sizes = [abs(value) for line in leading for value in line.values if value]
    cap = max(WIDEST * float(np.median(sizes)), NARROWEST) if sizes else NARROWEST
    ends = [0.0, *(value for line in leading for own in _all_ends(line) for value in own)]
    least = min(max(min(ends), -cap), *(min(line.values) for line in lines), 0.0)
    most = min(max(ends), cap)
    room = MARGIN * (most - least or 1.0)
    return least - room, most + room


def _all_ends(line: Line) -> Sequence[Sequence[float]]:
    return (line.values, *(line.band or ()))


def _intervals(cell: Cell, ours: str) -> dict[str, Interval]:
    own = cell.losses[cell.methods.index(ours)].astype(float)
    # Methods that share the same draws with ours are resampled together.
    groups: dict[bytes, list[str]] = {}
    for method in cell.methods:
        shared = paired_draws(cell, method, ours)
        if method != ours and shared.any():
            groups.setdefault(shared.tobytes(), []).append(method)
    found: dict[str, Interval] = {}
    for mask, methods in groups.items():
        shared = np.frombuffer(mask, bool)
        theirs = np.stack([cell.losses[cell.methods.index(m)][shared] for m in methods])
        found |= dict(zip(methods, paired_intervals(theirs - own[shared]), strict=True))
    return found
