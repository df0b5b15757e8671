"""What the paper's fusion of several readers gains over one of them, and over other ways."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from embedded import TASKS
from fusion import EMBEDDED, compare, load
from ledger import Ledger
from measurement import average
from product import Product, Record, bold, number, spread, tabulate

from cordial_ppl.scores import paired_bootstrap

BUDGETS = (5, 10, 20, 50, 100, 200, 500)
CONCATENATED, FEW = (20,), range(5)
"""Budgets, draws of Dirichlet calibration of all readings at once, which take longest by far."""


def fusion_gains(
    ledger: Ledger,
    tasks: Sequence[str] = tuple(TASKS),
    budgets: Sequence[int] = BUDGETS,
    draws: int = 20,
) -> Product:
    """Return the product `fusion`: losses of other methods, and the fusion's gain over each."""

    def fit(task: str, n: int, draw: int) -> dict[str, np.ndarray]:
        joined = n in CONCATENATED and draw in FEW
        return compare(load(EMBEDDED, task, draw), draw, n, paper=True, joined=joined)

    def gains(task: str, n: int, draws: int) -> list[dict]:
        losses: dict[str, dict] = {}
        for draw in range(draws):
            made = ledger.arrays(f"fusion-{task}-{n}-{draw}", partial(fit, task, n, draw))
            for name, loss in made.items():
                losses.setdefault(name, {})[draw] = loss
        return measure_gains({(task, n): losses})

    cells = sorted((task, n, draws) for task in tasks for n in budgets)
    rows = [row for cell in cells for row in ledger.rows("fusion", cell, gains)]
    ends = "gain", "lower", "upper"
    table = tabulate(row | dict(zip(ends, row["gain"], strict=True)) for row in rows).drop("gains")
    return Product(
        name="fusion",
        title="Several readers",
        caption="Mean log loss (nats) of each method with the same labels, and in brackets how "
        "much lower that of the paper's fusion of four readers is, ± standard errors over draws; "
        "bold: a paired 95 % bootstrap interval over report texts and draws excludes zero. Readers "
        "alone have the paper's stack; best reader: the one with the lowest out-of-fold loss; "
        "without channels: the same fusion of logit stacks; without joint channel: that of the "
        "readers' stacks alone; Dirichlet of all: Dirichlet calibration of all readings at once.",
        table=table,
        shown=spread(table, ("task", "method"), ("n",), _shown),
        notes=(
            f"{draws} draws of labels. Settings in which the fusion has the lower loss, and its "
            "mean gain: " + "; ".join(count_wins(rows)) + ".",
        ),
    )


def measure_gains(losses: dict) -> list[dict]:
    """Measure each method's mean loss, and the fusion's gain over it with its interval.

    Standard errors are over draws; "gains" has the mean gain of each draw.
    """
    rows = []
    for (task, n), matches in sorted(losses.items()):
        for name, other in matches.items():
            # A reader that has not read every text has no loss in some draws, or in all.
            rivals = np.stack(list(other.values()))
            fused = np.stack([matches["fusion"][draw] for draw in other])
            gain = paired_bootstrap(rivals - fused, draws=2000)
            gains = (rivals - fused).mean(axis=1, dtype=float)
            row = {"task": task, "n": n, "method": name, "draws": len(rivals)}
            row |= {"log_loss": float(rivals.mean()), "gain": [float(part) for part in gain]}
            row |= {"standard_error": _error(rivals.mean(axis=1)), "gain_error": _error(gains)}
            row["gains"] = gains.round(6).tolist()
            rows.append(row)
    return rows


def count_wins(rows: list[dict]) -> Iterator[str]:
    """Count in how many settings the fusion beats each method.

    Settings share their draws: the error of the mean gain is that of the draws' means.
    """
    for name in dict.fromkeys(row["method"] for row in rows if row["method"] != "fusion"):
        matches = [row for row in rows if row["method"] == name]
        wins = [row for row in matches if row["gain"][0] > 0]
        sure = [row for row in wins if row["gain"][1] > 0]
        lost = [row for row in matches if row["gain"][2] < 0]
        mean = np.mean([row["gain"][0] for row in matches])
        fewest = min(row["draws"] for row in matches)
        error = _error(np.mean([row["gains"][:fewest] for row in matches], axis=0))
        yield (
            f"{name} {len(wins)} of {len(matches)} "
            f"({len(sure)} resolved, {len(lost)} lost), {mean:+.4f}"
            + (f" ± {error:.4f}" if error else "")
        )


def _error(values: np.ndarray) -> float | None:
    return average("", values, range(len(values)))[" se"]


def _shown(row: Record) -> str:
    loss = number(row["log_loss"], error=row["standard_error"])
    if row["method"] == "fusion":
        return loss
    gain = number(row["gain"], "+.3f", row["gain_error"])
    return f"{loss} ({bold(gain, row['lower'] * row['upper'] > 0)})"
