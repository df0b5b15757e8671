"""The benchmarks: what they need, and a slice of `fuzz.py`."""

import os
import subprocess
import sys
from pathlib import Path

import fuzz
import pytest
from fuzzing import logs, tables

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_real_readings_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if name != "CORDIAL_DATA"}
    command = [sys.executable, str(FOLDER / "accuracy.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "CORDIAL_DATA must name a folder" in done.stderr and "SummEval" in done.stderr


@pytest.mark.parametrize("name", [door.name for room in (tables, logs) for door in room.DOORS])
def test_damaged_input_is_a_result_or_one_error(name):
    broke = {}
    for seed in range(15):
        outcome, words = fuzz.try_case(fuzz.DOORS[name], seed)
        if outcome == "broke":
            broke[seed] = words
    assert not broke


def test_a_door_that_fails_is_one_that_broke(tmp_path, monkeypatch):
    def fail(*_):
        raise IndexError("an empty list")

    door = fuzz.Door("none", fail, fail)
    outcome, words = fuzz.try_case(door, 0)
    assert outcome == "broke" and "IndexError: an empty list" in words
    fuzz.keep(tmp_path, door, 0, words)
    assert "no case: IndexError" in (tmp_path / "none-0" / "case.txt").read_text()
    monkeypatch.setattr(fuzz, "ROOMS", ("tables", "no_room"))
    doors = fuzz.load_doors()
    assert len(doors) == len(tables.DOORS) + 1
    assert fuzz.try_case(doors["no_room"], 0)[0] == "broke"
