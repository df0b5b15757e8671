"""Files that the package has saved: damaged as bytes, or changed within and sealed again."""

import json
import random
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import cordial_ppl as cp
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.decisions import answers
from cordial_ppl.errors import CordialError
from cordial_ppl.estimators.fusion import Fusion
from cordial_ppl.evaluation.sweep.results import CELLS, Outcome, read_outcome, write_outcome
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.target import build_target
from cordial_ppl.runtime import storage
from fuzzing.door import Door, assert_probabilities, attempt
from fuzzing.mutations import damage_bytes, damage_tree

TEXTS = reviews(60, seed=1)
LOGITS, LABELS, TEST = TEXTS.logits[:20], TEXTS.labels[:20], TEXTS.logits[20:28]
STARS = ("1", "2", "3", "4", "5")
USERS = ["ann", "bob"] * 10
PROBS = np.full((20, 5), 0.2)
NUMBERS = (0.0, -1.0, 1e300, 1e-300, 3.0, 0.5)


@cache
def valid(kind: str) -> bytes:
    """What a saved file of a kind holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved.cordial")
        _SAVE[kind](path)
        return path.read_bytes()


def _save_judge(path: Path) -> None:
    cp.Cordial(STARS, inference="mode").fit(LOGITS, [STARS[k] for k in LABELS]).save(path)


def _save_stack(path: Path) -> None:
    cp.LogitStack().fit(LOGITS, LABELS).save(path)


def _save_fusion(path: Path) -> None:
    two = np.stack([LOGITS, LOGITS[:, ::-1]], axis=1)
    Fusion(inference="mode", average=False).fit(two, LABELS).save(path)


def _save_users(path: Path) -> None:
    cp.UserShift().fit(PROBS, LABELS, USERS).save(path)


def _save_prior(path: Path) -> None:
    prior = cp.shipped_prior()
    prior.leave_out(prior.tasks[4:]).save(path)


def _save_cell(path: Path) -> None:
    write_outcome(path, outcome())


def outcome() -> Outcome:
    """What a method of a sweep gave."""
    rng = np.random.default_rng(0)
    return Outcome(
        losses=rng.random((3, 6)),
        scores={"log_loss": rng.random(3), "rps": np.full(3, np.nan)},
        given_stated=rng.random((3, 5, 5)),
        empirical=np.full((5, 5), 0.2),
        stated=np.arange(5),
        reasons=("", "it failed", ""),
    )


_SAVE = {
    "calibrator": _save_judge,
    "stack": _save_stack,
    "fusion": _save_fusion,
    "users": _save_users,
    "prior": _save_prior,
    "sweep cell": _save_cell,
}


def _make(kind: str, rng: random.Random, folder: Path) -> Path:
    path = folder / f"{kind.replace(' ', '-')}.cordial"
    path.write_bytes(valid(kind))
    if rng.random() < 0.25:
        path.write_bytes(damage_bytes(rng, path.read_bytes()))
    else:
        reseal(rng, path, "calibrator" if kind == "stack" else kind)
    return path


def reseal(rng: random.Random, path: Path, kind: str) -> None:
    """Change settings or arrays of a saved file, and write it as if that were right."""
    meta, arrays = storage.read(path, kind)
    for _ in range(10):
        settings, stored = meta, dict(arrays)
        if rng.random() < 0.5 or not arrays:
            settings = damage_tree(rng, meta)
        else:
            _damage_arrays(rng, stored)
        try:
            return storage.write(path, kind, settings, stored)
        except (CordialError, TypeError, ValueError):
            continue  # What cannot be written so.


def _damage_arrays(rng: random.Random, arrays: dict[str, np.ndarray]) -> None:
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(8)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[rng.choice((f"{name}x", "x", rng.choice(list(arrays))))] = array
    elif kind == 2:
        arrays[name] = array[:0] if array.ndim else array.reshape(1)
    elif kind == 3:
        arrays[name] = np.concatenate([array, array], axis=-1) if array.ndim else array[None]
    elif kind == 4:
        arrays[name] = array.astype(rng.choice(("f4", "i8", "?", "u1", "f2")))
    elif kind == 5:
        arrays[name] = array[..., None] if rng.random() < 0.5 else array.T
    else:
        numbers = np.array(array, np.float64)
        if numbers.size:
            index = ... if kind == 6 else tuple(map(rng.randrange, numbers.shape))
            numbers[index] = rng.choice(NUMBERS)
        arrays[name] = numbers if array.dtype.kind == "f" else np.clip(numbers, -9, 9).astype("i8")


def _enter(kind: str, path: Path, folder: Path) -> None:
    if kind == "prior":
        return _enter_prior(cp.LearnedPrior.load(path), folder)
    if kind == "sweep cell":
        read_outcome(path)
        return None
    fitted = cp.load(path)
    if isinstance(fitted, Fusion):
        readings: Any = np.stack([TEST] * len(fitted.readers_), axis=1)
    elif hasattr(fitted, "users_"):
        probs = fitted.predict_proba(
            np.full((4, fitted.scale_.size), 1 / fitted.scale_.size),
            ["ann", "bob", "new", "ann"],
        )
        assert_probabilities(probs, 4)
        assert len(fitted.values_) == len(fitted.intervals()) == len(fitted.users_)
        return save_again(fitted, folder)
    else:
        readings = TEST
        answers.describe(fitted.fit_).to_dict()
        assert fitted.summary()
    extra = {name: np.ones(len(TEST)) for name in fitted.fit_.covariates}
    probs = fitted.predict_proba(readings, extra)
    assert_probabilities(probs, len(TEST))
    low, high = fitted.predict_interval(readings, covariates=extra)
    assert np.isfinite([low, high]).all() and (low <= high).all()
    fitted.predict(readings, extra)
    return save_again(fitted, folder)


def _enter_prior(prior: cp.LearnedPrior, folder: Path) -> None:
    for name in prior.channels:
        if name in ("mixture", "location"):
            density = attempt(prior.of, target(name))
            assert density is None or np.isfinite([*density.loc, *density.scale]).all()
    save_again(prior, folder)


@cache
def target(name: str) -> Any:
    """The density of a channel."""
    import jax

    with jax.enable_x64(True):
        return build_target(load_channel(name), 5)


def save_again(fitted: Any, folder: Path) -> None:
    """Save what was loaded, and load it again."""
    path = folder / "again.cordial"
    try:
        if isinstance(fitted, cp.LearnedPrior):
            fitted.save(path)
            cp.LearnedPrior.load(path)
        else:
            fitted.save(path)
            cp.load(path)
    finally:
        path.unlink(missing_ok=True)


def _make_folder(rng: random.Random, folder: Path) -> Path:
    names = [f"{number:032x}" for number in range(4)]
    config = {
        "methods": [{"name": "raw", "base": "raw"}, {"name": "temperature", "base": "temperature"}],
        "cells": [
            {"task": "stars", "reader": "a", "n": 5, "options": list("12345"), "files": names[:2]},
            {"task": "stars", "reader": "b", "n": 5, "options": list("12345"), "files": names[2:]},
        ],
    }
    (folder / "sweep" / CELLS).mkdir(parents=True)
    for name in names:
        path = folder / "sweep" / CELLS / f"{name}.cell"
        path.write_bytes(valid("sweep cell"))
        if rng.random() < 0.3:
            reseal(rng, path, "sweep cell")
    text = json.dumps(config)
    if rng.random() < 0.5:
        text = json.dumps(damage_tree(rng, config))
    data = text.encode("utf-8", "surrogatepass")
    (folder / "sweep" / "sweep.json").write_bytes(
        damage_bytes(rng, data) if rng.random() < 0.2 else data
    )
    return folder / "sweep"


def _enter_folder(path: Path, folder: Path) -> None:
    from cordial_ppl.evaluation.sweep import Results

    results = Results.load(path)
    assert results.pairs and results.methods
    for (task, reader), n in [(pair, n) for pair in results.pairs for n in results.budgets(*pair)]:
        assert results.cells[task, reader, n].keys() == set(results.methods)
    assert len(set(map(len, results.columns().values()))) == 1


DOORS = [
    *(
        Door(f"saved: {name}", partial(_make, kind), partial(_enter, kind))
        for kind, name in (
            ("calibrator", "a calibrator"),
            ("stack", "a stack without channels"),
            ("fusion", "a fusion"),
            ("users", "users"),
            ("prior", "a learned prior"),
            ("sweep cell", "a cell of a sweep"),
        )
    ),
    Door("saved: a sweep", _make_folder, _enter_folder),
]
"""What was fitted, as files hold it."""
