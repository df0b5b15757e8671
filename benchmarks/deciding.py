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

    CORDIAL_DATA=path python benchmarks/deciding.py --draws 20
"""

import argparse
import json
import logging
import os
import warnings
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from real import FOLDER, NEEDED, load

import cordial_ppl as cp
from cordial_ppl.decisions.judge import state

COSTS = {"1:1:0.2": (1.0, 1.0, 0.2), "5:1:0.5": (5.0, 1.0, 0.5), "1:5:0.5": (1.0, 5.0, 0.5)}
TARGET, SIZES = 0.9, (300, 1000, 2000)
RIVALS = ("the judge", "people", "its probabilities")
load = cache(load)
Cells = dict[tuple[Any, ...], list[list[float]]]


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


PARTS = {"cost": measure_costs, "agree": measure_agreement, "estimate": measure_estimate}


def draw_all(args: argparse.Namespace, cells: Cells) -> None:
    """All draws; results are written after each."""
    sources = sorted(path.parent.name for path in Path(os.environ[FOLDER]).glob("*/labels.csv"))
    for draw in range(args.start, args.start + args.draws):
        for source in sources:
            pairs = list_pairs(source)
            logits, labels = load(source, *pairs[draw % len(pairs)])
            rng = np.random.default_rng([zlib.crc32(source.encode()), draw])
            texts = rng.permutation(len(labels))[: rng.choice(SIZES)]
            logits, labels = logits[texts], labels[texts]
            for n in args.budgets:
                if 2 * n > len(labels) or not np.ptp(labels[:n]):
                    continue
                fit = cp.Cordial(seed=draw).fit(logits[:n], labels[:n])
                for kind, measure in PARTS.items():
                    if kind in args.parts:
                        for name, record in measure(fit, logits, labels, n).items():
                            cells[kind, n, name, source].append(record)
        rows = [[*cell, np.round(records, 5).tolist()] for cell, records in cells.items()]
        args.out.write_text(json.dumps(rows))
        print(f"draw {draw}", flush=True)


def report(cells: Cells) -> None:
    """Print means over sets, and the worst set."""
    table: dict[tuple, dict[str, Any]] = defaultdict(dict)
    for (kind, n, name, source), records in cells.items():
        table[kind, n, name][source] = np.array(records, float)
    for (kind, n, name), sets in sorted(table.items(), key=lambda row: (row[0][0], row[0][2])):
        means = {source: part.mean(axis=0) for source, part in sets.items()}
        mean = np.mean(list(means.values()), axis=0)
        line = f"{kind:8} {n:3} {name:22}"
        if kind == "cost":
            expected, realised, *others, asked, _ = mean
            line += f" expected {expected:.3f}, realised {realised:.3f} ({expected / realised:.2f})"
            for index, (rival, cost) in enumerate(zip(RIVALS, others, strict=True), start=2):
                ratios = {source: each[1] / each[index] for source, each in means.items()}
                worst = max(ratios, key=ratios.__getitem__)
                line += f"; {rival} {cost:.3f}, at worst {ratios[worst]:.2f} of it ({worst})"
            line += f"; people see {asked:.2f}"
        elif kind == "agree":
            worst = min(means, key=lambda source: means[source][0])
            every = np.concatenate(list(sets.values()))
            some = every[every[:, 3] == 0]
            line += f" kept {mean[0]:.3f}, worst {means[worst][0]:.2f} ({worst}); people spared"
            line += f" {1 - mean[2]:.2f}; no share {mean[3]:.2f}, else kept {some[:, 0].mean():.2f}"
            line += f" (said {some[:, 1].mean():.2f}), spared {1 - some[:, 2].mean():.2f}"
        else:
            worst = min(means, key=lambda source: means[source][0])
            line += f" holds {mean[0]:.3f}, worst {means[worst][0]:.2f} ({worst})"
            line += f", width {mean[1]:.3f}"
        print(line, f"[{sum(map(len, sets.values()))}]")
    for source in sorted({source for kind, _, _, source in cells if kind == "cost"}):
        parts = [
            part[source] for cell, part in table.items() if cell[0] == "cost" and source in part
        ]
        mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
        ratios = ", ".join(
            f"{mean[1] / cost:.2f} of {rival}"
            for rival, cost in zip(RIVALS, mean[2:5], strict=True)
        )
        print(f"cost     {source:22} expected {mean[0]:.3f}, realised {mean[1]:.3f}: {ratios}")
    budgets = sorted({n for kind, n, _ in table if kind == "cost"})
    for n, more in zip(budgets, budgets[1:], strict=False):
        now, then = (
            np.mean(
                [table["cost", m, c][s].mean(axis=0) for c in COSTS for s in table["cost", m, c]],
                axis=0,
            )
            for m in (n, more)
        )
        forecast = now[6] * (1 - n / more) / (20 / (n + 20))
        print(f"gain     {n:3} to {more}: forecast {forecast:.4f}, realised {now[1] - then[1]:.4f}")


def main() -> None:
    """Draw, fit, decide and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--start", type=int, default=0, help="the first draw")
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path, default=Path("deciding.json"))
    parser.add_argument("--join", type=Path, nargs="+", default=[], help="print these results")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    cells: Cells = defaultdict(list)
    for path in args.join:
        for *cell, records in json.loads(path.read_text()):
            cells[tuple(cell)] += records
    if not args.join:
        if not os.environ.get(FOLDER):
            parser.error(NEEDED)
        draw_all(args, cells)
    report(cells)


if __name__ == "__main__":
    main()
