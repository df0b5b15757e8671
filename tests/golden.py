"""Golden values that other implementations gave, in tests/reference."""

import json
from pathlib import Path
from typing import Any


def read_golden(name) -> Any:
    """Read the values of one file."""
    return json.loads((Path(__file__).parent / "reference" / f"{name}.json").read_text())
