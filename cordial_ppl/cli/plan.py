"""`cordial plan`: which texts to label."""

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.options import (
    Channels,
    Chosen,
    Labelling,
    ReadingsPath,
    Seed,
    Shown,
    option,
    output,
)
from cordial_ppl.errors import CordialWarning, InputError, list_names

if TYPE_CHECKING:
    import polars as pl

    from cordial_ppl.decisions.planning import Plan
    from cordial_ppl.tables import ReadingTable

LABELS = 20
"""Labels from which on what is calibrated can be judged."""

NUMBER = "How many texts to label."
BY = "A column, such as `system`, over whose values the labels are spread evenly."
MORE = "A calibrator, from `cordial fit`: forecast what more labels would give it."
WIDTH = "With --more: how many labels give the mean of all texts within ±W, in points of the scale."
LABELLED = "Table of the labels that there are already: their texts are left out."
TABLE = "Table to fill in (.csv, .parquet, .jsonl): the texts, in the order of labelling."
COLUMNS = ("stratum", "probability", "label")
"""What the table has beside the text's own columns."""


def plan(
    readings: ReadingsPath,
    chosen: Chosen,
    labelling: Labelling,
    shown: Shown,
    out: Annotated[Path | None, output("OUT", TABLE)] = None,
    number: Annotated[int, option("N", NUMBER, "--number", "-n")] = LABELS,
    by: Annotated[str | None, option("COLUMN", BY)] = None,
    labelled: Annotated[Path | None, option("LABELS", LABELLED)] = None,
    seed: Seed = 0,
    more: Annotated[Path | None, option("CALIBRATOR", MORE)] = None,
    width: Annotated[float | None, option("W", WIDTH)] = None,
    channel: Channels = None,
) -> None:
    """Choose which texts of READINGS to label: a sample spread evenly over low and high readings.

    Fill in the column `label` of OUT from the top. You may stop anywhere: the first texts of a plan
    are a plan themselves, and rows without a label are skipped where OUT is read as LABELS.

    With --more and no OUT: what more labels would give a calibrator of these texts.
    """
    from cordial_ppl.cli.output import check_output, show_json, show_table

    if out is not None:
        check_output(out, [path for path in (readings, labelled, more) if path])
        _check_unfilled(out)
    forecast = {}
    if more is not None:
        from cordial_ppl.cli.forecast import show_forecast

        forecast = show_forecast(more, readings, chosen, width, shown, channel)
    elif width is not None:
        raise InputError("--width goes with --more: name a calibrator, from `cordial fit`.")
    if out is None:
        if more is None:
            raise InputError("name the table to write, -o to-label.csv; or a calibrator, --more.")
        if shown.json:
            show_json(forecast)
        return
    from cordial_ppl.decisions import planning
    from cordial_ppl.tables import (
        match_labels,
        read_groups,
        read_labels,
        read_readings,
        write_table,
    )

    table = read_readings(readings, **chosen.settings)
    groups, labelled_rows = None, []
    if by is not None:
        groups = read_groups(table.columns, by)
    if labelled is not None:
        settings = {"task": chosen.task, "id": chosen.id or ()} | labelling.label_settings
        _, rows = match_labels(table, read_labels(labelled, table.scale, **settings))
        labelled_rows = list(dict.fromkeys(rows.tolist()))
    made = planning.plan(
        table.logits, number, groups=groups, labelled=labelled_rows, options=table.scale, seed=seed
    )
    write_table(out, _to_label(table, made).lazy())
    counts = _count(groups, labelled_rows, made.rows.tolist()) if groups else {}
    _warn_of_groups(counts)
    if shown.json:
        content = {"output": str(out), "texts": len(table), "labelled": len(labelled_rows)}
        show_json(
            {**content, "planned": len(made.rows)}
            | ({"groups": counts} if counts else {})
            | ({"forecast": forecast} if forecast else {})
        )
    elif not shown.quiet:
        if counts:
            header = list(next(iter(counts.values())))
            lines = [(name, *map(str, each.values())) for name, each in counts.items()]
            show_table(f"{count(number, 'text')} to label", (by or "", *header), lines)
        options = ", ".join(table.scale.options)
        say(
            f"wrote {out}: {count(number, 'text')}. Fill in label ({options}) from the top: "
            "it is then a table of labels."
        )


def _check_unfilled(out: Path) -> None:
    """Refuse to replace a table in which somebody has filled in labels.

    Raises:
        InputError: There is such a table.
    """
    from cordial_ppl.data.numerals import is_missing
    from cordial_ppl.tables.files import read_columns
    from cordial_ppl.tables.frame import as_list

    try:
        columns = read_columns(out)
    except InputError:
        return  # Whatever it is, it is no table of labels.
    cells = as_list(columns.collect("label").to_series()) if "label" in columns.schema else []
    if number := sum(not is_missing(cell) for cell in cells):
        raise InputError(
            f"{out} has {count(number, 'label')}, which a new plan would replace: name another "
            f"output, and --labelled {out} for further texts."
        )


def _to_label(table: "ReadingTable", made: "Plan") -> "pl.DataFrame":
    """Return the planned texts with their columns, and an empty label."""
    import polars as pl

    from cordial_ppl.estimators.bulk.predictor import add_extras

    # A column `weight` among labels would weigh them.
    taken = [pl.lit(None).alias(name) for name in (*COLUMNS, "weight")]
    texts = add_extras(pl.DataFrame({"item_id": table.item_ids}).with_columns(taken), table)
    label = pl.lit(None, pl.String)
    return (
        texts[made.rows.tolist()]
        .drop(*COLUMNS, "weight")
        .with_columns(stratum=made.stratum, probability=made.probability, label=label)
    )


def _count(
    groups: Sequence[str], labelled: Sequence[int], rows: Sequence[int]
) -> dict[str, dict[str, int]]:
    """Count texts of each group: all, labelled before, and planned."""
    sizes, had = Counter(groups), Counter(groups[row] for row in labelled)
    planned = Counter(groups[row] for row in rows)
    return {
        name: {"texts": texts, "labelled": had[name], "planned": planned[name]}
        for name, texts in sizes.items()
    }


def _warn_of_groups(counts: dict[str, dict[str, int]]) -> None:
    """Warn of groups that are left without labels, or have fewer texts than their share."""
    labels = {name: each["labelled"] + each["planned"] for name, each in counts.items()}
    most = max(labels.values(), default=0)
    none = [name for name, number in labels.items() if number == 0]
    short = [name for name, number in labels.items() if number == counts[name]["texts"] < most - 1]
    for names, problem in (
        (none, f"get no label: name more with -n, {len(labels)} for one each"),
        (short, "have fewer texts than their share: the others get more labels"),
    ):
        if names:
            text = f"{len(names)} of {len(labels)} groups {problem} ({list_names(names)})."
            warnings.warn(text, CordialWarning, stacklevel=3)
