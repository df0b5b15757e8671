"""A slice of `benchmarks/fuzz.py`: damaged input is a result or one error with a message."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
try:
    import fuzz  # pyright: ignore[reportMissingImports]
    from fuzzing import arrays, logs, tables  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

QUICK = ("arrays of readings", "labels and options")
"""Doors of arrays that take anything: others have annotations, which tests check before them."""

DOORS = [door.name for room in (tables, logs) for door in room.DOORS]
DOORS += [door.name for door in arrays.DOORS if door.name in QUICK]


@pytest.mark.parametrize("name", DOORS)
def test_damaged_input_is_a_result_or_one_error(name):
    broke = {}
    for seed in range(25):
        outcome, words = fuzz.try_case(fuzz.DOORS[name], seed)
        if outcome == "broke":
            broke[seed] = words
    assert not broke
