"""Plan of a sweep: fingerprints of outcomes, and refusals before any fit."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from cordial_ppl.errors import FileError, InputError, naming
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.sweep.config import SweepConfig
from cordial_ppl.evaluation.sweep.methods import External, Method
from cordial_ppl.evaluation.sweep.results import Outcome, outcome_path, read_outcome
from cordial_ppl.evaluation.sweep.tasks import Reading
from cordial_ppl.inference.priors.learned import FILE


class Job(NamedTuple):
    """One outcome to make.

    Attributes:
        reading: the task and reader.
        n: number of labels.
        method: what is fitted, or looked up.
        path: where the outcome is kept.
        fingerprint: what it is made from.
        outcome: what an earlier run has made; None if it is still to be made.
    """

    reading: Reading
    n: int
    method: Method | External
    path: Path
    fingerprint: str
    outcome: Outcome | None


def plan(config: SweepConfig, readings: Sequence[Reading], folder: Path) -> list[Job]:
    """List the outcomes of a sweep, and find those that are there already.

    Args:
        config: the sweep.
        readings: its tasks and readers.
        folder: where the results go.

    Raises:
        FileError: an outcome is damaged.
        InputError: a fit's outcome is of another configuration; probabilities that were made
            elsewhere are scored again instead.
    """
    digests = [(method, _digest_method(method)) for method in config.methods]
    jobs = []
    for reading in readings:
        made_from = [version("cordial-ppl"), _digest_data(reading), config.draws, config.seed]
        for n in config.budgets:
            for method, digest in digests:
                path = outcome_path(folder, (reading.task, reading.reader, n), method.name)
                fingerprint = _digest(json.dumps([*made_from, n, digest]).encode())
                outcome = _find(path, fingerprint, isinstance(method, External))
                jobs.append(Job(reading, n, method, path, fingerprint, outcome))
    return jobs


def check_methods(config: SweepConfig, readings: Sequence[Reading]) -> None:
    """Refuse a method whose channels need what a task does not have.

    Raises:
        InputError: a channel uses a covariate that the task's texts lack.
        ChannelError: a channel breaks the contract.
    """
    for method in config.methods:
        estimator = method.build(0) if isinstance(method, Method) else None
        if isinstance(estimator, Stack):
            for reading in readings:
                with naming(f"method.{method.name}, task {reading.task!r}"):
                    estimator.check(*reading.pool)


def describe(config: SweepConfig, readings: Sequence[Reading]) -> dict[str, Any]:
    """Return the configuration in plain data, with cells and versions."""
    cells = [
        {
            "task": reading.task,
            "reader": reading.reader,
            "n": n,
            "options": list(reading.scale.options),
            "pool": len(reading.pool_labels),
            "report": len(reading.report_labels),
        }
        for reading in readings
        for n in config.budgets
    ]
    return msgspec.to_builtins(config, enc_hook=str) | {
        "cells": cells,
        "versions": {name: version(name) for name in ("cordial-ppl", "jax", "numpyro", "numpy")},
    }


def _find(path: Path, fingerprint: str, external: bool) -> Outcome | None:
    try:
        outcome = read_outcome(path) if path.exists() else None
    except FileError as error:
        raise FileError(
            f"the results in {path} cannot be read: remove the file to have them made again."
        ) from error
    if outcome and outcome.fingerprint == fingerprint:
        return outcome
    if outcome and not external:
        raise InputError(
            f"{path} was made with another method of the name, other draws, "
            "seed, data or version: choose another folder, or remove the old results."
        )
    return None


def _digest_method(method: Method | External) -> dict[str, Any]:
    """Return all that results depend on: contents of files, wherever these lie."""
    if isinstance(method, External):
        return {"name": method.name, "digest": _digest(method.probabilities.read_bytes())}

    def contents(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [contents(part) for part in value]
        if isinstance(value, str) and Path(value).is_file():
            return [Path(value).name, _digest(Path(value).read_bytes())]
        return value

    settings = {key: contents(value) for key, value in method.settings.items()}
    if method.base == "cordial" and settings.get("prior") is None:
        settings["prior"] = _digest((files("cordial_ppl.inference.priors") / FILE).read_bytes())
    return {"name": method.name, "base": method.base, "settings": settings}


def _digest_data(reading: Reading) -> str:
    arrays = [reading.pool_labels, reading.report_labels]
    for texts in (reading.pool, reading.report):
        arrays += [texts.logits, *texts.covariates.values()]
    names = [reading.scale.options, tuple(reading.pool.covariates)]
    text = json.dumps([*names, reading.pool_ids, reading.report_ids])
    return _digest(text.encode(), *map(np.ascontiguousarray, arrays))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(b"".join(map(bytes, parts))).hexdigest()
