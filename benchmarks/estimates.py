"""Do intervals of a corpus's mean, of its systems and of their differences hold?

Texts are labelled at random, the default calibrator is fitted, and 90 % intervals are compared with
the mean of all labels.  By default the readings are real: the sets that benchmarks/real.py lists,
with CORDIAL_DATA to name their folder; three of them say which system wrote a text.  Printed for
each number of labels: coverage and the ratio of widths to the classical intervals (Student's t with
the labels alone: of the corpus, and of a system with the standard deviation within systems pooled),
the root mean square error, and how many resolved differences have the wrong sign.  Where
ppi_py is installed (``pip install ppi-python``) its power-tuned interval stands beside.

With --made the texts are embedded and the truth is known: the reader errs alike for all systems;
it rates one of them too high; or only texts of one system are labelled.

    CORDIAL_DATA=path python benchmarks/estimates.py --draws 20
    python benchmarks/estimates.py --made
"""

import argparse
import json
import os
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from real import FOLDER, NEEDED, SOURCES
from scipy.stats import t

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.estimate import Population
from cordial_ppl.errors import CordialWarning
from cordial_ppl.evaluation.synthetic import benchmark
from cordial_ppl.stack.weighing import stated
from cordial_ppl.tables import match_labels, read_labels, read_readings

LEVEL, MOST = 0.9, 1600
SYSTEMS, FAVOURED = 12, 3
MADE = ("the reader errs alike", "it favours one system", "labels of one system")
Cells = dict[str, list[tuple[float, ...]]]


class Corpus(NamedTuple):
    """Texts with all their labels."""

    source: str
    name: str
    logits: np.ndarray
    labels: np.ndarray
    systems: np.ndarray | None


def real_corpora(sources: list[str]) -> Iterator[Corpus]:
    """Every task and reader of the real sets; of many texts a random part."""
    for source in sources:
        folder, chosen = Path(os.environ[FOLDER]) / source, SOURCES[source]
        for task in chosen.tasks:
            for reader in chosen.readers:
                table = read_readings(next(folder.glob("readings.*")), task=task, reader=reader)
                labelled = read_labels(folder / "labels.csv", table.scale, task=task)
                labelled = labelled.among(table.item_ids)
                labelled, rows = match_labels(table, labelled)
                systems = labelled.extras.get("system")
                some = np.random.default_rng(0).permutation(len(rows))[:MOST]
                named = None if systems is None else np.array(systems, str)[some]
                labels = labelled.labels[some]
                yield Corpus(source, f"{task} {reader}", table.logits[rows[some]], labels, named)


def made_corpora() -> Iterator[Corpus]:
    """Embedded tasks, whose texts are dealt to systems of differing quality."""
    for case in MADE:
        for name in ("beauty", "software", "mosei"):
            task, rng = benchmark(name), np.random.default_rng(1)
            rows = task.rows("report")[:MOST]
            logits, labels = task.logits["main"][rows], task.labels[rows]
            noise = rng.normal(0, 3, len(rows))
            systems = np.argsort(np.argsort(labels + noise)) * SYSTEMS // len(rows)
            if case == MADE[1]:
                labels = np.where(systems == FAVOURED, np.maximum(labels - 1, 0), labels)
            yield Corpus(case, name, logits, labels, systems.astype(str))


def choose(corpus: Corpus, n: int, draw: int) -> np.ndarray:
    """Texts to label; draws of different tasks have nothing in common."""
    seed = zlib.crc32(f"{corpus.source} {corpus.name}".encode())
    order = np.random.default_rng([seed, n, draw]).permutation(len(corpus.labels))
    if corpus.source == MADE[2] and corpus.systems is not None:
        order = order[corpus.systems[order] == str(draw % SYSTEMS)]
    return order[:n]


def measure(corpus: Corpus, n: int, draw: int, cells: Cells) -> None:
    """One draw of labels: whether each interval holds, its width, the classical one, the error."""
    rows = choose(corpus, n, draw)
    n = len(rows)
    calibrator = cp.Cordial(seed=draw).fit(corpus.logits[rows], corpus.labels[rows])
    estimate = calibrator.estimate(corpus.logits, rows, corpus.systems, level=LEVEL)
    labels, truth, size = corpus.labels[rows], corpus.labels.mean(), len(corpus.labels)
    if corpus.source != MADE[2]:
        spread = float(labels.std(ddof=1))
        half = t.ppf((1 + LEVEL) / 2, n - 1) * spread * np.sqrt((1 - n / size) / n)
        ends = {"classical": (labels.mean(), labels.mean() - half, labels.mean() + half)}
        ends |= {"estimate": estimate.overall.mean, "from sampling alone": estimate.rectified[:3]}
        ends |= rival(corpus, rows)
        for name, (mean, low, high) in ends.items():
            cells[f"overall: {name}"].append(
                (low <= truth <= high, (high - low) / 2, half, mean - truth)
            )
    measure_shares("overall: shares", estimate.overall, corpus.labels, cells)
    if corpus.systems is not None:
        measure_systems(corpus, rows, estimate, cells)


def measure_shares(kind: str, population: Population, labels: np.ndarray, cells: Cells) -> None:
    """The same of the shares at or above an option."""
    for option, (mean, low, high) in enumerate(population.at_least.values(), start=1):
        true = (labels >= option).mean()
        cells[kind].append((low <= true <= high, (high - low) / 2, np.nan, mean - true))


def measure_systems(corpus: Corpus, rows: np.ndarray, estimate: cp.Estimate, cells: Cells) -> None:
    """The same of systems, and of their differences, with those that have the wrong sign."""
    assert corpus.systems is not None
    labels, systems = corpus.labels[rows], corpus.systems[rows]
    truths = {name: corpus.labels[corpus.systems == name].mean() for name in estimate.groups}
    within = sum(
        np.sum((labels[systems == s] - labels[systems == s].mean()) ** 2) for s in set(systems)
    )
    free = len(rows) - len(set(systems))
    for name, group in estimate.groups.items():
        half = np.nan
        if group.labels and free > 0:
            scale = np.sqrt(within / free * (1 - group.labels / group.texts) / group.labels)
            half = t.ppf((1 + LEVEL) / 2, free) * scale
            error = labels[systems == name].mean() - truths[name]
            cells["systems: classical"].append((abs(error) <= half, half, half, error))
        measure_shares("systems: shares", group, corpus.labels[corpus.systems == name], cells)
        mean, low, high = group.mean
        favoured = corpus.source == MADE[1] and name == str(FAVOURED)
        cells["the favoured system" if favoured else "systems: estimate"].append(
            (low <= truths[name] <= high, (high - low) / 2, half, mean - truths[name])
        )
    names, resolved = list(estimate.groups), {pair[:2] for pair in estimate.resolved}
    for index, a in enumerate(names):
        for b in names[index + 1 :]:
            mean, low, high = estimate.difference(a, b)
            true = truths[a] - truths[b]
            clear = (a, b) in resolved
            cells["differences"].append(
                (
                    low <= true <= high,
                    (high - low) / 2,
                    np.nan,
                    mean - true,
                    clear,
                    clear and mean * true <= 0,
                )
            )


def rival(corpus: Corpus, rows: np.ndarray) -> dict[str, tuple[float, ...]]:
    """The interval of ppi_py on the raw expected score, if it is installed."""
    try:
        from ppi_py import (  # pyright: ignore[reportMissingImports]
            ppi_mean_ci,
            ppi_mean_pointestimate,
        )
    except ImportError:
        return {}
    scores = stated(corpus.logits) @ np.arange(corpus.logits.shape[1])
    rest = np.setdiff1d(np.arange(len(scores)), rows)
    args = corpus.labels[rows].astype(float), scores[rows], scores[rest]
    ends = ppi_mean_ci(*args, alpha=1 - LEVEL)
    interval = (ppi_mean_pointestimate(*args), *ends)
    return {"ppi_py": tuple(float(np.squeeze(each)) for each in interval)}


def report(n: int, results: dict[str, dict[str, Cells]]) -> dict[str, dict[str, float]]:
    """Print and return averages over tasks, and the lowest coverage of a set."""
    made: dict[str, dict[str, float]] = {}
    kinds = dict.fromkeys(
        kind for tasks in results.values() for cells in tasks.values() for kind in cells
    )
    print(f"\n{n} labels{'':24} coverage  worst set   width   ratio    rmse   wrong sign")
    for kind in kinds:
        sets: dict[str, list[list[float]]] = defaultdict(list)
        signs = np.zeros(2)
        for source, tasks in results.items():
            for cells in tasks.values():
                if kind in cells:
                    table = np.array(cells[kind], float)
                    both = table[np.isfinite(table[:, 2])]
                    ratio = both[:, 1].mean() / both[:, 2].mean() if len(both) else np.nan
                    error = np.sqrt((table[:, 3] ** 2).mean())
                    sets[source].append([table[:, 0].mean(), 2 * table[:, 1].mean(), ratio, error])
                    signs += table[:, 4:].sum(axis=0) if table.shape[1] > 4 else 0
        coverage, width, ratio, error = np.mean(
            [row for rows in sets.values() for row in rows], axis=0
        )
        worst = min(np.mean(rows, axis=0)[0] for rows in sets.values())
        wrong = signs[1] / signs[0] if signs[0] else np.nan
        made[kind] = dict(
            coverage=coverage, worst=worst, width=width, ratio=ratio, rmse=error, wrong=wrong
        )
        figures = f"{coverage:8.3f} {worst:10.3f} {width:7.2f} {ratio:7.2f} {error:7.3f}"
        print(f"{kind:34} {figures}   {wrong:7.3f}")
        by_set = {source: np.mean(rows, axis=0)[0] for source, rows in sets.items()}
        print("   ", "  ".join(f"{source} {value:.3f}" for source, value in by_set.items()))
    return made


def main() -> None:
    """Draw, fit, estimate and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--made", action="store_true", help="embedded texts with a known truth")
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--out", type=Path, default=Path("estimates.json"))
    args = parser.parse_args()
    if not args.made and not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    corpora = list(made_corpora() if args.made else real_corpora(args.sources))
    start, made = time.perf_counter(), {}
    for n in args.budgets:
        results: dict[str, dict[str, Cells]] = defaultdict(dict)
        for corpus in corpora:
            cells: Cells = defaultdict(list)
            for draw in range(args.draws):
                measure(corpus, n, draw, cells)
            results[corpus.source][corpus.name] = cells
            spent = time.perf_counter() - start
            print(f"{n:4} {corpus.source} {corpus.name} ({spent:.0f} s)", flush=True)
        made[n] = report(n, results)
        args.out.write_text(json.dumps({"draws": args.draws, "averages": made}, indent=1))


if __name__ == "__main__":
    main()
