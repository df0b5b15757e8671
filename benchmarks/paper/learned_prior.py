"""What the paper's prior, learned from the other tasks with every reader, gains."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from comparison import ENOUGH, Results, count_failures, difference_record, read_results
from embedded import load_tasks
from priors import embedded
from product import Product, Record, number, tabulate

import cordial_ppl as cp
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.evaluation.sweeps import make_parts

OWN, LEARNED = "paper", "learned"


def prior_gains(names: Sequence[str], budgets: Sequence[int], draws: int, parts: Path) -> Product:
    """Return what the learned prior gains over the paper's own, by number of labels.

    Args:
        names: tasks of the embedded benchmark.
        budgets: numbers of labels.
        draws: draws of labels.
        parts: folder that keeps finished scores.

    Returns:
        The product `learned-prior`.
    """
    pairs = {(p.task, p.reader): (p.pool, p.pool_labels) for p in embedded()}
    prior = cp.learn_prior(pairs, channels=PAPER_CHANNELS, rule="paper", vector=False)
    tasks, paths = load_tasks(names), []
    for name in names:
        methods = {
            OWN: cp.Cordial.paper(),
            LEARNED: cp.Cordial.paper(prior=prior.leave_out([name])),
        }
        own = [task for task in tasks if task.name == name]
        paths += make_parts(own, methods, budgets, draws, folder=parts)
    results = read_results(tasks, paths)
    table = tabulate(
        difference_record(results, key, OWN, LEARNED) | {"scale": _scale(results, key)}
        for key in results.cells
    )
    return Product(
        name="learned-prior",
        title="A prior learned from the other tasks",
        caption="Log loss of the literal CORDIAL with the paper's prior minus that with a prior "
        "learned from full-pool fits of the other tasks, with every reader (nats; above zero: the "
        "learned prior gains): mean over pairs of task and reader, and how many gain or lose by a "
        "paired 95 % bootstrap interval that excludes zero.",
        table=table.drop("scale"),
        shown=tabulate(
            _row(group, n, part)
            for (group, n), part in table.group_by("scale", "n", maintain_order=True)
        ).pivot("n", index="tasks", values="gain"),
        notes=(
            f"With fewer than {ENOUGH} draws nothing is called a gain or a loss.",
            count_failures(results.cells.values(), (OWN, LEARNED)),
        ),
    )


def _scale(results: Results, key: tuple[str, str, int]) -> str:
    return f"K = {results.cells[key][OWN].given_stated.shape[-1]}"


def _row(group: object, n: object, part: pl.DataFrame) -> Record:
    gains, sure = part["difference"].to_numpy(), part["resolved"].to_numpy().astype(bool)
    won, lost = (sure & (gains > 0)).sum(), (sure & (gains < 0)).sum()
    tasks: Sequence[str] = part["task"].unique(maintain_order=True).to_list()
    gain = f"{number(float(np.mean(gains)), '+.4f')} ({won} gain, {lost} lose, of {len(gains)})"
    return {"tasks": f"{', '.join(tasks)} ({group})", "n": n, "gain": gain}
