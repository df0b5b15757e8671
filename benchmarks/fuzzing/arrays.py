"""Arguments of Python functions: fits, several readers and users."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import cordial_ppl as cp
from cordial_ppl.estimators.fusion.readings import as_reader_logits
from cordial_ppl.evaluation.synthetic import reviews
from fuzzing.door import Door, assert_probabilities, attempt
from fuzzing.mutations import mostly, odd_array

ROWS, STARS = 9, ("1", "2", "3", "4", "5")
TEXTS = reviews(40, seed=2)
LOGITS, TEST = TEXTS.logits[:ROWS], TEXTS.logits[20:24]
NAMES = [STARS[k] for k in TEXTS.labels[:ROWS]]
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
USERS = ["ann", "bob", "cy"] * 3
ORDER = [f"2025-01-0{k}" for k in range(1, 10)]

Case = dict[str, Any]


def damaged(rng: random.Random, usual: Case, often: float = 0.5) -> Case:
    """Arguments of which one is damaged, and perhaps others."""
    first = rng.choice(list(usual))
    return {
        name: odd_array(rng, value) if name == first or rng.random() > often else value
        for name, value in usual.items()
    }


FITS: tuple[Callable[..., Any], ...] = (
    cp.RawReading,
    cp.LabelHistogram,
    cp.BatchCalibration,
    cp.TemperatureScaling,
)


def _make_fit(rng: random.Random, folder: Path) -> Case:
    del folder
    case = {"logits": LOGITS, "labels": NAMES, "test": TEST, "covariates": None, "options": STARS}
    if rng.random() < 0.3:
        case["covariates"] = {"length": np.arange(9.0)}
    return {"kind": rng.choice(FITS), **damaged(rng, case, 0.85)}


def _enter_fit(case: Case, folder: Path) -> None:
    covariates = case["covariates"]
    fitted = case["kind"](case["options"]).fit(case["logits"], case["labels"], covariates)
    extra = {name: np.ones(4) for name in fitted.fit_.covariates}
    probs = np.asarray(fitted.predict_proba(case["test"], extra))
    assert_probabilities(probs)
    assert len(fitted.predict(case["test"], extra)) == len(probs)
    assert np.isfinite(np.asarray(fitted.predict_mean(case["test"], extra))).all()


def _make_readers(rng: random.Random, folder: Path) -> Case:
    del folder
    three = np.stack([LOGITS, LOGITS[::-1], 2 * LOGITS], axis=1)
    if rng.random() < 0.5:
        three[rng.randrange(ROWS), rng.randrange(3)] = np.nan
    values: Any = three
    if rng.random() < 0.5:
        values = {name: three[:, k] for k, name in enumerate("abc")}
        name = rng.choice("abc")
        values[name] = odd_array(rng, values[name])
    else:
        values = odd_array(rng, values)
    return {
        "values": values,
        "readers": mostly(rng, None, ("a", "b", "c"), (), "abc", ("a", "a", "b"), ("a", "b")),
        "size": mostly(rng, None, 5, 4),
    }


def _enter_readers(case: Case, folder: Path) -> None:
    logits, names = as_reader_logits(**case)
    assert logits.ndim == 3 and logits.shape[1] == len(names)
    assert not np.isinf(logits).any() and np.isfinite(logits).all(axis=2).any(axis=1).all()


@cache
def users() -> cp.UserShift:
    """Learn shifts of three users."""
    return cp.UserShift(STARS, sigma=0.5).fit(PROBS, NAMES, USERS)


def _make_users(rng: random.Random, folder: Path) -> Case:
    del folder
    return damaged(rng, {"probs": PROBS, "labels": NAMES, "users": USERS, "order": ORDER}, 0.85)


def _enter_users(case: Case, folder: Path) -> None:
    probs = attempt(users().predict_proba, case["probs"], case["users"])
    if probs is not None:
        assert_probabilities(np.asarray(probs))
    ordered = attempt(users().predict_in_order, **case)
    if ordered is not None:
        assert_probabilities(np.asarray(ordered[0]))
    fitted = cp.UserShift(STARS, sigma=0.5).fit(**case)
    assert np.isfinite(list(fitted.values_.values())).all()


def _make_masked(rng: random.Random, folder: Path) -> Case:
    del folder
    case: Case = {"logits": LOGITS, "labels": [STARS.index(name) for name in NAMES]}
    name, below = rng.choice(list(case)), rng.choice((0, 4, -999, 7))
    cells = np.array(case[name])
    cell = tuple(rng.randrange(size) for size in cells.shape)
    mask = np.zeros(cells.shape, bool)
    mask[cell], cells[cell] = True, below
    return {"name": name, "cells": np.ma.array(cells, mask=mask, fill_value=below)} | case


def _enter_masked(case: Case, folder: Path) -> None:
    name, cells = case.pop("name"), case.pop("cells")
    nulls = np.where(np.ma.getmaskarray(cells), np.array(None), cells.data)
    for masked in (cells, list(cells), nulls):
        fitted = attempt(cp.TemperatureScaling().fit, **{**case, name: masked})
        assert fitted is None, f"what lies below a mask of {name} counts"


DOORS = [
    Door("masked cells", _make_masked, _enter_masked),
    Door("fit and predict", _make_fit, _enter_fit),
    Door("readings of several readers", _make_readers, _enter_readers),
    Door("users and when they labelled", _make_users, _enter_users),
]
"""What comes in as arguments."""
