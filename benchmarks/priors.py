"""What a prior learned from other tasks gains over others, with few labels.

Each task is left out in turn and its prior learned from the others with every reader: of the
embedded benchmark (three tasks with five options, one with seven, four readers), and of the
SummEval summaries.  Every rule sees the same subsets of labels and is scored on the same held-out
texts: the gain in log loss over the channels' own priors, and over the default prior, trained
without the set.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from accuracy import score
from measurement import Key, Line, Means, Measurement
from real import EMBEDDED, list_tasks, load, split_task, trained_without

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.inference.priors import LearnedPrior

RULES = {
    "paper": {"name": "paper", "vector": False},
    "default": {"name": "cautious", "vector": True},
}
BUDGETS, TEST = (5, 10, 20), 1000


def split(source: str, task: str, reader: str) -> tuple[Labelled, Labelled]:
    """Texts to draw labels from and texts to be scored on, the same for tasks and readers."""
    if source == EMBEDDED:
        made = split_task(source, task, reader)
        return made.pool, made.report
    logits, labels = load(source, task, reader)
    texts, order = Labelled(logits, labels), np.random.default_rng(77).permutation(len(labels))
    return texts.take(order[:-TEST]), texts.take(order[-TEST:])


@cache
def learn(source: str) -> LearnedPrior:
    """Fit the channels to every pool."""
    pools = {pair[1:]: split(*pair)[0] for pair in list_tasks((source,))}
    return cp.learn_prior({pair: (pool.logits, pool.labels) for pair, pool in pools.items()})


def run(draw: int, source: str, n: int, task: str, reader: str) -> Iterator[Line]:
    """Gains of every rule with one subset of labels, the same for all readers."""
    pool, report = split(source, task, reader)
    rows = np.random.default_rng([draw, n]).permutation(len(pool.labels))[:n]
    prior, default = learn(source).leave_out([task]), cp.Cordial(prior=trained_without(source))
    judges = {"own": cp.Cordial(prior="own"), "shipped": default}
    judges |= {name: cp.Cordial(prior=prior.with_rule(**rule)) for name, rule in RULES.items()}
    losses, options = score(judges, pool, rows, draw, report), report.logits.shape[1]
    for rule in RULES:
        yield {
            "rule": rule,
            "options": options,
            "gain": losses["own"] - losses[rule],
            "gain over the default": losses["shipped"] - losses[rule],
        }


def describe(name: str, source: str, draws: int) -> Measurement:
    """Describe a measurement of one set."""

    def list_cells(draw: int) -> Iterator[Key]:
        return ((source, n, *pair) for n in BUDGETS for _, *pair in list_tasks((source,)))

    table = Means(
        "set labels task reader",
        "rule labels options task*",
        alike="task reader",
        resolved=("gain", "gain over the default"),
    )
    return Measurement(f"priors-{name}", list_cells, run, table, draws, source != EMBEDDED)


MEASUREMENTS = describe("embedded", EMBEDDED, 3), describe("summaries", "summeval_logits", 3)
