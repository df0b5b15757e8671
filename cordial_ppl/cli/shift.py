"""`cordial shift`: calibrated probabilities of what each user would say."""

from pathlib import Path
from typing import Annotated

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    Fitting,
    LabelledTables,
    Shown,
    option,
    output,
)
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

SHOWN = 10
"""Users in the summary: those who differ most from the population."""

POPULATION = (
    "A calibrator fitted to other labels, as `cordial fit` writes it, for the population; by "
    "default one is fitted to LABELS, as --inference, --seed, --prior and --channel say."
)
TABLE = (
    "Table to write (.csv, .parquet, .jsonl): item_id, user, p_..., mean, label, "
    "label_low, label_high, extras."
)


def shift(
    tables: LabelledTables,
    out: Annotated[Path, output("OUT", TABLE)],
    fitting: Fitting,
    shown: Shown,
    calibrator_path: Annotated[
        Path | None, option("CALIBRATOR", POPULATION, "--calibrator")
    ] = None,
) -> None:
    """Calibrate every text of READINGS for its user: some rate higher than others, some lower.

    READINGS has a column `user`, whose label is predicted. LABELS may have a column `user`, or
    `annotator`, too, and a column `order`: numbers that grow with time, or dates in ISO 8601.
    """
    import polars as pl

    from cordial_ppl import scores
    from cordial_ppl.cli.calibrate import fit_calibrator, take_labelled
    from cordial_ppl.cli.output import check_output, show_json, show_table
    from cordial_ppl.estimators.bulk.predictor import LEVEL, add_extras
    from cordial_ppl.estimators.users import UserShift
    from cordial_ppl.estimators.users.validation import as_order, as_users
    from cordial_ppl.stack.interval import label_range
    from cordial_ppl.stack.stacking import MIN_LABELS
    from cordial_ppl.tables import write_table

    settings, options, calibrator = fitting.settings, tables.settings["options"], None
    if calibrator_path is not None and settings["prior"] is not None:
        raise InputError("--calibrator is fitted already: leave out --prior and --prior-of.")
    inputs = [*tables.inputs, *fitting.inputs]
    check_output(out, inputs + ([calibrator_path] if calibrator_path else []))
    if calibrator_path is not None:
        with doing("loading"):
            from cordial_ppl.estimators import load

            calibrator = load(calibrator_path, channels=fitting.channel or ())
            options = options or calibrator.fit_.scale
    table, labels, rows = tables.read(options=options)
    scale, extras = table.scale, table.extras
    if "user" not in extras:
        people = labels.annotators
        example = f", such as {people[0]!r} of {tables.labels}" if people else ""
        raise InputError(
            f"{tables.readings} needs a column user: whose label is predicted{example}."
        )
    with naming(tables.readings):
        users = as_users(extras["user"], len(table), table.columns.where)
    with naming(tables.labels):
        order = labels.extras.get("order")
        as_order(order, len(rows), labels.columns.where)
        raters = labels.annotators or [users[row] for row in rows]
        raters = as_users(raters, len(rows), labels.columns.where)
    if calibrator is None:
        if len(rows) < MIN_LABELS:
            raise InputError(
                f"{count(len(rows), 'label')} are too few to compare users: {MIN_LABELS} are "
                "needed, or a calibrator fitted to other labels (--calibrator)."
            )
        texts = take_labelled(table, rows, labels, fitting.channel)
        calibrator = fit_calibrator(texts, scale, settings)
    extra = table.covariates(calibrator.fit_.covariates, calibrator.fit_.levels)
    population = calibrator.predict_proba(table.logits, extra)
    labelled = population[rows] if calibrator_path else calibrator.fit_.out_of_fold
    assert labelled is not None  # with so many labels
    with doing("comparing users"):
        rated = scale.decode(labels.labels)
        weights = labels.weights if "weight" in labels.columns.schema else None
        shifts = UserShift(scale).fit(labelled, rated, raters, order, sample_weight=weights)
        probs = shifts.predict_proba(population, users)
        in_order, _ = shifts.predict_in_order(labelled, rated, raters, order, afresh=True)
        before, after = (scores.log_loss(part, labels.labels) for part in (labelled, in_order))
        columns = {"item_id": table.item_ids, "user": users}
        columns |= {f"p_{option}": probs[:, k] for k, option in enumerate(scale.options)}
        columns |= {"mean": probs @ scale.values, "label": scale.decode(probs.argmax(axis=1))}
        first, last = map(scale.decode, label_range(probs, LEVEL))
        columns |= {"label_low": first, "label_high": last}
        write_table(out, add_extras(pl.DataFrame(columns), table, ["user"]).lazy())
    values, counts = shifts.values_, shifts.counts_
    if shown.json:
        content = {"output": str(out), "texts": len(users), "labels": len(rows)}
        content |= {"spread": shifts.sigma_, "shifts": values, "labels_of": counts}
        show_json({**content, "log_loss_population": before, "log_loss_in_order": after})
    elif not shown.quiet:
        furthest = sorted(values, key=lambda user: -abs(values[user]))[:SHOWN]
        lines = [(user, str(counts[user]), f"{values[user]:+.2f}") for user in furthest]
        title = f"{count(len(values), 'user')}: shifts with standard deviation {shifts.sigma_:.2f}"
        title += f", the {SHOWN} largest" if len(values) > SHOWN else ""
        show_table(title, ("", "labels", "shift"), lines)
        unseen = (
            "out of fold" if calibrator_path is None else "if the calibrator was not fitted to them"
        )
        say(
            f"log loss of the labels, {unseen}: {before:.3f} by the population, {after:.3f} with "
            "the earlier labels of each user"
        )
        if after >= before:
            say("earlier labels of a user do not help to predict the later ones here")
        say(f"wrote {out}: {count(len(users), 'text')}")
