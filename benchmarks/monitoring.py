"""Is it still the same judge? Alarms of `cordial monitor` where nothing changed, and where it did.

False alarms: a reader's texts are read a hundred times more, by sampling ratings from what it
states: ten ratings a text, three, or one; or read exactly as before. An alarm at any of the hundred
looks counts, whether or not it is large enough to be told.

Power: the same judge with another prompt reads 50 texts. Pairs whose mean stated scores differ by
0.2 classes or more on all texts, either way; as stated, or with one reading of the old prompt, or
two, and the new one, which are ratings drawn from the stated shares: ten a text, or three (HANNA).

Labels: of 100 texts that are not of a fit of 20 or 100 labels, looked at after each ten, with the
readings of its own reader and with those of another one of the same texts.

    CORDIAL_DATA=path python benchmarks/monitoring.py noise
    CORDIAL_DATA=path python benchmarks/monitoring.py prompts
    CORDIAL_DATA=path python benchmarks/monitoring.py labels

Prints tables, and writes everything as JSON.
"""

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from real import FOLDER, NEEDED, SOURCES, load_task

import cordial_ppl as cp
from cordial_ppl.data.ratings import state
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.monitoring import Monitored
from cordial_ppl.decisions.predictive import weigh
from cordial_ppl.errors import CordialWarning
from cordial_ppl.tables import list_values, match_labels, read_labels, read_readings

TEXTS, LOOKS, LABELS, DIFFERENCE = 50, 100, 20, 0.2
PROMPTS = {
    "summeval_logits": (
        tuple(f"gpt-4o_cot{k}" for k in range(1, 6)),
        ("gpt-4o-mini_geval", *(f"gpt-4omini_cot{k}" for k in (1, 2, 4, 5))),
    ),
    "topical_chat_gpt35": (),
    "hanna": tuple(
        tuple(f"{judge}_EP{k}" for k in range(1, 5))
        for judge in ("Beluga-13B", "OrcaPlatypus", "Mistral-7B", "Llama-13B", "ChatGPT")
    ),
}
"""Judges by their readers, one of each prompt; of Topical-Chat all are of one judge."""

SAMPLES = {"summeval_logits": 10, "topical_chat_gpt35": 10, "hanna": 3}
"""Ratings of a text in one reading, where it is sampled: none is a copy of another."""


class Reader(NamedTuple):
    """One reader of a task: its readings by text, and labels of those that have one."""

    source: str
    task: str
    name: str
    scale: Scale
    texts: list[str]
    logits: np.ndarray
    rows: np.ndarray
    labels: np.ndarray

    @property
    def stated(self) -> np.ndarray:
        """The share of each option."""
        shares = np.maximum(state(self.logits)[0], 0)
        return shares / shares.sum(axis=1, keepdims=True)

    def fit(self, logits: np.ndarray, seed: int) -> cp.Cordial:
        """Fit the default calibrator to a few labels."""
        chosen = np.random.default_rng(seed).permutation(len(self.rows))[:LABELS]
        return cp.Cordial(seed=seed).fit(logits[self.rows[chosen]], self.labels[chosen])


def load(source: str, task: str, name: str) -> Reader:
    """Load a reader."""
    folder = Path(os.environ[FOLDER]) / source
    table = read_readings(next(folder.glob("readings.*")), task=task, reader=name)
    labels = read_labels(folder / "labels.csv", table.scale, task=task)
    matched, rows = match_labels(table, labels.among(table.item_ids))
    scale = Scale.default(table.scale.size)
    return Reader(source, task, name, scale, table.item_ids, table.logits, rows, matched.labels)


def judges(quick: bool) -> Iterator[list[Reader]]:
    """Load the readers of each judge and task, a prompt each."""
    for source, groups in PROMPTS.items():
        path = next((Path(os.environ[FOLDER]) / source).glob("readings.*"))
        for task in list(list_values(path, "task"))[: 1 if quick else None]:
            for names in groups or (tuple(list_values(path, "reader")),):
                yield [load(source, task, name) for name in names]


def sample(stated: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Sample ratings as logits."""
    return cp.readings_from_counts(rng.multinomial(samples, stated))


def monitor(calibrator: cp.Cordial, readings: list[np.ndarray]) -> Monitored:
    """Look."""
    return answers.monitor(calibrator.fit_, *readings)


def noise(judge: list[Reader], repeats: int) -> Iterator[dict[str, object]]:
    """Read the texts of the first two prompts a hundred times more."""
    for reader in judge[:2]:
        kinds = {"exactly": 0, "one rating": 1, "samples": SAMPLES[reader.source]}
        for kind, samples in kinds.items():
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                stated = reader.stated
                whole = sample(stated, samples, rng) if samples else reader.logits
                calibrator = reader.fit(whole, seed)
                some = rng.choice(len(stated), TEXTS, replace=False)
                looks = [
                    sample(stated[some], samples, rng) if samples else reader.logits[some]
                    for _ in range(LOOKS + 1)
                ]
                made = monitor(calibrator, looks)
                yield {
                    "set": reader.source,
                    "kind": kind,
                    "evidence": made.evidence,
                    "alarm": made.first is not None,
                    "answer": made.answer,
                }


def prompts(judge: list[Reader], draws: int) -> Iterator[dict[str, object]]:
    """Put each other prompt of the judge in the place of one."""
    for old, new in combinations(judge, 2):
        at = {text: row for row, text in enumerate(new.texts)}
        mine = [row for row, text in enumerate(old.texts) if text in at]
        others = [at[old.texts[row]] for row in mine]
        shares = old.stated[mine], new.stated[others]
        difference = float(np.mean((shares[1] - shares[0]) @ old.scale.values))
        if abs(difference) < DIFFERENCE:
            continue
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            some = rng.choice(len(mine), TEXTS, replace=False)
            first, last = old.logits[mine][some], new.logits[others][some]
            drawn, samples = (shares[0], shares[0], shares[1]), SAMPLES[old.source]
            readings = [sample(each[some], samples, rng) for each in drawn]
            calibrator = old.fit(old.logits, seed)
            as_stated = monitor(calibrator, [first, last])
            yield {
                "set": old.source,
                "difference": abs(difference),
                "as stated": as_stated.answer,
                "one": monitor(calibrator, readings[1:]).answer,
                "two": monitor(calibrator, readings).answer,
            }


def labels(source: str, task: str, fits: int) -> Iterator[dict[str, object]]:
    """Look at more and more labels of a fit's own reader, and of another one."""
    readers = list(load_task(source, task))
    truth = np.concatenate([readers[0].report.labels, readers[0].pool.labels])
    logits = [np.vstack([one.report.logits, one.pool.logits]) for one in readers]
    for (own, seen), n, seed in (
        (pair, n, seed) for pair in enumerate(logits) for n in (20, 100) for seed in range(fits)
    ):
        order = np.random.default_rng(seed).permutation(len(truth))
        rows, rest = order[:n], order[n : n + 100]
        fit = cp.Cordial(seed=seed).fit(seen[rows], truth[rows]).fit_
        for number, other in enumerate(logits):
            evidence = []
            for size in range(10, 101, 10):
                texts, shares = rest[:size], np.eye(readers[0].scale.size)[truth[rest[:size]]]
                members, (weights,) = fit.mixture(fit.read(other[texts]))
                evidence.append(weigh(members, weights, {}, shares))
            yield {"labels": n, "same": number == own, "alarm": max(evidence) >= 20}


def show(results: list[dict[str, object]], keys: tuple[str, ...], figures: dict[str, str]) -> None:
    """Print the share of results in which each figure has the value that is asked for."""
    for group in dict.fromkeys(tuple(one[key] for key in keys) for one in results):
        some = [one for one in results if tuple(one[key] for key in keys) == group]
        shares = (
            np.mean([str(one[name]) == value for one in some]) for name, value in figures.items()
        )
        print(*group, len(some), *(f"{share:.3f}" for share in shares), sep="  ", flush=True)


def main() -> None:
    """Run a part."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("noise", "prompts", "labels"))
    parser.add_argument("--quick", action="store_true", help="few repeats of a few tasks")
    parser.add_argument("--output", type=Path, default=Path("monitoring.json"))
    args = parser.parse_args()
    if FOLDER not in os.environ:
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    few = 1 if args.quick else None
    if args.what == "labels":
        tasks = [(name, task) for name, about in SOURCES.items() for task in about.tasks[:few]]
        results = [one for task in tasks for one in labels(*task, few or 2)]
        show(results, ("labels", "same"), {"alarm": "True"})
    elif args.what == "noise":
        results = [one for judge in judges(args.quick) for one in noise(judge, few or 5)]
        show(results, ("set", "kind"), {"alarm": "True", "answer": "no"})
        show(results, ("kind",), {"alarm": "True", "answer": "no"})
    else:
        results = [one for judge in judges(args.quick) for one in prompts(judge, few or 5)]
        ways = ("as stated", "one", "two")
        show(results, ("set",), dict.fromkeys(ways, "no"))
        for low, high in ((0.2, 0.3), (0.3, 0.4), (0.4, 9.0)):
            some = [one for one in results if low <= float(str(one["difference"])) < high]
            print(f"differences of {low} to {high}:")
            show(some, (), dict.fromkeys(ways, "no"))
        show(results, (), dict.fromkeys(ways, "no"))
    args.output.write_text(json.dumps(results, default=bool))


if __name__ == "__main__":
    main()
