"""How our method does with each reader."""

from collections.abc import Iterable, Iterator

import numpy as np
from comparison import (
    Results,
    count_failures,
    difference_record,
    mean_difference,
    mean_of_tasks,
    need_methods,
    note_few_draws,
)
from product import NOTHING, Product, Record, number, tabulate
from ranking import calibrators, leads, mean_pair, name_unknown, need_budgets
from styles import OURS, label

REFERENCE = "logit-stack"
LEAST, MOST = 5, 100
"""Labels of the settings that are counted."""

ALL = "all"
"""What stands for all tasks of a reader."""


def reader_table(results: Results, *, ours: str = OURS, n: int = 20) -> Product:
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
    need_methods(results, ours, REFERENCE)
    need_budgets(results, n)
    won = leads(results, ours, LEAST, MOST)
    readers = dict.fromkeys(reader for _, reader in results.pairs)
    table = tabulate(row for reader in readers for row in _rows(results, reader, ours, n, won))
    shown = [(*pair, n) for pair in results.pairs]
    counted = _count(won.values())
    return Product(
        name="readers",
        title="Readers",
        caption=f"Log loss of {label(ours)} with {n} labels and its gain over the logit stack "
        "(nats), ± standard errors over label subsets, with paired 95 % bootstrap intervals over "
        "report texts and label subsets, and in "
        f"how many settings with {LEAST} to {MOST} labels it has the lowest log loss, or by how "
        "much at most it trails the best.",
        table=table,
        shown=tabulate(map(_show, table.to_dicts())),
        notes=(
            f"{label(ours)} has the lowest log loss of {len(calibrators(results, ours)) + 1} "
            f"calibrators in {counted['best']} of {counted['settings']} settings; other forms of "
            f"it are not counted.{name_unknown(won)}",
            *note_few_draws(results, shown, (REFERENCE,), ours),
            count_failures(results.cells.values(), (ours, *calibrators(results, ours))),
        ),
    )


def _rows(
    results: Results, reader: str, ours: str, n: int, won: dict[tuple[str, str, int], float]
) -> Iterator[Record]:
    tasks = [task for task, other in results.pairs if other == reader]
    losses, gains = [], []
    for task in tasks:
        key = task, reader, n
        losses.append(mean_pair(results.cells[key], ours, REFERENCE)[0])
        gain = difference_record(results, key, REFERENCE, ours)
        gains.append(mean_difference(results.cells[key], REFERENCE, ours))
        settings = [lead for (t, r, _), lead in won.items() if (t, r) == (task, reader)]
        yield {
            "reader": reader,
            "task": task,
            "n": n,
            "log_loss": losses[-1].mean,
            "standard_error": losses[-1].error,
            "gain": gains[-1].mean,
            "gain_error": gains[-1].error,
            **{name: gain[name] for name in ("lower", "upper", "resolved")},
            **_count(settings),
        }
    if len(tasks) > 1:
        settings = [lead for (_, other, _), lead in won.items() if other == reader]
        yield {
            "reader": reader,
            "task": ALL,
            "n": n,
            **dict(zip(("log_loss", "standard_error"), mean_of_tasks(losses), strict=True)),
            **dict(zip(("gain", "gain_error"), mean_of_tasks(gains), strict=True)),
            **dict.fromkeys(("lower", "upper", "resolved")),
            **_count(settings),
        }


def _count(settings: Iterable[float]) -> Record:
    """Count leads that are known."""
    finite = [lead for lead in settings if not np.isnan(lead)]
    trailing = [-lead for lead in finite if lead < 0]
    return {
        "settings": len(finite),
        "best": sum(lead >= 0 for lead in finite),
        "trails_by_at_most": max(trailing, default=None),
    }


def _show(row: Record) -> Record:
    ends = f"[{number(row['lower'], '+.3f')}, {number(row['upper'], '+.3f')}]"
    return {
        "reader": row["reader"],
        "task": row["task"],
        "log loss": number(row["log_loss"], error=row["standard_error"]),
        "gain": number(row["gain"], "+.3f", row["gain_error"]),
        "95 % interval": NOTHING if row["lower"] is None else ends,
        "best in": f"{row['best']} of {row['settings']}",
        "trails by at most": number(row["trails_by_at_most"]),
    }
