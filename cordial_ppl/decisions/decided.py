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
        return f"all {count(texts, 'text')} already have labels, so no decision is needed."
    # Without the cost of a person there is none of a text.
    width = 4 if made.agree is None else 3
    rows = [("", "sent to people", "agreement on the rest", "cost per text")[:width]]
    for way, (share, cost, agreement) in made.ways.items():
        rest = f"{agreement:.0%}" if share < 1 else ""
        rows.append((way, f"{share:.0%}", rest, f"{cost:.3g}")[:width])
    lines = [
        f"{free} of {count(texts, 'text')} have no label: "
        + ", ".join(f"{name}: {number}" for name, number in made.counts.items()),
        f"\nExpected for the {count(free - made.unread, 'text')} without a label"
        + f"; people also see {made.unread} texts that the judge did not rate" * bool(made.unread),
        *align(*rows),
        "",
    ]
    if made.agree is not None and made.kept != made.kept:
        lines.append(
            f"No split reaches an agreement of {made.agree:g}, so people decide on every text."
        )
    elif made.agree is not None:
        lines.append(f"The agreement reaches {made.agree:g} with probability {made.kept:.2f}.")
    of, right = made.checked
    if of and not chosen:
        lines.append(
            f"Check on held-out labels: {of:.0f} of {labelled} texts would be decided without a "
            f"person, {right:.0f} of these as people decided."
        )
    if made.gain == made.gain:
        lines.append(
            f"{MORE} more labels would lower the cost by about {made.gain:.2g} per text, "
            f"or {made.gain * (free - made.unread):.2g} in total."
        )
    return "\n".join(lines)
