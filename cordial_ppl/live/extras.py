"""Packages that only live readers need: imported when they are used."""

import importlib
from typing import Any

from cordial_ppl.errors import InputError


def load(module: str, extra: str) -> Any:
    """Import a package of an extra.

    Args:
        module: The package.
        extra: The extra that installs it.

    Returns:
        The package.

    Raises:
        InputError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"asking a model this way needs {module}: pip install 'cordial-ppl[{extra}]'."
        ) from error
