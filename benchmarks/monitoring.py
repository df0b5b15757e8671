"""Is it still the same judge? Alarms of `cordial monitor` where nothing changed, and where it did.

False alarms: a reader's texts are read a hundred times more, by sampling ratings from what it
states: ten ratings a text, three, or one; or read exactly as before. An alarm at any of the hundred
looks counts, whether or not it is large enough to be told.

Power: the same judge with another prompt reads 50 texts. Pairs whose mean stated scores differ by
0.2 classes or more on all texts, either way; as stated, or with one reading of the old prompt, or
two, and the new one, which are ratings drawn from the stated shares: ten a text, or three (HANNA).

Labels: of 100 texts that are not of a fit of 20 or 100 labels, looked at after each ten, with the
readings of its own reader and with those of another one of the same texts.
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import drift
import numpy as np
from measurement import Key, Line, Means, Measurement
from real import Texts, list_names, read, readings_of, trained_without

import cordial_ppl as cp
from cordial_ppl.data.ratings import state
from cordial_ppl.decisions.answers import monitor
from cordial_ppl.decisions.predictive import weigh
from cordial_ppl.tables import list_values

TEXTS, LOOKS, LABELS, DIFFERENCE = 50, 100, 20, 0.2
BANDS = {0.4: "0.4 and more", 0.3: "0.3 to 0.4", 0.2: "0.2 to 0.3"}
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


def list_judges() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """List set, task and readers of each judge, one a prompt."""
    for source, groups in PROMPTS.items():
        tasks, readers = (list_values(readings_of(source), name) for name in ("task", "reader"))
        yield from ((source, *pair) for pair in product(tasks, groups or (tuple(readers),)))


def list_noise(draw: int) -> Iterator[Key]:
    """List the first two prompts of every judge, each with every kind of further readings."""
    for source, task, readers in list_judges():
        kinds = [("exactly", 0), ("one rating", 1), ("samples", SAMPLES[source])]
        yield from ((source, task, reader, *kind) for reader in readers[:2] for kind in kinds)


def share(logits: np.ndarray) -> np.ndarray:
    """The share of each option that is stated."""
    shares = np.maximum(state(logits)[0], 0)
    return shares / shares.sum(axis=1, keepdims=True)


def fit(source: str, texts: Texts, logits: np.ndarray, seed: int) -> Any:
    """Fit the default calibrator to a few labels."""
    chosen = np.random.default_rng(seed).permutation(len(texts.rows))[:LABELS]
    judge = cp.Cordial(prior=trained_without(source), seed=seed)
    return judge.fit(logits[texts.rows[chosen]], texts.labels[chosen]).fit_


def sample(stated: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Sample ratings as logits."""
    return cp.readings_from_counts(rng.multinomial(samples, stated))


def measure_noise(seed: int, source: str, task: str, reader: str, kind: str, samples: int) -> Line:
    """Read some texts a hundred times more."""
    texts, rng = read(source, task, reader), np.random.default_rng(seed)
    logits, stated = texts.table.logits, share(texts.table.logits)

    def look(rows: Any) -> np.ndarray:
        return sample(stated[rows], samples, rng) if samples else logits[rows]

    fitted = fit(source, texts, look(slice(None)), seed)
    some = rng.choice(len(stated), TEXTS, replace=False)
    made = monitor(fitted, *(look(some) for _ in range(LOOKS + 1)))
    return {"alarm": made.first is not None, "told": made.answer == "no"}


def measure_prompts(seed: int, source: str, task: str, *readers: str) -> Iterator[Line]:
    """Put another prompt of a judge in the place of one, where the two differ."""
    old, new = (read(source, task, reader) for reader in readers)
    at = {text: row for row, text in enumerate(new.table.item_ids)}
    mine = [row for row, text in enumerate(old.table.item_ids) if text in at]
    first = old.table.logits[mine]
    last = new.table.logits[[at[old.table.item_ids[row]] for row in mine]]
    shares = share(first), share(last)
    difference = abs(np.mean((shares[1] - shares[0]) @ np.arange(first.shape[1])))
    if difference < DIFFERENCE:
        return
    rng, samples = np.random.default_rng(seed), SAMPLES[source]
    some = rng.choice(len(mine), TEXTS, replace=False)
    drawn = [sample(each[some], samples, rng) for each in (shares[0], *shares)]
    fitted = fit(source, old, old.table.logits, seed)
    stated = monitor(fitted, first[some], last[some])
    yield {
        "difference": next(words for low, words in BANDS.items() if difference >= low),
        "as stated": stated.answer == "no",
        "called the same": stated.answer == "yes",
        "sampled": monitor(fitted, *drawn[1:]).answer == "no",
        "old sampled twice": monitor(fitted, *drawn).answer == "no",
    }


def measure_labels(seed: int, source: str, task: str, n: int) -> Iterator[Line]:
    """Look at more and more labels of a fit's own reader, and of another one."""
    scale, truth, readers = drift.load(source, task)
    for name, seen in readers.items():
        order = np.random.default_rng(seed).permutation(len(truth))
        rows, rest = order[:n], order[n : n + 100]
        judge = cp.Cordial(prior=trained_without(source), seed=seed)
        fitted = judge.fit(seen[rows], truth[rows]).fit_
        for other, logits in readers.items():
            evidence = []
            for size in range(10, 101, 10):
                shares = np.eye(scale.size)[truth[rest[:size]]]
                members, (weights,) = fitted.mixture(fitted.read(logits[rest[:size]]))
                evidence.append(weigh(members, weights, {}, shares))
            whose = "the same" if other == name else "another"
            yield {"judge": whose, "alarm": max(evidence) >= 20}


MEASUREMENTS = (
    Measurement(
        "monitoring-noise",
        list_noise,
        measure_noise,
        Means("set task reader kind ratings", "set* kind*", alike=""),
        2,
    ),
    Measurement(
        "monitoring-prompts",
        lambda draw: [(*of, *pair) for *of, rs in list_judges() for pair in combinations(rs, 2)],
        measure_prompts,
        Means("set task old new", "set* difference*", alike=""),
        2,
    ),
    Measurement(
        "monitoring-labels",
        lambda draw: [(*task, n) for task in list_names() for n in (20, 100)],
        measure_labels,
        Means("set task labels", "labels judge"),
        2,
    ),
)
