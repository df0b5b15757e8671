"""Intervals that other packages give for the draws of `estimates.py`, each by its documented call.

* ``ppi_py`` (``pip install ppi-python``): `ppi_mean_ci`, power-tuned, weighted after a plan;
* ``glide`` (``glide-py``): `PPIMeanEstimator`, `ClusteredPPIMeanEstimator` for clusters,
  `ASIMeanEstimator` where texts have unequal probabilities;
* ``cje`` (``cje-eval``): `calibrated_mean_ci`, and `analyze_dataset` for unequal probabilities, for
  systems and for their differences;
* ``evalstats``: `judge_debias_mean_ci`;
* ``judgy``: `estimate_success_rate`, of pass rates.

All claim the mean of texts like these.  A system is estimated from its own texts; a difference of
paired systems from the differences of their answers to the same prompts.
"""

import importlib
import itertools
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Ends = tuple[float, float, float]


class Task(NamedTuple):
    """What a package is told.

    Attributes:
        scores: the judge's score of each text.
        labels: label of each text, NaN where there is none.
        span: lowest and highest label.
        clusters: cluster of each text, or None.
        probability: inclusion probability of each text, or None where all have the same.
        verdicts: 1 where the judge passes a text, else 0, if labels are of passing.
        seed: seed of a bootstrap.
    """

    scores: np.ndarray
    labels: np.ndarray
    span: tuple[float, float]
    clusters: np.ndarray | None
    probability: np.ndarray | None
    verdicts: np.ndarray | None
    seed: int

    def part(self, rows: np.ndarray) -> "Task":
        """Return the task of some texts, which have one probability."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return self._replace(
            scores=self.scores[rows], labels=self.labels[rows], clusters=clusters, probability=None
        )


def _ppi_py(task: Task) -> Ends | None:
    package = importlib.import_module("ppi_py")
    chosen = np.isfinite(task.labels)
    if task.clusters is not None:
        return None
    weights = {}
    if task.probability is not None:
        # Labelled texts stand for all by 1/p, and those without a label by 1/(1 - p).
        w, v = 1 / task.probability[chosen], 1 / (1 - task.probability[~chosen])
        weights = {"w": w / w.mean(), "w_unlabeled": v / v.mean()}
    y, f, rest = task.labels[chosen], task.scores[chosen], task.scores[~chosen]
    low, high = package.ppi_mean_ci(y, f, rest, alpha=0.1, **weights)
    return float(np.squeeze(low + high)) / 2, float(np.squeeze(low)), float(np.squeeze(high))


def _glide(task: Task) -> Ends:
    package = importlib.import_module("glide.estimators")
    extra: tuple[np.ndarray, ...] = ()
    name = "PPIMeanEstimator"
    if task.clusters is not None:
        name, extra = "ClusteredPPIMeanEstimator", (task.clusters,)
    elif task.probability is not None:
        name, extra = "ASIMeanEstimator", (task.probability,)
    estimator = getattr(package, name)()
    result = estimator.estimate(task.labels, task.scores, *extra, confidence_level=0.9)
    interval = result.confidence_interval
    return result.mean, interval.lower_bound, interval.upper_bound


def _cje(task: Task) -> Ends:
    package = importlib.import_module("cje")
    if task.probability is not None:
        return cje_systems(task, np.full(len(task.labels), "all"))[("all",)]
    low, high = task.span
    result = package.calibrated_mean_ci(
        task.scores, (task.labels - low) / (high - low), cluster_ids=task.clusters, alpha=0.1
    )
    mean, lower, upper = (low + (high - low) * x for x in (result.estimate, *result.ci))
    return mean, lower, upper


def _evalstats(task: Task) -> Ends | None:
    package = importlib.import_module("evalstats")
    if task.clusters is not None or task.probability is not None:
        return None
    result = package.judge_debias_mean_ci(task.scores, task.labels, alpha=0.1, rng=task.seed)
    return result.mean, result.ci_low, result.ci_high


def _judgy(task: Task) -> Ends | None:
    package = importlib.import_module("judgy")
    if task.verdicts is None or task.clusters is not None or task.probability is not None:
        return None
    np.random.seed(task.seed)  # noqa: NPY002 - it draws from this generator.
    chosen, verdicts = np.isfinite(task.labels), task.verdicts
    return package.estimate_success_rate(
        task.labels[chosen],
        verdicts[chosen],
        verdicts[~chosen],
        bootstrap_iterations=2000,
        confidence_level=0.9,
    )


def cje_systems(task: Task, systems: np.ndarray) -> dict[tuple[str, ...], Ends]:
    """Estimate systems, and their differences, by one analysis; keys are one name or two."""
    package = importlib.import_module("cje")
    units = np.arange(len(systems)) if task.clusters is None else task.clusters
    records, chances = {}, {}
    for name in map(str, np.unique(systems)):
        rows = np.flatnonzero(systems == name)
        records[name] = [
            {
                "prompt_id": str(units[row]),
                "row_id": str(row),
                "judge_score": float(task.scores[row]),
                "oracle_label": None if np.isnan(task.labels[row]) else float(task.labels[row]),
            }
            for row in rows
        ]
        if task.probability is not None:
            chances[name] = task.probability[rows]
    design = {"label_design": "known_propensity", "label_propensities": chances} if chances else {}
    result = package.analyze_dataset(
        fresh_draws_data=records,
        fresh_judge_scale=task.span,
        fresh_oracle_scale=task.span,
        **design,
    )
    names = result.metadata["target_policies"]
    lower, upper = result.confidence_interval(0.1)
    intervals: dict[tuple[str, ...], Ends] = {
        (name,): (float(mean), float(low), float(high))
        for name, mean, low, high in zip(names, result.estimates, lower, upper, strict=True)
    }
    for index, a in enumerate(names):
        for b in names[index + 1 :]:
            pair = result.compare_policies(a, b, alpha=0.1)
            intervals[a, b] = (pair["difference"], pair["ci_lower"], pair["ci_upper"])
    return intervals


PEERS: Mapping[str, Callable[[Task], Ends | None]] = {
    "ppi_py": _ppi_py,
    "glide": _glide,
    "cje": _cje,
    "evalstats": _evalstats,
    "judgy": _judgy,
}


@cache
def installed() -> list[str]:
    """Return the packages that are installed; of others a line is printed."""
    names = []
    for name in PEERS:
        try:
            importlib.import_module(name)
            names.append(name)
        except ImportError:
            print(f"{name} is not installed: skipped")
    return names


def measure_peer(
    peer: str, means: Task, rates: Task, systems: np.ndarray, paired: bool
) -> dict[tuple[str, ...], Any]:
    """Intervals of another package, an error where it raises, None where it claims nothing.

    Means are of all texts, rates of passing; paired clusters are prompts that all systems answer.
    """
    method, names = PEERS[peer], [str(name) for name in np.unique(systems)]
    pairs = list(itertools.combinations(names, 2))
    answers: dict[tuple[str, ...], Any] = {("all texts",): _ask(method, means)}
    answers["pass rate",] = _ask(method, rates)
    if peer == "cje" and (means.clusters is None or paired):
        parts = _ask(cje_systems, means._replace(probability=None), systems)
        for key in [*((name,) for name in names), *pairs]:
            kind = "systems" if len(key) == 1 else "differences"
            answers[kind, *key] = parts if isinstance(parts, Exception) else parts[key]
        return answers
    rows = {name: np.flatnonzero(systems == name) for name in names}
    for name in names:
        answers["systems", name] = _ask(method, means.part(rows[name]))
    if not paired or means.clusters is None:
        return answers
    rows = {name: part[np.argsort(means.clusters[part])] for name, part in rows.items()}
    for a, b in pairs:
        one, other = rows[a], rows[b]
        apart = means._replace(
            scores=means.scores[one] - means.scores[other],
            labels=means.labels[one] - means.labels[other],
            clusters=None,
            span=(-1, 1),
        )
        answers["differences", a, b] = _ask(method, apart)
    return answers


def _ask(method: Callable[..., Any], *args: Any) -> Any:
    try:
        return method(*args)
    except Exception as error:  # A refusal is a result.
        return error
