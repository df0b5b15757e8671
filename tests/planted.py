"""Sweeps whose outcome was planted: differences, wins and curves known beforehand."""

import numpy as np

from cordial_ppl.sweep import Results
from cordial_ppl.sweep.cell import Cell

DRAWS, TEXTS, SIZE = 4, 12, 3
SCORES = ("log_loss", "rps", "accuracy", "qwk", "mae", "class_weighted_kl", "reversed")


def cell(key, losses, noise=(), failed=(), **planted):
    """A cell in which methods lose what they are told to, one value or one a draw."""
    methods, (task, reader, n) = tuple(losses), key
    texts = np.linspace(-0.2, 0.2, TEXTS)
    means = np.stack([np.broadcast_to(np.array(losses[m], float), DRAWS) for m in methods])
    per_text = means[:, :, None] + texts
    for method in noise:
        per_text[methods.index(method)] += 5 * np.resize([1.0, -1.0], TEXTS)
    values = {name: means.copy() for name in SCORES} | {"reversed": np.zeros_like(means)}
    for name, own in planted.items():
        for method, row in own.items():
            values[name][methods.index(method)] = row
    given = np.zeros((len(methods), DRAWS, SIZE, SIZE))
    given[:] = np.eye(SIZE)
    given[:, :, 1] = np.nan
    empirical = np.array([[0.5, 0.5, 0.0], [np.nan] * 3, [0.0, 0.25, 0.75]])
    for method, draw in failed:
        row = methods.index(method), draw
        per_text[row], given[row] = np.nan, np.nan
        for own in values.values():
            own[row] = np.nan
    return Cell(
        task=task,
        reader=reader,
        n=n,
        methods=methods,
        losses=per_text,
        scores=values,
        given_stated=given,
        saturated=np.nan_to_num(given),
        empirical=empirical,
        stated=np.array([4, 0, TEXTS - 4]),
        failures=tuple((*fit, "no fit") for fit in failed),
    )


def sweep(cells, bases=()):
    """Results of cells given by (task, reader, n) as losses, or as keywords of `cell`."""
    made = {
        key: cell(key, **(own if "losses" in own else {"losses": own}))
        for key, own in cells.items()
    }
    bases = {m: m for m in next(iter(made.values())).methods} | dict(bases)
    config = {
        "methods": [{"name": name, "base": base} for name, base in bases.items()],
        "cells": [{"task": t, "reader": r, "n": n, "options": list("abc")} for t, r, n in made],
    }
    return Results(config, made)


def two_tasks():
    """Two tasks: ours leads the stack by 0.1, 0.05, 0 and trails Dirichlet from 200 labels on."""
    plan = {5: (0.1, 0.8), 20: (0.05, 0.4), 100: (0.0, 0.1), 200: (0.01, -0.05)}
    return sweep(
        {
            (task, "main", n): {
                "raw": 2.0,
                "logit-stack": 0.5 + stack,
                "dirichlet": 0.5 + other,
                "cordial": 0.5,
            }
            for task in ("music", "film")
            for n, (stack, other) in plan.items()
        }
    )


def drawn(product):
    assert product.draw is not None
    return product.draw()


def rows(product, **wanted):
    found = [r for r in product.table.records() if wanted.items() <= r.items()]
    assert found
    return found


def row(product, **wanted):
    (found,) = rows(product, **wanted)
    return found
