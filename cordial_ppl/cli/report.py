"""`cordial report`: one page on a judge and what calibration changes."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.options import FILES, Calibrator, Channels, Out, Written, option
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import Tables
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing


def report(
    calibrator: Calibrator,
    tables: Tables,
    *,
    output: Annotated[Path, Written((".html",)), Out, option(FILES, "Page to write.", "PAGE")],
    channel: Channels = (),
) -> Result:
    """Write one page that shows what is wrong with the judge and what calibration changes.

    LABELS may include the labels of the fit: they are recognised and left out of the scores. The
    page is a single file that loads nothing from elsewhere.
    """
    from cordial_ppl.cli.predict import load_calibrator
    from cordial_ppl.plots.figure import can_draw

    if not can_draw() or find_spec("jinja2") is None:
        raise InputError('a report needs matplotlib and jinja2: pip install -e ".[plots]".')
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
