"""A run of the paper's experiments that is killed, again and again, ends like one that is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATHS = (ROOT, ROOT / "benchmarks", ROOT / "benchmarks/paper", ROOT / "tests")

PROGRAM = """
import os, random, signal, sys, time
from pathlib import Path

import numpy as np
from ledger import Ledger
from loss_table import loss_table
from sweep_files import tasks_of, write_sweep

from cordial_ppl.evaluation.methods import make_methods

folder, chance = Path(sys.argv[1]), random.Random(int(sys.argv[2]))


def run(name):
    methods = make_methods(["raw", "temperature"]) | {"paper": make_methods(["odds"])["odds"]}
    tasks = tasks_of(folder)
    time.process_time = lambda: 0.0  # Seconds are all that may differ.
    ledger = Ledger(folder / name, folder / f"{name}.parts")
    ledger.results.mkdir(exist_ok=True)
    loss_table(ledger.sweep(tasks, methods, [4, 20], 3)).write(ledger.results)
    for cell in ([2, "b"], [1, "a"]):
        draws = [
            ledger.arrays(f"fused-{cell[0]}-{draw}", lambda: {"x": np.arange(9.0) * draw})
            for draw in range(3)
        ]
        ledger.rows("fused", cell, lambda *_: [{"loss": float(np.sum([d["x"] for d in draws]))}])


def start(name, writes=None):
    "Run in a process of its own; one that is to die in its nth write leaves half a file."
    # No thread runs here: a copy of this process would wait for it for ever.
    child = os.fork()
    if child:
        return child
    replace, count = os.replace, [0]

    def tear(temporary, target):
        count[0] += 1
        if count[0] == writes:
            os.truncate(temporary, os.path.getsize(temporary) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        replace(temporary, target)

    os.replace = tear
    run(name)
    os._exit(0)


def end(child):
    _, status = os.waitpid(child, 0)
    return status


if not (child := os.fork()):
    write_sweep(folder)
    os._exit(0)
end(child)
begun = time.monotonic()
assert end(start("whole")) == 0
taken, killed = time.monotonic() - begun, 0
for write in (1, 2, 7, 5, 1):
    killed += end(start("killed", write)) == signal.SIGKILL
    child = start("killed")
    time.sleep(chance.uniform(0, taken / 4))
    os.kill(child, signal.SIGKILL)
    killed += end(child) == signal.SIGKILL
assert end(start("killed")) == 0
print(killed)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_run_that_is_killed_ends_like_one_that_is_not(tmp_path):
    path = os.pathsep.join(map(str, PATHS))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), "3"],
        env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) >= 6
    whole, killed = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("whole", "killed")
    )
    # What a process that was killed left unfinished has a name that begins with a dot.
    assert {name: file for name, file in killed.items() if name[0] != "."} == whole
    names = {"stars-a.parquet", "stars-b.parquet", "fused.jsonl", "table.csv", "table.md"}
    assert set(whole) == names
