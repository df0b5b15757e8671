"""`cordial predict`: the second half of `cordial calibrate`, with a judge fitted before."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, progressing, say, working
from cordial_ppl.cli.options import (
    Also,
    Channels,
    Engine,
    EngineName,
    Json,
    JudgePath,
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
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.fusion import Fusion
    from cordial_ppl.tables import ReaderTables


def predict(
    judge: JudgePath,
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
    """Calibrate every text of READINGS with a judge that was fitted before.

    The columns of READINGS must be the judge's options; --options gives their names, in the order
    of the judge's scale, where they differ. A judge that was fitted with channel files needs them
    again, as --channel. A judge of several readers, as `cordial fuse` keeps it, takes those of them
    that READINGS holds. Parquet need not fit the memory.
    """
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_json
    from cordial_ppl.tables import check_folder, read_provenance, read_readings, write_table

    names, paths = split_options(options), [readings, *(also or [])]
    parquet = readings.is_dir() or readings.suffix.lower() == ".parquet"
    if engine is Engine.LOCAL:
        check_output(output, [judge, *paths])
    elif parquet:
        check_folder(output)
    else:
        raise InputError(f"--engine {engine} reads Parquet, a file or a folder; got {readings}.")
    with working("loading", quiet):
        from cordial_ppl.cordial.stack import Stack
        from cordial_ppl.fusion import Fusion
        from cordial_ppl.saved import load

        fitted = load(judge, channels=channel or ())
    if not isinstance(fitted, Stack | Fusion):
        raise InputError(
            f"{judge} holds what was learned of users, whose predictions `cordial shift` makes; "
            "give a judge, as `cordial fit` or `cordial fuse --save` writes it."
        )
    scale = fitted.scale_
    if names is not None and len(names) != scale.size:
        raise InputError(
            f"--options names {len(names)} options, but {judge} was fitted on {scale.size}: "
            f"{', '.join(scale.options)}."
        )
    chosen: dict[str, Any] = {"options": names or scale, "task": task}
    if isinstance(fitted, Stack) and also:
        raise InputError(
            f"{judge} was fitted on one reader, so there is nothing that --also could add to."
        )
    if isinstance(fitted, Stack) and parquet:
        chosen |= {"reader": reader}
        texts = _predict_blocks(
            fitted, judge, readings, output, chosen, channel or [], engine, quiet
        )
    else:
        if isinstance(fitted, Stack):
            table = read_readings(readings, **chosen, reader=reader)
            _warn_of_others(judge, fitted, readings, read_provenance(table.extras))
        else:
            if readings.is_dir() or engine is not Engine.LOCAL:
                raise InputError(
                    f"{judge} was fitted on several readers, whose readings are put side by side: "
                    f"give files, and leave out --engine {Engine.RAY}."
                )
            table = _read_several(judge, fitted, paths, chosen, reader)
        with working("calibrating", quiet):
            write_table(output, calibrated_columns(fitted, table))
        texts = len(table.item_ids)
    if json:
        show_json({"output": str(output), "texts": texts, "options": scale.options})
    elif not quiet:
        say(f"wrote {output}: {count(texts, 'text')}")


def _predict_blocks(
    fitted: "Stack",
    judge: Path,
    readings: Path,
    output: Path,
    chosen: dict[str, Any],
    channels: list[Path],
    engine: Engine,
    quiet: bool,
) -> int:
    """Predict Parquet, which need not fit the memory; return the number of texts."""
    from cordial_ppl.bulk.cluster import predict_on_ray
    from cordial_ppl.bulk.local import predict_table
    from cordial_ppl.cli.output import check_output
    from cordial_ppl.tables.blocks import open_blocks
    from cordial_ppl.tables.survey import survey

    with working("reading", quiet):
        table = open_blocks(readings)
        if engine is Engine.LOCAL:
            check_output(output, table.files)
        found = survey(table, **chosen, covariates=fitted.covariates_)
    _warn_of_others(judge, fitted, readings, found.provenance)
    with progressing(quiet) as show, leaving_at_once():
        if engine is Engine.RAY:
            predict_on_ray(judge, table, found, output, show, channels=channels)
        else:
            predict_table(fitted, table, found, output, show)
    return found.texts


def _read_several(
    judge: Path, fitted: "Fusion", paths: list[Path], chosen: dict[str, Any], reader: str | None
) -> "ReaderTables":
    from cordial_ppl.tables import read_several

    if reader is not None:
        raise InputError(
            f"{judge} was fitted on several readers and takes all of them that the tables "
            "hold: leave out --reader."
        )
    table = read_several(paths, **chosen, readers=fitted.readers_, gaps=True)
    silent = np.isnan(table.logits).all(axis=(0, 2))
    if silent.any():
        absent = [name for name, gone in zip(table.readers, silent, strict=True) if gone]
        warnings.warn(
            f"no table has readings by {', '.join(absent)}: the other readers are believed in "
            "proportion to their weights.",
            CordialWarning,
            stacklevel=2,
        )
    return table


def _warn_of_others(
    judge: Path, fitted: "Stack", readings: Path, provenance: dict[str, list[str]]
) -> None:
    """Warn of readings that were made otherwise than those that the judge knows."""
    from cordial_ppl.tables import differences

    others = differences(fitted.provenance_, provenance)
    if others:
        warnings.warn(
            f"{readings} has readings of another kind than {judge} was fitted on: "
            f"{'; '.join(others)}. A judge has learned the faults of one model under one "
            "prompt: fit another on labels of these.",
            CordialWarning,
            stacklevel=2,
        )
