"""`cordial fuse`: several readers of the same texts, calibrated together."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import count, leaving_at_once, say, working
from cordial_ppl.cli.options import (
    ENDING,
    Also,
    Channels,
    Inference,
    Json,
    LabelsPath,
    Method,
    Options,
    PriorOf,
    PriorPath,
    Quiet,
    ReadingsPath,
    Seed,
    TableOut,
    Task,
    choose_prior,
    split_options,
)

Readers = Annotated[
    list[str] | None,
    typer.Option("--reader", metavar="NAME", help="A reader to take; may be repeated."),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="CALIBRATOR",
        help=f"Save the calibrator ({ENDING}), for other texts with `cordial predict`.",
    ),
]


def fuse(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: TableOut,
    save: Save = None,
    also: Also = None,
    reader: Readers = None,
    options: Options = None,
    task: Task = None,
    channel: Channels = None,
    prior: PriorPath = None,
    prior_of: PriorOf = None,
    seed: Seed = 0,
    inference: Method = Inference.DEFAULT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit several readers on the labelled texts; calibrate every text that one of them has read.

    READINGS has one row for each text and reader, with a column `reader`. Readers may have
    different kinds of readings, and need not have read every text.
    """
    from cordial_ppl.cli.fitting import covariates_of, read_label_table
    from cordial_ppl.cli.output import STDOUT, calibrated_columns, check_output, show_json
    from cordial_ppl.tables import match_labels, read_several, write_table

    settings = {"prior": choose_prior(prior, prior_of), "seed": seed, "inference": inference.value}
    paths, further = [readings, *(also or [])], tuple(map(str, channel or ()))
    inputs = [*paths, labels, *([prior] if prior else [])]
    check_output(output, inputs)
    if save is not None:
        check_output(save, inputs, endings=[ENDING])
    table = read_several(paths, options=split_options(options), readers=reader, task=task)
    found = read_label_table(labels, table.scale, task, table.kind)
    rows, covariates = match_labels(table, found), covariates_of(table, channel)
    extra = {name: values[rows] for name, values in covariates.items()}
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.fusion import Fusion

        fusion = Fusion(table.scale, readers=table.readers, channels=further, **settings)
        fusion.fit(table.logits[rows], table.scale.decode(found.labels), extra)
    if save is not None:
        fusion.save(save)
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(fusion, table))
    texts, labelled = len(table.item_ids), len(rows)
    if json:
        # A loss is NaN if there are no folds, which JSON does not have.
        expected = {k: v if v == v else None for k, v in fusion.expected_._asdict().items()}
        content = {"output": str(output), "texts": texts, "labels": labelled}
        content |= {"weights": fusion.weights_, "shares": fusion.shares_, "expected": expected}
        readers = {name: stack.describe().to_dict() for name, stack in fusion.stacks_.items()}
        show_json(content | {"readers": readers})
    elif not quiet:
        STDOUT.print(fusion.summary())
        kept = "" if save is None else f", and the calibrator to {save}"
        done = f"{count(texts, 'text')}, calibrated on {count(labelled, 'label')}"
        say(f"wrote {output}: {done}{kept}")
