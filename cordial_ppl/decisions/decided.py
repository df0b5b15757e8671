"""What was decided, in words."""

import numpy as np

from cordial_ppl.decisions.deciding import MORE, Decisions
from cordial_ppl.errors import count
from cordial_ppl.runtime.text_table import align


def describe_decisions(made: Decisions, chosen: bool) -> str:
    """Say how many texts go to people, what is expected, and how labels bear that out.

    Args:
        made: The decisions.
        chosen: Whether the labelled texts were not chosen at random, so that they say little of
            the others.
    """
    texts, labelled = len(made.decision), int(made.labelled.sum())
    if labelled == texts:
        return f"all {count(texts, 'text')} have labels, which decide."
    each = ", ".join(f"{name}: {number}" for name, number in made.counts.items())
    rows = [
        (way, f"{share:.0%}", f"{agreement:.0%}" if share < 1 else "", f"{cost:.3g}")
        for way, (share, cost, agreement) in made.ways.items()
    ]
    # Without the cost of a person there is none of a text.
    header = ("", "to people", "the rest agrees", "cost a text")[: 4 if made.agree is None else 3]
    rows = [row[: len(header)] for row in rows]
    title = f"Expected of the {count(texts - labelled, 'text')} without a label"
    lines = [f"{texts - labelled} of {count(texts, 'text')} have no label; {each}"]
    lines += ["", title, *align(header, *rows), ""]
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
    return "\n".join(lines)
