"""Do decisions cost what is expected, less than others, and is an agreement kept? On real readings.

Every folder of CORDIAL_DATA is a set; a draw takes the next task and judge of each, 300, 1,000 or
2,000 of its texts, and labels of the first n.  The default calibrator is fitted to them and decides
about the others, whose labels are all there.

* cost: what a text costs as decided, expected and realised, for three sets of costs of a false
  pass, a false fail and a person; realised, too, if the judge alone decides, if people do, and if
  the same rule has the judge's own probabilities; where it states none but one rating, those that
  the package makes of it.  The options that pass are the highest ones, of about half of the texts.
* agree: how often an agreement of 0.9 is kept by the texts that are decided without a person, where
  about half or a fifth of the texts pass, or options may be one class off; how many texts people
  are spared, and how often no share keeps it.  Runs count alike, for few are of some sets.
* estimate: how often 90 % intervals of the mean of these texts hold, from the labels that come
  back, weighed by their probabilities, and of the mean of labels without regard to these.
* gain: how much less the decisions cost at the next number of labels, as forecast and realised.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from measurement import Line, Means, Measurement, Row, average, list_records
from real import list_sources, load, mark_passing, shuffle_pairs, trained_without

import cordial_ppl as cp
from cordial_ppl.decisions.judge import state

COSTS = {"1:1:0.2": (1.0, 1.0, 0.2), "5:1:0.5": (5.0, 1.0, 0.5), "1:5:0.5": (1.0, 5.0, 0.5)}
TARGET, SIZES = 0.9, (300, 1000, 2000)
BUDGETS = 20, 50, 100
CELL = "set labels"


def pick(wrong: np.ndarray, passed: np.ndarray, asked: Any = False, person: float = 0.0) -> float:
    """Mean cost of texts that are failed or passed, or of which people are asked."""
    return float(np.where(asked, person, wrong[passed.astype(int), np.arange(len(passed))]).mean())


def measure_costs(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> Iterator[Line]:
    """Expected and realised costs of a text without a label, as decided and otherwise."""
    passing = mark_passing(labels, logits.shape[1])
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    raw = (probs @ passing / probs.sum(axis=1))[n:]
    judged, true = passing[state(logits)[0].argmax(axis=1)][n:], passing[labels][n:]
    names = [str(option) for option in np.flatnonzero(passing)]
    for name, (false_pass, false_fail, person) in COSTS.items():
        costs = {"false_pass": false_pass, "false_fail": false_fail, "person": person}
        made = fit.decide(logits, np.arange(n), passing=names, **costs)
        by_raw = [false_pass * (1 - raw), false_fail * raw]
        wrong = np.array([false_fail * true, false_pass * ~true])
        decision, asked = made.decision[n:], made.decision[n:] == "person"
        unsure = np.min(by_raw, axis=0) > person
        yield {
            "costs": name,
            "expected": made.cost[n:].mean(),
            "realised": pick(wrong, decision == "pass", asked, person),
            "the judge": pick(wrong, judged),
            "people": person,
            "its probabilities": pick(wrong, by_raw[0] <= by_raw[1], unsure, person),
            "people see": asked.mean(),
            "gain of labels": made.gain,
        }


def measure_agreement(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> Iterator[Line]:
    """Whether an agreement is kept, with what probability, and the share that people see."""
    for share in (0.5, 0.2):
        passing = mark_passing(labels, logits.shape[1], share)
        names = [str(option) for option in np.flatnonzero(passing)]
        made = fit.decide(logits, np.arange(n), passing=names, agree=TARGET)
        right = np.where(passing[labels], "pass", "fail") == made.decision
        yield {"case": f"{share:.0%} pass"} | describe_agreement(made, right, n)
    made = fit.decide(logits, np.arange(n), within=1, agree=TARGET)
    options = np.where(made.decision == "person", "-9", made.decision).astype(int)
    yield {"case": "within 1"} | describe_agreement(made, np.abs(options - labels) <= 1, n)


def describe_agreement(made: Any, right: np.ndarray, n: int) -> Line:
    """Describe which decisions without a person are right."""
    alone = made.decision[n:] != "person"
    some = bool(alone.any())
    kept = not some or right[n:][alone].mean() >= TARGET - 1e-9
    line: Line = {"kept or all by people": kept, "people spared": alone.mean()}
    line |= {"no share keeps it": not some, "kept where one does": kept if some else None}
    return line | {"claimed there": made.kept if some else None}


def measure_estimate(fit: Any, logits: np.ndarray, labels: np.ndarray, n: int) -> Iterator[Line]:
    """Whether intervals hold from the labels that come back, and how wide they are."""
    passing = mark_passing(labels, logits.shape[1])
    names = [str(option) for option in np.flatnonzero(passing)]
    made = fit.decide(logits, np.arange(n), passing=names, person=0.2)
    rows, truth = np.flatnonzero(~np.isnan(made.probability)), labels.mean()
    again = cp.Cordial(prior=fit.prior, seed=fit.seed).fit(logits[rows], labels[rows])
    weighed = {"probabilities": made.probability[rows], "strata": made.probability == 1}
    for name, each in {"weighed": weighed, "unweighed": {}}.items():
        estimate = again.estimate(logits, rows, of="these", **each)
        for kind, ends in (("", estimate.overall.mean), (", sampling", estimate.rectified)):
            low, high = ends[1], ends[2]
            line: Line = {"case": name + kind, "covers": low <= truth <= high}
            yield line | {"width": min(high - low, 9.0)}


def run(draw: int, source: str, n: int) -> dict[str, list[Line]]:
    """Fit to the first n labels of some texts, unless these are all alike, or too many, and ask."""
    pairs = shuffle_pairs(source)
    logits, labels = load(source, *pairs[draw % len(pairs)])
    rng = np.random.default_rng([zlib.crc32(source.encode()), draw])
    texts = rng.permutation(len(labels))[: rng.choice(SIZES)]
    logits, labels = logits[texts], labels[texts]
    if 2 * n > len(labels) or not np.ptp(labels[:n]):
        return {name: [] for name in ASKED}
    fit = cp.Cordial(prior=trained_without(source), seed=draw).fit(logits[:n], labels[:n])
    return {name: [*measure(fit, logits, labels, n)] for name, measure in ASKED.items()}


def tabulate_gains(rows: Sequence[Row]) -> Iterator[Line]:
    """Compare the cost that the next number of labels saves with its forecast."""
    records = [*list_records(rows, CELL, "cost")]
    costs = {(r["draw"], r["set"], r["labels"], r["costs"]): r for r in records}
    for n, more in pairwise(BUDGETS):
        pairs = [
            (r["draw"], f"{r['set']} {r['costs']}", r, costs[key])
            for r in records
            if r["labels"] == n and (key := (r["draw"], r["set"], more, r["costs"])) in costs
        ]
        if pairs:
            draws, cells, now, then = zip(*pairs, strict=True)
            forecast = [r["gain of labels"] * (1 - n / more) / (20 / (n + 20)) for r in now]
            line: Line = {"from": n, "to": more} | average("forecast", forecast, draws, cells)
            saved = [a["realised"] - b["realised"] for a, b in zip(now, then, strict=True)]
            yield line | average("realised", saved, draws, cells)


ASKED = {"cost": measure_costs, "agree": measure_agreement, "estimate": measure_estimate}
TABLES = {
    "deciding-cost": Means(CELL, "costs* labels* set*", alike="set costs labels", part="cost"),
    "deciding-gain": tabulate_gains,
    "deciding-agree": Means(CELL, "case labels set*", alike="", part="agree"),
    "deciding-estimate": Means(CELL, "case labels", lowest=("covers",), part="estimate"),
}
MEASUREMENTS = tuple(
    Measurement(name, lambda _: product(list_sources(), BUDGETS), run, table, 8, kept_as="deciding")
    for name, table in TABLES.items()
)
