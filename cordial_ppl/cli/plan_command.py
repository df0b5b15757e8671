"""`cordial plan`: which texts to label, and what more labels would give."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli import options
from cordial_ppl.cli.calibrator_commands import load_calibrator
from cordial_ppl.cli.command import command
from cordial_ppl.cli.estimate_commands import read_grouping
from cordial_ppl.cli.options import BothColumns, Column
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.errors import InputError, SettingNeeded, count
from cordial_ppl.runtime.progress import doing


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How many texts to label, and which, or what more labels would give."""

    output: Annotated[options.Written | None, options.Out] = None
    "Table to fill in (.csv, .parquet, .jsonl): the texts in order of labelling."
    labelled: Annotated[Path | None, Parameter(metavar="LABELS", group=options.FILES)] = None
    "Table of the labels that there are already, which OUT begins with."
    more: Annotated[Path | None, Parameter(metavar="CALIBRATOR", group=options.FILES)] = None
    "Calibrator, from `cordial fit`: what would more labels give it?"
    by: Column = None
    "Column, such as `system`, over whose values to spread labels evenly."
    cluster: Column = None
    "Column of texts that are alike, to label together, such as `conversation`."
    number: Annotated[options.Number, Parameter(alias="-n")] = 20
    "How many texts to label."
    width: Annotated[float | None, Parameter(metavar="W")] = None
    "With --more: how many labels give the mean of all texts within plus and minus W?"


@command
def plan(
    readings: options.Given,
    /,
    *,
    columns: BothColumns = BothColumns(),
    wanted: Wanted = Wanted(),
    channel: options.Channels = (),
    seed: options.Seed = 0,
) -> Result:
    """Which texts should I label? A sample spread evenly over low and high readings.

    Fill in the column `label` of OUT from the top. You may stop anywhere: the first texts of a plan
    are a plan themselves, and OUT is a table of labels, whose empty rows are skipped.

    How many more labels? --more says what they would give a calibrator of these texts.

    Args:
        readings: Table: item_id, and `rating`, or columns p_..., logit_..., logprob_..., n_...
    """
    output, labelled, more, by = wanted.output, wanted.labelled, wanted.more, wanted.by
    if output is None and more is None:
        raise InputError("name the table to write, -o to-label.csv; or a calibrator, --more.")
    if wanted.width is not None and (more is None or not wanted.width > 0):
        raise InputError("--width must be a positive number, with --more: name a calibrator.")
    from cordial_ppl.tables import match_labels, read_labels, read_readings
    from cordial_ppl.tables.proposals import spell
    from cordial_ppl.tables.unfilled import check_unfilled

    if output is not None:
        check_unfilled(output, f"or add --labelled {output} for further texts")
    apart = tuple(name for name in (by, wanted.cluster) if name)
    settings, fitted = columns.of_readings, None
    if more is not None:
        fitted = load_calibrator(more, channel)
        settings["options"] = columns.options or fitted.fit_.scale
    with doing("reading"):
        table = read_readings(readings, **settings, apart=apart)
    if output is None:
        forecast, content = _forecast(wanted, readings, table, fitted)
        return Result(content, forecast)
    grouping = read_grouping(table.columns, by=by, cluster=wanted.cluster)
    groups, column = grouping.get("by"), by and spell(table.columns, by)
    rows, kept = [], []
    if labelled is not None:
        labels = read_labels(labelled, table.scale, **columns.of_labels, apart=apart)
        labels, matched = match_labels(table, labels)
        rows, kept = matched.tolist(), [table.scale.options[label] for label in labels.labels]
        if labels.planned_by not in (None, column):
            problem = f"{labelled} holds labels of a plan by {labels.planned_by!r}."
            raise SettingNeeded(problem, "Plan the other texts by it, too", "by", labels.planned_by)
    from cordial_ppl.decisions import planning
    from cordial_ppl.decisions.sampling_design import count_groups
    from cordial_ppl.estimators.bulk import sheets

    before = list(dict.fromkeys(rows))
    made = planning.plan(
        table.logits,
        wanted.number,
        groups=groups,
        clusters=grouping.get("cluster"),
        labelled=before,
        options=table.scale,
        seed=seed,
    )
    forecast, content = _forecast(wanted, readings, table, fitted)
    sheets.write_plan(output, table, made, (rows, kept), (groups, column))
    number = len(made.rows)
    done = f"wrote {output}: {count(number, 'text')}. Fill in label "
    done += f"({', '.join(table.scale.options)}) from the top"
    done += f"; the {count(len(kept), 'label')} of {labelled} stand first" if kept else ""
    plan = {"output": output, "texts": len(table), "labelled": len(before), "planned": number}
    plan |= {"forecast": content} if content else {}
    text, warnings = "", []
    if groups:
        plan["groups"], warnings = count_groups(groups, before, made.rows.tolist())
        lines = [(name, *map(str, each.values())) for name, each in plan["groups"].items()]
        header = by or "", "texts", "labelled", "planned"
        text = as_table(f"{count(number, 'text')} to label", header, lines)
    return Result(plan, forecast, text, warnings, [f"{done}: it is then a table of labels."])


def _forecast(wanted: Wanted, readings: Path, table: Any, fitted: Any) -> tuple[str, Any]:
    """Forecast what more labels would give a saved calibrator, for people and for programs."""
    if wanted.more is None:
        return "", {}
    from cordial_ppl.decisions.answers import check_readings
    from cordial_ppl.estimators.bulk.intake import warn_of_drift

    fit, width = fitted.fit_, wanted.width
    forecast = fitted.forecast(table.logits, table.covariates(fit.covariates, fit.levels))
    warn_of_drift(wanted.more, fit, readings, check_readings(fit, table.logits))
    text, content = forecast.text, forecast.to_dict()
    if width is not None:
        needed = forecast.needed(width)
        content |= {"width": width, "needed": needed and needed._asdict()}
        text += f"\n{forecast.say_needed(width)}" if forecast.loss is not None else ""
    return text, content
