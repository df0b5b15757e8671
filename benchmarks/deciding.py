"""Do decisions cost what is expected, less than others, and is an agreement kept? On real readings.

Every folder of CORDIAL_DATA is a set; a draw takes the next task and judge of each, 300, 1,000 or
2,000 of its texts, and labels of the first n.  The default calibrator is fitted to them and decides
about the others, whose labels are all there.

* cost: what a text costs as decided, expected and realised, for three sets of costs of a false
  pass, a false fail and a person; realised, too, if the judge alone decides, if people do, and if
  the same rule has the judge's own probabilities.  The options that pass are the highest ones,
  which about half of the texts have.
* agree: how often an agreement of 0.9 is kept by the texts that are decided without a person, where
  about half or a fifth of the texts pass, or options may be one class off; how many texts people
  are spared, and how often no share keeps it.
* estimate: how often 90 % intervals of the mean of these texts hold, from the labels that come
  back, weighed by their probabilities, and of the mean of labels without regard to these.
* gain: how much less the decisions cost at the next number of labels, as forecast and realised.

    CORDIAL_DATA=path python benchmarks/results.py deciding-cost deciding-agree
"""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measurement import Key, Line, Measurement, Row, average, list_lowest
from real import FOLDER, load

import cordial_ppl as cp
from cordial_ppl.decisions.judge import state

COSTS = {"1:1:0.2": (1.0, 1.0, 0.2), "5:1:0.5": (5.0, 1.0, 0.5), "1:5:0.5": (1.0, 5.0, 0.5)}
TARGET, SIZES = 0.9, (300, 1000, 2000)
RIVALS = ("the judge", "people", "its probabilities")
BUDGETS = 20, 50, 100
load = cache(load)


@cache
def list_pairs(source: str) -> list[tuple[str, str]]:
    """Tasks and readers of a set, in the order in which they take their turn."""
    path = str(next((Path(os.environ[FOLDER]) / source).glob("readings.*")))
    table = pl.scan_csv(path) if path.endswith("csv") else pl.scan_parquet(path)
    pairs = table.select("task", "reader").unique().sort("task", "reader").collect()
    return [pairs.row(int(row)) for row in np.random.default_rng(0).permutation(len(pairs))]


def mark(labels: np.ndarray, size: int, share: float) -> np.ndarray:
    """Mark the highest options, which about a share of the labels has."""
    reached = [np.mean(labels >= option) for option in range(1, size)]
    return np.arange(size) > np.argmin(np.abs(np.array(reached) - share))


def pick(wrong: np.ndarray, passed: np.ndarray, asked: Any = False, person: float = 0.0) -> float:
    """Mean cost of texts that are failed or passed, or of which people are asked."""
    return float(np.where(asked, person, wrong[passed.astype(int), np.arange(len(passed))]).mean())


def measure_costs(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> dict[str, Any]:
    """Expected and realised costs of a text without a label, as decided and otherwise."""
    passing = mark(labels, logits.shape[1], 0.5)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    raw = (probs @ passing / probs.sum(axis=1))[n:]
    judged, true = passing[state(logits)[0].argmax(axis=1)][n:], passing[labels][n:]
    names, result = [str(option) for option in np.flatnonzero(passing)], {}
    for name, (false_pass, false_fail, person) in COSTS.items():
        made = fit.decide(
            logits,
            np.arange(n),
            passing=names,
            false_pass=false_pass,
            false_fail=false_fail,
            person=person,
        )

        by_raw = [false_pass * (1 - raw), false_fail * raw]
        wrong = np.array([false_fail * true, false_pass * ~true])
        decision, asked = made.decision[n:], made.decision[n:] == "person"
        result[name] = [
            float(made.cost[n:].mean()),
            pick(wrong, decision == "pass", asked, person),
            pick(wrong, judged),
            person,
            pick(wrong, by_raw[0] <= by_raw[1], np.min(by_raw, axis=0) > person, person),
            float(asked.mean()),
            made.gain,
        ]
    return result


def measure_agreement(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> dict[str, Any]:
    """Whether an agreement is kept, with what probability, and the share that people see."""
    size, result = logits.shape[1], {}
    for share in (0.5, 0.2):
        passing = mark(labels, size, share)
        names = [str(option) for option in np.flatnonzero(passing)]
        made = fit.decide(logits, np.arange(n), passing=names, agree=TARGET)
        right = np.where(passing[labels], "pass", "fail") == made.decision
        result[f"{share:.0%} pass"] = made, right
    made = fit.decide(logits, np.arange(n), within=1, agree=TARGET)
    options = np.where(made.decision == "person", "-9", made.decision).astype(int)
    result["within 1"] = made, np.abs(options - labels) <= 1
    return {
        name: [
            float(not alone.any() or right[n:][alone].mean() >= TARGET - 1e-9),
            float(made.kept),
            float(1 - alone.mean()),
            float(not alone.any()),
        ]
        for name, (made, right) in result.items()
        for alone in [made.decision[n:] != "person"]
    }


def measure_estimate(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> dict[str, Any]:
    """Whether intervals hold from the labels that come back, and how wide they are."""
    passing = mark(labels, logits.shape[1], 0.5)
    names = [str(option) for option in np.flatnonzero(passing)]
    made = fit.decide(logits, np.arange(n), passing=names, person=0.2)
    rows, truth = np.flatnonzero(~np.isnan(made.probability)), labels.mean()
    sure, result = made.probability == 1, {}
    again = cp.Cordial(seed=fit.seed).fit(logits[rows], labels[rows])
    settings = {
        "weighed": {"probabilities": made.probability[rows], "strata": sure},
        "unweighed": {},
    }
    for name, each in settings.items():
        estimate = again.estimate(logits, rows, of="these", **each)
        for kind, ends in (("", estimate.overall.mean), (", sampling", estimate.rectified)):
            low, high = ends[1], ends[2]
            result[name + kind] = [float(low <= truth <= high), min(float(high - low), 9.0)]
    return result


def run(measure: Callable[..., Any], draw: int, source: str, n: int) -> dict[str, Any]:
    """Draw texts and fit to the first n labels; nothing where these are all alike, or too many."""
    pairs = list_pairs(source)
    logits, labels = load(source, *pairs[draw % len(pairs)])
    rng = np.random.default_rng([zlib.crc32(source.encode()), draw])
    texts = rng.permutation(len(labels))[: rng.choice(SIZES)]
    logits, labels = logits[texts], labels[texts]
    if 2 * n > len(labels) or not np.ptp(labels[:n]):
        return {}
    fit = cp.Cordial(seed=draw).fit(logits[:n], labels[:n])
    return measure(fit, logits, labels, n)


def list_cells(draw: int) -> Iterator[Key]:
    """List set and number of labels."""
    sources = sorted(path.parent.name for path in Path(os.environ[FOLDER]).glob("*/labels.csv"))
    return product(sources, BUDGETS)


def group_records(rows: Sequence[Row], pooled: bool = False) -> Iterator[tuple[Any, ...]]:
    """Group records by case, number of labels and set: those, their draws and their cells.

    Sets are pooled always; with `pooled`, there is a group for each set, case and number too.
    """
    records = [(row, name, record) for row in rows for name, record in row.numbers.items()]
    groups: dict[Any, list[Any]] = {}
    for row, name, record in sorted(records, key=lambda each: each[1]):
        source, n = row.cell
        keys = product((name, "all"), (n, "all"), (source, "all")) if pooled else [(name, n, "all")]
        for key in keys:
            groups.setdefault(key, []).append((record, row.draw, f"{source} {name} {n}"))
    for key, each in groups.items():
        values, draws, cells = zip(*each, strict=True)
        yield key, np.array(values, float).T, draws, cells


def tabulate_costs(rows: Sequence[Row]) -> Iterator[Line]:
    """Average costs as decided and otherwise, in each set too."""
    names = ("expected", "realised", *RIVALS, "people see")
    for (costs, n, source), values, *by in group_records(rows, pooled=True):
        line: Line = {"costs": costs, "labels": n, "set": source}
        yield line | {
            k: v
            for name, part in zip(names, values, strict=False)
            for k, v in average(name, part, *by).items()
        }


def tabulate_agreement(rows: Sequence[Row]) -> Iterator[Line]:
    """Average how often an agreement is kept, by the decided texts and where there are some."""
    for (case, n, _), (kept, claimed, alone, nobody), draws, cells in group_records(rows):
        line: Line = {"case": case, "labels": n} | average(
            "kept or all by people", kept, draws, cells
        )
        line |= list_lowest("lowest", kept, [cell.split()[0] for cell in cells])
        line |= average("people spared", 1 - alone, draws, cells)
        line |= average("no share keeps it", nobody, draws, cells)
        some = nobody == 0
        if some.any():
            line |= average("kept where one does", kept[some], np.array(draws)[some])
            line |= average("claimed there", claimed[some], np.array(draws)[some])
        yield line


def tabulate_estimates(rows: Sequence[Row]) -> Iterator[Line]:
    """Average how often intervals hold."""
    for (case, n, _), (holds, width), draws, cells in group_records(rows):
        line = {"case": case, "labels": n} | average("covers", holds, draws, cells)
        line |= list_lowest("lowest", holds, [cell.split()[0] for cell in cells])
        yield line | average("width", width, draws, cells)


def tabulate_gains(rows: Sequence[Row]) -> Iterator[Line]:
    """Compare the cost that the next number of labels saves with its forecast."""
    costs = {
        (row.draw, *row.cell, name): record for row in rows for name, record in row.numbers.items()
    }
    for n, more in pairwise(BUDGETS):
        pairs = [
            (draw, f"{source} {name}", record, costs[draw, source, more, name])
            for (draw, source, labels, name), record in costs.items()
            if labels == n and (draw, source, more, name) in costs
        ]
        if pairs:
            draws, cells, now, then = zip(*pairs, strict=True)
            now, then = np.array(now), np.array(then)
            forecast = now[:, 6] * (1 - n / more) / (20 / (n + 20))
            line: Line = {"from": n, "to": more} | average("forecast", forecast, draws, cells)
            yield line | average("realised", now[:, 1] - then[:, 1], draws, cells)


def describe(name: str, about: str, measure: Any, tabulate: Any, kept_as: str = "") -> Measurement:
    """Describe a measurement of decisions in all sets."""
    return Measurement(name, about, list_cells, partial(run, measure), tabulate, kept_as=kept_as)


MEASUREMENTS = (
    describe(
        "deciding-cost", "what decisions cost, expected and realised", measure_costs, tabulate_costs
    ),
    describe(
        "deciding-gain",
        "how much less decisions cost with more labels, forecast and realised",
        measure_costs,
        tabulate_gains,
        "deciding-cost",
    ),
    describe(
        "deciding-agree", "whether an agreement is kept", measure_agreement, tabulate_agreement
    ),
    describe(
        "deciding-estimate",
        "whether intervals hold from the labels that come back",
        measure_estimate,
        tabulate_estimates,
    ),
)
