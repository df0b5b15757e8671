"""Sweeps whose outcome was planted: differences, wins and curves known beforehand."""

import numpy as np
from comparison import Outcome, Results, measure_intervals

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.evaluation.tasks import Task

DRAWS, TEXTS, SIZE = 4, 12, 3
SCORES = ("log_loss", "rps", "accuracy", "qwk", "mae", "class_weighted_kl", "reversed")


def cell(losses, noise=(), failed=(), **planted):
    """A cell in which methods lose what they are told to, one value or one a draw."""
    texts, made = {}, {}
    for m in losses:
        texts[m], made[m] = outcome(m, losses[m], m in noise, failed, planted)
    intervals = measure_intervals(texts, "paper") if "paper" in losses else {}
    return {m: each._replace(interval=intervals.get(m)) for m, each in made.items()}


def outcome(method, loss, noise, failed, planted):
    means = np.broadcast_to(np.array(loss, float), DRAWS).copy()
    losses = means[:, None] + np.linspace(-0.2, 0.2, TEXTS)
    if noise:
        losses += 5 * np.resize([1.0, -1.0], TEXTS)
    scores = {name: means.copy() for name in SCORES} | {"reversed": np.zeros(DRAWS)}
    for name, values in planted.items():
        if method in values:
            scores[name][:] = values[method]
    given = np.tile(np.eye(SIZE), (DRAWS, 1, 1))
    given[:, 1] = np.nan
    lost = [draw for name, draw in failed if name == method]
    for values in (losses, given, *scores.values()):
        values[lost] = np.nan
    return losses, Outcome(scores, given)


def sweep(cells):
    """Results of cells given by (task, reader, n) as losses, or as keywords of `cell`."""
    made = {
        key: cell(**(plan if "losses" in plan else {"losses": plan})) for key, plan in cells.items()
    }
    return Results(made, {(name, reader): read(name, reader) for name, reader, _ in made})


def read(name, reader):
    """A reader who states the first class of four texts, and the last of eight."""
    stated = np.repeat([0, 2], [4, 8])
    report = Labelled(np.eye(SIZE)[stated], np.array([0, 0, 1, 1, 1, 1, *[2] * 6]))
    pool = Labelled(np.zeros((30, SIZE)), np.full(30, 2))
    return Task(name, reader, Scale(tuple("abc")), pool, report)


def two_tasks():
    """Two tasks: ours leads the stack by 0.1, 0.05, 0 and trails Dirichlet from 200 labels on."""
    plan = {5: (0.1, 0.8), 20: (0.05, 0.4), 100: (0.0, 0.1), 200: (0.01, -0.05)}
    return sweep(
        {
            (task, "main", n): {
                "raw": 2.0,
                "logit-stack": 0.5 + stack,
                "dirichlet": 0.5 + other,
                "paper": 0.5,
            }
            for task in ("music", "film")
            for n, (stack, other) in plan.items()
        }
    )


def drawn(product):
    assert product.draw is not None
    return product.draw()


def rows(product, **wanted):
    found = [r for r in product.table.to_dicts() if wanted.items() <= r.items()]
    assert found
    return found


def row(product, **wanted):
    (found,) = rows(product, **wanted)
    return found
