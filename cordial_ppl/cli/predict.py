"""`cordial predict`: the second half of `cordial calibrate`, with a calibrator fitted before."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, progressing, say, working
from cordial_ppl.cli.options import (
    Also,
    CalibratorPath,
    Channels,
    Engine,
    EngineName,
    Json,
    ManyReadings,
    Options,
    Quiet,
    Reader,
    TableOut,
    Task,
    split_options,
)
from cordial_ppl.errors import CordialWarning, InputError

if TYPE_CHECKING:
    from cordial_ppl.fusion import Fusion
    from cordial_ppl.tables import ReaderTables


def predict(
    judge: CalibratorPath,
    readings: ManyReadings,
    output: TableOut,
    also: Also = None,
    options: Options = None,
    reader: Reader = None,
    task: Task = None,
    channel: Channels = None,
    engine: EngineName = Engine.LOCAL,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Calibrate every text of READINGS with a calibrator that was fitted before.

    The columns of READINGS must be the calibrator's options; --options gives their names, in the
    order of its scale, where they differ. A calibrator that was fitted with channel files needs
    them again, as --channel. A calibrator of several readers, from `cordial fuse`, takes those of
    them that READINGS holds. Parquet need not fit in memory.
    """
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_json
    from cordial_ppl.tables import check_writable, write_table

    names, paths = split_options(options), [readings, *(also or [])]
    if engine is Engine.LOCAL:
        check_output(output, [judge, *paths])
    elif not (readings.is_dir() or readings.suffix.lower() == ".parquet"):
        raise InputError(f"--engine {engine} reads Parquet, a file or a folder; got {readings}.")
    elif output.exists():
        raise InputError(f"cannot write {output}: it is there already. Remove it or name another.")
    else:
        check_writable(output)
    with working("loading", quiet):
        from cordial_ppl.cordial.stack import Stack
        from cordial_ppl.fusion import Fusion
        from cordial_ppl.saved import load

        fitted = load(judge, channels=channel or ())
    if not isinstance(fitted, Stack | Fusion):
        raise InputError(
            f"{judge} holds shifts of users, from which `cordial shift` predicts; give a "
            "calibrator, from `cordial fit` or `cordial fuse --save`."
        )
    scale = fitted.scale_
    if names is not None and len(names) != scale.size:
        raise InputError(
            f"--options names {len(names)} options, but {judge} was fitted on {scale.size}: "
            f"{', '.join(scale.options)}."
        )
    if isinstance(fitted, Fusion):
        if readings.is_dir() or engine is not Engine.LOCAL or reader is not None:
            raise InputError(
                f"{judge} was fitted on several readers and takes all of them that the tables "
                f"hold: give files, and leave out --reader and --engine {Engine.RAY}."
            )
        table = _read_several(fitted, paths, names or scale, task)
        with working("calibrating", quiet):
            write_table(output, calibrated_columns(fitted, table))
        texts = len(table.item_ids)
    else:
        if also:
            raise InputError(
                f"{judge} was fitted on one reader, so there is nothing that --also could add to."
            )
        from cordial_ppl.bulk.cluster import predict_on_ray
        from cordial_ppl.bulk.local import predict_table, survey

        with working("reading", quiet):
            chosen: dict[str, Any] = {"reader": reader, "task": task}
            path = readings if engine is Engine.LOCAL else readings.absolute()
            found = survey(path, names or scale, **chosen, covariates=fitted.covariates_)
            if engine is Engine.LOCAL:
                check_output(output, [file for file, _ in found.columns.ends])
        _warn_of_others(judge, fitted.provenance_, readings, found.provenance)
        with progressing(quiet) as show, leaving_at_once():
            if engine is Engine.RAY:
                predict_on_ray(judge, found, output, show, channels=channel or [])
            else:
                predict_table(fitted, found, output, show)
        texts = found.texts
    if json:
        show_json({"output": str(output), "texts": texts, "options": scale.options})
    elif not quiet:
        say(f"wrote {output}: {count(texts, 'text')}")


def _read_several(
    fitted: "Fusion", paths: list[Path], options: Any, task: str | None
) -> "ReaderTables":
    from cordial_ppl.tables import read_several

    table = read_several(paths, options=options, task=task, readers=fitted.readers_, gaps=True)
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


def _warn_of_others(
    judge: Path, known: dict[str, list[str]], readings: Path, new: dict[str, list[str]]
) -> None:
    """Warn of readings that were made in another way than those that the calibrator knows."""
    from cordial_ppl.tables import differences

    others = differences(known, new)
    if others:
        warnings.warn(
            f"{readings} has readings of another kind than {judge} was fitted on: "
            f"{'; '.join(others)}. A calibrator corrects the faults of one model under one "
            "prompt: fit another on labels of these.",
            CordialWarning,
            stacklevel=2,
        )
