"""`cordial shift`: calibrated probabilities of what each user would say."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import (
    Channels,
    Inference,
    Json,
    LabelsPath,
    Method,
    Options,
    PriorChoice,
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
from cordial_ppl.errors import InputError

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.tables import LabelTable, ReadingTable

SHOWN = 10
"""Users that the summary names: those who differ most."""

Population = Annotated[
    Path | None,
    typer.Option(
        "--judge",
        metavar="JUDGE",
        help="A judge fitted to other labels, as `cordial fit` writes it, for the population; by "
        "default one is fitted to LABELS, as --inference, --seed, --prior and --channel say.",
    ),
]

Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Table to write (.csv, .parquet, .jsonl): item_id, user, p_..., mean, label, extras.",
    ),
]


def shift(
    readings: ReadingsPath,
    labels: LabelsPath,
    output: Output,
    judge: Population = None,
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
    """Calibrate every text of READINGS for its user: some rate higher than others, some lower.

    READINGS has a column `user`, whose label is predicted. LABELS may have its own `user`, and a
    column `order`: numbers that grow with time, or dates as ISO 8601 has them.
    """
    from cordial_ppl import scores
    from cordial_ppl.cli.fitting import read_labelled
    from cordial_ppl.cli.output import check_output, passed_on, show_json, show_table
    from cordial_ppl.personal import UserShift
    from cordial_ppl.tables import match_labels, write_table

    names, chosen = split_options(options), choose_prior(prior, prior_of)
    if judge is not None and chosen is not None:
        raise InputError("--judge is fitted already: leave out --prior and --prior-of.")
    check_output(output, [readings, labels, *(path for path in (judge, prior) if path)])
    table, found = read_labelled(readings, labels, options=names, reader=reader, task=task)
    users, raters = _users(readings, labels, table, found, match_labels(table, found))
    order = found.extras.get("order")
    known, population, fitted = _population(
        judge, table, found, channel, chosen, inference=inference, seed=seed, quiet=quiet
    )
    with working("comparing users", quiet):
        given = fitted.scale_.decode(found.labels)
        shifts = UserShift(fitted.scale_).fit(known, given, raters, order)
        probs = shifts.predict_proba(population, users)
        in_order, _ = shifts.predict_in_order(known, given, raters, order, afresh=True)
        losses = [scores.log_loss(part, found.labels) for part in (known, in_order)]
        columns: dict[str, Sequence | np.ndarray] = {
            "item_id": table.item_ids,
            "user": users,
            **{f"p_{option}": probs[:, k] for k, option in enumerate(fitted.scale_.options)},
            "mean": probs @ fitted.scale_.values,
            "label": fitted.scale_.decode(probs.argmax(axis=1)),
        }
        extras = passed_on(replace(table, extras=_without_users(table)), columns)
        write_table(output, columns | extras)
    values, counts = shifts.values_, shifts.counts_
    if json:
        content = {"output": str(output), "texts": len(users), "labels": len(found.labels)}
        content |= {"spread": shifts.sigma_, "shifts": values, "labels_of": counts}
        losses = dict(zip(("log_loss_population", "log_loss_in_order"), losses, strict=True))
        show_json(content | losses)
    elif not quiet:
        furthest = sorted(values, key=lambda user: -abs(values[user]))[:SHOWN]
        rows = [(user, str(counts[user]), f"{values[user]:+.2f}") for user in furthest]
        verb = "differs" if len(values) == 1 else "differ"
        title = f"{count(len(values), 'user')} {verb} by {shifts.sigma_:.2f} classes"
        more = f", the {SHOWN} furthest" if len(values) > SHOWN else ""
        show_table(f"{title} (standard deviation){more}", ("", "labels", "shift"), rows)
        unseen = "out of fold" if judge is None else "if the judge has not seen them"
        say(
            f"log loss of the labels, {unseen}: {losses[0]:.3f} by the population, "
            f"{losses[1]:.3f} by it and the earlier labels of each one's user"
        )
        if losses[1] >= losses[0]:
            say("earlier labels of a user do not help to predict the later ones here")
        say(f"wrote {output}: {count(len(users), 'text')}")


def _without_users(table: "ReadingTable") -> dict[str, list]:
    return {name: cells for name, cells in table.extras.items() if name != "user"}


def _users(
    readings: Path, labels: Path, table: "ReadingTable", found: "LabelTable", rows: np.ndarray
) -> tuple[list[str], list[str]]:
    """Whose label is predicted, text by text, and who gave the labels that there are."""
    from cordial_ppl.errors import naming
    from cordial_ppl.personal.door import as_users
    from cordial_ppl.personal.times import as_order

    if "user" not in table.extras:
        raise InputError(f"{readings} needs a column user: whose label is predicted.")
    with naming(readings):
        users = as_users(table.extras["user"], len(table.item_ids), table.where)
    with naming(labels):
        as_order(found.extras.get("order"), len(rows), found.where)
        raters = found.extras.get("user") or [users[row] for row in rows]
        return users, as_users(raters, len(rows), found.where)


def _population(
    path: Path | None,
    table: "ReadingTable",
    found: "LabelTable",
    channels: list[Path] | None,
    prior: PriorChoice,
    *,
    inference: Inference,
    seed: int,
    quiet: bool,
) -> tuple[np.ndarray, np.ndarray, "Stack"]:
    """Predictions of the labelled texts that do not know their labels, and of all texts."""
    from cordial_ppl.cli.fitting import covariates_of, fit_judge
    from cordial_ppl.stacking import MIN_LABELS
    from cordial_ppl.tables import match_labels

    rows, scale = match_labels(table, found), table.scale
    if path is None:
        if len(found.labels) < MIN_LABELS:
            raise InputError(
                f"{count(len(found.labels), 'label')} are too few to tell users apart: at least "
                f"{MIN_LABELS} are needed, or a judge fitted to others, --judge."
            )
        extra = covariates_of(table, channels)
        fitted = fit_judge(
            table.logits[rows],
            scale.decode(found.labels),
            scale.options,
            covariates={name: values[rows] for name, values in extra.items()},
            inference=inference,
            seed=seed,
            channels=channels,
            prior=prior,
            quiet=quiet,
        )
        known = fitted.out_of_fold_
        assert known is not None  # there are folds
        return known, fitted.predict_proba(table.logits, extra), fitted
    with working("loading", quiet):
        from cordial_ppl.cordial import load

        fitted = load(path, channels=channels or ())
    if fitted.scale_ != scale:
        raise InputError(
            f"{path} was fitted on the options {', '.join(fitted.scale_.options)}, but the "
            f"readings have {', '.join(scale.options)}."
        )
    extra = {name: table.covariate(name) for name in fitted.covariates_}
    population = fitted.predict_proba(table.logits, extra)
    return population[rows], population, fitted
