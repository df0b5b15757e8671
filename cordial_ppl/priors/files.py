"""Learned priors on disk: a table of fits, as plain data in one small file."""

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl import storage
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.priors.fits import ModeFit, TaskFit

KIND = "prior"

FURTHEST = 1e9
"""No mode of an unconstrained parameter and no spread comes near it or its inverse."""


def write(
    path: str | Path,
    fits: Sequence[TaskFit],
    channels: Mapping[str, Sequence[Any]],
    rule: Mapping[str, Any],
) -> None:
    """Write fits, the channels that they are of, and the rule.

    Raises:
        FileError: the file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    # What the numbers of a channel are of, by the number of options: a name and how many.
    layouts: dict[str, dict[str, dict[str, int]]] = {name: {} for name in channels}
    for place, fit in enumerate(fits):
        arrays[f"fit.{place}.counts"] = np.asarray(fit.counts)
        for name, own in fit.modes.items():
            arrays[f"fit.{place}.{name}"] = np.concatenate([*own.values()], axis=1)
            layouts[name][str(fit.size)] = {site: len(mode) for site, (mode, _) in own.items()}
    meta = {
        "fits": [
            {"task": fit.task, "reader": fit.reader, "spread": float(fit.spread)} for fit in fits
        ],
        "channels": {name: list(mark) for name, mark in channels.items()},
        "layouts": layouts,
        "rule": dict(rule),
    }
    storage.write(path, KIND, meta, arrays)


def read(
    path: str | Path,
) -> tuple[tuple[TaskFit, ...], dict[str, tuple[str, list[str]]], dict[str, Any]]:
    """Read what `write` wrote.

    Returns:
        The fits, digest and covariates of each channel by name, and the rule.

    Raises:
        FileError: the file cannot be read, is damaged or was changed, or is no learned prior.
    """
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        channels = {
            name: (str(digest), list(map(str, own)))
            for name, (digest, own) in meta["channels"].items()
        }
        if "layouts" not in meta:
            raise ValueError("it was written by an earlier version, without its parameters' names")
        layouts, fits = meta["layouts"], []
        for place, entry in enumerate(meta["fits"]):
            counts = arrays.pop(f"fit.{place}.counts")
            if counts.ndim != 1 or len(counts) < 2 or counts.min() < 0 or counts.dtype.kind != "i":
                raise ValueError(f"fit {place} has no counts of labels")
            modes = {
                name: _modes(arrays.pop(f"fit.{place}.{name}"), layouts[name][str(len(counts))])
                for name in channels
            }
            spread = float(entry["spread"])
            if not 1 / FURTHEST < spread < FURTHEST:
                raise ValueError(f"fit {place} has a spread of {spread}")
            fits.append(TaskFit(str(entry["task"]), str(entry["reader"]), counts, modes, spread))
        if arrays:
            raise ValueError(f"unexpected arrays {sorted(arrays)}")
        rule = dict(meta["rule"])
        rule["units"] = {name: float(power) for name, power in dict(rule.get("units", {})).items()}
        return tuple(fits), channels, rule


def _modes(stored: np.ndarray, layout: Mapping[str, int]) -> dict[str, ModeFit]:
    """The fit of each parameter of a channel."""
    # A number of half precision is a number, but 1e9 is none of it.
    pair = np.asarray(stored, float)
    if pair.ndim != 2 or len(pair) != 2 or not (pair[1] > 0).all():
        raise ValueError("a fit is no mode with its spread")
    if np.abs(pair).max(initial=0.0) > FURTHEST:
        raise ValueError("a mode or its spread is too large")
    stops = np.cumsum([*layout.values()])
    if stops[-1] != pair.shape[1]:
        raise ValueError(f"a fit has {pair.shape[1]} numbers of {stops[-1]}")
    parts = np.split(pair, stops[:-1], axis=1)
    return {name: ModeFit(*part) for name, part in zip(layout, parts, strict=True)}


@contextmanager
def blaming(path: str | Path):
    """Blame the file for contents that do not fit together."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        found = str(error).rstrip(".") if isinstance(error, InputError) else f"{error!r:.200}"
        raise FileError(f"{path} is damaged or was changed: {found}. Learn it again.") from error
