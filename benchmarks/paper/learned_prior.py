"""What the paper's prior, learned from the other tasks with every reader, gains."""

from collections.abc import Iterator, Sequence
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
from styles import OURS

import cordial_ppl as cp
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.inference.priors import LearnedPrior

LEARNED = "learned"


def prior_gains(
    names: Sequence[str], budgets: Sequence[int], draws: int, ledger: Ledger
) -> Product:
    """Return the product `learned-prior`: what that prior gains over the paper's own."""
    prior, results = learn(ledger), Results({}, {})
    for name in names:
        learned = cp.Cordial.paper(prior=prior.leave_out([name]))
        methods = {OURS: cp.Cordial.paper(), LEARNED: learned}
        part = ledger.sweep(load_tasks([name]), methods, budgets, draws)
        results = Results({**results.cells, **part.cells}, {**results.tasks, **part.tasks})
    table = tabulate(difference_record(results, key, OURS, LEARNED) for key in results.cells)
    return Product(
        name="learned-prior",
        title="A prior learned from the other tasks",
        caption="Log loss of the literal CORDIAL with the paper's prior minus that with a prior "
        "learned from full-pool fits of the other tasks, with every reader (nats; above zero: the "
        "learned prior gains): mean over pairs of task and reader, ± its standard error over draws "
        "of labels, which readers share, and how many gain or lose by a paired 95 % bootstrap "
        "interval that excludes zero.",
        table=table,
        shown=tabulate(_show(results, table, budgets)),
        notes=(
            f"With fewer than {ENOUGH} draws nothing is called a gain or a loss.",
            count_failures(results.cells.values(), (OURS, LEARNED)),
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


def _show(results: Results, table: pl.DataFrame, budgets: Sequence[int]) -> Iterator[Record]:
    """Show the tasks of each number of options together, a column a number of labels."""
    sizes = {task.name: task.scale.size for task in results.tasks.values()}
    for size in dict.fromkeys(sizes.values()):
        names = [name for name in sizes if sizes[name] == size]
        row = {"tasks": f"{', '.join(names)} (K = {size})"}
        yield row | {str(n): _gain(results, table, names, n) for n in budgets}


def _gain(results: Results, table: pl.DataFrame, names: Sequence[str], n: int) -> str:
    part = table.filter(pl.col("task").is_in(names), n=n)
    gains, sure = part["difference"].to_numpy(), part["resolved"].to_numpy().astype(bool)
    won, lost = (sure & (gains > 0)).sum(), (sure & (gains < 0)).sum()
    _, error = mean_of_tasks([_mean_of_readers(results, name, n) for name in names])
    mean = number(float(np.mean(gains)), "+.4f", error)
    return f"{mean} ({won} gain, {lost} lose, of {len(gains)})"


def _mean_of_readers(results: Results, task: str, n: int) -> Mean:
    """Return a task's gain over the draws of labels, each averaged over its readers."""
    cells = [results.cells[pair[0], pair[1], n] for pair in results.pairs if pair[0] == task]
    losses = [[cell[m].scores["log_loss"] for m in (OURS, LEARNED)] for cell in cells]
    gains = np.mean([own - learned for own, learned in losses], axis=0)
    return mean_of(gains[np.isfinite(gains)])
