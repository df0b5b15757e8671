"""Docstrings as Markdown: what they have of reStructuredText is formulas and names in roles."""

import re
from textwrap import dedent
from typing import Any

from griffe import Extension, Object

DISPLAYED = re.compile(r"^( *)\.\. math::(.*(?:\n\1 +\S.*)*)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]*)`")
ROLE = re.compile(r":(?:class|func|meth|mod):`([^`]*)`")


class Readable(Extension):
    """Rewrite docstrings before they are parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one; that of a constructor says what its class has said."""
        if obj.name == "__init__":
            obj.docstring = None
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Formulas between dollars, and names in roles as code."""

    def display(found: re.Match[str]) -> str:
        formula = dedent(found[2]).strip().replace("\n", " ")
        return f"{found[1]}$$\n{found[1]}{formula}\n{found[1]}$$"

    text = DISPLAYED.sub(display, text)
    return ROLE.sub(r"`\1`", INLINE.sub(r"$\1$", text))
