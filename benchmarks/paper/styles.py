"""What tables and figures of the paper call each method, and how figures draw it."""

from typing import NamedTuple

OURS = "paper"
"""Our method: the literal CORDIAL."""

MODE = "mode"
"""Ours by the mode of its posterior, for what averaging over it is worth."""

FLAT = "-flat"
"""End of the name of a stack whose weights have no pseudo-counts: a form of that stack."""

FORMS = (OURS, OURS + FLAT, "cordial", MODE)
"""Ours and its other forms, which are no rivals of each other."""


class Style(NamedTuple):
    """Style of a method.

    Attributes:
        label: its name in tables and figures.
        color: a colour that colour-blind readers can tell from the others (Okabe and Ito, 2008).
        dash: the line.
        mark: the marks on it.
    """

    label: str
    color: str
    dash: str = "-"
    mark: str = "o"


STYLES = {
    "raw": Style("Raw reading", "#8c8c8c", ":", "x"),
    "histogram": Style("Label histogram", "#8c8c8c", "--", "+"),
    "batch": Style("Batch calibration", "#8c8c8c", "-.", "1"),
    "temperature": Style("Temperature", "#CC79A7", "-", "s"),
    "vector": Style("Vector scaling", "#E69F00", "-", "^"),
    "odds": Style("Ordinal regression", "#009E73", "-", "D"),
    "odds-fixed": Style("Ordinal, fixed penalty", "#009E73", "--", "D"),
    "dirichlet": Style("Dirichlet", "#D55E00", "-", "v"),
    "logit-stack": Style("Logit stack (LS)", "#0072B2", "-", "o"),
    "scalar-stack": Style("LS + scalar channels", "#56B4E9", "--", "s"),
    "full-stack": Style("LS + full channels", "#56B4E9", "-.", "^"),
    OURS: Style("CORDIAL, literal", "#000000", "-", "o"),
    "logit-stack-flat": Style("LS, flat weights", "#0072B2", ":", "o"),
    "scalar-stack-flat": Style("LS + scalar channels, flat weights", "#56B4E9", ":", "s"),
    "full-stack-flat": Style("LS + full channels, flat weights", "#56B4E9", ":", "^"),
    "paper-flat": Style("CORDIAL, flat weights", "#000000", ":", "o"),
    "cordial": Style("CORDIAL, default", "#000000", "-.", "o"),
    MODE: Style(MODE, "#882255", "--", "P"),
}


def label(name: str) -> str:
    """Return a method's name in tables and figures; one without a style keeps its own."""
    return STYLES[name].label if name in STYLES else name
