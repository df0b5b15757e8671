"""What a sweep refuses before the work: settings and files that do not fit, and others' results."""

import re
import shutil

import pytest
from msgspec import structs
from sweep_files import IDS, plan, write_sweep

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.evaluation.sweep import Results, run_sweep
from cordial_ppl.evaluation.sweep import run as running
from cordial_ppl.evaluation.sweep.results import read_outcome
from cordial_ppl.evaluation.sweep.tasks import load_tasks
from cordial_ppl.tables import write_table

# The written table lacks a draw, which a run says.
pytestmark = pytest.mark.filterwarnings("ignore:external.shots has no probabilities")
QUICK = {"methods": ["raw"], "budgets": [4], "external": {}}
LOGITS = {f"logit_{k + 1}": [0.2 * k] * 180 for k in range(5)}


@pytest.fixture
def folder(tmp_path):
    write_sweep(tmp_path)
    return tmp_path


def write_two(folder):
    """Readings of two tasks, each by its reader."""
    table = {"item_id": IDS * 2, "task": ["one"] * 90 + ["two"] * 90}
    write_table(folder / "two.csv", table | LOGITS | {"reader": ["a"] * 90 + ["b"] * 90})


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"draws": 2}, {"task": {"report": 31}}, {"task": {"readers": ["b"]}}]
)
def test_each_configuration_keeps_its_results(folder, changes):
    first = run_sweep(plan(folder, **QUICK), folder / "out")
    cells = set(folder.rglob("*.cell"))
    run_sweep(plan(folder, **QUICK | changes), folder / "out")
    both = set(folder.rglob("*.cell"))
    assert both >= cells and (both == cells) == ("readers" in changes.get("task", {}))
    again = run_sweep(plan(folder, **QUICK), folder / "out")
    assert set(folder.rglob("*.cell")) == both and again.columns() == first.columns()


@pytest.mark.parametrize("column", ["length", "item_id"])
def test_any_change_of_the_data_is_noticed(folder, column):
    config = plan(folder, task={"readings": "one.csv", "covariates": ["length"]}, **QUICK)
    run_sweep(config, folder / "out")
    scored = load_tasks(config)[0].report_ids[0]
    for name in ("one.csv", "labels.csv"):
        text = (folder / name).read_text()
        line = next(row for row in text.splitlines() if row.startswith(f"{scored},"))
        new = line.replace(scored, "renamed") if column == "item_id" else f"{line}9"
        if name == "one.csv" or column == "item_id":
            (folder / name).write_text(text.replace(line, new))
    run_sweep(config, folder / "out")
    assert len(list(folder.rglob("*.cell"))) == 2


def test_damaged_results_are_found(folder):
    run_sweep(plan(folder, **QUICK), folder / "out")
    path = next(folder.rglob("*.cell"))
    outcome = read_outcome(path)
    with pytest.raises(ValueError, match="scores do not match"):
        structs.replace(outcome, scores={"log_loss": outcome.losses[:0, 0]})
    path.write_bytes(path.read_bytes()[:-50])
    for load in (Results.load, lambda out: run_sweep(plan(folder, **QUICK), out)):
        with pytest.raises(FileError, match=f"{path.name} is damaged"):
            load(folder / "out")
    path.unlink()
    run_sweep(plan(folder, **QUICK), folder / "out")
    # A run that stops between the configuration and the fits leaves those of an earlier one.
    shutil.rmtree(folder / "out" / "cells")
    with pytest.raises(FileError, match="holds no finished results"):
        Results.load(folder / "out")
    (folder / "out" / "sweep.json").write_text('{"methods": [], "cells": [{}]}')
    with pytest.raises(FileError, match="sweep.json is damaged.*missing required field"):
        Results.load(folder / "out")


LENGTHY = """
import jax, numpyro
import numpyro.distributions as dist
from cordial_ppl import observe
def model(readings, labels=None):
    slope = numpyro.sample('slope', dist.Normal(0.0, 1.0))
    lean = slope * readings.covariates['length'][:, None]
    observe(jax.nn.log_softmax(readings.logits + lean * readings.logits), labels)
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgets": [4, 61]}, "budgets[1] is 61, but task 'stars' has only 60 texts"),
        ({"task": {"readers": ["a", "c"]}}, "task.stars: readers[1] must be one of a, b; got 'c'"),
        ({"task": {"report": 90}}, "task.stars: report is 90, but there are 90 labelled texts"),
        ({"task": {"covariates": ["length"]}}, "no column 'length'"),
        ({"task": {"name": "other"}}, "task.stars: "),
        ({"task": {"readings": "one.csv", "readers": ["a"]}}, "has no column reader"),
        ({"task": {"readings": "two.csv"}}, 'Choose one, for example: name = "one"'),
        ({"task": {"labels": "named.csv"}}, 'name them: id = "Text ID", label = "Rating"'),
        ({"task": {"readings": "zero.csv"}}, 'options = ["1", "2"'),
        ({"task": {"readings": "fewer.csv"}}, "task.stars: judge 'b': 1 of 90 labels"),
        ({"external": {"x": {"probabilities": "labels.csv"}}}, "no column 'p_1'"),
        (
            {"method": {"mine": {"base": "channel", "channel": "lengthy.py"}}},
            "method.mine, task 'stars': ",
        ),
    ],
)
def test_what_does_not_fit_the_data_is_refused_before_the_work(folder, changes, message):
    write_two(folder)
    zero = {f"logit_{k}": [0.2 * k] * 90 for k in range(5)}
    write_table(folder / "named.csv", {"Text ID": IDS, "Rating": [1] * 90})
    write_table(folder / "zero.csv", {"item_id": IDS} | zero)
    fewer = {"item_id": IDS + IDS[1:], "reader": ["a"] * 90 + ["b"] * 89}
    write_table(folder / "fewer.csv", fewer | {name: own[1:] for name, own in LOGITS.items()})
    (folder / "lengthy.py").write_text(LENGTHY)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        run_sweep(plan(folder, **changes), folder / "out")
    assert not (folder / "out").exists() and type(caught.value) is InputError


def test_readers_are_those_of_the_task(folder):
    write_two(folder)
    labels = {"item_id": IDS, "task": ["two"] * 90, "label": ["3"] * 90}
    write_table(folder / "labels.csv", labels)
    (reading,) = load_tasks(plan(folder, task={"readings": "two.csv", "name": "two"}))
    assert reading.reader == "b"


@pytest.mark.parametrize("name", ["out", "out/cells", "out/results.parquet/x"])
def test_what_cannot_be_written_is_refused_before_the_work(folder, name, monkeypatch):
    monkeypatch.setattr(running, "make_cell", lambda *_: pytest.fail("nothing may be fitted"))
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("")
    with pytest.raises(FileError, match="cannot make|it is a folder"):
        run_sweep(plan(folder), folder / "out")
    with pytest.raises(FileError, match="holds no sweep"):
        Results.load(folder / "out")
