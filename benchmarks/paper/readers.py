"""How our method does with each reader."""

from collections.abc import Iterable, Iterator

import numpy as np
from wins import leads, name_unknown

from cordial_ppl.analyses import Interval
from cordial_ppl.products.comparison import need_budgets, need_methods, our_method, rivals
from cordial_ppl.products.differences import intervals, note_few_draws, resolves
from cordial_ppl.products.means import count_failures, mean_pair
from cordial_ppl.products.product import NOTHING, Product, Record, Table, number
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

REFERENCE = "logit-stack"
LEAST, MOST = 5, 100
"""Labels of the settings that are counted."""

ALL = "all"
"""What stands for all tasks of a reader."""


def reader_table(results: Results, *, ours: str | None = None, n: int = 20) -> Product:
    """Return, for each reader, our log loss, its gain over the logit stack, and where it is best.

    Args:
        results: the sweep.
        ours: our method.
        n: number of labels of the loss and the gain.

    Returns:
        The product `readers`.

    Raises:
        InputError: the sweep lacks ours, the logit stack, or the budget.
    """
    ours = our_method(results, ours)
    need_methods(results, REFERENCE)
    need_budgets(results, n)
    won = leads(results, ours, LEAST, MOST)
    readers = dict.fromkeys(reader for _, reader in results.pairs)
    table = Table.of([row for reader in readers for row in _rows(results, reader, ours, n, won)])
    shown = [(*pair, n) for pair in results.pairs]
    counted = _count(won.values())
    return Product(
        name="readers",
        title="Readers",
        caption=f"Log loss of {label(ours)} with {n} labels and its gain over the logit stack "
        "(nats), with paired 95 % bootstrap intervals over report texts and label subsets, and in "
        f"how many settings with {LEAST} to {MOST} labels it has the lowest log loss, or by how "
        "much at most it trails the best.",
        table=table,
        shown=_show(table),
        notes=(
            f"{label(ours)} has the lowest log loss of {len(rivals(results, ours)) + 1} methods "
            f"in {counted['best']} of {counted['settings']} settings; other forms of it are not "
            f"counted as methods.{name_unknown(won)}",
            *note_few_draws(results, shown, (REFERENCE,), ours),
            count_failures(results.cells.values(), (ours, *rivals(results, ours))),
        ),
    )


def _rows(
    results: Results, reader: str, ours: str, n: int, won: dict[tuple[str, str, int], float]
) -> Iterator[Record]:
    tasks = [task for task, own in results.pairs if own == reader]
    losses, gains = [], []
    for task in tasks:
        key = task, reader, n
        own, _ = mean_pair(results.cells[key], ours, REFERENCE)
        nothing = Interval(np.nan, np.nan, np.nan)
        gain = intervals(results, key, ours).get(REFERENCE, nothing)
        settings = [lead for (t, r, _), lead in won.items() if (t, r) == (task, reader)]
        losses.append(own.mean)
        gains.append(gain.mean)
        yield {
            "reader": reader,
            "task": task,
            "n": n,
            "log_loss": own.mean,
            "gain": gain.mean,
            "lower": gain.lower,
            "upper": gain.upper,
            "resolved": None if np.isnan(gain.mean) else resolves(results, key, REFERENCE, ours),
            **_count(settings),
        }
    if len(tasks) > 1:
        settings = [lead for (_, own, _), lead in won.items() if own == reader]
        yield {
            "reader": reader,
            "task": ALL,
            "n": n,
            "log_loss": float(np.mean(losses)),
            "gain": float(np.mean(gains)),
            "lower": None,
            "upper": None,
            "resolved": None,
            **_count(settings),
        }


def _count(settings: Iterable[float]) -> Record:
    """Count leads that are known."""
    known = [lead for lead in settings if not np.isnan(lead)]
    trailing = [-lead for lead in known if lead < 0]
    return {
        "settings": len(known),
        "best": sum(lead >= 0 for lead in known),
        "trails_by_at_most": max(trailing, default=None),
    }


def _show(table: Table) -> Table:
    rows = []
    for own in table.records():
        ends = f"[{number(own['lower'], '+.3f')}, {number(own['upper'], '+.3f')}]"
        rows.append(
            {
                "reader": own["reader"],
                "task": own["task"],
                "log loss": number(own["log_loss"]),
                "gain": number(own["gain"], "+.3f"),
                "95 % interval": NOTHING if own["lower"] is None else ends,
                "best in": f"{own['best']} of {own['settings']}",
                "trails by at most": number(own["trails_by_at_most"]),
            }
        )
    return Table.of(rows)
