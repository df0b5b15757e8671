"""`cordial estimate` and `cordial compare`: how good the texts are, all of them and by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import Column, Fitting
from cordial_ppl.cli.output import Result, draw
from cordial_ppl.errors import InputError, SettingNeeded

GROUP = options.option("Column of READINGS that names each text's group, such as `system`.")
By = Annotated[Column, GROUP]
Ranked = Annotated[str, options.COLUMN, GROUP]

MANY = 10
"""A column with at least this many distinct values may hold cluster ids."""


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is estimated, and where it goes."""

    output: Annotated[options.Written | None, options.Out] = None
    "Table to write (.csv, .parquet, .jsonl): one row for all texts together, and one per group."
    figure: options.Figure = None
    "File for a plot of the groups (.svg, .png, .pdf)."
    cluster: Column = None
    "Column of READINGS that groups related texts, such as `conversation`."
    pair: Column = None
    "With --by: column that pairs texts from different groups, such as `prompt`."
    level: options.Level = 0.9
    of: Annotated[Literal["like-these", "these"], Parameter(metavar="TARGET")] = "like-these"
    "Intervals for texts like those in READINGS (`like-these`, default) or exactly those (`these`)."
    passing: Annotated[options.Names, Parameter(name="--pass")] = None
    "Options counted as a pass (such as 4,5): report the pass rate and the judge's TPR and TNR."
    require: Annotated[Sequence[str], Parameter(metavar="TEXT")] = ()
    'Requirement, such as "mean >= 4" or "A - B > 0". Exit status: 0 met, 3 not met, 4 unclear.'


@command
def estimate(tables: Fitting, *, wanted: Wanted = Wanted(), by: By = None) -> Result:
    """How good are the texts? Estimate the mean label and the share of each option.

    The labelled texts must be a random sample or come from `cordial plan`. Keep any columns that
    the plan added.
    """
    return _estimate(tables, wanted, by)


@command
def compare(tables: Fitting, *, wanted: Wanted = Wanted(), by: Ranked) -> Result:
    """Which system is best? Rank groups of texts by their mean label.

    The labelled texts must be a random sample or come from `cordial plan --by COLUMN`.
    """
    return _estimate(tables, wanted, by, ranked=True)


def _estimate(tables: Fitting, wanted: Wanted, by: str | None, ranked: bool = False) -> Result:
    """Fit, estimate, and write what came out."""
    question = cp.Question(of=wanted.of, passing=wanted.passing, level=wanted.level)
    if tables.inference == "mode":
        problem = "`--inference mode` does not provide intervals for means."
        raise SettingNeeded(problem, "Use posterior draws", "inference", "default")
    if wanted.figure is not None:
        from cordial_ppl.plots.figure import require_drawing

        if by is None:
            raise InputError("--figure needs groups to plot. Name a column with --by.")
        require_drawing()
    columns = {"by": by, "cluster": wanted.cluster, "pair": wanted.pair}
    table, labels, rows = read = tables.read(apart=tuple(filter(None, columns.values())))
    grouping = read_grouping(table.columns, **columns)
    groups, name = grouping.get("by"), by or "group"
    if ranked and groups and len({*groups}) == 1:
        problem = f"has only one {by}, {groups[0]!r}, so there is nothing to compare."
        raise InputError(f"{tables.readings} {problem}")
    if ranked and len({*labels.labels.tolist()}) == 1:
        raise InputError(
            f"{tables.labels}: every label is {table.scale.options[labels.labels[0]]!r}, so the "
            "labels cannot show how groups differ. Label more texts, chosen with `cordial plan "
            f"--by {by}`."
        )
    # What needs JAX is imported once the tables are read.
    from cordial_ppl.decisions.estimates.bias import drop_copies
    from cordial_ppl.decisions.estimates.requirement import NO, STATUS, parse
    from cordial_ppl.decisions.records import as_values
    from cordial_ppl.decisions.sampling_design import read_design

    requirements = [parse(text) for text in wanted.require]
    design, weighed = read_design(read)
    design |= {"clusters": grouping.get("cluster"), "pairs": grouping.get("pair")}
    design |= {"groups": groups} if groups or wanted.pair else {}
    calibrator = tables.fit(read, required=bool(requirements))
    covariates = table.covariates(calibrator.fit_.covariates)
    made = calibrator.estimate(table.logits, rows, question, covariates, **design)
    judged = [each.answer(made) for each in requirements]
    done, others = _write(made, wanted, name, table.columns), options.list_groups(read)
    # The column of the estimate is accounted for, and so is another of the same groups.
    others = drop_copies(others, [groups[row] for row in rows] if groups else ())
    related = grouping.get("cluster") or grouping.get("pair")
    cells = [related[row] for row in rows] if related else None
    biases, verdict = cp.find_bias(calibrator, others, cells), cp.verdict(calibrator)
    text = (made.ranked_text if ranked else made.text)(name)
    text = "\n\n".join(filter(None, [text, weighed, "\n".join(map(str, judged))]))
    content = made.to_dict() | {"biases": [bias._asdict() for bias in biases]}
    content |= {"verdict": verdict and verdict.to_dict(), "design": weighed or None}
    content |= {"requirements": as_values(judged)}
    result, text = ("", text) if wanted.output else (text, "")
    text += f"\n{verdict.text}" if verdict and len({*rows}) < len(table) else ""
    alike = find_clusters(table, rows, grouping, wanted.cluster)
    statuses = {STATUS[each.answer] for each in judged}
    status = STATUS[NO] if STATUS[NO] in statuses else max(statuses, default=0)
    return Result(content, result, text, (*made.warnings, *map(str, biases), *alike), done, status)


def _write(made: Any, wanted: Wanted, name: str, like: Any) -> list[str]:
    """Write the table and the picture of an estimate, where they are wanted."""
    done = []
    if wanted.output is not None:
        from cordial_ppl.tables import write_table

        cells = {key: [row[key] for row in made.rows] for key in made.rows[0]}
        cells = cells if name in cells else {name: cells.pop("group"), **cells}
        write_table(wanted.output, cells, like)
        done.append(f"wrote {wanted.output}")
    if wanted.figure is not None:
        done.append(draw(wanted.figure, lambda: cp.plots.groups(made, by=name)))
    return done


def read_grouping(columns: Any, **names: str | None) -> dict[str, list[str]]:
    """Read the group of each text, by each option that names a column.

    Raises:
        InputError: Two options name one column, or a row has no group.
        SettingNeeded: There is no such column.
    """
    from cordial_ppl.tables import read_groups

    cells = {option: read_groups(columns, name, option) for option, name in names.items() if name}
    for one, other in combinations(cells, 2):
        if cells[one] == cells[other]:
            raise InputError(
                f"--{one} and --{other} must name different columns; both name {names[other]!r}. "
                f"Remove --{other}, or name a different column."
            )
    return cells


def find_clusters(table: Any, rows: Any, grouping: Any, cluster: str | None) -> list[str]:
    """Warn of columns few of whose values have all labels, as if whole clusters were labelled."""
    import numpy as np

    from cordial_ppl.tables import list_cells

    texts, result = np.unique(rows), []
    instead = "" if cluster is None else f" instead of --cluster {cluster}"
    clusters = [cells for option, cells in grouping.items() if option != "by"]
    number = len({cells[row] for cells in clusters for row in texts}) or len(texts)
    for name, cells in list_cells(table.columns, range(len(table))).items():
        _, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        labelled = len(np.unique(codes[texts]))
        # So many values a random choice of as many texts, or named clusters, has on average.
        likely = np.sum(1 - (1 - sizes / len(table)) ** number)
        if MANY <= len(sizes) < len(table) and labelled < likely / 2:
            result.append(
                f"the labelled texts cover only {labelled} of {len(sizes)} values of {name!r}. If "
                "texts with the same value are alike, the intervals are too narrow. Use --cluster "
                f"{name}{instead}."
            )
    return result
