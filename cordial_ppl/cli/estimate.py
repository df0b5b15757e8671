"""`cordial estimate` and `cordial compare`: how good the texts are, all of them and by group."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cordial_ppl.cli.messages import say, working
from cordial_ppl.cli.options import (
    Chosen,
    Fitting,
    LabelsPath,
    ReadingsPath,
    Shown,
    option,
)
from cordial_ppl.errors import InputError

if TYPE_CHECKING:
    from cordial_ppl.estimates.estimate import Estimate
    from cordial_ppl.tables import ReadingTable
    from cordial_ppl.tables.labels import LabelTable

BY = "A column of READINGS that names groups, such as `system`."
LEVEL = "Probability inside the intervals."
OUT = "Table to write (.csv, .parquet, .jsonl): a row for all texts and for each group."
FIGURE = "Picture of the groups to write (.svg, .png, .pdf)."

TableOrNot = Annotated[Path | None, option("OUT", OUT, "--output", "-o")]
Figure = Annotated[Path | None, option("FIGURE", FIGURE, "--figure")]
Level = Annotated[float, option("P", LEVEL)]


def estimate(
    readings: ReadingsPath,
    labels: LabelsPath,
    chosen: Chosen,
    fitting: Fitting,
    shown: Shown,
    by: Annotated[str | None, option("COLUMN", BY)] = None,
    output: TableOrNot = None,
    figure: Figure = None,
    level: Level = 0.9,
) -> None:
    """Estimate the mean label and the shares of the options, of all texts and of each group.

    The intervals hold in repeated sampling of labels. LABELS must be of texts that were drawn at
    random or by `cordial plan`, whose columns `stratum` and `probability` are used.
    """
    found = _estimate(readings, labels, chosen, fitting, shown.quiet, by, output, figure, level)
    _show(found, found.text(by or "group"), [output, figure], shown)


def compare(
    readings: ReadingsPath,
    labels: LabelsPath,
    chosen: Chosen,
    fitting: Fitting,
    shown: Shown,
    by: Annotated[str, option("COLUMN", BY)],
    output: TableOrNot = None,
    figure: Figure = None,
    level: Level = 0.9,
) -> None:
    """Rank groups of texts, such as the systems that wrote them, by their mean label.

    Each has the difference to the best with its interval. LABELS must be of texts that were drawn
    at random or by `cordial plan --by COLUMN`, which spreads labels evenly.
    """
    found = _estimate(readings, labels, chosen, fitting, shown.quiet, by, output, figure, level)
    if len(found.groups) < 2:
        (name,) = found.groups
        raise InputError(f"{readings} has one {by} alone, {name!r}: there is nothing to compare.")
    _show(found, found.ranked_text(by), [output, figure], shown)


def _estimate(
    readings: Path,
    labels: Path,
    chosen: Chosen,
    fitting: Fitting,
    quiet: bool,
    by: str | None,
    output: Path | None,
    figure: Path | None,
    level: float,
) -> "Estimate":
    from cordial_ppl.cli.calibrate import fit_calibrator, take_labelled
    from cordial_ppl.cli.output import check_output
    from cordial_ppl.tables import match_labels, read_labelled

    for path, endings in ((output, {}), (figure, {"endings": (".svg", ".png", ".pdf")})):
        if path is not None:
            check_output(path, [readings, labels, *fitting.inputs], **endings)
    table, found = read_labelled(readings, labels, **chosen.settings)
    groups = None if by is None else read_groups(table, by)
    rows = match_labels(table, found)
    texts = take_labelled(table, rows, found.labels, fitting.channel)
    calibrator = fit_calibrator(texts, table.scale, fitting.settings, quiet)
    with working("estimating", quiet):
        made = calibrator.estimate(
            table.logits,
            rows,
            groups,
            {name: table.covariate(name) for name in calibrator.covariates_},
            level=level,
            **read_design(table, found),
        )
    if output is not None:
        import polars as pl

        from cordial_ppl.tables import write_table

        write_table(output, pl.DataFrame(made.rows).rename({"group": by or "group"}).lazy())
    if figure is not None:
        _draw(made, figure, by)
    return made


def read_groups(table: "ReadingTable", by: str) -> list[str]:
    """Read the group of every text.

    Raises:
        InputError: there is no such column, or a text has no group.
    """
    from cordial_ppl.tables.columns import filled, named

    table.columns.require(by)
    filled(table.columns, by, "Give every text one, or leave the text out.")
    return table.columns.collect(named(by)).to_series().to_list()


def read_design(table: "ReadingTable", labels: "LabelTable") -> dict[str, Any]:
    """How the labelled texts were chosen, where the table of labels says it, as a plan does.

    Raises:
        InputError: a probability is no number.
    """
    from cordial_ppl.planning import expected_scores, score_strata
    from cordial_ppl.tables.columns import finite

    found: dict[str, Any] = {}
    if "stratum" in labels.columns.schema:
        scores = expected_scores(table.logits, table.scale)
        found["strata"] = score_strata(scores, len(labels.labels))
    if "probability" in labels.columns.schema:
        found["probabilities"] = finite(labels.columns, "probability")
    return found


def _draw(made: "Estimate", figure: Path, by: str | None) -> None:
    from cordial_ppl import plots
    from cordial_ppl.tables import replacing

    if not made.groups:
        raise InputError("--figure draws groups: name a column with --by.")
    with replacing(figure) as temporary:
        axis = plots.groups(made, by=by or "group")
        axis.figure.savefig(temporary, format=figure.suffix.removeprefix("."))


def _show(made: "Estimate", text: str, paths: list[Path | None], shown: Shown) -> None:
    """Print the estimate as text, its warnings and what was written; or all of it as JSON."""
    from cordial_ppl.cli.output import STDOUT, show_json

    if shown.json:
        show_json(made.to_dict())
    elif not shown.quiet:
        STDOUT.print(text)
    for warning in () if shown.json else made.warnings:
        say(f"warning: {warning}")
    for path in paths if not (shown.json or shown.quiet) else ():
        if path is not None:
            say(f"wrote {path}")
