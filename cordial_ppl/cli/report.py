"""`cordial report`: one page on a reader and what calibration changes."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    CalibratorPath,
    Channels,
    Chosen,
    Labelling,
    LabelsPath,
    ReadingsPath,
    Shown,
    output,
)
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def report(
    calibrator: CalibratorPath,
    readings: ReadingsPath,
    labels: LabelsPath,
    page: Annotated[Path, output("PAGE", "The page to write (.html).")],
    chosen: Chosen,
    labelling: Labelling,
    shown: Shown,
    channel: Channels = None,
) -> None:
    """Write one page that shows what is wrong with the reader and what calibration changes.

    LABELS may include the labels of the fit: they are recognised and left out of the scores. The
    page is a single file that loads nothing from elsewhere.
    """
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.cli.predict import load_calibrator
    from cordial_ppl.evaluation.products.figure import can_draw
    from cordial_ppl.tables import list_groups, read_labelled

    settings = chosen.settings
    check_output(page, [calibrator, readings, labels], endings=[".html"])
    if not can_draw() or find_spec("jinja2") is None:
        raise InputError('a report needs matplotlib and jinja2: pip install -e ".[plots]".')
    with doing("loading"):
        from cordial_ppl.estimators.stack import Stack
        from cordial_ppl.plots.report import Texts, gather, write_report

        fitted, options = load_calibrator(calibrator, settings["options"], channel)
    if not isinstance(fitted, Stack):
        raise InputError(
            f"{calibrator} is not a calibrator of one reader: make one with `cordial fit`."
        )
    given = settings | labelling.settings | {"options": options}
    with doing("reading"):
        table, found, rows = read_labelled(readings, labels, **given)
    texts = Texts(
        items=table.item_ids,
        logits=table.logits,
        rows=rows,
        labels=found.labels,
        covariates=table.covariates(fitted.covariates_, fitted.levels()),
        kind=table.kind,
        columns=list_groups(table, rows, found),
        weights=found.weights,
    )
    with doing("measuring and drawing"):
        facts = gather(fitted, texts)
        write_report(page, facts, of=f"{calibrator} on {readings}")
    if shown.json:
        show_json({"output": str(page), **facts.to_dict()})
    elif not shown.quiet:
        say(f"wrote {page}: {count(len(texts.items), 'text')}, {facts.labelled} labelled")
