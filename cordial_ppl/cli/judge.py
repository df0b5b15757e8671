"""`cordial fit`: the first half of `cordial calibrate`; the second is `cordial predict`.

The file between them is the fitted judge: data only, see `cordial_ppl.storage`.
"""

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    ENDING,
    Channels,
    Inference,
    Json,
    JudgeOut,
    LabelsPath,
    Method,
    Options,
    PriorOf,
    PriorPath,
    Quiet,
    Reader,
    ReadingsPath,
    Seed,
    Task,
    choose_prior,
    split_options,
)


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
