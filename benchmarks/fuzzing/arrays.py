"""Arguments of Python functions: readings, labels, covariates, users, probabilities, settings."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import cordial_ppl as cp
from cordial_ppl import scores
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
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


def _make_readings(rng: random.Random, folder: Path) -> Case:
    del folder
    values = rng.choice((LOGITS, np.log(PROBS), PROBS, np.round(20 * PROBS), LOGITS[:, :2]))
    return {"values": odd_array(rng, values), "size": mostly(rng, None, 5, 2)}


def _enter_readings(case: Case, folder: Path) -> None:
    values = case["values"]
    for found in (attempt(cp.readings_from_probabilities, values),):
        assert found is None or np.isfinite(found).all()
    found = attempt(cp.readings_from_counts, values)
    assert found is None or np.isfinite(found).all()
    found = as_logits(values, size=case["size"])
    assert found.ndim == 2 and found.dtype == np.float64 and np.isfinite(found).all()
    assert np.abs(found.mean(axis=1)).max() <= 1e-6 * max(1.0, np.abs(found).max())


def _make_labels(rng: random.Random, folder: Path) -> Case:
    del folder
    options = rng.choice((None, STARS, ("bad", "fair", "good", "great", "best"), [1, 2, 3, 4, 5]))
    labels = rng.choice((NAMES, list(map(int, NAMES)), np.array(NAMES, float) - 1))
    case = {"labels": labels, "options": options}
    return damaged(rng, case, 0.9)


def _enter_labels(case: Case, folder: Path) -> None:
    scale = Scale.of(case["options"], 5)
    assert len(scale.values) == scale.size == 5
    codes = scale.encode(case["labels"])
    assert codes.dtype == np.int64 and 0 <= codes.min() <= codes.max() < 5
    assert len(scale.decode(codes)) == len(codes)


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


def _make_covariates(rng: random.Random, folder: Path) -> Case:
    del folder
    usual = {"length": np.arange(9.0), "": list(range(9))}
    given = {name: odd_array(rng, values) for name, values in usual.items()}
    return {"covariates": mostly(rng, given, odd_value(rng), list(usual)), "rows": ROWS}


def _enter_covariates(case: Case, folder: Path) -> None:
    for column in as_covariates(**case).values():
        assert column.shape == (ROWS,) and np.isfinite(column).all()
    as_covariates(**case, needed=("length",))


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
    """What was learned of three users."""
    return cp.UserShift(STARS, sigma=0.5).fit(PROBS, NAMES, USERS)


def _make_users(rng: random.Random, folder: Path) -> Case:
    del folder
    return damaged(rng, {"probs": PROBS, "labels": NAMES, "users": USERS, "order": ORDER}, 0.85)


def _enter_users(case: Case, folder: Path) -> None:
    labelled = {name: case[name] for name in ("probs", "labels", "users")}
    probs = attempt(users().predict_proba, case["probs"], case["users"])
    if probs is not None:
        assert_probabilities(np.asarray(probs))
    found = attempt(users().predict_in_order, **case)
    if found is not None:
        assert_probabilities(np.asarray(found[0]))
    fitted = cp.UserShift(STARS, sigma=0.5).fit(**case)
    assert np.isfinite(list(fitted.values_.values())).all()
    fitted.partial_fit(**labelled)


def _make_scores(rng: random.Random, folder: Path) -> Case:
    del folder
    labels = TEXTS.labels[:ROWS]
    case = damaged(rng, {"probs": PROBS, "labels": labels, "stated": labels}, 0.85)
    return {**case, "floor": mostly(rng, 1e-4, 0, 1, -1, np.nan, "x", None)}


def _enter_scores(case: Case, folder: Path) -> None:
    probs, labels = case["probs"], case["labels"]
    attempt(scores.class_weighted_kl, probs, labels, case["stated"])
    attempt(scores.reversals, probs)
    for score in (
        scores.rps,
        scores.accuracy,
        scores.quadratic_weighted_kappa,
        scores.mean_absolute_error,
    ):
        found = attempt(score, probs, labels)
        assert found is None or np.isfinite(found)
    assert np.isfinite(scores.log_loss(probs, labels, case["floor"]))


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
    settings = {own: USUAL[own] for own in SETTINGS[name][1]}
    for _ in range(rng.choice((1, 1, 2))):
        value = odd_value(rng)
        own = rng.choice(list(settings))
        wrapped = {own: value for own in rng.sample(("mixture", "offset", "odds", "a"), 2)}
        settings[own] = rng.choice((value, value, (value,), [value, value], wrapped))
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
    from cordial_ppl.logs import find_format
    from cordial_ppl.tables import check_writable, read_readings

    attempt(check_writable, path)
    attempt(check_writable, path, endings=None)
    for read in (cp.load, cp.LearnedPrior.load, read_config, Results.load, read_readings):
        attempt(read, path)
    attempt(cp.Cordial, prior=path)
    attempt(cp.Cordial, channels=[path])
    find_format(Path(path))


DOORS = [
    Door("arrays of readings", _make_readings, _enter_readings),
    Door("labels and options", _make_labels, _enter_labels),
    Door("fit and predict", _make_fit, _enter_fit),
    Door("covariates", _make_covariates, _enter_covariates),
    Door("readings of several readers", _make_readers, _enter_readers),
    Door("users and when they labelled", _make_users, _enter_users),
    Door("scores", _make_scores, _enter_scores),
    Door("settings", _make_settings, _enter_settings),
    Door("paths", _make_paths, _enter_paths),
]
"""What comes in as arguments."""
