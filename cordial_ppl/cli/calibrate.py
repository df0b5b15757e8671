"""`cordial calibrate`: fit on the labelled texts and calibrate all of them."""

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import (
    Channels,
    Inference,
    Json,
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


def calibrate(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: TableOut,
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
    """Fit on the labelled texts; write calibrated probabilities for every text of READINGS."""
    from cordial_ppl.cli.fitting import fit_tables
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_json, show_summary
    from cordial_ppl.tables import write_table

    names, chosen = split_options(options), choose_prior(prior, prior_of)
    check_output(output, [readings, labels, *([prior] if prior else [])])
    table, labelled, judge = fit_tables(
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
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(judge, table))
    texts = len(table.item_ids)
    summary = judge.describe()
    if json:
        counts = {"output": str(output), "texts": texts, "labels": labelled}
        show_json({**counts, "summary": summary.to_dict()})
    elif not quiet:
        show_summary(summary)
        found = f"{count(texts, 'text')}, calibrated on {count(labelled, 'label')}"
        say(f"wrote {output}: {found}")
