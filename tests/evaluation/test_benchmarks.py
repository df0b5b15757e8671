"""The benchmarks: what they need."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_real_readings_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if name != "CORDIAL_DATA"}
    command = [sys.executable, str(FOLDER / "accuracy.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "CORDIAL_DATA must name a folder" in done.stderr and "SummEval" in done.stderr
