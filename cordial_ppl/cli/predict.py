"""`cordial predict`: the second half of `cordial calibrate`, with a saved calibrator."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import Also, Calibrator, Channels, Engine, Out, ReadingsFile
from cordial_ppl.cli.output import Result, check_outputs, say
from cordial_ppl.cli.records import EVERY, Columns
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.decisions.drift import Drift
    from cordial_ppl.estimators.fusion import Fusion
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.stack.fit import Fit
    from cordial_ppl.tables import ReadingTable


def predict(
    calibrator: Calibrator,
    readings: ReadingsFile,
    *,
    output: Annotated[Path, Out, Parameter(help="Table to write, or a folder with --engine ray.")],
    columns: Columns = EVERY,
    also: Also = (),
    channel: Channels = (),
    engine: Engine = "local",
) -> Result:
    """Calibrate all texts of READINGS with a saved calibrator.

    The columns of READINGS are the calibrator's options; --options names them, in the order of its
    scale, where they differ. Channel files of the fit are named again. Of several judges those are
    taken that the tables hold (--reader: in which column). With --engine ray, READINGS is Parquet
    that all machines see, and OUT is a folder.
    """
    paths = [readings, *also]
    if engine == "local":
        parts = readings.iterdir() if readings.is_dir() else ()
        check_outputs([(output, ())], [calibrator, *paths, *parts])
    elif not (readings.is_dir() or readings.suffix.lower() == ".parquet"):
        raise InputError(f"--engine ray reads Parquet, a file or a folder; got {readings}.")
    elif output.exists():
        raise InputError(f"cannot write {output}: it already exists. Remove it or name another.")
    with doing("loading"):
        from cordial_ppl.estimators.bulk.cluster import predict_on_ray
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion
    fitted, options = load_calibrator(calibrator, columns.options, channel, several=True)
    settings, drift = {**vars(columns), "options": options}, None
    if isinstance(fitted, Fusion):
        if readings.is_dir() or engine == "ray":
            raise InputError("several judges are predicted from files: leave out --engine ray.")
        table = _read_several(fitted, paths, settings)
    else:
        if also:
            raise InputError(f"{calibrator} was fitted on one judge: leave out --also.")
        path = readings if engine == "local" else readings.absolute()
        table, drift = _open(calibrator, fitted, path, settings)
    with leaving_at_once():
        if engine == "ray":
            predict_on_ray(calibrator, table, output, channels=channel)
        else:
            predict_table(fitted, table, output)
    content = {"output": str(output), "texts": len(table), "options": fitted.fit_.scale.options}
    content["drift"] = drift and drift.to_dict()
    return Result(content, done=[f"wrote {output}: {count(len(table), 'text')}"])


def load_calibrator(
    path: Path,
    options: tuple[str, ...] | None,
    channels: Sequence[Path],
    *,
    several: bool = False,
) -> tuple[Any, Any]:
    """Load a calibrator, and find the names that its options have in a table of readings.

    Args:
        path: The calibrator's file.
        options: What --options names; by default those of the calibrator.
        channels: The channel files that it was fitted with.
        several: Whether it may be one of several judges.

    Returns:
        The calibrator, and the options of the table.

    Raises:
        InputError: The file holds something else, or `options` are more or fewer than its options.
    """
    with doing("loading"):
        from cordial_ppl.estimators.fusion import Fusion
        from cordial_ppl.estimators.saved import load
        from cordial_ppl.estimators.stack import Stack

        fitted = load(path, channels=channels)
    if not isinstance(fitted, Stack | Fusion if several else Stack):
        raise InputError(
            f"{path} holds a {type(fitted).__name__}; give a calibrator, from `cordial fit`"
            + (" or `cordial fuse --save`." if several else ".")
        )
    scale = fitted.fit_.scale
    if options is not None and len(options) != scale.size:
        raise InputError(
            f"--options names {len(options)} options, but {path} was fitted on {scale.size}: "
            f"{', '.join(scale.options)}."
        )
    return fitted, options or scale


def _read_several(fitted: "Fusion", paths: list[Path], settings: dict[str, Any]) -> "ReadingTable":
    """Read the tables of a calibrator of several judges, some of whom may be missing."""
    from cordial_ppl.tables import read_several
    from cordial_ppl.tables.formats import read_columns

    column = settings.pop("reader")
    if column and not any(column in read_columns(path).schema for path in paths):
        raise InputError("leave out --reader, or name the column of judges: all are taken.")
    readers = [name if column is None else f"{column}={name}" for name in fitted.readers_]
    with doing("reading"):
        table = read_several(paths, **settings, readers=readers, gaps=True)
    silent = np.isnan(table.logits).all(axis=(0, 2))
    if silent.any():
        absent = [name for name, gone in zip(table.readers, silent, strict=True) if gone]
        say(
            f"warning: no table has readings by {', '.join(absent)}: the other judges are used in "
            "proportion to their weights."
        )
    return table


def _open(
    path: Path, fitted: "Stack", readings: Path, settings: dict[str, Any]
) -> tuple["ReadingTable", "Drift | None"]:
    """Check a table, which need not fit in memory, and compare it with that of the fit."""
    from cordial_ppl.decisions.drift import compare
    from cordial_ppl.stack.sketch import merge, sketch
    from cordial_ppl.tables import open_readings

    counted: list[np.ndarray] = []
    with doing("reading"):
        table = open_readings(readings, **settings)
        fit = fitted.fit_
        table.check(fit.covariates, fit.levels, lambda logits: counted.append(sketch(logits)))
        drift = compare(fit.sketch, merge(counted), fit.scale)
    warn_of_kind(path, fit, readings, table)
    warn_of_drift(path, fitted, readings, drift)
    return table, drift


def warn_of_kind(path: Path, fit: "Fit", readings: Path, table: "ReadingTable") -> None:
    """Warn of readings of another model or prompt than those of the fit, where tables say so."""
    from cordial_ppl.tables import differences, read_provenance

    if others := differences(fit.provenance, read_provenance(table.columns)):
        say(
            f"warning: {readings} has readings of another kind than {path} was fitted on: "
            f"{'; '.join(others)}. A calibrator corrects the faults of one model under one "
            "prompt: fit another on labels of these."
        )


def warn_of_drift(path: Path, fitted: "Stack", readings: Path, drift: "Drift | None") -> None:
    """Warn of readings that are not distributed like those of the fit, if they are not."""
    if drift is not None and drift.alarm:
        say(
            f"warning: {readings}, {path}: {drift.describe(fitted.fit_.scale)}. The texts or the "
            "judge have changed, or these are only some of the texts, such as one system's. Label "
            "a few of these: `cordial report` says whether the calibration still holds for them."
        )
