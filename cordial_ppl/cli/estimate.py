"""`cordial estimate` and `cordial compare`: how good the texts are, all of them and by group."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cordial_ppl.cli.messages import say
from cordial_ppl.cli.options import (
    Fitting,
    Inference,
    LabelledTables,
    Shown,
    option,
)
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, naming

if TYPE_CHECKING:
    from cordial_ppl.cli.calibrate import FittedTables
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.decisions.estimates.estimate import Estimate
    from cordial_ppl.tables import LabelTable, ReadingTable

BY = "A column of READINGS that names groups, such as `system`."
LEVEL = "Probability inside the intervals."
OUT = "Table to write (.csv, .parquet, .jsonl): a row for all texts and for each group."
FIGURE = "Picture of the groups to write."
PICTURES = ".svg", ".png", ".pdf"


@dataclass(frozen=True)
class Wanted:
    """What is estimated, and where it goes."""

    by: Annotated[str | None, option("COLUMN", BY)] = None
    output: Annotated[Path | None, option("OUT", OUT, "--output", "-o")] = None
    figure: Annotated[Path | None, option("FIGURE", f"{FIGURE} ({', '.join(PICTURES)})")] = None
    level: Annotated[float, option("P", LEVEL)] = 0.9

    @property
    def group(self) -> str:
        """Return the name of the groups in a table and a picture."""
        return self.by or "group"


def estimate(tables: LabelledTables, fitting: Fitting, shown: Shown, wanted: Wanted) -> None:
    """Estimate the mean label and the shares of the options, of all texts and of each group.

    The intervals hold in repeated sampling of labels. LABELS must be of texts that were drawn at
    random or by `cordial plan`, whose columns `stratum` and `probability` are used.
    """
    fitted, made = _estimate(tables, fitting, wanted)
    _show(fitted, made, made.text(wanted.group), shown, wanted)


def compare(tables: LabelledTables, fitting: Fitting, shown: Shown, wanted: Wanted) -> None:
    """Rank groups of texts, such as the systems that wrote them, by their mean label.

    Each has the difference to the best with its interval. LABELS must be of texts that were drawn
    at random or by `cordial plan --by COLUMN`, which spreads labels evenly.
    """
    if wanted.by is None:
        raise _ask_for_groups(tables.readings)
    fitted, made = _estimate(tables, fitting, wanted, least=2)
    _show(fitted, made, made.ranked_text(wanted.by), shown, wanted)


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
    tables: LabelledTables, fitting: Fitting, wanted: Wanted, least: int = 1
) -> tuple["FittedTables", "Estimate"]:
    from cordial_ppl.cli.calibrate import fit_tables
    from cordial_ppl.cli.output import check_output
    from cordial_ppl.stack.settings import check_level
    from cordial_ppl.tables import read_groups

    by, inputs = wanted.by, [*tables.inputs, *fitting.inputs]
    if wanted.output is not None:
        check_output(wanted.output, inputs)
    if wanted.figure is not None:
        if by is None:
            raise InputError("--figure draws groups: name a column with --by.")
        from cordial_ppl.evaluation.products.figure import require_drawing

        check_output(wanted.figure, inputs, PICTURES)
        require_drawing()
    groups: list[str] | None = None
    design: dict[str, Any] = {}

    def check(table: "ReadingTable", labels: "LabelTable") -> None:
        nonlocal groups
        check_level(wanted.level)
        if fitting.inference is Inference.MODE:
            raise SettingNeeded(
                "a mode says nothing of how uncertain a mean is.",
                "Take draws of the posterior",
                "inference",
                Inference.DEFAULT.value,
            )
        if by is not None:
            if by not in table.columns.schema and by in labels.columns.schema:
                raise InputError(
                    f"{tables.readings} has no column {by!r}; {tables.labels} has it, for its own "
                    f"texts. An estimate needs the {by} of every text: add the column to "
                    f"{tables.readings}."
                )
            groups = read_groups(table.columns, by)
        if groups is not None and len(set(groups)) < least:
            raise InputError(
                f"{tables.readings} has one {by} alone, {groups[0]!r}: nothing to compare."
            )
        if least > 1 and by is not None and len(set(labels.labels.tolist())) == 1:
            raise InputError(_say_alike(tables, labels, by, table.scale))
        design.update(_read_design(table, labels))

    fitted = fit_tables(tables, fitting, check)
    table, calibrator = fitted.table, fitted.calibrator
    made = calibrator.estimate(
        table.logits,
        fitted.rows,
        groups,
        table.covariates(calibrator.fit_.covariates),
        level=wanted.level,
        **design,
    )
    if wanted.figure is not None:
        _draw(made, wanted.figure, wanted.group)
    if wanted.output is not None:
        _write(made, wanted.output, wanted.group)
    return fitted, made


def _say_alike(tables: LabelledTables, labels: "LabelTable", by: str, scale: "Scale") -> str:
    """Say why labels of one option rank nothing, and what to type next."""
    number, option = len(labels.labels), scale.options[labels.labels[0]]
    alike = "there is one label" if number == 1 else f"all {number} labels are {option!r}"
    more = ["--by", by, "--labelled", tables.labels, *tables.typed, "-o", "to-label.csv"]
    return (
        f"{tables.labels}: {alike}, from which nothing can be learned of how groups differ, so no "
        f"{by} is ranked. Label more texts: "
        f"{shlex.join(map(str, ['cordial', 'plan', tables.readings, *more]))}"
    )


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
    fitted: "FittedTables", made: "Estimate", text: str, shown: Shown, wanted: Wanted
) -> None:
    """Print the estimate, its warnings and the verdict on the calibrator; or all of it as JSON."""
    from cordial_ppl.cli.output import STDOUT, show_json
    from cordial_ppl.decisions import answers
    from cordial_ppl.decisions.estimates.bias import drop_copies

    calibrator = fitted.calibrator
    # The column of the estimate is accounted for, and so is another of the same groups.
    groups = drop_copies(fitted.groups, fitted.groups.get(wanted.by or "", ()))
    biases = answers.find_bias(calibrator.fit_, groups)
    verdict = answers.verdict(calibrator.fit_)
    if shown.json:
        content = made.to_dict() | {"biases": [bias._asdict() for bias in biases]}
        show_json(content | {"verdict": None if verdict is None else verdict.to_dict()})
        return
    if not shown.quiet or wanted.output is None:
        STDOUT.print(text)
    if not shown.quiet:
        STDOUT.print(*() if verdict is None else ("", verdict.text), sep="\n")
    for warning in (*made.warnings, *map(str, biases)):
        say(f"warning: {warning}")
    for path in (wanted.output, wanted.figure):
        if path is not None and not shown.quiet:
            say(f"wrote {path}")
