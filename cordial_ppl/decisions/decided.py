"""What was decided, in words."""

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
    free = texts - labelled
    if labelled == texts:
        return f"all {count(texts, 'text')} have labels, which decide."
    # Without the cost of a person there is none of a text.
    width = 4 if made.agree is None else 3
    rows = [("", "to people", "the rest agrees", "cost a text")[:width]]
    for way, (share, cost, agreement) in made.ways.items():
        rest = f"{agreement:.0%}" if share < 1 else ""
        rows.append((way, f"{share:.0%}", rest, f"{cost:.3g}")[:width])
    lines = [
        f"{free} of {count(texts, 'text')} have no label: "
        + ", ".join(f"{name}: {number}" for name, number in made.counts.items()),
        f"\nExpected for the {count(free - made.unread, 'text')} without a label"
        + f"; people see {made.unread} more, which the judge did not read" * bool(made.unread),
        *align(*rows),
        "",
    ]
    if made.agree is not None and made.kept != made.kept:
        lines.append(f"No split keeps an agreement of {made.agree:g}, so people decide all texts.")
    elif made.agree is not None:
        lines.append(
            f"The agreement of {made.agree:g} is kept with a probability of {made.kept:.2f}."
        )
    of, right = made.checked
    if of and not chosen:
        lines.append(
            f"Check on held-out labels: {of:.0f} of {labelled} would be decided without a person, "
            f"{right:.0f} of them as people did."
        )
    if made.gain == made.gain:
        lines.append(
            f"{MORE} more labels would lower the cost by about {made.gain:.2g} a text, "
            f"{made.gain * (free - made.unread):.2g} for all."
        )
    return "\n".join(lines)
