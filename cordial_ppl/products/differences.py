"""Log losses minus ours, with paired intervals."""

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from cordial_ppl.analyses import Interval, paired_intervals
from cordial_ppl.products.comparison import Key
from cordial_ppl.products.means import paired_draws
from cordial_ppl.products.product import Record
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.methods import label

ENOUGH = 3
"""Draws that two methods must share for a difference to be called resolved."""

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


def _shared(results: Results, key: Key, method: str, ours: str) -> int:
    return int(paired_draws(results.cells[key], method, ours).sum())


def _intervals(cell: Cell, ours: str) -> dict[str, Interval]:
    base = cell.losses[cell.methods.index(ours)].astype(float)
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
        found |= dict(zip(methods, paired_intervals(theirs - base[shared]), strict=True))
    return found
