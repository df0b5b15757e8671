"""`cordial fuse`: several readers of the same texts, calibrated together."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import count, leaving_at_once, say, working
from cordial_ppl.cli.options import (
    Channels,
    Inference,
    Json,
    LabelsPath,
    Method,
    Options,
    PriorPath,
    Quiet,
    ReadingsPath,
    Seed,
    TableOut,
    Task,
    split_options,
)

Readers = Annotated[
    list[str] | None,
    typer.Option("--reader", metavar="NAME", help="A reader to take; may be repeated."),
]
Also = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="READINGS",
        help="A further table of readings, of other readers; may be repeated. A table without a "
        "column `reader` is of one, who goes by the file's name.",
    ),
]


def fuse(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: TableOut,
    also: Also = None,
    reader: Readers = None,
    options: Options = None,
    task: Task = None,
    channel: Channels = None,
    prior: PriorPath = None,
    seed: Seed = 0,
    inference: Method = Inference.DEFAULT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit several readers on the labelled texts; calibrate every text that one of them has read.

    READINGS has one row for each text and reader, with a column `reader`. Readers may have
    different kinds of readings, and need not have read every text.
    """
    from cordial_ppl.cli.compilation import keep_compiled
    from cordial_ppl.cli.fitting import read_label_table
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_json, show_table
    from cordial_ppl.formats import match_labels, read_several, write_table

    names, paths = split_options(options), [readings, *(also or [])]
    check_output(output, [*paths, labels, *([prior] if prior else [])])
    table = read_several(paths, options=names, readers=reader, task=task)
    found = read_label_table(labels, table.scale, task, table.kind)
    rows = match_labels(table, found)
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.cordial.files import to_plain
        from cordial_ppl.fusion import Fusion

        keep_compiled()
        fusion = Fusion(
            table.scale,
            readers=table.readers,
            inference=inference.value,
            prior=prior,
            channels=tuple(map(str, channel or ())),
            seed=seed,
        )
        fusion.fit(table.logits[rows], table.scale.decode(found.labels))
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(fusion, table))
    texts, labelled = len(table.item_ids), len(found.labels)
    losses = {name: stack.expected_ for name, stack in fusion.stacks_.items()}
    counts = {name: own.labels for name, own in losses.items()}
    if json:
        content = {"output": str(output), "texts": texts, "labels": labelled}
        content |= {"weights": fusion.weights_, "shares": fusion.shares_, "labels_of": counts}
        expected = {"fused": fusion.expected_, **losses}
        content["expected"] = {name: to_plain(own._asdict()) for name, own in expected.items()}
        show_json(content)
    elif not quiet:
        cells = [
            (
                name,
                str(counts.get(name, labelled)),
                f"{weight:.2f}",
                _loss(losses[name].cordial) if name in losses else "",
            )
            for name, weight in fusion.weights_.items()
        ]
        show_table("", ("reader", "labels", "weight", "expected log loss"), cells)
        mean = fusion.expected_
        if mean.cordial == mean.cordial:
            say(
                f"expected log loss: fused {mean.cordial:.2f}, label histogram "
                f"{mean.histogram:.2f}, readings as they are, averaged {mean.raw:.2f} "
                "(out of fold, nats)"
            )
        say(f"wrote {output}: {count(texts, 'text')}, calibrated on {count(labelled, 'label')}")


def _loss(loss: float) -> str:
    return f"{loss:.2f}" if loss == loss else "too few labels"
