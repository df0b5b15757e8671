"""A sweep gives one table, goes on where it stopped, keeps what failed, and refuses beforehand."""

import json
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest
from sweep_files import IDS, LOGITS, TEXTS, make_parts, tasks_of, watching, write_sweep

import cordial_ppl as cp
from cordial_ppl import plots
from cordial_ppl.evaluation.methods import METHODS, NINE
from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.evaluation.tasks import draw_subsets, split_task
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
QUICK = ["raw", "histogram", "temperature"]
FIT = ["task", "reader", "method", "n", "draw"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a sweep that ran, its scores, and the progress that it told."""
    folder, steps = tmp_path_factory.mktemp("sweep"), []
    write_sweep(folder)
    with watching(lambda *step: steps.append(step)):
        scores = run_sweep(tasks_of(folder), QUICK, [4, 9], 3, parts=folder / "parts")
    return folder, scores, steps


@pytest.fixture
def folder(tmp_path):
    write_sweep(tmp_path)
    return tmp_path


def test_a_sweep_of_tables_is_a_row_a_score(finished):
    folder, scores, steps = finished
    assert scores.columns == [*FIT, "metric", "value", "reason"]
    assert scores["reason"].is_null().all() and scores["value"].is_finite().all()
    losses = scores.filter(metric="log_loss")
    fits = [("stars", r, m, n, d) for r in "ab" for n in (4, 9) for m in QUICK for d in range(3)]
    assert losses.select(FIT).rows() == fits
    shares = [share for share, _ in steps]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    task, _ = tasks_of(folder)
    for draw, rows in enumerate(draw_subsets(task, 9, 3)):
        counts = np.bincount(task.pool.labels[rows], minlength=5) + 1
        expected = -np.log(counts / counts.sum())[task.report.labels].mean()
        (value,) = losses.filter(reader="a", method="histogram", n=9, draw=draw)["value"]
        assert value == pytest.approx(expected, rel=1e-9)
    parts = pl.read_parquet(folder / "parts" / "*.parquet")
    assert len(parts) == len(losses)
    mean = parts["losses"].list.mean().to_numpy()
    np.testing.assert_allclose(mean, parts["log_loss"], rtol=1e-6)


def test_the_learning_curve_is_of_the_means(finished):
    matplotlib.use("Agg")
    scores = finished[1]
    chosen = scores.filter(pl.col("method").is_in(["raw", "histogram"]), reader="a")
    axis = plots.learning_curve(chosen)
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert lines.keys() == {"raw", "histogram"} and len(axis.collections) == 2
    losses = scores.filter(metric="log_loss", reader="a", method="histogram")
    means = [losses.filter(n=n)["value"].mean() for n in (4, 9)]
    np.testing.assert_allclose(lines["histogram"].get_ydata(), means)
    np.testing.assert_array_equal(lines["histogram"].get_xdata(), [4, 9])
    lost = chosen.filter(metric="log_loss", method="raw").head(1)
    axis = plots.learning_curve(pl.concat([chosen, lost.with_columns(metric=pl.lit("failed"))]))
    assert any("raw (1 failed" in line.get_label() for line in axis.get_lines())
    axis.figure.clear()
    with pytest.raises(cp.InputError, match="stars, b"):
        plots.learning_curve(scores)


def test_subsets_are_nested_and_the_same_for_every_reader(folder):
    first, second = tasks_of(folder)
    small, large = draw_subsets(first, 4, 3), draw_subsets(first, 9, 3)
    np.testing.assert_array_equal(large[:, :4], small)
    np.testing.assert_array_equal(draw_subsets(second, 9, 3), large)
    np.testing.assert_array_equal(first.pool.labels, second.pool.labels)
    assert all(len(set(rows)) == 9 for rows in large.tolist())
    assert (draw_subsets(tasks_of(folder, seed=1)[0], 9, 3) != large).any()
    texts = np.vstack([first.pool.logits, first.report.logits])
    whole = TEXTS.logits - TEXTS.logits.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.sort(texts, axis=0), np.sort(whole, axis=0), atol=1e-9)
    # Arrays are divided alike.
    same = split_task("stars", TEXTS.logits, TEXTS.labels, 30)
    np.testing.assert_array_equal(same.report.labels, first.report.labels)


def test_readers_are_those_of_the_task(folder):
    table = {"item_id": IDS * 2, "task": ["one"] * 90 + ["two"] * 90}
    write_table(folder / "two.csv", table | LOGITS | {"reader": ["a"] * 90 + ["b"] * 90})
    labels = {"item_id": IDS, "task": ["two"] * 90, "label": ["3"] * 90}
    write_table(folder / "labels.csv", labels)
    for chosen in ({"task": "two"}, {"task": "task=two"}, {}):
        (task,) = tasks_of(folder, "two.csv", **chosen)
        assert (task.name, task.reader) == ("two", "b")


def test_a_sweep_goes_on_where_it_stopped_and_takes_in_more(finished, tmp_path):
    folder, whole, _ = finished
    (tmp_path / "parts").mkdir()
    for path in (folder / "parts").iterdir():
        (tmp_path / "parts" / path.name).write_bytes(path.read_bytes())

    def run(methods=QUICK, budgets=(4, 9), tasks=None, draws=3):
        """What is made, and the scores."""
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
        settings = {"parts": tmp_path / "parts"}
        scores = run_sweep(tasks or tasks_of(folder), methods, budgets, draws, **settings)
        assert all(path.stat().st_mtime_ns == made for path, made in before.items())
        new = [path for path in (tmp_path / "parts").iterdir() if path not in before]
        return sorted(pl.read_parquet(path).select(*FIT[1:]).row(0) for path in new), scores

    assert run()[0] == []
    for path in (tmp_path / "parts").iterdir():
        fit = pl.read_parquet(path).select(*FIT[1:]).row(0)
        if fit[0] == "b" or fit[1:] == ("temperature", 9, 1):
            path.unlink()
    made, resumed = run()
    lost = [("b", method, n, d) for method in sorted(QUICK) for n in (4, 9) for d in range(3)]
    assert made == [("a", "temperature", 9, 1), *lost] and resumed.equals(whole)
    more, _ = run(["raw", "vector"], [4, 12], tasks_of(folder, reader="a"))
    cells = ("raw", 12), ("vector", 4), ("vector", 12)
    assert more == [("a", *cell, draw) for cell in cells for draw in range(3)]
    further, more = run(["raw"], [4], tasks_of(folder, reader="a"), draws=4)
    assert further == [("a", "raw", 4, 3)] and more["draw"].unique().to_list() == [0, 1, 2, 3]
    # Another seed or division is another sweep.
    for seed, report in ((1, 30), (0, 31)):
        tasks = tasks_of(folder, seed=seed, report=report)
        assert len(run(["raw"], [4], tasks)[0]) == 6


@pytest.mark.parametrize("name", ["one.csv", "labels.csv"])
def test_any_change_of_the_data_is_noticed(folder, name):
    channels = [Path(__file__).parents[2] / "models/verbosity.py"]
    for size in (1, 1, 2):
        if size == 2:
            text = (folder / name).read_text()
            line = next(row for row in text.splitlines() if row.startswith("t7,"))
            new = f"{line}9" if name == "one.csv" else f"t7,{1 + int(line[-1]) % 5}"
            (folder / name).write_text(text.replace(line, new))
        tasks = tasks_of(folder, "one.csv", channels=channels)
        run_sweep(tasks, ["raw"], [4], 2, parts=folder / "parts")
        assert len(list((folder / "parts").iterdir())) == 2 * size


def test_methods_count_by_what_they_are_made_from(folder):
    """Contents of channel files and priors, and settings; not places, seeds or identities."""
    tasks, path, moved = tasks_of(folder, reader="a"), folder / "mine.py", folder / "x" / "mine.py"
    path.write_text(MINE)
    moved.parent.mkdir()
    moved.write_text(MINE)

    def part(estimator):
        (made,) = make_parts(tasks, {"m": estimator}, [4], 1, folder / "parts")
        return made.name

    def mine(path, **settings):
        return cp.ChannelCalibrator(path, inference="mode", **settings)

    first = part(mine(path))
    assert first == part(mine(moved)) == part(mine(path, seed=3))
    tight = {"slope": (0.0, 0.1)}
    names = {first, part(mine(path, prior=tight)), part(cp.LogitStack())}
    assert part(mine(path, prior=dict(tight))) in names
    names |= {part(cp.LogitStack(weight_counts={"odds": 2.0}))}
    path.write_text(MINE + "# changed\n")
    assert len(names | {part(mine(path))}) == 5
    priors = []
    for name, rule in (("one", "paper"), ("two", "paper"), ("three", "cautious")):
        prior = folder / f"{name}.cordial"
        cp.priors.shipped_prior().with_rule(name=rule).save(prior)
        priors.append(part(cp.ChannelCalibrator("mixture", inference="mode", prior=prior)))
    assert priors[0] == priors[1] != priors[2]


def test_a_method_that_fails_stands_in_the_table(folder, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("out of memory")

    failing = CALIBRATORS["temperature"]._replace(learn=fail)
    monkeypatch.setitem(CALIBRATORS, "temperature", failing)
    monkeypatch.setattr(cp.RawReading, "fit", fail)
    scores = run_sweep(tasks_of(folder, reader="a"), QUICK, [4], 3)
    failed = scores.filter(pl.col("reason").is_not_null())
    assert set(failed["reason"]) == {"out of memory"} and failed["value"].is_null().all()
    fits = [(method, draw) for method in ("raw", "temperature") for draw in range(3)]
    assert failed.select("method", "draw", "metric").rows() == [(*fit, "failed") for fit in fits]
    assert set(scores.filter(pl.col("value").is_finite())["method"]) == {"histogram"}


def test_a_damaged_part_is_found(folder):
    settings = tasks_of(folder), ["raw"], [4], 2
    whole = run_sweep(*settings, parts=folder / "parts")
    path = next((folder / "parts").iterdir())
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(cp.FileError, match=path.name):
        run_sweep(*settings, parts=folder / "parts")
    path.unlink()
    assert run_sweep(*settings, parts=folder / "parts").equals(whole)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"budgets": [4, 61]}, ("61", "'stars'", "60")),
        ({"budgets": [0]}, ("budgets", "0")),
        ({"budgets": []}, ("number of labels",)),
        ({"draws": 0}, ("draws", "0")),
        ({"methods": ["raw", "platt"]}, ("'platt'", "histogram", "mixture")),
        ({"methods": ["raw", "raw"]}, ("'raw'",)),
        ({"methods": "raw"}, ("methods", "'raw'")),
        ({"methods": []}, ("method",)),
        ({"methods": {"x": cp.Cordial(inference="vb")}}, ("'x'", "inference", "'vb'")),
        ({"methods": ["nowhere.py"]}, ("nowhere.py",)),
        ({"methods": ["models/verbosity.py"]}, ("'verbosity'", "'stars'", "length")),
        ({"engine": "dask"}, ("engine", "'dask'", "ray")),
        ({"device": "tpu"}, ("device", "'tpu'", "accelerator")),
        ({"tasks": 2}, ("'stars'", "twice")),
    ],
)
def test_what_cannot_be_swept_is_refused_before_the_work(folder, monkeypatch, settings, facts):
    monkeypatch.chdir(Path(__file__).parents[2])
    sweep = {"methods": ["raw"], "budgets": [4], "draws": 2} | settings
    tasks = tasks_of(folder, reader="a") * sweep.pop("tasks", 1)
    with pytest.raises((cp.InputError, cp.ChannelError)) as caught:
        run_sweep(tasks, parts=folder / "parts", **sweep)
    assert all(fact in str(caught.value) for fact in facts) and not (folder / "parts").exists()


@pytest.mark.parametrize(
    ("readings", "settings", "facts"),
    [
        ("stars.parquet", {"report": 90}, ("'stars'", "90")),
        ("stars.parquet", {"report": 0}, ("'stars'", "report=0", "from 1 to 89")),
        ("stars.parquet", {"reader": "c"}, ("'c'", "a")),
        ("stars.parquet", {"task": "other"}, ("other",)),
        ("stars.parquet", {"channels": ["models/verbosity.py"]}, ("'verbosity'", "'length'")),
        ("fewer.csv", {}, ("fewer.csv", "'t0'")),
    ],
)
@pytest.mark.filterwarnings("ignore::cordial_ppl.CordialWarning")
def test_tables_that_do_not_fit_are_refused(folder, monkeypatch, readings, settings, facts):
    fewer = {"item_id": IDS + IDS[1:], "reader": ["a"] * 90 + ["b"] * 89}
    write_table(folder / "fewer.csv", fewer | {name: own[1:] for name, own in LOGITS.items()})
    monkeypatch.chdir(Path(__file__).parents[2])
    with pytest.raises(cp.InputError) as caught:
        tasks_of(folder, readings, **settings)
    assert all(fact in str(caught.value) for fact in facts)


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(folder, monkeypatch):
    monkeypatch.setattr("cordial_ppl.evaluation.sweeps.fit_subsets", lambda *_: pytest.fail("fit"))
    (folder / "file").write_text("")
    for parts in ("file", "file/parts"):
        with pytest.raises(cp.FileError):
            run_sweep(tasks_of(folder), ["raw"], [4], 2, parts=folder / parts)


def test_the_command(folder, cordial):
    tables = "sweep", folder / "stars.parquet", folder / "labels.csv"
    what = "--methods", "raw,temperature", "--budgets", "9,4", "--draws", 2, "--report", 30
    shown = cordial(*tables, *what, "-o", "o.parquet").stdout
    scores = pl.read_parquet("o.parquet")
    expected = run_sweep(tasks_of(folder), ["raw", "temperature"], [4, 9], 2)
    assert scores.equals(expected)
    by = expected.filter(metric="log_loss").group_by("reader", "n", "method")
    losses = dict(((*key,), group["value"].to_numpy()) for key, group in by)
    for reader in "ab":
        assert f"stars, {reader}" in shown
    errors = {key: values.std(ddof=1) / 2**0.5 for key, values in losses.items()}
    for (_, _, method), error in errors.items():
        assert error == 0 or method != "raw"
    for key, values in losses.items():
        assert f"{values.mean():.3f}" + f" ± {errors[key]:.3f}" * bool(errors[key]) in shown
    said = json.loads(cordial(*tables, *what, "-o", "o.csv", "--json").stdout)
    assert said["failed_fits"] == 0 and len(said["mean_log_loss"]) == 8
    for mean in said["mean_log_loss"]:
        key = mean["reader"], mean["n"], mean["method"]
        assert mean["standard_error"] == pytest.approx(errors[key])
    assert len(pl.read_csv("o.csv")) == len(expected)
    assert len(list(Path("o.parquet.parts").iterdir())) == 16
    assert cordial(*tables, *what, "-o", "o.parquet", "--reader", "a", "--quiet").stdout == ""
    assert set(pl.read_parquet("o.parquet")["reader"]) == {"a"}


def test_flat_weights_share_their_fits():
    for name in ("logit-stack", "scalar-stack", "full-stack", "paper"):
        counted, flat = (METHODS[each]().settings for each in (name, f"{name}-flat"))
        keys = [[part.key for part in each.members(20)] for each in (counted, flat)]
        assert keys[0] == keys[1] and counted.names == flat.names
        assert {*counted.weight_counts.values()} == {1.0}
        assert {*flat.weight_counts.values()} == {0.0}


@pytest.mark.nightly
def test_every_method_can_be_swept_and_nine_are_the_papers(folder):
    assert len(NINE) == 9 and set(NINE) < set(METHODS)
    scores = run_sweep(tasks_of(folder, reader="a"), [*METHODS, "scalar"], [9], 1)
    assert scores.filter(metric="log_loss")["method"].to_list() == [*METHODS, "scalar"]


@pytest.mark.x64
@pytest.mark.parametrize(
    ("inference", "apart"),
    [
        ("laplace", 1e-5),
        pytest.param("mode", 1e-5, marks=pytest.mark.nightly),
        pytest.param("default", 0.1, marks=pytest.mark.nightly),
    ],
)
def test_a_sweep_on_an_accelerator_is_that_of_the_host(folder, inference, apart):
    one = cp.ChannelCalibrator("scalar", inference=inference)
    methods, tasks = (
        {"temperature": cp.TemperatureScaling(), "one": one},
        tasks_of(folder, "one.csv"),
    )
    host, batch = (
        pl.read_parquet(make_parts(tasks, methods, [9], 3, folder / device, device=device))
        for device in ("host", "accelerator")
    )
    assert host["reason"].null_count() == batch["reason"].null_count() == 6
    for method in methods:
        expected, losses = (
            np.array(each.filter(method=method)["losses"].to_list()) for each in (host, batch)
        )
        np.testing.assert_allclose(losses, expected, atol=apart if method == "one" else 0)
