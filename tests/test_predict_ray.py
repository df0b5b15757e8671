"""Predictions on Ray, two workers on this machine: the rows and the numbers of one process.

Ray is too large to install for each change: without it, these tests are skipped.
"""

import gc
import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from few_labels import LABELS, LOGITS, STARS, TEXTS

from cordial_ppl import LogitStack
from cordial_ppl.bulk.cluster import predict_on_ray
from cordial_ppl.bulk.local import predict_table
from cordial_ppl.errors import CordialError
from cordial_ppl.tables.blocks import open_blocks
from cordial_ppl.tables.survey import survey

ray = pytest.importorskip("ray")

# What Ray warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """A cluster on this machine; nobody outside is asked for anything."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()
    # What it leaves open is warned of here, and not in another test.
    gc.collect()


@pytest.fixture
def folder(tmp_path):
    """A judge, and 290 readings in three files."""
    LogitStack(STARS).fit(LOGITS, [STARS[k] for k in LABELS]).save(tmp_path / "judge.cordial")
    logits = TEXTS.logits[:290]
    cells = {f"logit_{star}": logits[:, k] for k, star in enumerate(STARS)}
    ids = [f"text {i}" for i in range(290)]
    readers = np.where(np.arange(290) % 7, "mine", "theirs")
    table = pa.table(
        {"item_id": ids, "reader": readers, **cells, "note": np.arange(290, dtype="i2")}
    )
    (tmp_path / "parts").mkdir()
    for number, (start, stop) in enumerate([(0, 100), (100, 103), (103, 290)]):
        pq.write_table(table.slice(start, stop - start), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def ours():
    """The processes of Ray's workers that belong to this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        # Some end while they are looked at.
        with suppress(FileNotFoundError, ProcessLookupError):
            working = (path / "cmdline").read_bytes().startswith(b"ray::MapWorker")
            if working and parent(parent(path.name)) == os.getpid():
                found.append(int(path.name))
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes as Linux lists them")
def test_a_worker_may_die(folder):
    from cordial_ppl import load

    judge, table = load(folder / "judge.cordial"), open_blocks(folder / "parts")
    found = survey(table, judge.scale_, reader="mine")
    predict_table(judge, table, found, folder / "whole.parquet")
    killed, shares = [], []

    def show(share, label):
        shares.append(share)
        if share > 0.3 and not killed:
            killed.extend(ours()[:1])
            os.kill(killed[0], signal.SIGKILL)

    given = folder / "judge.cordial", table, found, folder / "out", show
    predict_on_ray(*given, workers=2, size=8)
    assert killed and shares[-1] == 1 and len(shares) == 37
    files = sorted((folder / "out").iterdir())
    assert [file.name for file in files] == [f"part-{k:05d}.parquet" for k in range(37)]
    whole = pa.concat_tables(map(pq.read_table, files))
    assert whole.equals(pq.read_table(folder / "whole.parquet"))
    assert whole["note"].type == pa.int16()


def test_the_command(folder, cordial):
    done = cordial(
        "predict", "judge.cordial", "parts", "-o", "out", "--engine", "ray", "--reader", "mine"
    )
    assert done.stderr == "wrote out: 248 texts\n"
    assert [file.name for file in Path("out").iterdir()] == ["part-00000.parquet"]
    again = cordial("predict", "judge.cordial", "parts", "-o", "out", "--engine", "ray", status=2)
    assert "cannot write out: it is there already" in again.stderr


def test_nothing_is_left_of_work_that_fails(folder):
    table = open_blocks(folder / "parts")
    found = survey(table, STARS, reader="mine")
    (folder / "parts" / "1.parquet").unlink()
    before = sorted(folder.iterdir())
    with pytest.raises(CordialError, match="^[^ ]*1.parquet is not a Parquet file[^\\n]*$"):
        predict_on_ray(
            folder / "judge.cordial", table, found, folder / "out", lambda *_: None, workers=1
        )
    assert sorted(folder.iterdir()) == before
