"""`cordial plan`: which texts to label, and what more labels would give."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import (
    FILES,
    MODEL,
    READINGS,
    Channels,
    Column,
    Number,
    Out,
    Seed,
    Written,
)
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import CHOICE, LABELLING, Columns, Labelling
from cordial_ppl.errors import InputError, SettingNeeded, count
from cordial_ppl.runtime.progress import doing

LABELS = 20
"""Labels from which on what is calibrated can be judged."""


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How many texts to label, and which, or what more labels would give."""

    output: Annotated[Written | None, Out] = None
    "Table to fill in (.csv, .parquet, .jsonl): the texts in order of labelling."
    labelled: Annotated[Path | None, Parameter(metavar="LABELS", group=FILES)] = None
    "Table of the labels that there are already, which OUT begins with."
    more: Annotated[Path | None, Parameter(metavar="CALIBRATOR", group=FILES)] = None
    "Calibrator, from `cordial fit`: what would more labels give it?"
    by: Column = None
    "Column, such as `system`, over whose values to spread labels evenly."
    cluster: Column = None
    "Column of texts that are alike, to label together, such as `conversation`."
    number: Annotated[Number, Parameter(alias="-n")] = LABELS
    "How many texts to label."
    width: Annotated[float | None, Parameter(metavar="W")] = None
    "With --more: how many labels give the mean of all texts within plus and minus W?"


WANTED = Wanted()


@command
def plan(
    readings: Annotated[Path, Parameter(help=READINGS)],
    /,
    *,
    columns: Columns = CHOICE,
    labelling: Labelling = LABELLING,
    wanted: Wanted = WANTED,
    channel: Channels = (),
    seed: Seed = 0,
) -> Result:
    """Which texts should I label? A sample spread evenly over low and high readings.

    Fill in the column `label` of OUT from the top. You may stop anywhere: the first texts of a plan
    are a plan themselves, and OUT is a table of labels, whose empty rows are skipped.

    How many more labels? --more says what they would give a calibrator of these texts.
    """
    output, labelled, more, by = wanted.output, wanted.labelled, wanted.more, wanted.by
    if output is None and more is None:
        raise InputError("name the table to write, -o to-label.csv; or a calibrator, --more.")
    if wanted.width is not None and (more is None or not wanted.width > 0):
        raise InputError("--width must be a positive number, with --more: name a calibrator.")
    if output is not None:
        from cordial_ppl.tables import check_unfilled

        check_unfilled(output, f"or add --labelled {output} for further texts")
    forecast, content = "", {}
    if more is not None:
        forecast, content = _forecast(more, readings, columns, channel, wanted.width)
    if output is None:
        return Result(content, forecast)
    from cordial_ppl.cli.estimate_commands import read_grouping
    from cordial_ppl.tables import match_labels, read_labels, read_readings
    from cordial_ppl.tables.proposals import spell

    apart = tuple(name for name in (by, wanted.cluster) if name)
    table = read_readings(readings, **vars(columns), apart=apart)
    grouping = read_grouping(table.columns, by=by, cluster=wanted.cluster)
    groups, column = grouping.get("by"), by and spell(table.columns, by)
    rows, labels = [], None
    if labelled is not None:
        settings = {"task": columns.task, "id": columns.id, "round": columns.round, "apart": apart}
        settings |= vars(labelling)
        labels, matched = match_labels(table, read_labels(labelled, table.scale, **settings))
        rows = matched.tolist()
        if labels.planned_by not in (None, column):
            problem = f"{labelled} holds labels of a plan by {labels.planned_by!r}."
            raise SettingNeeded(problem, "Plan the other texts by it, too", "by", labels.planned_by)
    from cordial_ppl.decisions import planning
    from cordial_ppl.decisions.sampling_design import count_groups, list_doubts
    from cordial_ppl.estimators.bulk import sheets

    made = planning.plan(
        table.logits,
        wanted.number,
        groups=groups,
        clusters=grouping.get("cluster"),
        labelled=sorted(set(rows)),
        options=table.scale,
        seed=seed,
    )
    kept = [] if labels is None else [table.scale.options[label] for label in labels.labels]
    sheets.write_plan(output, table, made, (rows, kept), (groups, column))
    number, rows = len(made.rows), list(dict.fromkeys(rows))
    options = ", ".join(table.scale.options)
    done = f"wrote {output}: {count(number, 'text')}. Fill in label ({options}) from the top"
    if kept:
        done += f"; the {count(len(kept), 'label')} of {labelled} stand first"
    plan = {"output": str(output), "texts": len(table), "labelled": len(rows), "planned": number}
    plan |= {"forecast": content} if content else {}
    text, warnings = "", []
    if groups:
        plan["groups"] = counts = count_groups(groups, rows, made.rows.tolist())
        lines = [(name, *map(str, each.values())) for name, each in counts.items()]
        header = by or "", "texts", "labelled", "planned"
        text = as_table(f"{count(number, 'text')} to label", header, lines)
        warnings = list_doubts(counts)
    return Result(plan, forecast, text, warnings, [f"{done}: it is then a table of labels."])


def _forecast(
    calibrator: Path,
    readings: Path,
    columns: Columns,
    channels: Sequence[Path],
    width: float | None,
) -> tuple[str, dict[str, Any]]:
    """Forecast what more labels would give a saved calibrator, for people and for programs."""
    from cordial_ppl.cli.calibrator_commands import load_calibrator
    from cordial_ppl.decisions.answers import check_readings
    from cordial_ppl.estimators.bulk.intake import warn_of_drift
    from cordial_ppl.tables import read_readings

    fitted, options = load_calibrator(calibrator, columns.options, channels)
    with doing("reading"):
        table = read_readings(readings, **(vars(columns) | {"options": options}))
    warn_of_drift(calibrator, fitted.fit_, readings, check_readings(fitted.fit_, table.logits))
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    forecast = fitted.forecast(table.logits, covariates)
    text, content = forecast.text, forecast.to_dict()
    if width is not None:
        needed = forecast.needed(width)
        content |= {"width": width, "needed": needed and needed._asdict()}
        text += f"\n{forecast.say_needed(width)}" if forecast.loss is not None else ""
    return text, content
