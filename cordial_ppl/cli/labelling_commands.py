"""Which texts people label: `cordial plan`, at random, and `cordial decide`, the doubtful ones.

`cordial label` shows the texts of a plan in a browser.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.calibrator_commands import load_calibrator
from cordial_ppl.cli.command import command
from cordial_ppl.cli.estimate_commands import read_grouping
from cordial_ppl.cli.options import BothColumns, Column, Columns, Fitting
from cordial_ppl.cli.output import Result, as_table, draw, interrupting, say
from cordial_ppl.errors import InputError, SettingNeeded, count, naming, warn
from cordial_ppl.runtime.progress import doing


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How many texts to label, and which, or what more labels would give."""

    output: Annotated[options.Written | None, options.Out] = None
    "Table to write (.csv, .parquet, .jsonl): the texts to label, in order, with empty label cells."
    labelled: Annotated[Path | None, Parameter(metavar="LABELS", group=options.FILES)] = None
    "Table of existing labels, to be listed first in OUT."
    more: Annotated[Path | None, Parameter(metavar="CALIBRATOR", group=options.FILES)] = None
    "Calibrator from `cordial fit`, to forecast how more labels would improve it."
    by: Column = None
    "Column, such as `system`; each of its values gets the same number of labels."
    cluster: Column = None
    "Column that groups related texts, such as `conversation`; the plan chooses whole groups."
    number: Annotated[options.Number, Parameter(alias="-n")] = 20
    "Number of texts to label."
    width: Annotated[float | None, Parameter(metavar="W")] = None
    "With --more: forecast how many labels narrow the mean's interval to +/- W."


@command
def plan(
    readings: options.Readings,
    /,
    *,
    columns: BothColumns = BothColumns(),
    wanted: Wanted = Wanted(),
    channel: options.Channels = (),
    seed: options.Seed = 0,
) -> Result:
    """Which texts should I label? Choose a random sample, spread evenly from low to high readings.

    Fill in the column `label` of OUT from top to bottom. You can stop at any row, because the first
    rows of a plan form a smaller plan. Then pass OUT as LABELS to `cordial fit` or another command;
    rows without a label are skipped.

    How many more labels do I need? With --more, forecast how more labels would improve a
    calibrator.
    """
    output, labelled, by = wanted.output, wanted.labelled, wanted.by
    if output is None and wanted.more is None:
        raise InputError("nothing to do. Pass an output file with -o, or a calibrator with --more.")
    if wanted.width is not None and (wanted.more is None or not wanted.width > 0):
        raise InputError("--width must be above 0. Use it only together with --more CALIBRATOR.")
    import numpy as np

    from cordial_ppl.tables import check_unfilled, match_labels, read_labels, read_readings
    from cordial_ppl.tables.roles import spell

    settings, fitted = {**vars(columns)}, None
    if wanted.more is not None:
        fitted, settings["options"] = load_calibrator(wanted.more, channel, columns.options)
    settings["apart"] = tuple(filter(None, (by, wanted.cluster)))
    with doing("reading"):
        table = read_readings(readings, **settings)
    if output is not None:
        check_unfilled(output, f"pass --labelled {output} to plan more texts", table.columns)
    grouping = read_grouping(table.columns, by=by, cluster=wanted.cluster)
    groups, column = grouping.get("by"), by and spell(table.columns, by)
    kept, rows = None, np.zeros(0, int)
    if labelled is not None:
        kept, rows = match_labels(table, read_labels(labelled, table.scale, **settings))
        _check_design(labelled, kept, column)
    forecast, content = _forecast(wanted, readings, table, fitted)
    if output is None:
        return Result(content, forecast)
    from cordial_ppl.decisions.sampling_design import count_groups
    from cordial_ppl.estimators.bulk import sheets

    before = list(dict.fromkeys(rows.tolist()))
    texts = {"groups": groups, "clusters": grouping.get("cluster"), "labelled": before}
    made = cp.plan(table.logits, wanted.number, **texts, options=table.scale, seed=seed)
    sheets.write_plan(output, table, made, (rows.tolist(), kept), (groups, column))
    number, scale = count(len(made.rows), "text"), ", ".join(table.scale.options)
    after = f", below the {count(len(rows), 'label')} from {labelled}" if kept else ""
    done = f"Wrote {number} to {output}{after}. Fill in the label column ({scale}) from the top"
    plan = {"output": output, "texts": len(table), "labelled": len(before)}
    plan |= {"planned": len(made.rows)} | ({"forecast": content} if content else {})
    text, warnings = "", []
    if groups:
        plan["groups"], warnings = count_groups(groups, before, made.rows.tolist())
        lines = [(name, *map(str, each.values())) for name, each in plan["groups"].items()]
        text = as_table(f"{number} to label", (by or "", "texts", "labelled", "planned"), lines)
    return Result(plan, forecast, text, warnings, [f"{done}, then pass the file as LABELS."])


def _check_design(labelled: Path, kept: Any, by: str | None) -> None:
    """Refuse labels of texts that were not drawn as a plan by this column, if any, draws them."""
    from cordial_ppl.tables.columns import finite

    if kept.planned_by not in (None, by):
        problem = f"{labelled} contains labels from a plan by {kept.planned_by!r}."
        raise SettingNeeded(problem, "Plan more texts in the same way", "by", kept.planned_by)
    options.refuse_split(kept, "plan --labelled")
    if kept.planned_by is None and "probability" in kept.columns.free:
        with naming(labelled):
            if len(shares := {*finite(kept.columns, "probability")}) > 1 or 1 in shares:
                raise InputError(
                    "a plan cannot continue labels whose 'probability' differs or is 1. Plan "
                    "without --labelled, and estimate from the new labels alone; rename the "
                    "column if it means something else."
                )


def _forecast(wanted: Wanted, readings: Path, table: Any, fitted: Any) -> tuple[str, Any]:
    """Forecast what more labels would give a saved calibrator, for people and for programs."""
    if wanted.more is None:
        return "", {}
    from cordial_ppl.data.labelling import as_texts
    from cordial_ppl.estimators.bulk.intake import warn_of_drift, warn_of_kind

    fit, width = fitted.fit_, wanted.width
    texts = as_texts(table.item_ids, len(table))
    if fit.labelled.texts.max() >= 0 and not fit.labelled.has(texts).any():
        warn(
            f"{readings} has none of the texts that were labelled for {wanted.more}, so the "
            "forecast does not hold for its mean. If it has them, fit with their item_id as texts."
        )
    warn_of_kind(wanted.more, fit, readings, table)
    forecast = fitted.forecast(table.logits, table.covariates(fit.covariates, fit.levels))
    warn_of_drift(wanted.more, fit, readings, cp.check_readings(fit, table.logits))
    text, content = forecast.text, forecast.to_dict()
    if width is not None:
        needed = forecast.needed(width)
        content |= {"width": width, "needed": needed and needed._asdict()}
        text += f"\n{forecast.say_needed(width)}" if forecast.loss is not None else ""
    return text, content


PORT = Parameter(metavar="PORT", group=options.ADVANCED)

LABELS = options.Output("labels.jsonl")
"""Where labels go by default."""


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Labelling:
    """What a person labels, and what the labels are for."""

    text: Annotated[str, options.COLUMN]
    "Column with the texts to label."
    context: Annotated[Sequence[str], options.COLUMN] = ()
    "Column to show above each text, such as the prompt; may be repeated."
    texts: options.File = None
    "Table with the ids and the texts, if READINGS does not contain the texts."
    output: Annotated[options.Output, options.ending(".jsonl", ".ndjson"), options.Out] = LABELS
    "File of labels to write (.jsonl); if it exists, new labels are added to it."
    annotator: Annotated[str | None, Parameter(metavar="NAME")] = None
    "Your name, stored with each label; by default your user name. Each person needs their own OUT."
    number: Annotated[options.Number, Parameter(alias="-n")] = 20
    "Number of texts to label."
    by: Column = None
    "Column, such as `system`; each of its values gets the same number of labels."
    require: Annotated[Sequence[str], Parameter(metavar="TEXT")] = ()
    'Requirement, such as "mean >= 4" or "A - B > 0"; the page shows whether it is met.'
    within: Annotated[float | None, Parameter(metavar="W")] = None
    "Goal: an interval of plus or minus W for the mean. The page shows when the goal is reached."
    passing: Annotated[options.Names, Parameter(name="--pass")] = None
    "Options that count as a pass (for example 4,5), for requirements such as `pass >= .8`."
    port: Annotated[int, options.whole(0, 65535), PORT] = 0
    "Local port for the page; by default any free port."


@command
def label(
    readings: options.Readings,
    /,
    *,
    columns: Columns = Columns(),
    wanted: Labelling,
    seed: options.Seed = 0,
) -> Result:
    """Label texts on a local page in your browser, in the order that `cordial plan` chooses.

    Each answer is saved before the next text appears. To continue later, run the same command
    again. Pass OUT as LABELS to `cordial compare` and other commands.
    """
    from cordial_ppl.logs.rows import load

    for module in ("starlette", "uvicorn", "markdown_it"):
        load(module, "label")
    from cordial_ppl.decisions.estimates.passing import as_passing
    from cordial_ppl.decisions.estimates.requirement import parse
    from cordial_ppl.label.advice import Adviser, Goal
    from cordial_ppl.label.answer_log import AnswerLog
    from cordial_ppl.label.assignment import AHEAD, Assignment
    from cordial_ppl.label.server import Page, serve
    from cordial_ppl.tables import read_readings
    from cordial_ppl.tables.roles import spell
    from cordial_ppl.tables.words import read_shown

    by, names = wanted.by, [wanted.text, *wanted.context]
    apart = [name for name in (*names, by) if name and name.casefold() != "rating"]
    with doing("reading"):
        table = read_readings(readings, **vars(columns), apart=tuple(apart))
        shown = read_shown(table, names, wanted.texts, columns.id)
    groups = read_grouping(table.columns, by=by).get("by")
    required, number = [*map(parse, wanted.require)], min(wanted.number, len(table))
    if wanted.passing is not None:
        as_passing(wanted.passing, table.scale)
    for each in required:
        each.find(sorted({*groups}) if groups else (), wanted.passing is not None, table.scale)
    adviser = Adviser(table, wanted.output, Goal(required, wanted.within, wanted.passing, groups))
    ahead, who = min(number + AHEAD, len(table)), wanted.annotator or _find_user()
    order = cp.plan(table.logits, ahead, groups=groups, options=table.scale, seed=seed).rows
    with closing(AnswerLog(wanted.output, who, table.scale.options)) as log:
        work = Assignment(table, log, order, number, shown, by and spell(table.columns, by))
        with doing("labelling", number, "texts") as stage, interrupting():
            page = Page(work, adviser, lambda: stage.reach(work.counts["answered"]))
            serve(page, wanted.port, _say_address)
        with doing("finishing the last estimate"):
            adviser.end()
    output = wanted.output if wanted.output.exists() else None
    content = {"output": output, "annotator": who, **work.counts, "advice": adviser.latest}
    done = f"Wrote {count(work.counts['labels'], 'label')} by {who} to {output}."
    return Result(content, done=[done if output else "Wrote no labels."])


def _find_user() -> str:
    """Find the name of this machine's user; in a container there may be none."""
    try:
        return getuser()
    except (KeyError, OSError) as error:
        problem = "cannot determine your user name."
        raise SettingNeeded(problem, "Pass a name", "annotator", "NAME") from error


def _say_address(address: str) -> None:
    say(f"open {address}")
    say("Press Ctrl-C to stop. To continue later, run the same command again.")


Cost = Annotated[float, Parameter(metavar="COST")]


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Costs:
    """What passes, and what errors and people cost: arguments of `Rule`."""

    passing: Annotated[options.Names, Parameter(name="--pass")] = None
    "Options that count as a pass, such as 4,5."
    within: Annotated[options.Natural | None, Parameter(metavar="CLASSES")] = None
    "Choose a label, not pass or fail; a label off by at most CLASSES options counts as correct."
    false_pass: Cost = 1.0
    "Cost of passing a text that people would fail."
    false_fail: Cost = 1.0
    "Cost of failing a text that people would pass."
    person: Annotated[float | None, Parameter(metavar="COST")] = None
    "Cost of asking a person to label a text, in the same unit as the other costs."
    agree: Annotated[float | None, Parameter(metavar="SHARE")] = None
    "Share of automatic decisions that must agree with people, such as .9; people make the others."
    level: Annotated[float, Parameter(metavar="P")] = 0.9
    "Probability that the decisions meet --agree."
    audit: Annotated[float, Parameter(metavar="SHARE")] = 0.05
    "Share of automatically decided texts to draw at random for people to check."


@command
def decide(
    tables: Fitting,
    *,
    costs: Costs = Costs(),
    output: Annotated[options.Written | None, options.Out] = None,
    figure: options.Figure = None,
) -> Result:
    """Which texts pass, which fail, and which need a person? OUT starts with the texts for people.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): one row per text, with the decision.
        figure: File for a plot of cost and agreement (.svg, .png, .pdf).
    """
    from cordial_ppl.decisions.rule import Rule
    from cordial_ppl.tables import check_unfilled

    rule = Rule(**vars(costs))
    table, labels, rows = read = tables.read()
    done, warnings = list[str](), list[str]()
    if output is not None:
        kept = zip(labels.item_ids, table.scale.decode(labels.labels), strict=True)
        check_unfilled(output, f"pass {output} as LABELS", table.columns, labels.columns, kept=kept)
        options.refuse_split(labels, "decide -o")
    from cordial_ppl.decisions.sampling_design import read_design
    from cordial_ppl.estimators.bulk import sheets

    # The labels of texts that were chosen as doubtful say little of the others.
    chosen, calibrator = bool(read_design(read)[1]), tables.fit(read)
    covariates = table.covariates(calibrator.fit_.covariates)
    made = calibrator.decide(table.logits, rows, covariates, **vars(rule))
    left = ~made.labelled
    if output is not None:
        sheets.write_decisions(output, made, read)
        asked, alone = made.asked, int((left & (made.decision != "person")).sum())
        first, audited = count(int(asked.sum()), "text"), int((made.probability[asked] < 1).sum())
        fill = f"Fill in labels for the first {first}"
        fill += f" ({audited} of them for the audit)" if audited else ""
        done.append(f"Wrote {output}. {fill if asked.any() else 'No text needs a label'}.")
        if alone and not rule.audit:
            warnings.append(
                f"without an audit, {count(alone, 'text')} will stay unlabelled, so the mean label "
                "will be biased. Remove --audit 0."
            )
    if figure is not None and left.any():
        done.append(draw(figure, lambda: cp.plots.decisions(made)))
    elif figure is not None:
        done.append(f"did not draw {figure}, because all texts have labels.")
    content: dict[str, Any] = {"decisions": made.counts, "labelled": int(made.labelled.sum())}
    content |= {"to_label": int(made.asked.sum()), "checked": None if chosen else made.checked}
    content |= {name: getattr(made, name) for name in ("ways", "agree", "kept", "gain", "curve")}
    return Result(content, made.text(chosen), "", warnings, done)
