"""`cordial decide`: which texts pass, which fail, and which a person has to see."""

from dataclasses import dataclass
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
from cordial_ppl.cli.output import Result, draw
from cordial_ppl.cli.records import FITTING, Fitting, Tables
from cordial_ppl.errors import InputError, count

if TYPE_CHECKING:
    pass

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
    output: Decided = None,
    figure: Drawn = None,
) -> Result:
    """Which texts pass, which must people see? OUT begins with these; filled in, it is LABELS."""
    from cordial_ppl.decisions.rule import Rule
    from cordial_ppl.tables import check_unfilled

    rule = Rule(**vars(costs))
    read, done, warnings = tables.read(), list[str](), list[str]()
    if output is not None:
        check_unfilled(output, f"or give {output} as LABELS", read.table, read.labels)
        items, people = read.labels.item_ids, read.labels.annotators
        if len({*zip(items, people or items, strict=True)}) < len(items):
            raise InputError(
                "--round split makes two labels of one, and OUT holds one of a text or annotator: "
                "round half-up or nearest-even, or leave out -o."
            )
    from cordial_ppl.cli.fit_commands import fit_tables
    from cordial_ppl.decisions.decided import describe_decisions
    from cordial_ppl.decisions.sampling_design import read_design
    from cordial_ppl.estimators.bulk import sheets

    # The labels of texts that were chosen as doubtful say little of the others.
    chosen = bool(read_design(*read)[1])
    calibrator = fit_tables(read, fitting)
    covariates = read.table.covariates(calibrator.fit_.covariates)
    made = calibrator.decide(read.table.logits, read.rows, covariates, **vars(rule))
    left = ~made.labelled
    if output is not None:
        sheets.write_decisions(output, made, *read)
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
    content: dict[str, Any] = {"decisions": made.counts, "labelled": int(made.labelled.sum())}
    content["to_label"] = int(made.asked.sum())
    content |= {name: getattr(made, name) for name in ("ways", "agree", "kept", "gain")}
    content["checked"] = None if chosen else made.checked.tolist()
    content["curve"] = {name: column.tolist() for name, column in made.curve.items()}
    return Result(content, describe_decisions(made, chosen), "", warnings, done)
