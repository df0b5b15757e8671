"""`cordial decide`: which texts pass, which fail, and which a person has to see."""

from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import Fitting
from cordial_ppl.cli.output import Result, draw
from cordial_ppl.errors import InputError, count

Cost = Annotated[float, Parameter(metavar="COST")]


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Costs:
    """What passes, and what errors and people cost: arguments of `Rule`."""

    passing: Annotated[options.Names, Parameter(name="--pass")] = None
    "Options that pass, as 4,5."
    within: Annotated[options.Natural | None, Parameter(metavar="CLASSES")] = None
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


@command
def decide(
    tables: Fitting,
    *,
    costs: Costs = Costs(),
    output: Annotated[options.Written | None, options.Out] = None,
    figure: options.Figure = None,
) -> Result:
    """Which texts pass, which must people see? OUT begins with these; filled in, it is LABELS.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): the decision about each text.
        figure: Picture of cost and agreement to write (.svg, .png, .pdf).
    """
    from cordial_ppl.decisions.rule import Rule
    from cordial_ppl.tables.unfilled import check_unfilled

    rule = Rule(**vars(costs))
    table, labels, rows = read = tables.read()
    done, warnings = list[str](), list[str]()
    if output is not None:
        check_unfilled(output, f"or give {output} as LABELS", table, labels)
        items, people = labels.item_ids, labels.annotators
        if len({*zip(items, people or items, strict=True)}) < len(items):
            raise InputError(
                "--round split makes two labels of one, and OUT holds one of a text or annotator: "
                "round half-up or nearest-even, or leave out -o."
            )
    from cordial_ppl.decisions.decided import describe_decisions
    from cordial_ppl.decisions.sampling_design import read_design
    from cordial_ppl.estimators.bulk import sheets

    # The labels of texts that were chosen as doubtful say little of the others.
    chosen = bool(read_design(*read)[1])
    calibrator = tables.fit(*read)
    covariates = table.covariates(calibrator.fit_.covariates)
    made = calibrator.decide(table.logits, rows, covariates, **vars(rule))
    left = ~made.labelled
    if output is not None:
        sheets.write_decisions(output, made, *read)
        asked, alone = made.asked, int((left & (made.decision != "person")).sum())
        first, audited = count(int(asked.sum()), "text"), int((made.probability[asked] < 1).sum())
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
    content["checked"] = None if chosen else made.checked
    content["curve"] = made.curve
    return Result(content, describe_decisions(made, chosen), "", warnings, done)
