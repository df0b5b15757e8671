"""How our method does with each reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from comparison import (
    Key,
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
LABELS = 20
"""Labels of the loss and of the gain."""

LEAST, MOST = 5, 100
"""Labels of the settings that are counted."""

ALL = "all"
"""What stands for all tasks of a reader."""


def reader_table(results: Results) -> Product:
    """Return the product `readers`: our loss, its gain over the logit stack, and where it leads."""
    need_methods(results, OURS, REFERENCE)
    need_budgets(results, LABELS)
    won = leads(results, OURS, LEAST, MOST)
    readers = dict.fromkeys(reader for _, reader in results.pairs)
    table = tabulate(row for reader in readers for row in _rows(results, reader, won))
    counted, others = _count(won.values()), calibrators(results, OURS)
    return Product(
        name="readers",
        title="Readers",
        caption=f"Log loss of {label(OURS)} with {LABELS} labels and its gain over the logit stack "
        "(nats), ± standard errors over label subsets, with paired 95 % bootstrap intervals over "
        f"report texts and label subsets, and in how many settings with {LEAST} to {MOST} labels "
        "it has the lowest log loss, or by how much at most it trails the best.",
        table=table,
        shown=tabulate(map(_show, table.to_dicts())),
        notes=(
            f"{label(OURS)} has the lowest log loss of {len(others) + 1} calibrators in "
            f"{counted['best']} of {counted['settings']} settings; other forms of it are not "
            f"counted.{name_unknown(won)}",
            *note_few_draws(results, [(*pair, LABELS) for pair in results.pairs], (REFERENCE,)),
            count_failures(results.cells.values(), (OURS, *others)),
        ),
    )


def _rows(results: Results, reader: str, won: Mapping[Key, float]) -> Iterator[Record]:
    """List a reader's tasks, and all together where there are several."""
    tasks = [task for task, other in results.pairs if other == reader]
    losses, gains = [], []

    def describe(task: str, loss: Sequence[float], gain: Sequence[float], ends: Record) -> Record:
        settings = [lead for (t, r, _), lead in won.items() if r == reader and task in (t, ALL)]
        return (
            {"reader": reader, "task": task, "n": LABELS}
            | {"log_loss": loss[0], "standard_error": loss[1]}
            | {"gain": gain[0], "gain_error": gain[1]}
            | {name: ends.get(name) for name in ("lower", "upper", "resolved")}
            | _count(settings)
        )

    for task in tasks:
        key = task, reader, LABELS
        losses.append(mean_pair(results.cells[key], OURS, REFERENCE)[0])
        gains.append(mean_difference(results.cells[key], REFERENCE, OURS))
        ends = difference_record(results, key, REFERENCE)
        yield describe(task, losses[-1], gains[-1], ends)
    if len(tasks) > 1:
        yield describe(ALL, mean_of_tasks(losses), mean_of_tasks(gains), {})


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
