"""`cordial report`: one page on a reader and what calibration changes."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import (
    CalibratorPath,
    Channels,
    Json,
    LabelsPath,
    Options,
    Quiet,
    Reader,
    ReadingsPath,
    Task,
    split_options,
)
from cordial_ppl.errors import InputError

PageOut = Annotated[
    Path, typer.Option("--output", "-o", metavar="PAGE", help="The page to write (.html).")
]


def report(
    calibrator: CalibratorPath,
    readings: ReadingsPath,
    labels: LabelsPath,
    output: PageOut,
    options: Options = None,
    reader: Reader = None,
    task: Task = None,
    channel: Channels = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one page that shows what is wrong with the reader and what calibration changes.

    LABELS may include the labels of the fit: they are recognised and left out of the scores. The
    page is a single file that loads nothing from elsewhere.
    """
    from cordial_ppl.cli.fitting import read_label_table
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.products.figure import NEEDED, can_draw
    from cordial_ppl.tables import match_labels, read_readings

    names = split_options(options)
    check_output(output, [calibrator, readings, labels], endings=[".html"])
    if not can_draw():
        raise InputError(f"a report needs {NEEDED}")
    with working("loading", quiet):
        from cordial_ppl.cordial.stack import Stack
        from cordial_ppl.report import Texts, gather, write_report
        from cordial_ppl.saved import load

        fitted = load(calibrator, channels=channel or ())
    if not isinstance(fitted, Stack):
        raise InputError(f"{calibrator} is not of one reader: make one with `cordial fit`.")
    if names is not None and len(names) != fitted.scale_.size:
        raise InputError(
            f"--options names {len(names)} options, but {calibrator} was fitted on "
            f"{fitted.scale_.size}: {', '.join(fitted.scale_.options)}."
        )
    table = read_readings(readings, options=names or fitted.scale_, reader=reader, task=task)
    found = read_label_table(labels, table.scale, task, table.kind)
    texts = Texts(
        items=table.item_ids,
        logits=table.logits,
        rows=match_labels(table, found),
        labels=found.labels,
        covariates={name: table.covariate(name) for name in fitted.covariates_},
        kind=table.kind,
    )
    with working("measuring and drawing", quiet):
        facts = gather(fitted, texts)
        write_report(output, facts, of=f"{calibrator} on {readings}")
    if json:
        show_json({"output": str(output), **facts.to_dict()})
    elif not quiet:
        say(f"wrote {output}: {count(len(texts.items), 'text')}, {len(texts.labels)} labelled")
