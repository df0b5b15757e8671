"""What the paper's prior, learned from the other tasks with every reader, gains."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from comparison import (
    ENOUGH,
    Mean,
    Results,
    count_failures,
    difference_record,
    mean_of,
    mean_of_tasks,
)
from embedded import TASKS, load_tasks
from ledger import Ledger
from product import Product, Record, number, tabulate

import cordial_ppl as cp
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.inference.priors import LearnedPrior

OWN, LEARNED = "paper", "learned"


def prior_gains(
    names: Sequence[str], budgets: Sequence[int], draws: int, ledger: Ledger
) -> Product:
    """Return what the learned prior gains over the paper's own, by number of labels.

    Args:
        names: tasks of the embedded benchmark.
        budgets: numbers of labels.
        draws: draws of labels.
        ledger: what is finished.

    Returns:
        The product `learned-prior`.
    """
    prior, results = learn(ledger), Results({}, {})
    for name in names:
        learned = cp.Cordial.paper(prior=prior.leave_out([name]))
        methods = {OWN: cp.Cordial.paper(), LEARNED: learned}
        part = ledger.sweep(load_tasks([name]), methods, budgets, draws)
        results = Results({**results.cells, **part.cells}, {**results.tasks, **part.tasks})
    table = tabulate(
        difference_record(results, key, OWN, LEARNED) | {"scale": _scale(results, key)}
        for key in results.cells
    )
    return Product(
        name="learned-prior",
        title="A prior learned from the other tasks",
        caption="Log loss of the literal CORDIAL with the paper's prior minus that with a prior "
        "learned from full-pool fits of the other tasks, with every reader (nats; above zero: the "
        "learned prior gains): mean over pairs of task and reader, ± its standard error over draws "
        "of labels, which readers share, and how many gain or lose by a paired 95 % bootstrap "
        "interval that excludes zero.",
        table=table.drop("scale"),
        shown=tabulate(
            _row(group, n, part, results)
            for (group, n), part in table.group_by("scale", "n", maintain_order=True)
        ).pivot("n", index="tasks", values="gain"),
        notes=(
            f"With fewer than {ENOUGH} draws nothing is called a gain or a loss.",
            count_failures(results.cells.values(), (OWN, LEARNED)),
        ),
    )


def learn(ledger: Ledger) -> LearnedPrior:
    """Learn the prior from the pools of all tasks, and keep the fits to each task's."""
    parts = []
    for name in TASKS:
        path = ledger.results / f"prior-{name}.cordial"
        if not path.exists():
            pools = {(t.name, t.reader): (t.pool.logits, t.pool.labels) for t in load_tasks([name])}
            fit = {"channels": PAPER_CHANNELS, "rule": "paper", "vector": False}
            cp.learn_prior(pools, **fit).save(path)
        parts.append(LearnedPrior.load(path))
    return replace(parts[0], fits=tuple(fit for part in parts for fit in part.fits))


def _scale(results: Results, key: tuple[str, str, int]) -> str:
    return f"K = {results.cells[key][OWN].given_stated.shape[-1]}"


def _mean_of_readers(results: Results, task: str, n: object) -> Mean:
    """Return a task's gain over the draws of labels, each averaged over its readers."""
    cells = [
        cell for (name, _, labels), cell in results.cells.items() if (name, labels) == (task, n)
    ]
    losses = [[cell[m].scores["log_loss"] for m in (OWN, LEARNED)] for cell in cells]
    gains = np.mean([own - learned for own, learned in losses], axis=0)
    return mean_of(gains[np.isfinite(gains)])


def _row(group: object, n: object, part: pl.DataFrame, results: Results) -> Record:
    gains, sure = part["difference"].to_numpy(), part["resolved"].to_numpy().astype(bool)
    won, lost = (sure & (gains > 0)).sum(), (sure & (gains < 0)).sum()
    tasks: Sequence[str] = part["task"].unique(maintain_order=True).to_list()
    each = [_mean_of_readers(results, task, n) for task in tasks]
    mean = number(float(np.mean(gains)), "+.4f", mean_of_tasks(each)[1])
    gain = f"{mean} ({won} gain, {lost} lose, of {len(gains)})"
    return {"tasks": f"{', '.join(tasks)} ({group})", "n": n, "gain": gain}
