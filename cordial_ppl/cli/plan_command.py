"""`cordial plan`: which texts to label, and what more labels would give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from cordial_ppl.errors import InputError, SettingNeeded, count, list_names
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    import polars as pl

    from cordial_ppl.cli.records import Read
    from cordial_ppl.decisions.planning import Plan
    from cordial_ppl.tables import ReadingTable

LABELS = 20
"""Labels from which on what is calibrated can be judged."""

ADDED = ("stratum", "probability", "probability_by", "label")
"""What the table has beside the text's own columns."""


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
        check_unfilled(output, f"or add --labelled {output} for further texts")
    forecast, content = "", {}
    if more is not None:
        forecast, content = _forecast(more, readings, columns, channel, wanted.width)
    if output is None:
        return Result(content, forecast)
    from cordial_ppl.cli.design import read_grouping
    from cordial_ppl.decisions import planning
    from cordial_ppl.tables import match_labels, read_labels, read_readings, write_table
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
    write_table(output, _to_label(table, made, rows, kept, groups, column).lazy())
    number, rows = len(made.rows), list(dict.fromkeys(rows))
    options = ", ".join(table.scale.options)
    done = f"wrote {output}: {count(number, 'text')}. Fill in label ({options}) from the top"
    if kept:
        done += f"; the {count(len(kept), 'label')} of {labelled} stand first"
    plan = {"output": str(output), "texts": len(table), "labelled": len(rows), "planned": number}
    plan |= {"forecast": content} if content else {}
    text, warnings = "", []
    if groups:
        plan["groups"] = counts = _count(groups, rows, made.rows.tolist())
        lines = [(name, *map(str, each.values())) for name, each in counts.items()]
        header = by or "", "texts", "labelled", "planned"
        text = as_table(f"{count(number, 'text')} to label", header, lines)
        warnings = _list_doubts(counts)
    return Result(plan, forecast, text, warnings, [f"{done}: it is then a table of labels."])


def _forecast(
    calibrator: Path,
    readings: Path,
    columns: Columns,
    channels: Sequence[Path],
    width: float | None,
) -> tuple[str, dict[str, Any]]:
    """Forecast what more labels would give a saved calibrator, for people and for programs."""
    from cordial_ppl.cli.calibrator_commands import load_calibrator, warn_of_drift
    from cordial_ppl.decisions.answers import check_readings
    from cordial_ppl.tables import read_readings

    fitted, options = load_calibrator(calibrator, columns.options, channels)
    with doing("reading"):
        table = read_readings(readings, **(vars(columns) | {"options": options}))
    warn_of_drift(calibrator, fitted, readings, check_readings(fitted.fit_, table.logits))
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    forecast = fitted.forecast(table.logits, covariates)
    text, content = forecast.text, forecast.to_dict()
    if width is not None:
        needed = forecast.needed(width)
        content |= {"width": width, "needed": needed and needed._asdict()}
        text += f"\n{forecast.say_needed(width)}" if forecast.loss is not None else ""
    return text, content


def check_unfilled(output: Path, advice: str, read: "Read | None" = None) -> None:
    """Refuse to replace a table in which somebody has filled in labels, but those that were read.

    Raises:
        InputError: There is such a table.
    """
    from cordial_ppl.data.numerals import is_missing
    from cordial_ppl.tables import read_columns
    from cordial_ppl.tables.frame import as_list

    try:
        columns = read_columns(output)
    except InputError:
        return  # Whatever it is, it is no table of labels.
    names = [name for name in ("item_id", "label") if name in columns.schema]
    if "label" not in names:
        return
    cells = zip(*(as_list(columns.collect(name).to_series()) for name in names), strict=True)
    filled = Counter(tuple(map(str, each)) for each in cells if not is_missing(each[-1]))
    kept, another = Counter[tuple[str, ...]](), "a new plan"
    if read is not None:
        options, another = read.table.scale.options, "another"
        codes = zip(read.labels.item_ids, read.labels.labels, strict=True)
        kept = Counter((item, options[label]) for item, label in codes)
    if filled - kept:
        raise InputError(
            f"{output} already holds {count(filled.total(), 'label')}, which {another} would "
            f"overwrite. Name another output, {advice}."
        )


def list_texts(table: "ReadingTable", but: Sequence[str] = ()) -> "pl.DataFrame":
    """List texts with their columns; those that are to be added, and `but`, become `input_...`."""
    import polars as pl

    from cordial_ppl.estimators.bulk.predictor import add_extras

    # A column `weight` among labels would weigh them.
    names = (*ADDED, "weight", *but)
    taken = pl.DataFrame({"item_id": table.item_ids}).with_columns(**dict.fromkeys(names))
    return add_extras(taken, table).drop(*names)


def _to_label(
    table: "ReadingTable",
    made: "Plan",
    rows: Sequence[int],
    labels: Sequence[str],
    groups: Sequence[str] | None,
    by: str | None,
) -> "pl.DataFrame":
    """Return the texts that have labels, and the planned ones with an empty label.

    Each has the share of its group's texts that are among both.
    """
    import polars as pl

    from cordial_ppl.decisions.planning import expected_scores, score_strata, share_drawn

    every = [*rows, *made.rows.tolist()]
    drawn, names = list(dict.fromkeys(every)), groups or [""] * len(table)
    shares = dict(zip(drawn, share_drawn([names[row] for row in drawn], names), strict=True))
    strata = score_strata(expected_scores(table.logits, table.scale), len(drawn))
    return list_texts(table)[every].with_columns(
        stratum=strata[every],
        probability=pl.Series([shares[row] for row in every]),
        **({} if by is None else {"probability_by": pl.lit(by)}),
        label=pl.Series([*labels, *[None] * len(made.rows)], dtype=pl.String),
    )


def _count(
    groups: Sequence[str], labelled: Sequence[int], rows: Sequence[int]
) -> dict[str, dict[str, int]]:
    """Count texts of each group: all, labelled before, and planned."""
    sizes, before = Counter(groups), Counter(groups[row] for row in labelled)
    planned = Counter(groups[row] for row in rows)
    return {
        name: {"texts": texts, "labelled": before[name], "planned": planned[name]}
        for name, texts in sizes.items()
    }


def _list_doubts(counts: dict[str, dict[str, int]]) -> list[str]:
    """Say which groups are left without labels, or have fewer texts than their share."""
    labels = {name: each["labelled"] + each["planned"] for name, each in counts.items()}
    most = max(labels.values())
    none = [name for name, number in labels.items() if number == 0]
    short = [name for name, number in labels.items() if number == counts[name]["texts"] < most - 1]
    doubts = (
        (none, f"get no label: name more with -n, {len(labels)} for one each"),
        (short, "have fewer texts than their share: the others get more labels"),
    )
    return [
        f"{len(names)} of {len(labels)} groups {problem} ({list_names(names)})."
        for names, problem in doubts
        if names
    ]
