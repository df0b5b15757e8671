"""`cordial fit` and `cordial predict`: the two halves of `cordial calibrate`, with a file between.

The file is the fitted judge: data only, see `cordial_ppl.storage`.
"""

import warnings

import numpy as np

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import (
    ENDING,
    Also,
    Channels,
    Inference,
    Json,
    JudgeOut,
    JudgePath,
    LabelsPath,
    Method,
    Options,
    PriorOf,
    PriorPath,
    Quiet,
    Reader,
    ReadingsPath,
    Seed,
    TableOut,
    Task,
    choose_prior,
    split_options,
)
from cordial_ppl.errors import CordialWarning, InputError


def fit(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: JudgeOut,
    options: Options = None,
    reader: Reader = None,
    task: Task = None,
    channel: Channels = None,
    prior: PriorPath = None,
    prior_of: PriorOf = None,
    seed: Seed = 0,
    inference: Method = Inference.DEFAULT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit on the labelled texts of READINGS and keep the judge in a file."""
    from cordial_ppl.cli.fitting import fit_tables
    from cordial_ppl.cli.output import check_output, show_json, show_summary

    names, chosen = split_options(options), choose_prior(prior, prior_of)
    check_output(output, [readings, labels, *([prior] if prior else [])], endings=[ENDING])
    _, labelled, judge = fit_tables(
        readings,
        labels,
        options=names,
        reader=reader,
        task=task,
        inference=inference,
        seed=seed,
        channels=channel,
        prior=chosen,
        quiet=quiet,
    )
    judge.save(output)
    summary = judge.describe()
    if json:
        counts = {"output": str(output), "labels": labelled}
        show_json({**counts, "summary": summary.to_dict()})
    elif not quiet:
        show_summary(summary)
        say(f"wrote {output}: a judge fitted on {count(labelled, 'label')}")


def predict(
    judge: JudgePath,
    readings: ReadingsPath,
    output: TableOut,
    also: Also = None,
    options: Options = None,
    reader: Reader = None,
    task: Task = None,
    channel: Channels = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Calibrate every text of READINGS with a judge that was fitted before.

    The columns of READINGS must be the judge's options; --options gives their names, in the order
    of the judge's scale, where they differ. A judge that was fitted with channel files needs them
    again, as --channel. A judge of several readers, as `cordial fuse` keeps it, takes those of them
    that READINGS holds.
    """
    from cordial_ppl.cli.compilation import keep_compiled
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_json
    from cordial_ppl.tables import (
        differences,
        read_provenance,
        read_readings,
        read_several,
        write_table,
    )

    names, paths = split_options(options), [readings, *(also or [])]
    check_output(output, [judge, *paths])
    with working("loading", quiet):
        from cordial_ppl.cordial.stack import Stack
        from cordial_ppl.fusion import Fusion
        from cordial_ppl.saved import load

        keep_compiled()
        fitted = load(judge, channels=channel or ())
    if not isinstance(fitted, Stack | Fusion):
        raise InputError(
            f"{judge} holds what was learned of users, whose predictions `cordial shift` makes; "
            "give a judge, as `cordial fit` or `cordial fuse --save` writes it."
        )
    scale = fitted.scale_
    if names is not None and len(names) != scale.size:
        raise InputError(
            f"--options names {len(names)} options, but {judge} was fitted on {scale.size}: "
            f"{', '.join(scale.options)}."
        )
    if isinstance(fitted, Fusion):
        if reader is not None:
            raise InputError(
                f"{judge} was fitted on several readers and takes all of them that the tables "
                "hold: leave out --reader."
            )
        table = read_several(
            paths, options=names or scale, readers=fitted.readers_, task=task, gaps=True
        )
        silent = np.isnan(table.logits).all(axis=(0, 2))
        if silent.any():
            absent = [name for name, gone in zip(table.readers, silent, strict=True) if gone]
            warnings.warn(
                f"no table has readings by {', '.join(absent)}: the other readers are believed in "
                "proportion to their weights.",
                CordialWarning,
                stacklevel=2,
            )
    elif also:
        raise InputError(
            f"{judge} was fitted on one reader, so there is nothing that --also could add to."
        )
    else:
        table = read_readings(readings, options=names or scale, reader=reader, task=task)
        others = differences(fitted.provenance_, read_provenance(table.extras))
        if others:
            warnings.warn(
                f"{readings} has readings of another kind than {judge} was fitted on: "
                f"{'; '.join(others)}. A judge has learned the faults of one model under one "
                "prompt: fit another on labels of these.",
                CordialWarning,
                stacklevel=2,
            )
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(fitted, table))
    if json:
        content = {"output": str(output), "texts": len(table.item_ids), "options": scale.options}
        show_json(content)
    elif not quiet:
        say(f"wrote {output}: {count(len(table.item_ids), 'text')}")
