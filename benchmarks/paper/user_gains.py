"""What a shift for each user gains over the population, and over other effects of one number."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from embedded import benchmark
from ledger import Ledger
from product import Product, Record, bold, number, tabulate
from users import EMBEDDED, LABELS, LATE, PLAIN, Gains, gains_of_draw

EFFECTS = (
    *(PLAIN, "reliability, mode", "temperature, mode", "intercept, mode"),
    *("shift, whole classes", "shift"),
)
"""The paper's four, and two further forms of the shift."""

BOOTSTRAPS = 2000


def user_gains(ledger: Ledger, tasks: Sequence[str] = tuple(EMBEDDED), draws: int = 20) -> Product:
    """Return the product `users`: gains of each effect over a population by the paper's stack."""

    def gains(task: str, draws: int) -> Iterator[Record]:
        def keep(draw: int, fit: Callable[[], Gains]) -> Gains:
            return ledger.arrays(f"users-{task}-{draw}", fit)

        made = measure_gains(task, draws, EFFECTS, keep)
        for effect, parts in made.items():
            for kept, (mean, _, ends) in parts.items():
                row: Record = {"task": task, "effect": effect, "texts": kept, "gain": mean}
                yield row | dict(zip(("lower", "upper", "standard_error"), ends, strict=True))

    table = tabulate(row for task in tasks for row in ledger.rows("users", (task, draws), gains))
    shown = table.with_columns(text=table.map_rows(_shown, None).to_series())
    return Product(
        name="users",
        title="Across users",
        caption=f"Gain in log loss (nats) over the population's prediction, fitted to {LABELS:,} "
        f"labels of others, ± standard errors over users and draws; late: after {LATE} or more "
        "earlier texts of the user. The paper's shift is the user's mode under a cross-validated "
        "sigma, with fractions of a class divided between two options or, whole classes, not; "
        "mode: other effects plugged in alike, the intercept on ordinal regression; shift: the "
        "default, which averages; a - b: what a gains over b, text by text; bold: the 95 % "
        "interval excludes zero.",
        table=table,
        shown=shown.pivot("task", index=["effect", "texts"], values="text"),
        notes=(
            f"{draws} draws of the population's labels; 95 % bootstrap intervals are over users "
            "and draws. Each half of the users takes its sigma from the other half.",
        ),
    )


def measure_gains(
    name: str, draws: int, effects: Sequence[str], keep: Callable[[int, Callable[[], Gains]], Gains]
) -> dict[str, dict[str, list]]:
    """Measure gains over the population, late and over all texts: mean, and two intervals.

    They are over texts and over users; the third number of an interval is the standard error.  What
    the shift gains over another effect, "shift - effect", is there too.
    """
    task = benchmark(name)
    rows = task.rows("users")
    users, late = task.users[rows], task.time[rows] >= LATE
    gains = [keep(d, partial(gains_of_draw, task, rows, d, effects)) for d in range(draws)]
    means = {effect: np.stack([gain[effect] for gain in gains]) for effect in effects}
    for effect in effects:
        first = PLAIN if effect.endswith((", mode", ", whole classes")) else "shift"
        if effect != first and first in effects:
            means[f"{first} - {effect}"] = means[first] - means[effect]
    results: dict[str, dict[str, list]] = {effect: {} for effect in means}
    for effect, gain in means.items():
        for kept, which in (("late", late), ("all", np.ones(len(late), bool))):
            part = gain[:, which]
            groups = np.arange(part.shape[1]), users[which]
            results[effect][kept] = [float(part.mean()), *(resample(part, g) for g in groups)]
    return results


def resample(gains: np.ndarray, groups: np.ndarray) -> list[float]:
    """Return 95 % interval and error of a mean: draws, and groups of texts, are drawn again."""
    rng = np.random.default_rng(0)
    _, index = np.unique(groups, return_inverse=True)
    counts = np.bincount(index).astype(float)
    sums = np.stack([np.bincount(index, gain) for gain in gains])
    means = np.zeros(BOOTSTRAPS)
    for b in range(BOOTSTRAPS):
        draws = rng.integers(0, len(sums), len(sums))
        drawn = np.bincount(rng.integers(0, len(counts), len(counts)), minlength=len(counts))
        means[b] = (sums[draws] @ drawn).mean() / (counts @ drawn)
    return [*np.quantile(means, [0.025, 0.975]).tolist(), float(means.std(ddof=1))]


def _shown(row: tuple) -> str:
    *_, gain, lower, upper, error = row
    return bold(number(gain, "+.3f", error), lower * upper > 0)
