"""A text with fields in braces, filled in for each text."""

import re
from collections.abc import Mapping

FIELD = re.compile(r"\{\{([^\W\d][\w .-]*)\}\}|\{([^\W\d][\w .-]*)\}")
"""A field, `{text}`; in double braces it is meant literally.  Other braces are just braces."""


def find_fields(template: str) -> frozenset[str]:
    """Find the fields of a template.

    Args:
        template: A text with fields.

    Returns:
        Their names.
    """
    return frozenset(found[2] for found in FIELD.finditer(template) if found[2])


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template; braces in the values stay what they are.

    Args:
        template: A text with fields.
        values: The value of every field.

    Returns:
        The text.
    """
    return FIELD.sub(
        lambda found: values[found[2]] if found[2] else f"{{{found[1]}}}",
        template,
    )
