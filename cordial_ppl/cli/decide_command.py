"""`cordial decide`: which texts pass, which fail, and which a person has to see."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import (
    FILES,
    MODEL,
    TABLE,
    FigureWritten,
    Names,
    Natural,
    Out,
    Written,
    option,
)
from cordial_ppl.cli.output import Result, as_table, draw
from cordial_ppl.cli.plan_command import check_unfilled, list_texts
from cordial_ppl.cli.records import FITTING, Fitting, Read, Tables
from cordial_ppl.errors import InputError, count

if TYPE_CHECKING:
    from cordial_ppl.decisions.deciding import Decisions

ADDED = ("decision", "cost", "p_wrong")
"""What the table has beside what a plan has."""

Cost = Annotated[float, Parameter(metavar="COST")]


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class Costs:
    """What passes, and what errors and people cost: arguments of `Rule`."""

    passing: Annotated[Names, Parameter(name="--pass")] = None
    "Options that pass, as 4,5."
    within: Annotated[Natural | None, Parameter(metavar="CLASSES")] = None
    "Instead, decide on options, which may be off by so many classes: 0, 1 ..."
    false_pass: Cost = 1.0
    "Cost of passing what people fail."
    false_fail: Cost = 1.0
    "Cost of failing what people pass."
    person: Annotated[float | None, Parameter(metavar="COST")] = None
    "Cost of asking a person, in the same unit."
    agree: Annotated[float | None, Parameter(metavar="SHARE")] = None
    "Instead, ask as few as keep this agreement of the rest with people, as .9."
    level: Annotated[float, Parameter(metavar="P")] = 0.9
    "How probable that has to be."
    audit: Annotated[float, Parameter(metavar="SHARE")] = 0.05
    "Share of the rest that people see, too, drawn at random."


COSTS = Costs()
Decided = Annotated[
    Written | None, Out, option(f"Table to write {TABLE}: the decision about each text.")
]
Drawn = Annotated[
    FigureWritten | None,
    option("Picture of cost and agreement to write (.svg, .png, .pdf).", "FILE", FILES),
]


@command
def decide(
    tables: Tables,
    *,
    fitting: Fitting = FITTING,
    costs: Costs = COSTS,
    output: Annotated[
        Written | None,
        Out,
        option(f"Table to write {TABLE}: the decision about each text."),
    ] = None,
    figure: Annotated[
        FigureWritten | None,
        option("Picture of cost and agreement to write (.svg, .png, .pdf).", "FILE", FILES),
    ] = None,
) -> Result:
    """Which texts pass, which must people see? OUT begins with these; filled in, it is LABELS."""
    from cordial_ppl.cli.design import read_design
    from cordial_ppl.cli.fit_commands import fit_tables
    from cordial_ppl.decisions.rule import Rule

    rule = Rule(**vars(costs))
    read, done, warnings = tables.read(), list[str](), list[str]()
    if output is not None:
        check_unfilled(output, f"or give {output} as LABELS", read)
        items, people = read.labels.item_ids, read.labels.annotators
        if len({*zip(items, people or items, strict=True)}) < len(items):
            raise InputError(
                "--round split makes two labels of one, and OUT holds one of a text or annotator: "
                "round half-up or nearest-even, or leave out -o."
            )
    # The labels of texts that were chosen as doubtful say little of the others.
    chosen = bool(read_design(read)[1])
    calibrator = fit_tables(read, fitting)
    covariates = read.table.covariates(calibrator.fit_.covariates)
    made = calibrator.decide(read.table.logits, read.rows, covariates, **vars(rule))
    left = ~made.labelled
    if output is not None:
        _write(output, made, read)
        asked, alone = made.asked, int(np.sum(left & (made.decision != "person")))
        first, audited = count(int(asked.sum()), "text"), int(np.sum(made.probability[asked] < 1))
        fill = f"fill in the label of the first {first}"
        fill += f", {audited} as an audit" if audited else ""
        done.append(f"wrote {output}: {fill if asked.any() else 'nothing is to be labelled'}.")
        if alone and not rule.audit:
            warnings.append(
                f"without an audit nobody sees {count(alone, 'text')}, and labels say nothing of "
                "them: a mean of the labels will be off. Leave out --audit 0."
            )
    if figure is not None and left.any():
        from cordial_ppl import plots

        done.append(draw(figure, lambda: plots.decisions(made)))
    elif figure is not None:
        done.append(f"{figure} is not drawn: all texts have labels.")
    names, numbers = np.unique(made.decision[left], return_counts=True)
    counts = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    content: dict[str, Any] = {"decisions": counts, "labelled": int(made.labelled.sum())}
    content["to_label"] = int(made.asked.sum())
    content |= {name: getattr(made, name) for name in ("ways", "agree", "kept", "gain")}
    content["checked"] = None if chosen else made.checked.tolist()
    content["curve"] = {name: column.tolist() for name, column in made.curve.items()}
    return Result(content, "\n".join(_describe(made, counts, chosen)), "", warnings, done)


def _write(output: Path, made: "Decisions", read: Read) -> None:
    """Write the texts that people are to label, then those with labels, and the others."""
    import polars as pl

    from cordial_ppl.tables import write_table

    table, labels, rows = read
    asked, others = np.flatnonzero(made.asked), np.flatnonzero(~(made.asked | made.labelled))
    every = np.concatenate([asked, rows, others])
    filled = {"label": [table.scale.options[label] for label in labels.labels]}
    if labels.annotators is not None:
        filled = {"annotator": labels.annotators} | filled
    added = {name: getattr(made, name)[every] for name in ADDED}
    if made.agree is not None:
        del added["cost"]
    probability = pl.Series(made.probability[every]).fill_nan(None)
    texts = list_texts(table, (*added, *filled))[every.tolist()]
    texts = texts.with_columns(**added, probability=probability)
    for name, cells in filled.items():
        cells = [*[None] * len(asked), *cells, *[None] * len(others)]
        texts = texts.with_columns(pl.Series(name, cells, pl.String))
    write_table(output, texts.lazy())


def _describe(made: "Decisions", counts: dict[str, int], chosen: bool) -> list[str]:
    """Say how many texts go to people, what is expected, and how labels bear that out."""
    from cordial_ppl.decisions.deciding import MORE

    texts, labelled = len(made.decision), int(made.labelled.sum())
    if labelled == texts:
        return [f"all {count(texts, 'text')} have labels, which decide."]
    each = ", ".join(f"{name}: {number}" for name, number in counts.items())
    rows = [
        (way, f"{share:.0%}", f"{agreement:.0%}" if share < 1 else "", f"{cost:.3g}")
        for way, (share, cost, agreement) in made.ways.items()
    ]
    # Without the cost of a person there is none of a text.
    header = ("", "to people", "the rest agrees", "cost a text")[: 4 if made.agree is None else 3]
    rows = [row[: len(header)] for row in rows]
    title = f"Expected of the {count(texts - labelled, 'text')} without a label"
    lines = [f"{texts - labelled} of {count(texts, 'text')} have no label; {each}"]
    lines += ["", as_table(title, header, rows), ""]
    if made.agree is not None:
        lines.append(
            f"No share of the texts keeps an agreement of {made.agree:g}: people decide all."
            if np.isnan(made.kept)
            else f"The agreement of {made.agree:g} is kept with a probability of {made.kept:.2f}."
        )
    of, right = made.checked
    if of and not chosen:
        lines.append(
            f"Out of fold, {of:.0f} of {labelled} labelled texts would be decided without a "
            f"person, {right:.0f} of them as people did."
        )
    if made.gain == made.gain:
        lines.append(
            f"{MORE} more labels would lower the cost by about {made.gain:.2g} a text, "
            f"{made.gain * (texts - labelled):.2g} for all."
        )
    return lines
