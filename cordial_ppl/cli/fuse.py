"""`cordial fuse`: several readers of the same texts, calibrated together."""

from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import (
    ENDING,
    Also,
    Fitting,
    Id,
    Labelling,
    LabelsPath,
    Options,
    Readers,
    ReadingsPath,
    Shown,
    TableOut,
    Task,
    option,
    split_options,
)
from cordial_ppl.runtime.progress import doing

SAVE = f"Save the calibrator ({ENDING}), for other texts with `cordial predict`."


def fuse(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: TableOut,
    labelling: Labelling,
    fitting: Fitting,
    shown: Shown,
    save: Annotated[Path | None, option("CALIBRATOR", SAVE)] = None,
    also: Also = None,
    reader: Readers = None,
    options: Options = None,
    task: Task = None,
    id: Id = None,
) -> None:
    """Fit several readers on the labelled texts; calibrate every text that one of them has read.

    READINGS has one row for each text and reader, with a column `reader`. Readers may have
    different kinds of readings, and need not have read every text.
    """
    from cordial_ppl.cli.calibrate import say_labels, take_labelled
    from cordial_ppl.cli.output import STDOUT, check_output, show_json
    from cordial_ppl.tables import match_labels, read_labels, read_several

    settings, paths = fitting.settings, [readings, *(also or [])]
    inputs = [*paths, labels, *fitting.inputs]
    check_output(output, inputs)
    if save is not None:
        check_output(save, inputs, endings=[ENDING])
    with doing("reading"):
        chosen = {"task": task, "id": id or ()}
        table = read_several(paths, options=split_options(options), readers=reader, **chosen)
        rated = read_labels(labels, table.scale, **chosen, **labelling.label_settings)
        rated, rows = match_labels(table, rated)
    texts = take_labelled(table, rows, rated, fitting.channel)
    with doing("loading"), leaving_at_once():
        from cordial_ppl.decisions import answers
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion

        fusion = Fusion(table.scale, readers=table.readers, **settings)
        fusion.fit(
            texts.logits,
            table.scale.decode(texts.labels),
            texts.covariates,
            sample_weight=texts.weights,
            texts=texts.texts,
        )
    if save is not None:
        fusion.save(save)
    predict_table(fusion, table, output)
    if shown.json:
        content = {"output": str(output), "texts": len(table), "labels": len(texts.labels)}
        content |= {"weights": fusion.weights_, "shares": fusion.shares_}
        readers = {name: answers.describe(fit).to_dict() for name, fit in fusion.fit_.fits.items()}
        verdict = answers.verdict(fusion.fit_)
        content |= {"expected": fusion.fit_.expected._asdict(), "readers": readers}
        show_json(content | {"verdict": verdict and verdict.to_dict()})
    elif not shown.quiet:
        STDOUT.print(fusion.summary())
        saved = "" if save is None else f", and the calibrator to {save}"
        done = f"{count(len(table), 'text')}, calibrated on {say_labels(rated)}"
        say(f"wrote {output}: {done}{saved}")
