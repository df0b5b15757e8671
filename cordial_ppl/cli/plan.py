"""`cordial plan`: which texts to label, and what more labels would give."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cordial_ppl.cli.options import TableOrNot
from cordial_ppl.cli.output import STDOUT, count, finish, say, show_json, show_table
from cordial_ppl.cli.records import Columns, Labelling, Shown
from cordial_ppl.errors import InputError, list_names
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    import polars as pl

    from cordial_ppl.decisions.forecasting import Forecast
    from cordial_ppl.decisions.planning import Plan
    from cordial_ppl.tables import ReadingTable

LABELS = 20
"""Labels from which on what is calibrated can be judged."""

ADDED = ("stratum", "probability", "label")
"""What the table has beside the text's own columns."""


def plan(
    readings: Path,
    columns: Columns,
    labelling: Labelling,
    shown: Shown,
    output: TableOrNot = None,
    labelled: Path | None = None,
    more: Path | None = None,
    number: int = LABELS,
    by: str | None = None,
    width: float | None = None,
    seed: int = 0,
    channel: list[Path] | None = None,
) -> None:
    """Which texts should I label? A sample spread evenly over low and high readings.

    Fill in the column `label` of OUT from the top. You may stop anywhere: the first texts of a plan
    are a plan themselves, and OUT is a table of labels, whose empty rows are skipped.

    How many more labels? --more says what they would give a calibrator of these texts.
    """
    if output is None and more is None:
        raise InputError("name the table to write, -o to-label.csv; or a calibrator, --more.")
    if width is not None and (more is None or not width > 0):
        raise InputError("--width must be a positive number, with --more: name a calibrator.")
    if output is not None:
        _check_unfilled(output)
    content: dict[str, Any] = {}
    if more is not None:
        forecast = _forecast(more, readings, columns, channel)
        content = forecast.to_dict()
        needed = None
        if width is not None:
            needed = forecast.needed(width)
            content |= {"width": width, "needed": needed and needed._asdict()}
        if not shown.json:
            STDOUT.print(forecast.text)
            if width is not None and forecast.loss is not None:
                STDOUT.print(forecast.say_needed(width))
    if output is None:
        if shown.json:
            show_json(content)
        return
    from cordial_ppl.decisions import planning
    from cordial_ppl.tables import (
        match_labels,
        read_groups,
        read_labels,
        read_readings,
        write_table,
    )

    table = read_readings(readings, **columns.settings)
    groups = None if by is None else read_groups(table.columns, by)
    labelled_rows = []
    if labelled is not None:
        settings = {"task": columns.task, "id": columns.id or ()} | labelling.label_settings
        _, rows = match_labels(table, read_labels(labelled, table.scale, **settings))
        labelled_rows = list(dict.fromkeys(rows.tolist()))
    made = planning.plan(
        table.logits, number, groups=groups, labelled=labelled_rows, options=table.scale, seed=seed
    )
    write_table(output, _to_label(table, made).lazy())
    plan = {"output": str(output), "texts": len(table), "labelled": len(labelled_rows)}
    plan |= {"planned": len(made.rows)} | ({"forecast": content} if content else {})
    if groups:
        plan["groups"] = counts = _count(groups, labelled_rows, made.rows.tolist())
        _warn_of_groups(counts)
        if not shown.json and not shown.quiet:
            header = by or "", *next(iter(counts.values()))
            lines = [(name, *map(str, each.values())) for name, each in counts.items()]
            show_table(f"{count(number, 'text')} to label", header, lines)
    options = ", ".join(table.scale.options)
    done = f"wrote {output}: {count(number, 'text')}. Fill in label ({options}) from the top"
    finish(shown, plan, f"{done}: it is then a table of labels.")


def _forecast(
    calibrator: Path, readings: Path, columns: Columns, channels: Sequence[Path] | None
) -> "Forecast":
    """Forecast what more labels would give a saved calibrator."""
    from cordial_ppl.cli.predict import load_calibrator, warn_of_drift
    from cordial_ppl.tables import read_readings

    settings = columns.settings
    fitted, settings["options"] = load_calibrator(calibrator, settings["options"], channels)
    with doing("reading"):
        table = read_readings(readings, **settings)
    warn_of_drift(calibrator, fitted, readings, fitted.check_readings(table.logits))
    return fitted.forecast(table.logits, table.covariates(fitted.covariates_, fitted.levels()))


def _check_unfilled(output: Path) -> None:
    """Refuse to replace a table in which somebody has filled in labels.

    Raises:
        InputError: There is such a table.
    """
    from cordial_ppl.data.numerals import is_missing
    from cordial_ppl.tables.files import read_columns
    from cordial_ppl.tables.frame import as_list

    try:
        columns = read_columns(output)
    except InputError:
        return  # Whatever it is, it is no table of labels.
    cells = as_list(columns.collect("label").to_series()) if "label" in columns.schema else []
    if number := sum(not is_missing(cell) for cell in cells):
        raise InputError(
            f"{output} has {count(number, 'label')}, which a new plan would replace: name another "
            f"output, and --labelled {output} for further texts."
        )


def _to_label(table: "ReadingTable", made: "Plan") -> "pl.DataFrame":
    """Return the planned texts with their columns, and an empty label."""
    import polars as pl

    from cordial_ppl.estimators.bulk.predictor import add_extras

    # A column `weight` among labels would weigh them.
    taken = [pl.lit(None).alias(name) for name in (*ADDED, "weight")]
    texts = add_extras(pl.DataFrame({"item_id": table.item_ids}).with_columns(taken), table)
    label = pl.lit(None, pl.String)
    return (
        texts[made.rows.tolist()]
        .drop(*ADDED, "weight")
        .with_columns(stratum=made.stratum, probability=made.probability, label=label)
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


def _warn_of_groups(counts: dict[str, dict[str, int]]) -> None:
    """Warn of groups that are left without labels, or have fewer texts than their share."""
    labels = {name: each["labelled"] + each["planned"] for name, each in counts.items()}
    most = max(labels.values())
    none = [name for name, number in labels.items() if number == 0]
    short = [name for name, number in labels.items() if number == counts[name]["texts"] < most - 1]
    for names, problem in (
        (none, f"get no label: name more with -n, {len(labels)} for one each"),
        (short, "have fewer texts than their share: the others get more labels"),
    ):
        if names:
            say(f"warning: {len(names)} of {len(labels)} groups {problem} ({list_names(names)}).")
