"""What a sweep refuses before the work: settings and files that do not fit, and others' results."""

import re

import pytest
from sweep_files import IDS, plan, write_sweep

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.sweep import Results, run_sweep
from cordial_ppl.sweep import run as running
from cordial_ppl.sweep.results import FITTED, cell_path
from cordial_ppl.sweep.tasks import load_tasks
from cordial_ppl.tables import write_table

# The written table lacks a draw, which a run says.
pytestmark = pytest.mark.filterwarnings("ignore:external.shots has no probabilities")


@pytest.fixture
def folder(tmp_path):
    write_sweep(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"draws": 2}, {"methods": ["raw"]}, {"task": {"report": 31}}]
)
def test_results_of_another_sweep_are_not_mixed_in(folder, changes):
    run_sweep(plan(folder, task={"readers": ["a"]}), folder / "out")
    before = sorted(folder.rglob("*"))
    task = {"readers": ["a"]} | changes.get("task", {})
    with pytest.raises(InputError, match="was made with other methods, draws, seed, data"):
        run_sweep(plan(folder, **changes | {"task": task}), folder / "out")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("column", ["length", "item_id"])
def test_any_change_of_the_data_is_noticed(folder, column):
    config = plan(folder, task={"readings": "one.csv", "covariates": ["length"]}, external={})
    run_sweep(config, folder / "out")
    scored = load_tasks(config)[0].report_ids[0]
    for name in ("one.csv", "labels.csv"):
        text = (folder / name).read_text()
        line = next(row for row in text.splitlines() if row.startswith(f"{scored},"))
        new = line.replace(scored, "renamed") if column == "item_id" else f"{line}9"
        if name == "one.csv" or column == "item_id":
            (folder / name).write_text(text.replace(line, new))
    with pytest.raises(InputError, match="was made with other methods, draws, seed, data"):
        run_sweep(config, folder / "out")


def test_cells_stay_in_the_folder(tmp_path):
    for task, reader in (("..", ".."), (".", "a"), ("a/b", "..")):
        path = cell_path(tmp_path, task, reader, 5, FITTED)
        assert (tmp_path / "cells") in path.resolve().parents
        assert path.resolve().relative_to(tmp_path / "cells").parts[2:] == ("5.cell",)


def test_a_damaged_cell_is_found(folder):
    run_sweep(plan(folder), folder / "out")
    path = folder / "out" / "cells" / "stars" / "a" / "4.cell"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(FileError, match="4.cell cannot be read: remove the file"):
        run_sweep(plan(folder), folder / "out")
    with pytest.raises(FileError, match="4.cell is damaged"):
        Results.load(folder / "out")
    path.unlink()
    run_sweep(plan(folder), folder / "out")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgets": [4, 61]}, "budgets[1] is 61, but task 'stars' has only 60 texts"),
        ({"task": {"readers": ["a", "c"]}}, "task.stars: readers[1] must be one of a, b; got 'c'"),
        ({"task": {"report": 90}}, "task.stars: report is 90, but there are 90 labelled texts"),
        ({"task": {"covariates": ["length"]}}, "no column 'length'"),
        ({"task": {"name": "other"}}, "task.stars: "),
        ({"task": {"readings": "one.csv", "readers": ["a"]}}, "has no column reader"),
        ({"external": {"x": {"probabilities": "labels.csv"}}}, "no column 'p_1'"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_before_the_work(folder, changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        run_sweep(plan(folder, **changes), folder / "out")
    assert not (folder / "out").exists()


def test_a_channel_that_lacks_its_covariate_is_refused_before_the_work(folder):
    path = folder / "lengthy.py"
    path.write_text(
        "import jax, jax.numpy as jnp, numpyro\n"
        "import numpyro.distributions as dist\n"
        "from cordial_ppl.channel import observe\n"
        "def model(readings, labels=None):\n"
        "    slope = numpyro.sample('slope', dist.Normal(0.0, 1.0))\n"
        "    lean = slope * readings.covariates['length'][:, None]\n"
        "    observe(jax.nn.log_softmax(readings.logits + lean * readings.logits), labels)\n"
    )
    mine = {"method": {"mine": {"base": "channel", "channel": str(path)}}}
    with pytest.raises(InputError, match=r"method.mine, task 'stars': .*'length'"):
        run_sweep(plan(folder, **mine), folder / "out")
    assert not (folder / "out").exists()


def test_a_folder_that_cannot_be(folder):
    (folder / "file").write_text("")
    with pytest.raises(FileError, match="cannot make .*file"):
        run_sweep(plan(folder), folder / "file")
    with pytest.raises(FileError, match="holds no sweep"):
        Results.load(folder)


def test_cells_of_other_methods_are_not_taken_for_done(folder):
    """A run that stops between the configuration and the cells leaves those of an earlier one."""
    run_sweep(plan(folder), folder / "out")
    path = folder / "out" / "sweep.json"
    path.write_text(path.read_text().replace('"shots"', '"others"'))
    with pytest.raises(FileError, match="holds no finished cell yet"):
        Results.load(folder / "out")


def test_settings_are_named_as_keys_of_the_file(folder):
    table = {"item_id": IDS * 2, "task": ["one"] * 90 + ["two"] * 90}
    columns = [f"logit_{k + 1}" for k in range(5)]
    table |= {name: [0.2 * k] * 180 for k, name in enumerate(columns)}
    write_table(folder / "two.csv", table | {"reader": ["a"] * 90 + ["b"] * 90})
    two = {"readings": "two.csv"}
    with pytest.raises(InputError, match=r'task.stars: .*holds 2 tasks.*: name = "one"') as caught:
        run_sweep(plan(folder, task=two), folder / "out")
    assert type(caught.value) is InputError
    from_zero = {"item_id": IDS} | {f"logit_{k}": [0.2 * k] * 90 for k in range(5)}
    write_table(folder / "one.csv", from_zero)
    with pytest.raises(InputError, match=r'task.stars: .*options = \["1", "2"'):
        run_sweep(plan(folder, task={"readings": "one.csv"}), folder / "out")


def test_readers_are_those_of_the_task(folder):
    columns = [f"logit_{k + 1}" for k in range(5)]
    table = {"item_id": IDS * 2, "task": ["one"] * 90 + ["two"] * 90}
    table |= {name: [0.2 * k] * 180 for k, name in enumerate(columns)}
    write_table(folder / "two.csv", table | {"reader": ["a"] * 90 + ["b"] * 90})
    labels = {"item_id": IDS, "task": ["two"] * 90, "label": ["3"] * 90}
    write_table(folder / "labels.csv", labels)
    (own,) = load_tasks(plan(folder, task={"readings": "two.csv", "name": "two"}))
    assert own.reader == "b"


def test_a_reader_that_lacks_texts_is_named(folder):
    table = {"item_id": IDS + IDS[1:], "reader": ["a"] * 90 + ["b"] * 89}
    table |= {f"logit_{k + 1}": [0.2 * k] * 179 for k in range(5)}
    write_table(folder / "readings.parquet", table)
    with pytest.raises(InputError, match=r"task.stars: reader 'b': 1 of 90 labels"):
        run_sweep(plan(folder), folder / "out")


@pytest.mark.parametrize(
    "name", ["cells", "cells/stars/a", "results.parquet/x", "subsets.parquet/x"]
)
def test_what_cannot_be_written_is_refused_before_the_work(folder, name, monkeypatch):
    monkeypatch.setattr(running, "make_cell", lambda *a: pytest.fail("nothing may be fitted"))
    path = folder / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text("")
    with pytest.raises(FileError):
        run_sweep(plan(folder), folder / "out")
