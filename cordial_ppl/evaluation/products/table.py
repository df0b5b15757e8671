"""Mean log loss of every method, and how sure its difference from ours is."""

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from cordial_ppl.evaluation.products.comparison import (
    count_failures,
    mean_scores,
    our_method,
    succeeded,
)
from cordial_ppl.evaluation.products.product import Product, Record, number, spread, tabulate
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.evaluation.sweep.methods import label
from cordial_ppl.evaluation.sweep.results import Cell, Key
from cordial_ppl.scores import Interval, paired_bootstrap

ENOUGH = 3
"""Draws that two methods must share for a difference to be called resolved."""

_KNOWN: WeakKeyDictionary[Results, dict[tuple[Key, str], dict[str, Interval]]] = WeakKeyDictionary()


def loss_table(results: Results, *, ours: str | None = None) -> Product:
    """Return each method's mean log loss, and its difference from ours with a paired interval.

    Args:
        results: the sweep.
        ours: the method that the others are compared with.

    Returns:
        The product `table`: for each task, reader, number of labels and method the mean log loss
        and its standard error over the draws, and the difference from ours with the ends of its
        95 % interval, all in nats.

    Raises:
        InputError: the sweep lacks ours.
    """
    ours = our_method(results, ours)
    table = tabulate(
        losses | difference_record(results, key, losses["method"], ours)
        for key in results.cells
        for losses in loss_records(results, key)
    )
    return Product(
        name="table",
        title="Log loss",
        caption="Mean log loss (nats) on the report texts over the draws of labels, by number of "
        f"labels; bold: the lowest; ▲ or ▼: higher or lower than {label(ours)} by a paired 95 % "
        "bootstrap interval over report texts and label subsets that excludes zero.",
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), _shown),
        notes=(
            *note_few_draws(results, results.cells, results.methods, ours),
            count_failures(results.cells.values(), results.methods),
        ),
    )


def loss_records(results: Results, key: Key) -> list[Record]:
    """Return each method's mean log loss in a cell, its error, and whether it is the lowest."""
    (task, reader, n), means = key, mean_scores(results.cells[key], results.methods)
    best = min((found.mean for found in means.values() if found.draws), default=None)
    return [
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"log_loss": found.mean, "standard_error": found.error, "best": found.mean == best}
        | {"draws": found.draws}
        for method, found in means.items()
    ]


def intervals(results: Results, key: Key, ours: str) -> Mapping[str, Interval]:
    """Return each other method's log loss minus ours (nats) in a cell, with its 95 % interval.

    It is `scores.paired_bootstrap` over report texts and the draws in which the two succeeded; a
    method that shares no draw with ours is left out.  A sweep's intervals are kept as long as the
    sweep: several products need them, and each takes 10,000 resamples.
    """
    known = _KNOWN.setdefault(results, {})
    if (key, ours) not in known:
        known[key, ours] = _intervals(results.cells[key], ours)
    return known[key, ours]


def enough_draws(cell: Cell, method: str, ours: str) -> bool:
    """Return whether a method shares enough draws with ours for its interval to speak of others."""
    return bool(succeeded(cell, method, ours).sum() >= ENOUGH)


def difference_record(results: Results, key: Key, method: str, ours: str) -> Record:
    """Return a row on a method's log loss minus ours in a cell, empty where it cannot be known.

    The difference is resolved where its interval excludes zero and comes from enough draws.
    """
    cell, (task, reader, n) = results.cells[key], key
    found = intervals(results, key, ours).get(method)
    return {
        "task": task,
        "reader": reader,
        "n": n,
        "method": method,
        "difference": found and found.mean,
        "lower": found and found.lower,
        "upper": found and found.upper,
        "resolved": found and found.resolved and enough_draws(cell, method, ours),
        "draws": int(succeeded(cell, method, ours).sum()),
    }


def note_few_draws(
    results: Results, keys: Iterable[Key], methods: Sequence[str], ours: str
) -> tuple[str, ...]:
    """Say which methods' intervals come from too few draws: a sentence, or none."""
    pairs = [(key, method) for key in keys for method in methods if method != ours]
    counts = {(k, m): succeeded(results.cells[k], m, ours).sum() for k, m in pairs}
    few = dict.fromkeys(label(m) for (_, m), draws in counts.items() if 0 < draws < ENOUGH)
    if not few:
        return ()
    return (
        f"Intervals from fewer than {ENOUGH} shared draws ({', '.join(few)}) say little of other "
        "label subsets, those from one draw nothing: they are over report texts only. None of them "
        "is called resolved.",
    )


def _intervals(cell: Cell, ours: str) -> dict[str, Interval]:
    # Methods that share the same draws with ours are resampled together.
    groups: dict[bytes, list[str]] = {}
    for method in cell:
        shared = succeeded(cell, method, ours)
        if method != ours and shared.any():
            groups.setdefault(shared.tobytes(), []).append(method)
    found: dict[str, Interval] = {}
    for mask, methods in groups.items():
        shared = np.frombuffer(mask, bool)
        theirs = np.stack([cell[method].losses[shared] for method in methods])
        ends = paired_bootstrap(theirs - cell[ours].losses[shared].astype(float))
        values = zip(*(end.tolist() for end in ends), strict=True)
        found |= {method: Interval(*each) for method, each in zip(methods, values, strict=True)}
    return found


def _shown(record: Record) -> str:
    text = number(record["log_loss"])
    if record["best"]:
        text = f"**{text}**"
    if not record["resolved"]:
        return text
    return f"{text} {'▲' if record['difference'] > 0 else '▼'}"
