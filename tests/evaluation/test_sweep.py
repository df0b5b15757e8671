"""A sweep runs to its table, goes on where it stopped, and keeps what failed."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sweep_files import IDS, TEXTS, plan, write_sweep

from cordial_ppl.errors import CordialWarning
from cordial_ppl.evaluation.sweep import Results, run_sweep
from cordial_ppl.evaluation.sweep import plan as planning
from cordial_ppl.evaluation.sweep import run as running
from cordial_ppl.evaluation.sweep.tasks import draw_subsets, load_tasks
from cordial_ppl.runtime.progress import watching
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.tables import write_table

MINE = """
import jax, numpyro
import numpyro.distributions as dist
from cordial_ppl import observe


def model(readings, labels=None):
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    observe(jax.nn.log_softmax(slope * readings.logits), labels)
"""
UNIFORM = {"item_id": IDS} | {f"p_{k}": [0.2] * 90 for k in range(1, 6)}
# The written table lacks a draw, which a run says.
pytestmark = pytest.mark.filterwarnings("ignore:external.shots has no probabilities")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a sweep that ran, its results, and the progress that it told."""
    folder, steps = tmp_path_factory.mktemp("sweep"), []
    write_sweep(folder)
    with watching(lambda *step: steps.append(step)):
        results = run_sweep(plan(folder), folder / "out")
    return folder, results, steps


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished[0], tmp_path / "copy")


@pytest.fixture
def unfitted(monkeypatch):
    """Nothing may be fitted."""
    monkeypatch.setattr(running, "make_cell", lambda *_: pytest.fail("something was fitted"))


def test_a_sweep_from_tables(finished):
    folder, results, steps = finished
    assert results.pairs == (("stars", "a"), ("stars", "b"))
    assert results.methods == ("raw", "histogram", "temperature", "shots")
    assert results.budgets("stars", "a") == (4, 9)
    shares = [share for share, _ in steps]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    uniform = results.cells["stars", "b", 4]["shots"].scores["log_loss"]
    np.testing.assert_allclose(uniform, np.log(5), rtol=1e-6)
    cell = results.cells["stars", "a", 9]
    failed = {(m, draw): why for m, own in cell.items() for draw, why in enumerate(own.reasons)}
    ((fit, reason),) = ((fit, why) for fit, why in failed.items() if why)
    assert fit == ("shots", 1) and "no row for 30 of 30 texts of n 9, draw 1" in reason
    for outcome in cell.values():
        mean = outcome.losses.mean(axis=1)
        np.testing.assert_allclose(mean, outcome.scores["log_loss"], rtol=1e-6)
    (reading, _) = load_tasks(plan(folder))
    for draw, rows in enumerate(draw_subsets(reading, 9, 3, 0)):
        counts = np.bincount(reading.pool_labels[rows], minlength=5) + 1
        expected = -np.log(counts / counts.sum())[reading.report_labels].mean()
        found = cell["histogram"].scores["log_loss"][draw]
        assert found == pytest.approx(expected, rel=1e-9)


def test_subsets_are_nested_the_same_for_every_reader_and_written_down(finished):
    config = plan(finished[0])
    first, second = load_tasks(config)
    small, large = draw_subsets(first, 4, 3, 0), draw_subsets(first, 9, 3, 0)
    np.testing.assert_array_equal(large[:, :4], small)
    np.testing.assert_array_equal(draw_subsets(second, 9, 3, 0), large)
    np.testing.assert_array_equal(first.pool_labels, second.pool_labels)
    assert all(len(set(rows)) == 9 for rows in large.tolist())
    assert (draw_subsets(first, 9, 3, 1) != large).any()
    assert len(set(first.report_ids)) == 30 and set(first.report_ids).isdisjoint(first.pool_ids)
    assert {*first.report_ids, *first.pool_ids} == set(IDS)
    table = pl.read_parquet(finished[0] / "out" / "subsets.parquet")
    known = dict(zip(IDS, TEXTS.labels, strict=True))
    assert all(label == str(known[item] + 1) for item, label in table[["item_id", "label"]].rows())
    for reading in (first, second):
        rows = table.filter(reader=reading.reader)
        scored = rows.filter(pl.col("draw").is_null())["item_id"]
        assert tuple(scored) == reading.report_ids
        for draw, picked in enumerate(small):
            found = rows.filter(pl.col("draw") == draw, pl.col("place") <= 4)["item_id"]
            assert found.to_list() == [reading.pool_ids[row] for row in picked]


def test_the_table_and_what_made_it(finished):
    table = pl.read_parquet(finished[0] / "out" / "results.parquet")
    assert table.columns == [
        "task", "reader", "method", "n", "draw", "metric", "value", "reason"
    ]  # fmt: skip
    failed = table.filter(metric="failed")
    assert len(failed) == 2 and failed["value"].is_null().all()
    assert set(failed["reader"]) == {"a", "b"} and "draw 1" in failed["reason"][0]
    assert len(table.filter(metric="log_loss")) == 2 * 2 * 4 * 3 - 2
    config = json.loads((finished[0] / "out" / "sweep.json").read_text())
    assert config["budgets"] == [4, 9] and config["draws"] == 3
    assert config["cells"][0]["options"] == ["1", "2", "3", "4", "5"]
    assert config["cells"][0]["report"] == 30 and config["cells"][0]["pool"] == 60


def test_a_sweep_goes_on_where_it_stopped_and_takes_in_more(finished, folder, monkeypatch):
    _, whole, _ = finished
    config = plan(folder)
    for job in planning.plan(config, load_tasks(config), folder / "out"):
        fit = job.n, job.method.name
        if job.reading.reader == "b" or fit == (9, "temperature"):
            job.path.unlink()
    assert [*Results.load(folder / "out").cells] == [("stars", "a", 4)]
    make, made = running.make_cell, []

    def keep(config, jobs, *rest):
        made.append((jobs[0].reading.reader, jobs[0].n, [job.method.name for job in jobs]))
        return make(config, jobs, *rest)

    monkeypatch.setattr(running, "make_cell", keep)
    resumed = run_sweep(plan(folder), folder / "out")
    three = ["raw", "histogram", "temperature"]
    assert made == [("a", 9, ["temperature"]), ("b", 4, three), ("b", 9, three)]
    assert resumed.columns() | {"reason": []} == whole.columns() | {"reason": []}
    made.clear()
    more = plan(folder, budgets=[4, 12], methods=["raw", "vector"], task={"readers": ["a"]})
    run_sweep(more, folder / "out")
    assert made == [("a", 4, ["vector"]), ("a", 12, ["raw", "vector"])]


def test_a_method_that_fails_stands_in_the_table(folder, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("out of memory")

    failing = CALIBRATORS["temperature"]._replace(fit=fail)
    monkeypatch.setitem(CALIBRATORS, "temperature", failing)
    monkeypatch.setattr("cordial_ppl.estimators.subsets._without_labels", fail)
    config = plan(folder, task={"readers": ["a"]}, budgets=[4], external={})
    cell = run_sweep(config, folder / "other").cells["stars", "a", 4]
    assert cell["temperature"].reasons == cell["raw"].reasons == ("out of memory",) * 3
    assert np.isfinite(cell["histogram"].scores["log_loss"]).all()


def test_a_table_made_elsewhere_may_come_later_and_be_mended(folder, unfitted):
    """It is scored whenever it has changed; nothing is fitted again."""
    shots = folder / "shots.parquet"
    before = shots.read_bytes()
    gaps = "shots has no probabilities for 2 of 12 fits; the first: stars, a, 9 labels, draw 1: "
    for _ in range(2):
        with pytest.warns(CordialWarning, match=gaps):
            run_sweep(plan(folder), folder / "out")
    write_table(shots, UNIFORM)
    mended = run_sweep(plan(folder), folder / "out")
    assert not any(any(cell["shots"].reasons) for cell in mended.cells.values())
    alone = run_sweep(plan(folder, methods=None), folder / "alone").cells["stars", "a", 4]
    assert alone["shots"].scores["log_loss"] == pytest.approx(np.log(5)) and len(alone) == 1
    without = run_sweep(plan(folder, external={}), folder / "out")
    assert "shots" not in without.methods and "shots" not in Results.load(folder / "out").methods
    shots.write_bytes(before)
    assert run_sweep(plan(folder), folder / "out").methods[-1] == "shots"
    write_table(shots, UNIFORM | {"p_1": [0.25] * 90})
    cell = run_sweep(plan(folder), folder / "out").cells["stars", "b", 9]
    assert all("sum to one" in reason for reason in cell["shots"].reasons)


def test_files_count_by_their_contents(folder, monkeypatch):
    (folder / "mine.py").write_text(MINE)
    mine: dict = {"method": {"mine": {"base": "channel", "channel": "mine.py"}}, "methods": None}
    mine["method"]["mine"]["inference"] = "mode"
    mine |= {"budgets": [4], "task": {"readers": ["a"]}}
    monkeypatch.chdir(folder)
    run_sweep(plan(Path(), **mine), "mine")
    monkeypatch.setattr(running, "make_cell", lambda *_: pytest.fail("all is fitted"))
    run_sweep(plan(folder, **mine), folder / "mine")
    (folder / "mine.py").write_text(MINE + "# changed\n")
    with pytest.raises(pytest.fail.Exception, match="all is fitted"):
        run_sweep(plan(folder, **mine), folder / "mine")


def test_the_command(folder, cordial):
    toml = """
        draws = 2
        budgets = [4]
        methods = ["raw", "temperature"]
        [task.stars]
        readings = "readings.parquet"
        labels = "labels.csv"
        report = 30
        readers = ["a"]
        [external.none]
        probabilities = "none.csv"
        """
    path = folder / "sweep.toml"
    path.write_text(toml)
    (folder / "none.csv").write_text("item_id,p_1,p_2,p_3,p_4,p_5\nnone,1,0,0,0,0\n")
    shown = cordial("sweep", path, "-o", "out").stdout
    assert "stars, a: mean log loss by number of labels" in shown and "temperature" in shown
    assert "2 failed" in shown
    found = json.loads(cordial("sweep", path, "-o", "out", "--json").stdout)
    assert found["cells"] == 1 and found["failed_fits"] == 2
    losses = {row["method"]: row["log_loss"] for row in found["mean_log_loss"]}
    assert losses.keys() == {"raw", "temperature", "none"} and losses["none"] is None
    assert cordial("sweep", path, "-o", "out", "--quiet").stdout == ""
    with_all = cordial("sweep", path, "-o", "out", "--analyse", "all")
    assert "left out table: the sweep has none of the methods cordial" in with_all.stderr
    both = ("--analyse", "table", "--analyse", "curves")
    named = cordial("sweep", path, "-o", "out", *both, status=2)
    assert "--analyse table: the sweep has none" in named.stderr
    assert Path("out/curves.md").exists()
    assert "stars, a: mean log loss" in named.stdout
    moved = cordial("sweep", path, "-o", "out", "--analyse", "equivalents", status=2)
    assert "benchmarks/paper/make.py" in moved.stderr
    path.write_text(toml.replace("temperature", "platt"))
    result = cordial("sweep", path, "-o", "other", status=2)
    assert "methods[1] must be one of" in result.stderr and not Path("other").exists()


@pytest.mark.x64
@pytest.mark.parametrize(
    ("inference", "apart"),
    [
        ("laplace", 1e-5),
        pytest.param("mode", 1e-5, marks=pytest.mark.nightly),
        pytest.param("default", 0.1, marks=pytest.mark.nightly),
    ],
)
def test_a_sweep_on_an_accelerator_is_that_of_the_host(tmp_path, inference, apart):
    write_sweep(tmp_path)
    method = {"channel": "scalar", "inference": inference}
    settings = {
        "methods": ["temperature"],
        "method": {"one": method},
        "budgets": [9],
        "external": None,
    }
    config = plan(tmp_path, **settings, task={"readings": "one.csv"})
    host, batch = (
        run_sweep(config, tmp_path / device, device=device) for device in ("host", "accelerator")
    )
    (cell,), (other,) = host.cells.values(), batch.cells.values()
    for name in ("temperature", "one"):
        expected, losses = cell[name].losses, other[name].losses
        np.testing.assert_allclose(losses, expected, atol=apart if name == "one" else 0)
        assert other[name].reasons == cell[name].reasons
