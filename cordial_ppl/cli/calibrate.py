"""`cordial calibrate` and its first half, `cordial fit`; the second half is `cordial predict`."""

from cordial_ppl.cli.messages import count, working
from cordial_ppl.cli.options import (
    ENDING,
    CalibratorOut,
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
    from cordial_ppl.cli.output import calibrated_columns, check_output, show_fit
    from cordial_ppl.tables import write_table

    settings = {"prior": choose_prior(prior, prior_of), "seed": seed, "inference": inference.value}
    chosen = {"options": split_options(options), "reader": reader, "task": task}
    check_output(output, [readings, labels, *([prior] if prior else [])])
    table, labelled, calibrator = fit_tables(
        readings, labels, chosen, settings, channels=channel, quiet=quiet
    )
    with working("calibrating", quiet):
        write_table(output, calibrated_columns(calibrator, table))
    texts = len(table.item_ids)
    done = f"wrote {output}: {count(texts, 'text')}, calibrated on {count(labelled, 'label')}"
    counts = {"output": str(output), "texts": texts, "labels": labelled}
    show_fit(calibrator, counts, done, json=json, quiet=quiet)


def fit(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: CalibratorOut,
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
    """Fit on the labelled texts of READINGS and save the calibrator."""
    from cordial_ppl.cli.fitting import fit_tables
    from cordial_ppl.cli.output import check_output, show_fit

    settings = {"prior": choose_prior(prior, prior_of), "seed": seed, "inference": inference.value}
    chosen = {"options": split_options(options), "reader": reader, "task": task}
    check_output(output, [readings, labels, *([prior] if prior else [])], endings=[ENDING])
    _, labelled, calibrator = fit_tables(
        readings, labels, chosen, settings, channels=channel, quiet=quiet
    )
    calibrator.save(output)
    done = f"wrote {output}: a calibrator fitted on {count(labelled, 'label')}"
    counts = {"output": str(output), "labels": labelled}
    show_fit(calibrator, counts, done, json=json, quiet=quiet)
