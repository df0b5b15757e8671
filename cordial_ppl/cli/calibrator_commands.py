"""`cordial predict`, `report` and `monitor`: what is done with a saved calibrator."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import BothColumns, Calibrator, Columns, Given, Output, Tables
from cordial_ppl.cli.output import Result
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.outputs import check_writable, replacing
from cordial_ppl.runtime.progress import doing


@command
def predict(
    calibrator: Calibrator,
    readings: Given,
    /,
    *,
    output: Annotated[Output, options.Out, options.PREDICTED],
    columns: Columns = Columns(),
    also: options.Also = (),
    channel: options.Channels = (),
    engine: options.Engine = "local",
) -> Result:
    """Calibrate all texts in READINGS with a saved calibrator.

    READINGS must have the same options as the calibrator. If READINGS names the options
    differently, use --options to list those names in the calibrator's order. If the fit used
    channel files, pass the same files again with --channel. A calibrator for several judges uses
    those found in READINGS. Name the column of judges with --reader. With --engine ray, READINGS
    must be a Parquet file or folder that all machines can read, and OUT is a folder.

    Args:
        readings: Table of readings, as for `cordial fit`, or a folder of Parquet files.
        also: Table of readings from additional judges; may be repeated.
        engine: Run on this machine (`local`) or on the cluster at RAY_ADDRESS (`ray`).
    """
    from cordial_ppl.tables import SINKS

    on_ray = engine == "ray"
    if on_ray and not (readings.is_dir() or readings.suffix.lower() == ".parquet"):
        raise InputError(f"--engine ray needs a Parquet file or folder; got {readings}.")
    if on_ray and output.exists():
        raise InputError(f"{output} already exists. Choose a different output.")
    check_writable(output, endings=None if on_ray else SINKS)
    fitted, names = load_calibrator(calibrator, channel, columns.options, several=True)
    from cordial_ppl.estimators.bulk.intake import open_tables
    from cordial_ppl.estimators.bulk.predictor import predict_on_ray, predict_table

    if on_ray and isinstance(fitted, cp.Fusion):
        raise InputError("--engine ray supports only one judge. Remove --engine ray.")
    paths = [path.absolute() if on_ray else path for path in (readings, *also)]
    table, drift, others = open_tables(
        calibrator, fitted, paths, **vars(columns) | {"options": names}
    )
    if on_ray:
        predict_on_ray(calibrator, table, output, channels=channel)
    else:
        predict_table(fitted, table, output)
    content = {"output": output, "texts": len(table), "options": fitted.fit_.scale.options}
    content |= {"drift": drift and drift.to_dict(), "differences": others}
    return Result(content, done=[f"wrote {output}: {count(len(table), 'text')}"])


@command
def report(
    calibrator: Calibrator,
    tables: Tables,
    *,
    output: Annotated[Output, options.ending(".html"), options.Out],
    channel: options.Channels = (),
) -> Result:
    """Write a page that shows what is wrong with the judge and what calibration changes.

    LABELS may include labels that were used in the fit; the scores ignore them. The page is a
    single file that works offline.

    Args:
        output: Page to write (.html).
    """
    from cordial_ppl.plots.figure import require_drawing

    require_drawing("a report", "jinja2")
    fitted, names = load_calibrator(calibrator, channel, tables.options)
    table, labels, rows = read = tables.read(options=names)
    from cordial_ppl.estimators.bulk.intake import warn_of_kind, warn_of_unnamed

    warn_of_kind(calibrator, fitted.fit_, tables.readings, table)
    warn_of_unnamed(calibrator, fitted.fit_, tables.labels)
    with doing("measuring and drawing"):
        from cordial_ppl.plots.report import TaskTexts, gather, make_page

        extra = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
        rated = rows, labels.labels, extra, options.list_groups(read), labels.weights
        facts = gather(fitted, TaskTexts(table.item_ids, table.logits, *rated, labels.annotators))
        with replacing(output) as temporary:
            temporary.write_text(make_page(facts, of=f"{calibrator} on {tables.readings}"), "utf-8")
    done = f"wrote {output}: {count(len(table), 'text')}, {len({*rows.tolist()})} labelled"
    return Result({"output": output, **facts.to_dict()}, done=[done])


@command
def monitor(
    calibrator: Calibrator,
    old: Given,
    new: Annotated[Sequence[Path], Parameter(group=options.FILES)],
    /,
    *,
    columns: BothColumns = BothColumns(),
    labels: options.File = None,
    channel: options.Channels = (),
    level: Annotated[options.Level, Parameter(help="Probability of no false alarm.")] = 0.95,
) -> Result:
    """Has the judge changed? Compare earlier and later readings of the same texts.

    Pass all tables so far, oldest first. With --level P, the false-alarm rate over all tables
    together is at most 1 - P. New labels (--labels) also test the calibration, at the same
    false-alarm rate. The exit status is 0 if the judge is unchanged, 3 if it has changed or the
    labels contradict the calibration, and 4 if more texts are needed.

    Args:
        old: Table of the first readings.
        new: Tables of later readings of the same texts, oldest first.
        labels: Table of labels for texts in the last NEW table, to test the calibration.
    """
    fitted, names = load_calibrator(calibrator, channel, columns.options)
    from cordial_ppl.data.labelling import as_texts
    from cordial_ppl.decisions.estimates.requirement import NO, STATUS, YES
    from cordial_ppl.decisions.monitoring import WORDS
    from cordial_ppl.estimators.bulk import intake
    from cordial_ppl.estimators.task_tables import take_labelled
    from cordial_ppl.tables import LabelledReadings, match_labels, read_labels, read_readings

    fit, settings = fitted.fit_, {**vars(columns), "options": names}
    with doing("reading"):
        tables = [read_readings(path, **settings) for path in (old, *new)]
    others = [*map(partial(intake.warn_of_kind, calibrator, fit), (old, *new), tables)]
    extras = [table.covariates(fit.covariates, fit.levels) for table in tables]
    logits, texts = [table.logits for table in tables], [table.item_ids for table in tables]
    made = cp.monitor(fit, *logits, texts=texts, covariates=extras, level=level)
    answer, text = made.answer, str(made)
    if since := [other for other in others[-1] if other not in others[0]]:
        text = text.replace(WORDS[YES], f"readings agree, but setups differ: {'; '.join(since)}", 1)
    content = {**made.to_dict(), "labels": None, "differences": others}
    if labels is not None:
        read = read_labels(labels, tables[-1].scale, **vars(columns))
        intake.warn_of_unnamed(calibrator, fit, labels)
        fresh = ~fit.labelled.has(as_texts(read.item_ids, len(read.labels)))
        if not fresh.any():
            raise InputError(f"{labels}: all labelled texts were used in the fit. Label new texts.")
        matched = match_labels(tables[-1], read.take(fresh.nonzero()[0]))
        labelled = take_labelled(LabelledReadings(tables[-1], *matched), channel)
        # The table may call the options otherwise than the calibrator.
        check = cp.check_labels(fit, **labelled | {"labels": fit.scale.decode(matched[0].labels)})
        answer = NO if (broken := check.evidence >= 1 / (1 - level)) else answer
        content |= {"labels": check.to_dict(), "answer": answer}
        line = f"the labels {'do not ' * (not broken)}contradict the calibration. {check.text}"
        text = f"{line}\n{text}" if broken else f"{text}\n{line}"
    return Result(content, text, status=STATUS[answer])


def load_calibrator(
    path: Path, channels: Sequence[Path], names: Any = None, *, several: bool = False
) -> tuple[Any, Any]:
    """Load a calibrator of one judge, or of several if they may be, with its channel files.

    Args:
        path: Its file.
        channels: The channel files that it was fitted with.
        names: What a table calls its options; by default what it calls them itself.
        several: Whether it may be one of several judges.

    Returns:
        The calibrator, and the options of the table.

    Raises:
        InputError: The file holds something else, or `names` are more or fewer than its options.
    """
    from cordial_ppl.runtime.storage import find_kind

    # What is no calibrator is refused before JAX is imported.
    if (kind := find_kind(path)) not in ("calibrator", "fusion")[: 1 + several]:
        source = "`cordial fit` or `cordial fuse --save`" if several else "`cordial fit`"
        raise InputError(f"{path} contains a {kind}. Pass a calibrator from {source}.")
    fitted = cp.load(path, channels=channels)
    scale = fitted.fit_.scale
    if names and len(names) != scale.size:
        problem = f"--options lists {len(names)} options, but {path} has {scale.size} options"
        raise InputError(f"{problem}: {', '.join(scale.options)}.")
    return fitted, names or scale
