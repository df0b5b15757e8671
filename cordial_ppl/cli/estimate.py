"""`cordial estimate` and `cordial compare`: how good the texts are, all of them and by group."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cordial_ppl.cli.options import FigureOrNot, TableOrNot
from cordial_ppl.cli.output import STDOUT, say, show_json
from cordial_ppl.cli.records import Fitting, Shown, Tables
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, naming

if TYPE_CHECKING:
    from cordial_ppl.decisions.estimates.estimate import Estimate
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.tables import LabelTable, ReadingTable


@dataclass(frozen=True)
class Wanted:
    """What is estimated, and where it goes."""

    output: TableOrNot = None
    figure: FigureOrNot = None
    by: str | None = None
    level: float = 0.9

    @property
    def group(self) -> str:
        """Return the name of the groups in a table and a picture."""
        return self.by or "group"


def estimate(tables: Tables, fitting: Fitting, shown: Shown, wanted: Wanted) -> None:
    """How good are the texts? Estimate their mean label and the share of each option.

    The intervals hold in repeated sampling of labels. LABELS must be of texts that were drawn at
    random or by `cordial plan`, whose columns `stratum` and `probability` are used.
    """
    _estimate(tables, fitting, shown, wanted)


def compare(tables: Tables, fitting: Fitting, shown: Shown, wanted: Wanted) -> None:
    """Which system is better? Rank groups of texts by their mean label.

    Each has the difference to the best with its interval. LABELS must be of texts that were drawn
    at random or by `cordial plan --by COLUMN`, which spreads labels evenly.
    """
    if wanted.by is None:
        raise _ask_for_groups(tables.readings)
    _estimate(tables, fitting, shown, wanted, ranked=True)


def _ask_for_groups(readings: Path) -> InputError:
    """Return the error of a comparison without groups; it names columns that may hold them."""
    from cordial_ppl.tables.files import read_columns
    from cordial_ppl.tables.groups import list_grouping

    candidates = list_grouping(read_columns(readings))
    problem = "say which groups of texts to compare."
    if not candidates:
        return InputError(f"{problem} {readings} has no column of groups: add one, such as system.")
    columns = f"a column of {readings}, such as {list_names(candidates)}"
    return SettingNeeded(problem, f"Name {columns}", "by", candidates[0])


def _estimate(
    tables: Tables, fitting: Fitting, shown: Shown, wanted: Wanted, ranked: bool = False
) -> None:
    """Fit, estimate, and write and print what came out."""
    from cordial_ppl.cli.calibrate import fit_tables
    from cordial_ppl.stack.settings import check_level
    from cordial_ppl.tables import list_groups

    check_level(wanted.level)
    if wanted.figure is not None:
        from cordial_ppl.evaluation.products.figure import require_drawing

        if wanted.by is None:
            raise InputError("--figure draws groups: name a column with --by.")
        require_drawing()
    if fitting.inference == "mode":
        raise SettingNeeded(
            "a mode says nothing of how uncertain a mean is.",
            "Take draws of the posterior",
            "inference",
            "default",
        )
    table, labels, rows = tables.read()
    groups = None if wanted.by is None else _read_groups(tables, table, labels, wanted.by, ranked)
    design = _read_design(table, labels)
    calibrator = fit_tables(table, labels, rows, fitting)
    covariates = table.covariates(calibrator.covariates_)
    made = calibrator.estimate(table.logits, rows, groups, covariates, level=wanted.level, **design)
    if wanted.figure is not None:
        _draw(made, wanted.figure, wanted.group)
    if wanted.output is not None:
        _write(made, wanted.output, wanted.group)
    text = made.ranked_text(wanted.group) if ranked else made.text(wanted.group)
    _show(calibrator, made, text, list_groups(table, rows, labels), shown, wanted)


def _read_groups(
    tables: Tables, table: "ReadingTable", labels: "LabelTable", by: str, ranked: bool
) -> list[str]:
    """Read the groups of all texts; to be ranked, they must be several, and the labels differ.

    Raises:
        InputError: The column is missing, or nothing can be ranked.
    """
    from cordial_ppl.tables import read_groups

    if by not in table.columns.schema and by in labels.columns.schema:
        raise InputError(
            f"{tables.readings} has no column {by!r}; {tables.labels} has it, for its own texts. "
            f"An estimate needs the {by} of every text: add the column to {tables.readings}."
        )
    groups = read_groups(table.columns, by)
    if ranked and len(set(groups)) == 1:
        raise InputError(
            f"{tables.readings} has one {by} alone, {groups[0]!r}: nothing to compare."
        )
    if ranked and len(set(labels.labels.tolist())) == 1:
        option = table.scale.options[labels.labels[0]]
        raise InputError(
            f"{tables.labels}: every label is {option!r}, from which nothing can be learned of how "
            f"groups differ, so no {by} is ranked. Label more texts; `cordial plan --by {by}` "
            "chooses them."
        )
    return groups


def _read_design(table: "ReadingTable", labels: "LabelTable") -> dict[str, Any]:
    """Read how the labelled texts were drawn, where the table of labels says it, as a plan does.

    Raises:
        InputError: A probability is not above 0 and at most 1; with its row.
    """
    from cordial_ppl.decisions.planning import expected_scores, score_strata
    from cordial_ppl.tables.columns import finite

    design: dict[str, Any] = {}
    columns = labels.columns
    if "stratum" in columns.schema:
        scores = expected_scores(table.logits, table.scale)
        design["strata"] = score_strata(scores, len(labels.first))
    if "probability" in columns.schema:
        with naming(columns.path):
            shares = finite(columns, "probability")
            design["probabilities"] = shares[labels.first]
            wrong = ((shares <= 0) | (shares > 1)).nonzero()[0]
            if wrong.size:
                raise InputError(
                    "column 'probability' must hold the chance that each text had to be labelled, "
                    f"above 0 and at most 1; found {shares[wrong[0]]:g} in "
                    f"{name_rows(wrong, columns.where)}. Without such a design remove the column."
                )
    return design


def _write(made: "Estimate", path: Path, by: str) -> None:
    import polars as pl

    from cordial_ppl.tables import write_table

    rows = pl.DataFrame(made.rows)
    write_table(path, rows.rename({} if by in rows.columns else {"group": by}).lazy())


def _draw(made: "Estimate", path: Path, by: str) -> None:
    from cordial_ppl import plots
    from cordial_ppl.evaluation.products.figure import looking
    from cordial_ppl.tables import replacing

    with looking(), replacing(path) as temporary:
        figure = plots.groups(made, by=by).figure
        figure.savefig(temporary, format=path.suffix.removeprefix("."))


def _show(
    calibrator: "Stack",
    made: "Estimate",
    text: str,
    groups: dict[str, Any],
    shown: Shown,
    wanted: Wanted,
) -> None:
    """Print the estimate, its warnings and the verdict on the calibrator; or all of it as JSON."""
    from cordial_ppl.decisions.estimates.bias import drop_copies

    # The column of the estimate is accounted for, and so is another of the same groups.
    biases = calibrator.find_bias(drop_copies(groups, groups.get(wanted.by or "", ())))
    verdict = calibrator.verdict()
    if shown.json:
        content = made.to_dict() | {"biases": [bias._asdict() for bias in biases]}
        show_json(content | {"verdict": verdict and verdict.to_dict()})
        return
    if not shown.quiet or wanted.output is None:
        STDOUT.print(text)
    if verdict is not None and not shown.quiet:
        STDOUT.print("", verdict.text, sep="\n")
    for warning in (*made.warnings, *map(str, biases)):
        say(f"warning: {warning}")
    for path in (wanted.output, wanted.figure):
        if path is not None and not shown.quiet:
            say(f"wrote {path}")
