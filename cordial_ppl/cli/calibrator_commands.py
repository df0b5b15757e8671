"""`cordial predict`, `report` and `monitor`: what is done with a saved calibrator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.command import check_outputs, command
from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    CALIBRATED,
    FILES,
    Also,
    CalibratorFile,
    Channels,
    Engine,
    Level,
    Out,
    PageWritten,
    option,
)
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import CHOICE, LABELLING, Columns, Labelling, Tables
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

PageOut = Annotated[PageWritten, Out, option("Page to write (.html).")]
LabelsAgain = Annotated[
    Path | None,
    option("Labels of texts of the last table, to check the calibration.", "LABELS", FILES),
]


@command
def predict(
    calibrator: CalibratorFile,
    readings: Annotated[
        Path, option("Table of readings, as for `cordial fit`, or a folder of Parquet.")
    ],
    /,
    *,
    output: Annotated[Path, Out, Parameter(help=CALIBRATED)],
    columns: Columns = CHOICE,
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
        check_outputs([output], [calibrator, *paths, *parts])
    elif not (readings.is_dir() or readings.suffix.lower() == ".parquet"):
        raise InputError(f"--engine ray reads Parquet, a file or a folder; got {readings}.")
    elif output.exists():
        raise InputError(f"cannot write {output}: it already exists. Remove it or name another.")
    with doing("loading"):
        from cordial_ppl.estimators.bulk import intake
        from cordial_ppl.estimators.bulk.distributed import predict_on_ray
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion
    fitted, options = load_calibrator(calibrator, columns.options, channel, several=True)
    settings, drift = {**vars(columns), "options": options}, None
    if isinstance(fitted, Fusion):
        if readings.is_dir() or engine == "ray":
            raise InputError("several judges are predicted from files: leave out --engine ray.")
        table = intake.read_for_fusion(fitted, paths, **settings)
    else:
        if also:
            raise InputError(f"{calibrator} was fitted on one judge: leave out --also.")
        path = readings if engine == "local" else readings.absolute()
        table, drift = intake.open_for_fit(calibrator, fitted.fit_, path, **settings)
    with leaving_at_once():
        if engine == "ray":
            predict_on_ray(calibrator, table, output, channels=channel)
        else:
            predict_table(fitted, table, output)
    content = {"output": str(output), "texts": len(table), "options": fitted.fit_.scale.options}
    content["drift"] = drift and drift.to_dict()
    return Result(content, done=[f"wrote {output}: {count(len(table), 'text')}"])


@command
def report(
    calibrator: CalibratorFile, tables: Tables, *, output: PageOut, channel: Channels = ()
) -> Result:
    """Write one page that shows what is wrong with the judge and what calibration changes.

    LABELS may include the labels of the fit: they are recognised and left out of the scores. The
    page is a single file that loads nothing from elsewhere.
    """
    from cordial_ppl.plots.figure import require_drawing

    require_drawing("a report", "jinja2")
    with doing("loading"):
        from cordial_ppl.plots.report import TaskTexts, gather, write_report
    fitted, options = load_calibrator(calibrator, tables.options, channel)
    read = tables.read(options=options)
    table, labels, rows = read
    texts = TaskTexts(
        items=table.item_ids,
        logits=table.logits,
        rows=rows,
        labels=labels.labels,
        covariates=table.covariates(fitted.fit_.covariates, fitted.fit_.levels),
        columns=read.groups,
        weights=labels.weights,
    )
    with doing("measuring and drawing"):
        facts = gather(fitted, texts)
        write_report(output, facts, of=f"{calibrator} on {tables.readings}")
    done = f"wrote {output}: {count(len(table), 'text')}, {facts.labelled} labelled"
    return Result({"output": str(output), **facts.to_dict()}, done=[done])


@command
def monitor(
    calibrator: CalibratorFile,
    old: Annotated[Path, option("Table of readings at first.")],
    new: Annotated[Sequence[Path], option("Tables of readings of the same texts since, in order.")],
    /,
    *,
    columns: Columns = CHOICE,
    labelling: Labelling = LABELLING,
    labels: LabelsAgain = None,
    channel: Channels = (),
    level: Level = 0.95,
) -> Result:
    """Is it still the same judge? Compare its readings of the same texts, then and now.

    Give the readings of all looks so far, in order of time: the error rate, 1 - P, is of all looks
    together. Labels of texts of the last table that are not of the fit say whether the calibration
    holds, at the same rate. Exit status: 0 the same, 3 changed, 4 cannot tell yet.
    """
    from cordial_ppl.data.labelling import as_texts, of_fit
    from cordial_ppl.decisions import answers
    from cordial_ppl.decisions.estimates.requirement import NO, STATUS
    from cordial_ppl.estimators.bulk import intake
    from cordial_ppl.tables import match_labels, read_labels, read_readings

    fitted, options = load_calibrator(calibrator, columns.options, channel)
    fit, settings = fitted.fit_, {**vars(columns), "options": options}
    with doing("reading"):
        tables = [read_readings(path, **settings) for path in (old, *new)]
    for path, table in zip(new, tables[1:], strict=True):
        intake.warn_of_kind(calibrator, fit, path, table)
    extras = [table.covariates(fit.covariates, fit.levels) for table in tables]
    logits, texts = zip(*((table.logits, table.item_ids) for table in tables), strict=True)
    made = answers.monitor(fit, *logits, texts=texts, covariates=extras, level=level)
    answer, check = made.answer, None
    lines, content = [made.describe(fit.scale)], {**made.to_dict(), "labels": None}
    if labels is not None:
        chosen = {"task": columns.task, "id": columns.id, "round": columns.round}
        read = read_labels(labels, tables[-1].scale, **chosen, **vars(labelling))
        fresh = np.flatnonzero(~of_fit(as_texts(read.item_ids, len(read.labels)), fit.texts))
        if not fresh.size:
            raise InputError(f"{labels}: all labelled texts are of the fit: label others.")
        matched, rows = match_labels(tables[-1], read.take(fresh))
        extra = {name: column[rows] for name, column in extras[-1].items()}
        names = fit.scale.decode(matched.labels)
        kept = {"sample_weight": matched.weights, "texts": matched.item_ids}
        check = answers.check_labels(fit, logits[-1][rows], names, extra, **kept)
        broken = check.evidence >= 1 / (1 - level)
        answer = NO if broken else answer
        content |= {"labels": check.to_dict(), "answer": answer}
        lines.append(
            f"the calibration {'does not hold' if broken else 'is not refuted'}: evidence "
            f"{check.evidence:.3g} to 1. {check.text}"
        )
    return Result(content, "\n".join(lines), status=STATUS[answer])


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
