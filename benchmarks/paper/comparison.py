"""Results of a sweep, and means and differences of methods over the draws that they share.

A fit that failed is in no mean: means are over the draws in which all compared methods succeeded.
A method that lacks so many draws that half of them or fewer would be left is not compared; in a
pair two methods are compared over whatever draws they share.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from product import Record
from styles import OURS, label

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.tasks import Task
from cordial_ppl.scores import Interval, paired_bootstrap

ENOUGH = 3
"""Draws that two methods must share for a difference to be called resolved."""

Key = tuple[str, str, int]
"""Task, reader and number of labels."""


class Outcome(NamedTuple):
    """A method's fits to S subsets of n labels; NaN where a fit failed.

    Attributes:
        scores: one value a fit by name, shape ``[S]``.
        given_stated: mean prediction for each class that the reader states, ``[S, K, K]``.
        interval: of its log loss minus ours, nats; None where the two share no draw.
    """

    scores: Mapping[str, Float[np.ndarray, " S"]]
    given_stated: Float[np.ndarray, "S K K"]
    interval: Interval | None = None


Cell = Mapping[str, Outcome]
"""What a task, reader and number of labels gave, by method."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a sweep.

    Attributes:
        cells: outcomes by task, reader and number of labels, and by method.
        tasks: the tasks by name and reader.
    """

    cells: Mapping[Key, Cell]
    tasks: Mapping[tuple[str, str], Task]

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the methods, in the order of tables."""
        return tuple(next(iter(self.cells.values())))

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return tasks with their readers, in the order of the sweep."""
        return tuple(dict.fromkeys((task, reader) for task, reader, _ in self.cells))

    def budgets(self, task: str, reader: str) -> tuple[int, ...]:
        """Return the numbers of labels that a task and reader have results for, ascending."""
        return tuple(sorted(n for t, r, n in self.cells if (t, r) == (task, reader)))


class Mean(NamedTuple):
    """Mean of a score over draws, and its standard error; NaN where there are too few."""

    mean: float
    error: float
    draws: int


def need_methods(results: Results, *methods: str) -> None:
    """Raise an `InputError` that names the first method that the sweep does not have."""
    for method in methods:
        if method not in results.methods:
            raise InputError(
                f"this needs the method {method!r}; the sweep has {', '.join(results.methods)}."
            )


def succeeded(cell: Cell, *methods: str) -> Bool[np.ndarray, " S"]:
    """Return in which draws the fits of all these methods succeeded."""
    fine = [np.isfinite(cell[method].scores["log_loss"]) for method in methods]
    return np.logical_and.reduce(fine)


def shared_draws(cell: Cell, methods: Sequence[str]) -> dict[str, Bool[np.ndarray, " S"]]:
    """Return in which draws each method is compared: the same for all, none for one left out.

    From the method with the most draws on, each is compared if more than half of these draws are
    left with it: no method, nor several together, can take most of them from the others.
    """
    fine = {method: succeeded(cell, method) for method in methods}
    ranked = sorted(methods, key=lambda method: -fine[method].sum())
    shared, compared = fine[ranked[0]], set()
    most = shared.sum()
    for method in ranked:
        left = shared & fine[method]
        if 2 * left.sum() > most:
            shared = left
            compared.add(method)
    return {method: shared & (method in compared) for method in methods}


def mean_of(values: Float[np.ndarray, " draws"]) -> Mean:
    """Return the mean over draws with its standard error."""
    draws = len(values)
    error = float(values.std(ddof=1) / np.sqrt(draws)) if draws > 1 else np.nan
    return Mean(float(values.mean()) if draws else np.nan, error, draws)


def jackknife_error(statistic: Callable[[Bool[np.ndarray, " S"]], float], draws: int) -> float:
    r"""Return the jackknife standard error of a statistic of the draws that a mask keeps.

    .. math:: \sqrt{\tfrac{S - 1}{S} \textstyle\sum_d (T_{-d} - \bar T)^2}

    Draws that are shared by budgets, readers or methods stay together: each is left out of
    everything at once.  NaN for fewer than two draws, or where a value is not finite.
    """
    every = np.arange(draws)
    values = np.array([statistic(every != draw) for draw in every], float)
    if draws < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.sqrt((draws - 1) * np.mean((values - values.mean()) ** 2)))


def mean_of_tasks(each: Sequence[Mean]) -> tuple[float, float]:
    """Return the mean over tasks, whose draws are independent, and its standard error."""
    means, errors, _ = zip(*each, strict=True)
    return float(np.mean(means)), float(np.linalg.norm(errors) / len(errors))


def mean_scores(cell: Cell, methods: Sequence[str], metric: str = "log_loss") -> dict[str, Mean]:
    """Return each method's score over `shared_draws`; no draw for one that is left out."""
    shared = shared_draws(cell, methods)
    return {m: mean_of(cell[m].scores[metric][draws]) for m, draws in shared.items()}


def count_failures(cells: Iterable[Cell], methods: Sequence[str]) -> str:
    """Say how many fits of these methods failed, and what that means for means."""
    fits = {method: [] for method in methods}
    for cell in cells:
        for method in methods:
            fits[method].extend(succeeded(cell, method))
    failed = {method: fine.count(False) for method, fine in fits.items() if not all(fine)}
    total = sum(map(len, fits.values()))
    if not failed:
        return f"None of the {total} fits failed."
    named = ", ".join(f"{label(method)} {count}" for method, count in failed.items())
    return (
        f"{sum(failed.values())} of the {total} fits failed ({named}). Means are over the draws "
        "that the compared methods share; a method that would leave half of them or fewer is not "
        "compared (–). Differences of two methods are over the draws that both have."
    )


def measure_intervals(
    losses: Mapping[str, Float[np.ndarray, "S m"]], ours: str
) -> dict[str, Interval]:
    """Return each other method's log loss minus ours (nats), with its 95 % interval.

    It is `scores.paired_bootstrap` of the losses of report texts in the draws in which the two
    succeeded; a method that shares no draw with ours is left out.
    """
    fine = {method: np.isfinite(each).all(axis=1) for method, each in losses.items()}
    # Methods that share the same draws with ours are resampled together.
    groups: dict[bytes, list[str]] = {}
    for method in losses:
        shared = fine[method] & fine[ours]
        if method != ours and shared.any():
            groups.setdefault(shared.tobytes(), []).append(method)
    intervals: dict[str, Interval] = {}
    for mask, methods in groups.items():
        shared = np.frombuffer(mask, bool)
        others = np.stack([losses[method][shared] for method in methods])
        ends = paired_bootstrap(others - losses[ours][shared].astype(float))
        rows = zip(*(end.tolist() for end in ends), strict=True)
        intervals |= {method: Interval(*row) for method, row in zip(methods, rows, strict=True)}
    return intervals


def paired_intervals(results: Results, key: Key, ours: str = OURS) -> Mapping[str, Interval]:
    """Return the kept intervals of other methods' log losses minus that of ours, or of `OURS`."""
    cell = results.cells[key]
    if ours == OURS:
        return {method: each.interval for method, each in cell.items() if each.interval}
    other = cell[ours].interval
    return {OURS: Interval(-other.mean, -other.upper, -other.lower)} if other else {}


def enough_draws(cell: Cell, method: str, ours: str = OURS) -> bool:
    """Return whether a method shares enough draws with ours for its interval to speak of others."""
    return bool(succeeded(cell, method, ours).sum() >= ENOUGH)


def difference_record(results: Results, key: Key, method: str, ours: str = OURS) -> Record:
    """Return a row on a method's log loss minus ours in a cell, empty where it cannot be known.

    The difference is resolved where its interval excludes zero and comes from enough draws.
    """
    cell, (task, reader, n) = results.cells[key], key
    interval = paired_intervals(results, key, ours).get(method)
    return {
        "task": task,
        "reader": reader,
        "n": n,
        "method": method,
        "difference": interval and interval.mean,
        "lower": interval and interval.lower,
        "upper": interval and interval.upper,
        "standard_error": mean_difference(cell, method, ours).error,
        "resolved": interval and interval.resolved and enough_draws(cell, method, ours),
        "draws": int(succeeded(cell, method, ours).sum()),
    }


def mean_difference(cell: Cell, one: str, other: str, metric: str = "log_loss") -> Mean:
    """Return a method's score minus another's, over the draws that both have."""
    here, there = (cell[method].scores[metric] for method in (one, other))
    differences = (here - there)[succeeded(cell, one, other)]
    return mean_of(differences[np.isfinite(differences)])


def note_few_draws(
    results: Results, keys: Iterable[Key], methods: Sequence[str]
) -> tuple[str, ...]:
    """Say which methods' intervals come from too few draws: a sentence, or none."""
    pairs = [(key, method) for key in keys for method in methods if method != OURS]
    counts = {(k, m): succeeded(results.cells[k], m, OURS).sum() for k, m in pairs}
    few = dict.fromkeys(label(m) for (_, m), draws in counts.items() if 0 < draws < ENOUGH)
    if not few:
        return ()
    return (
        f"Intervals from fewer than {ENOUGH} shared draws ({', '.join(few)}) say little about "
        "other label subsets, and those from one draw nothing: they cover report texts only. "
        "None of them is called resolved.",
    )
