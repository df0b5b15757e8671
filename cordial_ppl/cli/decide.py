"""`cordial decide`: which texts pass, which fail, and which a person has to see."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.cli.options import FigureOrNot, TableOrNot
from cordial_ppl.cli.output import Result, as_table, draw
from cordial_ppl.cli.plan import check_unfilled, list_texts
from cordial_ppl.cli.records import Fitting, Names, Read, Tables
from cordial_ppl.errors import count

if TYPE_CHECKING:
    from cordial_ppl.decisions.deciding import Decisions

ADDED = ("decision", "cost", "p_wrong")
"""What the table has beside what a plan has."""


@dataclass(frozen=True)
class Rule:
    """How texts are decided: arguments of `Stack.decide`."""

    pass_: Names = ()
    within: int | None = None
    false_pass: float = 1.0
    false_fail: float = 1.0
    person: float | None = None
    agree: float | None = None
    level: float = 0.9
    audit: float = 0.05


def decide(
    tables: Tables,
    fitting: Fitting,
    rule: Rule,
    output: TableOrNot = None,
    figure: FigureOrNot = None,
) -> Result:
    """Which texts pass, which must people see? OUT begins with these; filled in, it is LABELS."""
    from cordial_ppl.cli.calibrate import fit_tables

    settings: dict[str, Any] = {**vars(rule)}
    settings["passing"] = settings.pop("pass_") or None
    read = tables.read()
    if output is not None:
        check_unfilled(output, f"or give {output} as LABELS", len(read.rows))
    calibrator = fit_tables(read, fitting)
    covariates = read.table.covariates(calibrator.fit_.covariates)
    made = calibrator.decide(read.table.logits, read.rows, covariates, **settings)
    done = []
    if output is not None:
        _write(output, made, read)
        first = count(int(made.asked.sum()), "text")
        audited = int(np.sum(made.asked & (made.probability < 1)))
        done += [f"wrote {output}: fill in the label of the first {first}, {audited} as an audit."]
    if figure is not None:
        from cordial_ppl import plots

        done.append(draw(figure, lambda: plots.decisions(made)))
    names, numbers = np.unique(made.decision, return_counts=True)
    counts = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    content = {"decisions": counts, "to_label": int(made.asked.sum())}
    content |= {name: getattr(made, name) for name in ("ways", "agree", "kept", "gain")}
    content["checked"] = made.checked.tolist()
    content["curve"] = {name: column.tolist() for name, column in made.curve.items()}
    return Result(content, "\n".join(_describe(made, counts)), done=done)


def _write(output: Path, made: "Decisions", read: Read) -> None:
    """Write the texts that people are to label, then those with labels, and the others."""
    import polars as pl

    from cordial_ppl.tables import write_table

    table, labels, rows = read
    asked, others = np.flatnonzero(made.asked), np.flatnonzero(~(made.asked | made.labelled))
    every = np.concatenate([asked, rows, others])
    names = [table.scale.options[label] for label in labels.labels]
    added = {name: getattr(made, name)[every] for name in ADDED}
    probability = pl.Series(made.probability[every]).fill_nan(None)
    label = pl.Series([*[None] * len(asked), *names, *[None] * len(others)], dtype=pl.String)
    texts = list_texts(table, ADDED)[every.tolist()]
    write_table(output, texts.with_columns(**added, probability=probability, label=label).lazy())


def _describe(made: "Decisions", counts: dict[str, int]) -> list[str]:
    """Say how many texts go to people, what is expected, and how labels bear that out."""
    texts, labelled = len(made.decision), int(made.labelled.sum())
    each = ", ".join(f"{name}: {number}" for name, number in counts.items())
    rows = [
        (way, f"{share:.0%}", f"{agreement:.0%}" if share < 1 else "", f"{cost:.3g}")
        for way, (share, cost, agreement) in made.ways.items()
    ]
    # Without the cost of a person there is none of a text.
    header = ("", "to people", "the rest agrees", "cost a text")[: 4 if made.agree is None else 3]
    rows = [row[: len(header)] for row in rows]
    title = f"Expected of the {texts - labelled} texts without a label"
    lines = [f"{count(texts, 'text')}; {each}", "", as_table(title, header, rows), ""]
    if made.agree is not None:
        lines.append(
            f"No share of the texts keeps an agreement of {made.agree:g}: people decide all."
            if np.isnan(made.kept)
            else f"The agreement of {made.agree:g} is kept with a probability of {made.kept:.2f}."
        )
    of, right = made.checked
    if of:
        lines.append(
            f"Out of fold, {of:.0f} of {labelled} labelled texts would be decided without a "
            f"person, {right:.0f} of them as people did."
        )
    if made.gain == made.gain:
        lines.append(
            f"Twenty more labels would lower the cost by about {made.gain:.2g} a text, "
            f"{made.gain * (texts - labelled):.2g} for all."
        )
    return lines
