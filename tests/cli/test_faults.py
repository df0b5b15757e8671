"""Faults around the program: a full disk, a signal, a folder that cannot be written to."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from review_tables import fast, write_tables
from sweep_files import tasks_of, write_sweep

from cordial_ppl.errors import FileError
from cordial_ppl.evaluation.sweeps import run_sweep

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


@pytest.mark.parametrize(
    "words",
    [
        "report c.cordial r.csv l.csv -o o.html",
        "estimate r.csv l.csv --by system --figure o.png",
        "predict c.cordial r.csv -o o.csv",
        pytest.param("predict c.cordial r.csv -o o.jsonl", marks=pytest.mark.nightly),
        "predict c.cordial r.csv -o o.parquet",
        "fit r.csv l.csv --inference mode -o c.cordial",
    ],
)
def test_a_command_on_a_full_disk(cordial, refused, tmp_path, undrawn, words):
    """No file appears, and the one that was there stays."""
    tables = write_tables(tmp_path, system=["a", "b"] * 30)
    cordial(*fast("fit", *tables, "-o", "c.cordial"))
    cordial(*words.split())  # What is compiled is kept on the disk, too.
    with full_disk():
        refused(f"{words.split()[-1]}|ile too large", *words.split())


def test_a_sweep_on_a_full_disk_goes_on_when_there_is_room(tmp_path):
    write_sweep(tmp_path)
    sweep, parts = (tasks_of(tmp_path), ["raw", "histogram"], [4, 9], 3), tmp_path / "parts"
    whole = run_sweep(*sweep)
    with full_disk(3000), pytest.raises(FileError, match="cannot write"):
        run_sweep(*sweep, parts=parts)
    assert run_sweep(*sweep, parts=parts).equals(whole)


def start(words, program=PROGRAM, stdout: Any = subprocess.PIPE, **settings: Any):
    """Start the program in a process of its own."""
    command = [sys.executable, "-c", program, *words.split()]
    streams: Any = {"stdout": stdout, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **streams, **settings)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_words_that_a_terminal_cannot_show_are_escaped(encoding):
    program = "import atexit; atexit.register(lambda: print('\\u201egut\\u201c')); " + PROGRAM
    running = start("--version", program, env=os.environ | {"PYTHONIOENCODING": encoding})
    shown, told = running.communicate(timeout=60)
    assert (running.returncode, told) == (0, "") and "\\u201egut" in shown


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
@pytest.mark.parametrize(
    "words", ["--help", pytest.param("demo --json", marks=pytest.mark.nightly)]
)
def test_results_that_cannot_be_written_are_one_line(words):
    with open("/dev/full", "w") as full:
        running = start(words, stdout=full)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 1 and "Trace" not in told
    assert "No space left on device" in told.splitlines()[-1]


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_to(refused, tmp_path, monkeypatch, code):
    write_tables(tmp_path)

    def touch(path, **_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "touch", touch)
    refused(f"out.csv|{os.strerror(code)}", "calibrate", "r.csv", "l.csv", "-o", "out.csv")


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("seconds", [0.2, 0.3, 0.5, 0.9])
def test_a_signal_ends_a_command_from_its_first_moment(tmp_path, number, status, seconds):
    write_tables(tmp_path)
    before = sorted(tmp_path.iterdir())
    # Nobody can catch what comes before: the interpreter is starting.
    program = "from cordial_ppl.cli import main; print(flush=True); main()"
    running = start("calibrate r.csv l.csv -o out.csv", program, cwd=tmp_path)
    assert running.stdout and running.stdout.readline()
    time.sleep(seconds)
    running.send_signal(number)
    _, told = running.communicate(timeout=60)
    assert (running.returncode, told.splitlines()[-1:]) == (status, ["stopped"])
    assert "Traceback" not in told and sorted(tmp_path.iterdir()) == before
