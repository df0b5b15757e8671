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
        metavar="JUDGE",
        help=f"Keep what was fitted in a file ({ENDING}), from which `cordial predict` calibrates "
        "other texts.",
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

    names, paths = split_options(options), [readings, *(also or [])]
    chosen = choose_prior(prior, prior_of)
    inputs = [*paths, labels, *([prior] if prior else [])]
    check_output(output, inputs)
    if save is not None:
        check_output(save, inputs, endings=[ENDING])
    table = read_several(paths, options=names, readers=reader, task=task)
    found = read_label_table(labels, table.scale, task, table.kind)
    rows = match_labels(table, found)
    covariates = covariates_of(table, channel)
    extra = {name: values[rows] for name, values in covariates.items()}
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.fusion import Fusion

        fusion = Fusion(
            table.scale,
            readers=table.readers,
            inference=inference.value,
            prior=chosen,
            channels=tuple(map(str, channel or ())),
            seed=seed,
        )
        fusion.fit(table.logits[rows], table.scale.decode(found.labels), extra)
    if save is not None:
        fusion.save(save)
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(fusion, table))
    texts, labelled = len(table.item_ids), len(found.labels)
    if json:
        readers = {name: stack.describe().to_dict() for name, stack in fusion.stacks_.items()}
        content = {"output": str(output), "texts": texts, "labels": labelled}
        content |= {"weights": fusion.weights_, "shares": fusion.shares_, "readers": readers}
        # Where there were no folds, a loss is NaN, which JSON does not have.
        known = {key: x if x == x else None for key, x in fusion.expected_._asdict().items()}
        show_json({**content, "expected": known})
    elif not quiet:
        STDOUT.print(fusion.summary())
        kept = "" if save is None else f", and the judge to {save}"
        found = f"{count(texts, 'text')}, calibrated on {count(labelled, 'label')}"
        say(f"wrote {output}: {found}{kept}")
