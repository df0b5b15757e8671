"""`cordial predict`: the second half of `cordial calibrate`, with a saved calibrator."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import (
    Also,
    CalibratorPath,
    Channels,
    Chosen,
    Engine,
    EngineName,
    ManyReadings,
    Shown,
    TableOut,
)
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.decisions.drift import Drift
    from cordial_ppl.estimators.fusion import Fusion
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.tables import ReadingTable


def predict(
    calibrator: CalibratorPath,
    readings: ManyReadings,
    output: TableOut,
    chosen: Chosen,
    shown: Shown,
    also: Also = None,
    channel: Channels = None,
    engine: EngineName = Engine.LOCAL,
) -> None:
    """Calibrate every text of READINGS with a saved calibrator.

    The columns of READINGS must be the calibrator's options; --options gives their names, in the
    order of its scale, where they differ. A calibrator that was fitted with channel files needs
    them again, as --channel. A calibrator of several readers, from `cordial fuse`, takes those of
    them that READINGS holds. Parquet need not fit in memory; with --engine ray it is needed, all
    machines must see it, and OUT is a folder.
    """
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.runtime.outputs import check_writable
    from cordial_ppl.tables import open_readings

    settings, paths = chosen.settings, [readings, *(also or [])]
    if engine is Engine.LOCAL:
        parts = readings.iterdir() if readings.is_dir() else ()
        check_output(output, [calibrator, *paths, *parts])
    elif not (readings.is_dir() or readings.suffix.lower() == ".parquet"):
        raise InputError(f"--engine {engine} reads Parquet, a file or a folder; got {readings}.")
    elif output.exists():
        raise InputError(f"cannot write {output}: it is there already. Remove it or name another.")
    else:
        check_writable(output)
    with doing("loading"):
        from cordial_ppl.decisions.drift import compare
        from cordial_ppl.estimators.bulk.cluster import predict_on_ray
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion
        from cordial_ppl.stack.sketch import merge, sketch

        fitted, settings["options"] = load_calibrator(calibrator, settings["options"], channel)
    several = isinstance(fitted, Fusion)
    if several and (readings.is_dir() or engine is not Engine.LOCAL or chosen.reader is not None):
        raise InputError(
            f"{calibrator} was fitted on several readers and takes all of them that the tables "
            f"hold: give files, and leave out --reader and --engine {Engine.RAY}."
        )
    if also and not several:
        raise InputError(
            f"{calibrator} was fitted on one reader, so there is nothing that --also could add to."
        )
    drift = None
    with doing("reading"):
        if isinstance(fitted, Fusion):
            table = _read_several(fitted, paths, settings)
        else:
            path = readings if engine is Engine.LOCAL else readings.absolute()
            table = open_readings(path, **settings)
            counted: list[np.ndarray] = []
            levels = fitted.fit_.levels
            table.check(
                fitted.fit_.covariates, levels, lambda logits: counted.append(sketch(logits))
            )
            warn_of_others(calibrator, fitted, readings, table)
            drift = compare(fitted.fit_.sketch, merge(counted), fitted.fit_.scale)
            if drift is not None and drift.alarm:
                warn_of_drift(calibrator, fitted, readings, drift)
    with leaving_at_once():
        if engine is Engine.RAY:
            predict_on_ray(calibrator, table, output, channels=channel or [])
        else:
            predict_table(fitted, table, output)
    if shown.json:
        options = fitted.fit_.scale.options
        figures = {} if several else {"drift": None if drift is None else drift.to_dict()}
        show_json({"output": str(output), "texts": len(table), "options": options, **figures})
    elif not shown.quiet:
        say(f"wrote {output}: {count(len(table), 'text')}")


def load_calibrator(
    path: Path, options: tuple[str, ...] | None, channels: Sequence[Path] | None
) -> tuple[Any, Any]:
    """Load a calibrator, and find the names that its options have in a table of readings.

    Args:
        path: The calibrator's file.
        options: What --options names; by default those of the calibrator.
        channels: The channel files that it was fitted with.

    Returns:
        The calibrator, and the options of the table.

    Raises:
        InputError: The file holds something else, or `options` are more or fewer than its options.
    """
    from cordial_ppl.estimators.fusion import Fusion
    from cordial_ppl.estimators.saved import load
    from cordial_ppl.estimators.stack import Stack

    fitted = load(path, channels=channels or ())
    if not isinstance(fitted, Stack | Fusion):
        raise InputError(
            f"{path} holds shifts of users, from which `cordial shift` predicts; give a "
            "calibrator, from `cordial fit` or `cordial fuse --save`."
        )
    scale = fitted.fit_.scale
    if options is not None and len(options) != scale.size:
        raise InputError(
            f"--options names {len(options)} options, but {path} was fitted on {scale.size}: "
            f"{', '.join(scale.options)}."
        )
    return fitted, options or scale


def load_reader(
    path: Path, options: tuple[str, ...] | None, channels: Sequence[Path] | None
) -> tuple["Stack", Any]:
    """Load a calibrator of one reader; refuse one of several, else as `load_calibrator`."""
    with doing("loading"):
        from cordial_ppl.estimators.stack import Stack

        fitted, names = load_calibrator(path, options, channels)
    if not isinstance(fitted, Stack):
        raise InputError(f"{path} is not a calibrator of one reader: make one with `cordial fit`.")
    return fitted, names


def _read_several(fitted: "Fusion", paths: list[Path], settings: dict[str, Any]) -> "ReadingTable":
    from cordial_ppl.tables import read_several

    settings = {name: settings[name] for name in ("options", "task", "id")}
    table = read_several(paths, **settings, readers=fitted.readers_, gaps=True)
    silent = np.isnan(table.logits).all(axis=(0, 2))
    if silent.any():
        absent = [name for name, gone in zip(table.readers, silent, strict=True) if gone]
        warnings.warn(
            f"no table has readings by {', '.join(absent)}: the other readers are used in "
            "proportion to their weights.",
            CordialWarning,
            stacklevel=2,
        )
    return table


def warn_of_others(path: Path, fitted: "Stack", readings: Path, table: "ReadingTable") -> None:
    """Warn of readings that were made in another way than those of the fit."""
    from cordial_ppl.tables import differences, read_provenance

    others = differences(fitted.fit_.provenance, read_provenance(table.columns))
    if others:
        warnings.warn(
            f"{readings} has readings of another kind than {path} was fitted on: "
            f"{'; '.join(others)}. A calibrator corrects the faults of one model under one "
            "prompt: fit another on labels of these.",
            CordialWarning,
            stacklevel=2,
        )


def warn_of_drift(path: Path, fitted: "Stack", readings: Path, drift: "Drift") -> None:
    """Warn of readings that are not distributed like those of the fit."""
    warnings.warn(
        f"{readings}, {path}: {drift.describe(fitted.fit_.scale)}. The texts or the reader have "
        "changed, or these are some of the texts alone, such as one system's. Label a few of "
        "these: `cordial report` says whether the calibration still holds for them.",
        CordialWarning,
        stacklevel=2,
    )
