"""`cordial estimate` and `cordial compare`: how good the texts are, all of them and by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from cordial_ppl.cli.options import FigureOrNot, TableOrNot
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import Fitting, Names, Read, Tables
from cordial_ppl.errors import InputError, SettingNeeded, name_rows, naming

if TYPE_CHECKING:
    from cordial_ppl.decisions.estimates.estimate import Estimate
    from cordial_ppl.tables import LabelTable, ReadingTable


MANY = 10
"""Values of a column from which on they may name clusters of texts."""


@dataclass(frozen=True)
class Wanted:
    """What is estimated, and where it goes."""

    output: TableOrNot = None
    figure: FigureOrNot = None
    level: float = 0.9
    of: str = "like-these"
    pass_: Names = ()
    require: Sequence[str] = ()
    cluster: str | None = None
    pair: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the readings that say which texts are alike."""
        return tuple(name for name in (self.cluster, self.pair) if name)


def estimate(tables: Tables, fitting: Fitting, wanted: Wanted, by: str | None = None) -> Result:
    """How good are the texts? Estimate their mean label and the share of each option.

    LABELS must be of texts that were drawn at random or by `cordial plan`, with its columns.
    """
    return _estimate(tables, fitting, wanted, by)


def compare(tables: Tables, fitting: Fitting, wanted: Wanted, by: str) -> Result:
    """Which system is better? Rank groups of texts by their mean label.

    LABELS must be of texts that were drawn at random or by `cordial plan --by COLUMN`.
    """
    return _estimate(tables, fitting, wanted, by, ranked=True)


def _estimate(
    tables: Tables, fitting: Fitting, wanted: Wanted, by: str | None, ranked: bool = False
) -> Result:
    """Fit, estimate, and write what came out."""
    from cordial_ppl.cli.calibrate import fit_tables
    from cordial_ppl.data.checks import check_level
    from cordial_ppl.decisions import answers
    from cordial_ppl.decisions.estimates.bias import drop_copies
    from cordial_ppl.decisions.estimates.requirement import STATUS, parse

    check_level(wanted.level)
    requirements = [parse(text) for text in wanted.require]
    if fitting.inference == "mode":
        problem = "a mode says nothing of how uncertain a mean is."
        raise SettingNeeded(problem, "Take draws of the posterior", "inference", "default")
    if wanted.figure is not None:
        from cordial_ppl.evaluation.products.figure import require_drawing

        if by is None:
            raise InputError("--figure draws groups: name a column with --by.")
        require_drawing()
    read = tables.read(apart=(*((by,) if by else ()), *wanted.columns))
    table, rows = read.table, read.rows
    groups = None if by is None else _read_groups(tables, read, by, ranked)
    design = _read_design(table, read.labels) | _read_alike(table, wanted)
    calibrator = fit_tables(read, fitting)
    covariates = table.covariates(calibrator.fit_.covariates)
    design |= {"of": wanted.of, "passing": wanted.pass_ or None, "level": wanted.level}
    made = calibrator.estimate(table.logits, rows, groups, covariates, **design)
    judged = [each.answer(made) for each in requirements]
    done = _write(made, wanted, by or "group")
    # The column of the estimate is accounted for, and so is another of the same groups.
    columns = drop_copies(read.groups, [groups[row] for row in rows] if groups else ())
    fit = calibrator.fit_
    biases, verdict = answers.find_bias(fit, columns), answers.verdict(fit)
    text = (made.ranked_text if ranked else made.text)(by or "group")
    text = "\n".join([text, *([""] if judged else []), *map(str, judged)])
    status = {STATUS[each.answer] for each in judged}
    alike = [] if wanted.columns else _find_clusters(table, rows, by)
    return Result(
        {
            **made.to_dict(),
            "biases": [bias._asdict() for bias in biases],
            "verdict": verdict and verdict.to_dict(),
            "requirements": [each.to_dict() for each in judged],
        },
        text if wanted.output is None else "",
        ("" if wanted.output is None else text) + (f"\n{verdict.text}" if verdict else ""),
        (*made.warnings, *map(str, biases), *alike),
        done,
        typer.Exit(3 if 3 in status else 4) if status - {0} else None,
    )


def _read_groups(tables: Tables, read: Read, by: str, ranked: bool) -> list[str]:
    """Read the groups of all texts; to be ranked, they must be several, and the labels differ.

    Raises:
        InputError: The column is missing, or nothing can be ranked.
    """
    from cordial_ppl.tables import read_groups

    table, labels, _ = read
    groups = read_groups(table.columns, by)
    if ranked and len(set(groups)) == 1:
        raise InputError(
            f"{tables.readings} has one {by} alone, {groups[0]!r}: nothing to compare."
        )
    if ranked and len(set(labels.labels.tolist())) == 1:
        option = table.scale.options[labels.labels[0]]
        raise InputError(
            f"{tables.labels}: every label is {option!r}, from which nothing can be learned of how "
            f"groups differ. Label more texts; `cordial plan --by {by}` chooses them."
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
    names = columns.schema.keys() - columns.apart
    if "stratum" in names:
        scores = expected_scores(table.logits, table.scale)
        design["strata"] = score_strata(scores, len(labels.first))
    if "probability" in names:
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


def _read_alike(table: "ReadingTable", wanted: Wanted) -> dict[str, Any]:
    """Read which texts are of one cluster, or answer the same prompt.

    Raises:
        InputError: There is no such column.
    """
    from cordial_ppl.tables import read_groups

    columns = {"clusters": wanted.cluster, "pairs": wanted.pair}
    return {noun: read_groups(table.columns, name) for noun, name in columns.items() if name}


def _find_clusters(table: "ReadingTable", rows: Any, by: str | None) -> list[str]:
    """Warn of columns few of whose values have all labels, as if whole clusters were labelled."""
    from cordial_ppl.tables import list_cells

    texts, result = np.unique(rows), []
    for name, cells in list_cells(table.columns, range(len(table))).items():
        _, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        labelled = len(np.unique(codes[texts]))
        # So many values a random choice of as many texts has, on average.
        likely = np.sum(1 - (1 - sizes / len(table)) ** len(texts))
        if name != by and MANY <= len(sizes) < len(table) and labelled < likely / 2:
            result.append(
                f"the labelled texts are of {labelled} of {len(sizes)} values of {name!r}: if "
                f"texts of one value are alike, intervals are too narrow without --cluster {name}."
            )
    return result


def _write(made: "Estimate", wanted: Wanted, by: str) -> list[str]:
    """Write the table and the picture that are wanted; say so."""
    if wanted.output is not None:
        import polars as pl

        from cordial_ppl.tables import write_table

        rows = pl.DataFrame(made.rows)
        write_table(wanted.output, rows.rename({} if by in rows.columns else {"group": by}).lazy())
    if wanted.figure is not None:
        from cordial_ppl import plots
        from cordial_ppl.evaluation.products.figure import looking
        from cordial_ppl.tables import replacing

        with looking(), replacing(wanted.figure) as temporary:
            figure = plots.groups(made, by=by).figure
            figure.savefig(temporary, format=wanted.figure.suffix.removeprefix("."))
    return [f"wrote {path}" for path in (wanted.output, wanted.figure) if path is not None]
