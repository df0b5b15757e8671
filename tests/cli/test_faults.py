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
from few_labels import LABELS, LOGITS, STARS
from review_tables import write_tables
from sweep_files import tasks_of, write_sweep

import cordial_ppl as cp
from cordial_ppl.cli.output import draw
from cordial_ppl.errors import FileError
from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.logs.ask.cache import Response, open_cache
from cordial_ppl.tables import check_writable, replacing, write_table

resource = pytest.importorskip("resource")
MANY = {"item_id": [f"text {i}" for i in range(2000)], "p_1": np.linspace(0, 1, 2000)}
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


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved.cordial"
    cp.LogitStack(STARS).fit(LOGITS, [STARS[k] for k in LABELS]).save(path)
    return path


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "saved.cordial"])
def test_a_file_on_a_full_disk(tmp_path, saved, name):
    fitted = cp.load(saved)
    write_table(tmp_path / "out.csv", {"item_id": ["old"]})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with full_disk(), pytest.raises(FileError, match=f"cannot write .*{name}: "):
        fitted.save(saved) if name == saved.name else write_table(tmp_path / name, MANY)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def disk(tmp_path):
    """A file system of its own, of which some kilobytes are free."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(folder)]
    try:
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("no file system can be mounted")
    except OSError:
        pytest.skip("there is no mount")
    try:
        free = os.statvfs(folder).f_bavail - 2
        (folder / "others").write_bytes(bytes(free * os.statvfs(folder).f_frsize))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def draw_line():
    from matplotlib.figure import Figure

    axis = Figure(figsize=(8, 8), dpi=300).subplots()
    axis.scatter(*np.random.default_rng(0).random((2, 2000)))
    return axis


@pytest.mark.nightly
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        *("out.csv", "out.jsonl", "out.ndjson", "out.parquet", "many.parquet"),
        *("saved.cordial", "sweep.json", "report.html", "picture.png", "picture.pdf"),
    ],
)
def test_a_file_system_that_is_full(cordial, tmp_path, disk, saved, name, old):
    path = disk / name
    if old:
        path.write_bytes(b"old")
    before = {file: file.read_bytes() for file in disk.iterdir()}
    if name == "report.html":
        readings, labels = write_tables(tmp_path)
        cordial("fit", readings, labels, "-o", "c.cordial", "--inference", "mode")
        result = cordial("report", "c.cordial", readings, labels, "-o", path, status=2)
        assert result.stderr.startswith("cordial report: cannot write "), result.stderr
        assert len(result.stderr.splitlines()) == 1 and "No space left" in result.stderr
    else:
        with pytest.raises(FileError, match=f"^cannot write {path}: .*[Nn]o space left"):
            if name == "saved.cordial":
                logits = np.random.default_rng(0).normal(size=(500, 5))
                cp.LogitStack().fit(logits, np.arange(500) % 5).save(path)
            elif name == "sweep.json":
                with replacing(path) as temporary:
                    temporary.write_text("x" * 100_000)
            elif path.stem == "picture":
                draw(path, draw_line)
            else:
                cells = np.random.default_rng(0).random(200_000 if path.stem == "many" else 2000)
                write_table(path, {"item_id": [*map(str, cells)], "p_1": cells})
    assert {file: file.read_bytes() for file in disk.iterdir()} == before


def test_a_sweep_on_a_full_disk_goes_on_when_there_is_room(tmp_path):
    write_sweep(tmp_path)
    sweep, parts = (tasks_of(tmp_path), ["raw", "histogram"], [4, 9], 3), tmp_path / "parts"
    whole = run_sweep(*sweep)
    with full_disk(3000), pytest.raises(FileError, match="cannot write"):
        run_sweep(*sweep, parts=parts)
    assert run_sweep(*sweep, parts=parts).equals(whole)


def test_answers_on_a_full_disk(tmp_path):
    answer = Response({}, {"choices": ["x" * 5000]}, "2025-12-31")
    with open_cache(tmp_path / "cache") as cache:
        cache.put("a", answer)
    with pytest.raises(FileError, match="cache"), open_cache(tmp_path / "cache") as cache:
        with full_disk(20_000):
            for number in range(100):
                cache.put(str(number), answer)
    with open_cache(tmp_path / "cache") as cache:
        assert cache.get("a") == [answer]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_words_that_a_terminal_cannot_show_are_escaped(encoding):
    program = "import atexit, sys, cordial_ppl.cli; sys.argv[1:] = ['--version']; "
    program += "atexit.register(lambda: print('\\u201egut\\u201c')); cordial_ppl.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "") and "\\u201egut" in done.stdout


def test_a_terminal_of_no_width_shows_everything(tmp_path):
    program = "import sys, cordial_ppl.cli; sys.argv[1:] = ['estimate', 'none.csv', 'l.csv']; "
    done = subprocess.run(
        [sys.executable, "-c", program + "cordial_ppl.cli.main()"],
        env=os.environ | {"COLUMNS": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode and "cordial estimate: " in done.stderr and "none.csv" in done.stderr


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_to(cordial, tmp_path, monkeypatch, saved, code):
    readings, _ = write_tables(tmp_path)

    def touch(path, **_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(FileError, match=os.strerror(code)):
        check_writable(tmp_path / "x.csv")
    result = cordial("predict", saved, readings, "-o", "out.csv", status=2)
    assert result.stderr == f"cordial predict: cannot write out.csv: {os.strerror(code)}.\n"


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
    from cordial_ppl.runtime import storage

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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
@pytest.mark.parametrize(
    "words", ["--help", pytest.param("demo --json", marks=pytest.mark.nightly)]
)
def test_results_that_cannot_be_written_are_one_line(words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", PROGRAM, *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "cordial: cannot write the output: No space left on device.\n"
    assert done.returncode == 1 and done.stderr.endswith(said) and "Trace" not in done.stderr
