"""`cordial report`: one page on a reader and what calibration changes."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    CalibratorPath,
    Channels,
    LabelledTables,
    Shown,
    output,
)
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def report(
    calibrator: CalibratorPath,
    tables: LabelledTables,
    page: Annotated[Path, output("PAGE", "The page to write (.html).")],
    shown: Shown,
    channel: Channels = None,
) -> None:
    """Write one page that shows what is wrong with the reader and what calibration changes.

    LABELS may include the labels of the fit: they are recognised and left out of the scores. The
    page is a single file that loads nothing from elsewhere.
    """
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.cli.predict import load_reader
    from cordial_ppl.evaluation.products.figure import can_draw
    from cordial_ppl.tables import list_groups

    check_output(page, [calibrator, *tables.inputs], endings=[".html"])
    if not can_draw() or find_spec("jinja2") is None:
        raise InputError('a report needs matplotlib and jinja2: pip install -e ".[plots]".')
    with doing("loading"):
        from cordial_ppl.plots.report import Texts, gather, write_report
    fitted, options = load_reader(calibrator, tables.settings["options"], channel)
    table, labels, rows = tables.read(options=options)
    texts = Texts(
        items=table.item_ids,
        logits=table.logits,
        rows=rows,
        labels=labels.labels,
        covariates=table.covariates(fitted.covariates_, fitted.levels()),
        columns=list_groups(table, rows, labels),
        weights=labels.weights,
    )
    with doing("measuring and drawing"):
        facts = gather(fitted, texts)
        write_report(page, facts, of=f"{calibrator} on {tables.readings}")
    if shown.json:
        show_json({"output": str(page), **facts.to_dict()})
    elif not shown.quiet:
        say(f"wrote {page}: {count(len(texts.items), 'text')}, {facts.labelled} labelled")
