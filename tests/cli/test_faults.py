"""Faults around the program: a full disk, two writers, a folder that cannot be written to."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from review_tables import fast, write_tables
from sweep_files import tasks_of, write_sweep

import cordial_ppl as cp
from cordial_ppl.errors import FileError
from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.runtime import storage
from cordial_ppl.tables import replacing, write_table

resource = pytest.importorskip("resource")
PROGRAM = "from cordial_ppl.cli import main; main()"


@contextmanager
def full_disk(room=1000):
    """Let no file grow beyond some bytes: the system refuses what is written further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write_something(path):
    """Write more than the disk has room for, as the program does to a file of this name."""
    if path.suffix == ".cordial":
        logits = np.random.default_rng(0).normal(size=(500, 5))
        cp.LogitStack().fit(logits, np.arange(500) % 5).save(path)
    elif path.suffix == ".json":
        with replacing(path) as temporary:
            temporary.write_text("x" * 100_000)
    else:
        cells = np.random.default_rng(0).random(2000)
        write_table(path, {"item_id": [*map(str, cells)], "p_1": cells})


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "name", ["out.csv", "out.jsonl", "out.ndjson", "out.parquet", "out.cordial", "out.json"]
)
def test_a_file_on_a_full_disk(tmp_path, name, old):
    path = tmp_path / name
    if old:
        path.write_bytes(b"old")
    with full_disk(), pytest.raises(FileError, match=f"{path}: .*[Ff]ile too large"):
        write_something(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"] * old


@pytest.mark.parametrize("command", ["report", "estimate", "predict"])
def test_a_command_on_a_full_disk(cordial, refused, tmp_path, command):
    """A page, a picture and a table."""
    tables = write_tables(tmp_path, system=["a", "b"] * 30)
    cordial(*fast("fit", *tables, "-o", "c.cordial"))
    words, name = {
        "report": (("c.cordial", *tables, "-o", "o.html"), "o.html"),
        "estimate": ((*tables, "--by", "system", "--figure", "o.png"), "o.png"),
        "predict": (("c.cordial", tables[0], "-o", "o.csv"), "o.csv"),
    }[command]
    cordial(command, *words)  # What is compiled is kept on the disk, too.
    with full_disk():
        refused(f"{name}|ile too large", command, *words)


def test_a_sweep_on_a_full_disk_goes_on_when_there_is_room(tmp_path):
    write_sweep(tmp_path)
    sweep, parts = (tasks_of(tmp_path), ["raw", "histogram"], [4, 9], 3), tmp_path / "parts"
    whole = run_sweep(*sweep)
    with full_disk(3000), pytest.raises(FileError, match="cannot write"):
        run_sweep(*sweep, parts=parts)
    assert run_sweep(*sweep, parts=parts).equals(whole)


def run_apart(words, stdout: Any = subprocess.PIPE, folder=None, program=PROGRAM, **variables):
    """Run the program in a process of its own."""
    command, env = [sys.executable, "-c", program, *words.split()], os.environ | variables
    streams: Any = {"stdout": stdout, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command, env=env, cwd=folder, **streams)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_words_that_a_terminal_cannot_show_are_escaped(encoding):
    program = "import atexit; atexit.register(lambda: print('\\u201egut\\u201c')); " + PROGRAM
    done = run_apart("--version", program=program, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "") and "\\u201egut" in done.stdout


def test_a_terminal_of_no_width_shows_everything(tmp_path):
    done = run_apart("estimate none.csv l.csv", folder=tmp_path, COLUMNS="0")
    assert done.returncode == 2 and "none.csv" in done.stderr and "Trace" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
@pytest.mark.parametrize(
    "words", ["--help", pytest.param("demo --json", marks=pytest.mark.nightly)]
)
def test_results_that_cannot_be_written_are_one_line(words):
    with open("/dev/full", "w") as full:
        done = run_apart(words, stdout=full)
    assert done.returncode == 1 and "Trace" not in done.stderr
    assert "No space left on device" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_to(refused, tmp_path, monkeypatch, code):
    write_tables(tmp_path)

    def touch(path, **_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "touch", touch)
    refused(f"out.csv|{os.strerror(code)}", "calibrate", "r.csv", "l.csv", "-o", "out.csv")


WRITER = """
import sys
import numpy as np
from cordial_ppl.runtime import storage

path, value = sys.argv[1], float(sys.argv[2])
array = np.full(100_000, value)
while True:
    storage.write(path, "thing", {"value": value}, {"array": array})
"""


@pytest.mark.nightly
def test_two_writers_that_are_killed_leave_one_whole_file(tmp_path):
    """Whenever the kill comes, the file is what one of them wrote, and what is half has no name."""
    path = tmp_path / "saved.cordial"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, value]) for value in ("1", "2")]
    seen = set()
    try:
        deadline = time.monotonic() + 60
        while len(seen) < 2 and time.monotonic() < deadline:
            seen |= {_value(path)} - {None}
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert seen == {1.0, 2.0} and _value(path) in seen
    others = [own for own in tmp_path.iterdir() if own != path]
    assert len(others) <= 2 and all(own.name.startswith(".") for own in others)


def _value(path):
    """What is in the file, which has to be whole; None before it is there."""
    if not path.exists():
        return None
    meta, arrays = storage.read(path, "thing")
    assert (arrays["array"] == meta["value"]).all()
    return meta["value"]


@pytest.mark.nightly
def test_ctrl_c_in_a_sweep_loses_nothing_that_was_done(tmp_path):
    write_sweep(tmp_path)
    budgets = range(4, 14)
    tables = "sweep", "stars.parquet", "labels.csv", "-o", "o.csv", "--report", "30", "--quiet"
    what = "--methods", "raw,histogram", "--budgets", ",".join(map(str, budgets)), "--draws", "3"
    command = [sys.executable, "-c", PROGRAM, *tables, *what]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    parts = tmp_path / "o.csv.parts"
    try:
        deadline = time.monotonic() + 120
        while not sum(1 for _ in parts.rglob("[!.]*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, said) == (130, b"")
    done = {path: path.read_bytes() for path in parts.rglob("*.parquet")}
    assert 0 < len(done) < 2 * 2 * len(budgets)
    # As a kill would leave it: half of a part, under a name that nobody looks for.
    half = next(iter(done)).with_name(f".{'0' * 32}.parquet")
    half.write_bytes(next(iter(done.values()))[:100])
    sweep = tasks_of(tmp_path), ["raw", "histogram"], budgets, 3
    resumed = run_sweep(*sweep, parts=parts)
    assert {path: path.read_bytes() for path in done} == done
    assert resumed.equals(run_sweep(*sweep))


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("seconds", [0.2, 0.3, 0.5, 0.9])
def test_a_signal_ends_a_command_from_its_first_moment(tmp_path, number, status, seconds):
    readings, labels = write_tables(tmp_path)
    before = sorted(tmp_path.iterdir())
    # Nobody can catch what comes before: the interpreter is starting.
    program = "from cordial_ppl.cli import main; print(flush=True); main()"
    command = [sys.executable, "-c", program, "calibrate", str(readings), str(labels)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen([*command, "-o", "out.csv"], cwd=tmp_path, **pipes)
    assert running.stdout and running.stdout.readline()
    time.sleep(seconds)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, said.splitlines()[-1:]) == (status, ["stopped"])
    assert "Traceback" not in said and sorted(tmp_path.iterdir()) == before
