"""Predictions and sweeps on Ray, with workers on this machine: the numbers of one process.

Ray is too large to install for each change: without it, these tests are skipped.
"""

import gc
import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from few_labels import LABELS, LOGITS, STARS, TEXTS
from sweep_files import tasks_of, watching, write_sweep

from cordial_ppl import LogitStack, load
from cordial_ppl.errors import CordialError
from cordial_ppl.estimators.bulk.predictor import predict_on_ray, predict_table
from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.tables import open_readings

ray = pytest.importorskip("ray")

# What Ray warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """A cluster on this machine, which sends nothing to others."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()
    # What it leaves open is warned of here, and not in another test.
    gc.collect()


@pytest.fixture
def folder(tmp_path):
    """A calibrator, and 290 readings in three files."""
    LogitStack(STARS).fit(LOGITS, [STARS[k] for k in LABELS]).save(tmp_path / "judge.cordial")
    cells = {f"logit_{star}": TEXTS.logits[:290, k] for k, star in enumerate(STARS)}
    readers = np.where(np.arange(290) % 7, "mine", "theirs")
    note = pl.Series(range(290), dtype=pl.Int16)
    ids = [f"text {i}" for i in range(290)]
    table = pl.DataFrame({"item_id": ids, "reader": readers, **cells, "note": note})
    (tmp_path / "parts").mkdir()
    for number, (start, stop) in enumerate([(0, 100), (100, 103), (103, 290)]):
        table[start:stop].write_parquet(tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def workers():
    """The processes of Ray that work for this one."""
    for path in Path("/proc").glob("[0-9]*"):
        # Some end while they are looked at.
        with suppress(FileNotFoundError, ProcessLookupError):
            if (path / "cmdline").read_bytes().startswith(b"ray::_run"):
                raylet = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                status = Path(f"/proc/{raylet}/stat").read_text().rpartition(")")[2].split()
                if int(status[1]) == os.getpid():
                    yield int(path.name)


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes as Linux lists them")
def test_a_worker_may_die(folder):
    fitted = load(folder / "judge.cordial")
    found = open_readings(folder / "parts", reader="mine")
    predict_table(fitted, found, folder / "whole.parquet")
    killed, shares = [], []

    def show(share, label):
        shares.append(share)
        if share > 0.3 and not killed:
            killed.extend(list(workers())[:1])
            for process in killed:
                os.kill(process, signal.SIGKILL)

    with watching(show):
        predict_on_ray(folder / "judge.cordial", found, folder / "out", size=8)
    assert killed and shares[-1] == 1 and len(shares) == 37
    files = sorted((folder / "out").iterdir())
    assert [file.name for file in files] == [f"part-{k:05d}.parquet" for k in range(37)]
    whole = pl.concat(map(pl.read_parquet, files))
    assert whole.equals(pl.read_parquet(folder / "whole.parquet"))
    assert whole["note"].dtype == pl.Int16


def test_the_command(folder, cordial):
    predict = "predict", "judge.cordial", "parts", "-o", "out", "--engine", "ray"
    assert cordial(*predict, "--reader", "mine").stderr == "wrote out: 248 texts\n"
    assert [file.name for file in Path("out").iterdir()] == ["part-00000.parquet"]
    again = cordial(*predict, status=2)
    assert "out already exists" in again.stderr


def test_nothing_is_left_of_work_that_fails(folder):
    found = open_readings(folder / "parts", reader="mine")
    (folder / "parts" / "1.parquet").unlink()
    before = sorted(folder.iterdir())
    with pytest.raises(CordialError, match="^cannot read [^\\n]*No such file[^\\n]*$"):
        predict_on_ray(folder / "judge.cordial", found, folder / "out")
    assert sorted(folder.iterdir()) == before


@pytest.fixture
def sweep(tmp_path):
    """A sweep of 24 fits of two readers, and the table that one process makes of it."""
    write_sweep(tmp_path)
    settings = tasks_of(tmp_path), ["temperature"], [4, 9, 20, 40], 3
    return settings, run_sweep(*settings)


@pytest.mark.pinned  # Seeds of other processes are not shifted.
def test_a_sweep_is_the_same_and_goes_on(sweep, tmp_path):
    settings, expected = sweep
    shares, parts = [], tmp_path / "parts"

    def stop(share, label):
        shares.append(share)
        if len(shares) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watching(stop):
        run_sweep(*settings, parts=parts, engine="ray")
    done = {path: path.stat().st_mtime_ns for path in parts.rglob("*.parquet")}
    assert 2 <= len(done) < 24
    with watching(lambda share, label: shares.append(share)):
        scores = run_sweep(*settings, parts=parts, engine="ray")
    assert shares[-1] == 1 and sorted(shares[3:]) == shares[3:]
    assert all(path.stat().st_mtime_ns == made for path, made in done.items())
    assert scores.equals(expected)


@pytest.mark.pinned
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes as Linux lists them")
def test_a_sweep_whose_worker_dies(sweep):
    settings, expected = sweep
    killed = []

    def show(share, label):
        if not killed:
            killed.extend(list(workers())[:1])
            for process in killed:
                os.kill(process, signal.SIGKILL)

    with watching(show):
        scores = run_sweep(*settings, engine="ray")
    assert killed and scores.equals(expected)
