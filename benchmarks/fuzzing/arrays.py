"""Arguments of Python functions: fits, several readers, users, settings and paths."""

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
from fuzzing.mutations import WORDS, mostly, odd_array, odd_value

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
    extra = {name: np.ones(4) for name in fitted.covariates_}
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


SETTINGS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "Cordial": (
        cp.Cordial,
        ("options", "inference", "prior", "channels", "weight_counts", "seed"),
    ),
    "LogitStack": (cp.LogitStack, ("options", "weight_counts", "seed")),
    "Fusion": (
        cp.Fusion,
        ("options", "readers", "average", "inference", "prior", "weight_counts", "seed"),
    ),
    "UserShift": (cp.UserShift, ("options", "sigma")),
    "ChannelCalibrator": (cp.ChannelCalibrator, ("channel", "options", "inference", "prior")),
    "ProportionalOdds": (cp.ProportionalOdds, ("options", "penalty")),
    "paper": (cp.Cordial.paper, ("options", "weights", "seed")),
}
USUAL: Case = {
    "options": STARS,
    "inference": "mode",
    "prior": "own",
    "channels": (),
    "weight_counts": {},
    "seed": 1,
    "readers": ("a", "b"),
    "average": False,
    "sigma": 0.5,
    "channel": "location",
    "penalty": "fixed",
    "weights": "flat",
}


def _make_settings(rng: random.Random, folder: Path) -> Case:
    del folder
    name = rng.choice(list(SETTINGS))
    settings = {key: USUAL[key] for key in SETTINGS[name][1]}
    for _ in range(rng.choice((1, 1, 2))):
        value = odd_value(rng)
        key = rng.choice(list(settings))
        wrapped = {word: value for word in rng.sample(("mixture", "offset", "odds", "a"), 2)}
        settings[key] = rng.choice((value, value, (value,), [value, value], wrapped))
    return {"name": name, "settings": settings}


def _enter_settings(case: Case, folder: Path) -> None:
    SETTINGS[case["name"]][0](**case["settings"])


def _make_paths(rng: random.Random, folder: Path) -> Any:
    (folder / "folder.csv").mkdir()
    words = [word for word in WORDS if len(word) < 1000]
    name = rng.choice((*words, "folder.csv", "no/file.csv", "~", "file.csv/x", "y" * 300))
    ending = rng.choice(("", ".csv", ".jsonl", ".parquet", ".cordial", ".toml", ".npz", ".json"))
    return folder / f"{name}{ending}" if rng.random() < 0.8 else f"{folder}/{name}{ending}"


def _enter_paths(path: Any, folder: Path) -> None:
    from cordial_ppl.evaluation.sweep import Results, read_config
    from cordial_ppl.tables import check_writable, read_readings

    attempt(check_writable, path)
    attempt(check_writable, path, endings=None)
    for read in (cp.load, cp.LearnedPrior.load, read_config, Results.load, read_readings):
        attempt(read, path)
    attempt(cp.Cordial, prior=path)
    attempt(cp.Cordial, channels=[path])
    attempt(cp.read, path)


DOORS = [
    Door("fit and predict", _make_fit, _enter_fit),
    Door("readings of several readers", _make_readers, _enter_readers),
    Door("users and when they labelled", _make_users, _enter_users),
    Door("settings", _make_settings, _enter_settings),
    Door("paths", _make_paths, _enter_paths),
]
"""What comes in as arguments."""
