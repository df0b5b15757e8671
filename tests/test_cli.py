"""The command line: files in, calibrated files out, and what is said on the way."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import cordial_ppl
from cordial_ppl import synthetic
from cordial_ppl.cli import compilation, fitting, output
from cordial_ppl.cli.app import app
from cordial_ppl.errors import CordialError, CordialWarning
from cordial_ppl.formats import read_readings, write_table
from cordial_ppl.formats.files import read_columns

LABELLED = 20
TEXTS = 60


@pytest.fixture
def cordial(tmp_path, monkeypatch):
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if status == 0 and result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result

    return run


def write_tables(folder, ending="csv", **extras):
    """Write readings of some reviews and the labels of the first; return their paths."""
    reviews = synthetic.reviews(TEXTS, seed=3)
    ids = [f"text {i}" for i in range(TEXTS)]
    cells = {f"logit_{o}": reviews.logits[:, k] for k, o in enumerate(reviews.options)}
    labels = [int(reviews.options[z]) for z in reviews.labels[:LABELLED]]
    readings, labelled = folder / f"r.{ending}", folder / f"l.{ending}"
    write_table(readings, {"item_id": ids, **cells, **extras})
    write_table(labelled, {"item_id": ids[:LABELLED], "label": labels})
    return readings, labelled


def read(path):
    columns = read_columns(path)
    return {name: list(cells) for name, cells in columns.cells.items()}


def fast(*arguments):
    return *arguments, "--inference", "mode", "--quiet"


def test_weights_of_labels_are_not_passed_over_in_silence(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(labels)
    write_table(labels, {**cells, "weight": [2.0] * LABELLED})
    result = cordial("calibrate", readings, labels, "-o", "out.csv", "--inference", "mode", "-q")
    assert result.stderr.count("'weight' is not used yet; every label counts alike") == 1


def test_a_table_is_predicted_once(tmp_path, monkeypatch):
    table = read_readings(write_tables(tmp_path)[0])
    labels = synthetic.reviews(TEXTS, seed=3).labels + 1
    judge = cordial_ppl.LogitStack(table.scale).fit(table.logits, labels)
    calls = []
    predict = judge._predict
    monkeypatch.setattr(judge, "_predict", lambda *given: calls.append(given) or predict(*given))
    found = output.calibrated_columns(judge, table)
    assert len(calls) == 1
    np.testing.assert_array_equal(found["mean"], judge.predict_mean(table.logits))
    assert list(found["label"]) == list(judge.predict(table.logits))


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_fit_and_predict_are_calibrate(cordial, tmp_path, ending):
    files = write_tables(tmp_path, ending)
    more = [] if ending == "csv" else ["--inference", "mode"]
    cordial("calibrate", *files, "-o", f"whole.{ending}", "--seed", 5, *more)
    cordial("fit", *files, "-o", "judge.cordial", "--seed", 5, *more)
    cordial("predict", "judge.cordial", files[0], "-o", f"halves.{ending}")
    assert Path(f"halves.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_the_calibrated_table(cordial, tmp_path):
    notes = [f"note {i}, with a comma" for i in range(TEXTS)]
    files = write_tables(tmp_path, "csv", note=notes, mean=["mine"] * TEXTS)
    cordial(*fast("calibrate", *files, "-o", "o.csv"))
    out = read("o.csv")
    probs = [f"p_{k}" for k in range(1, 6)]
    assert list(out) == [
        "item_id", *probs, "mean", "low", "high", "label", "note", "input_mean"
    ]  # fmt: skip
    assert out["item_id"] == [f"text {i}" for i in range(TEXTS)]
    assert out["note"] == notes
    assert set(out["input_mean"]) == {"mine"}
    p = np.array([out[name] for name in probs], float).T
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    mean = np.array(out["mean"], float)
    np.testing.assert_allclose(mean, p @ np.arange(1, 6))
    low, high = np.array(out["low"], float), np.array(out["high"], float)
    assert (low >= 1).all() and (low <= high).all() and (high <= 5).all()
    assert out["label"] == [str(k + 1) for k in p.argmax(axis=1)]


def test_the_interval_holds_the_mean(cordial, tmp_path):
    files = write_tables(tmp_path)
    cordial("calibrate", *files, "-o", "o.csv", "--quiet")
    out = read("o.csv")
    low, mean, high = (np.array(out[name], float) for name in ("low", "mean", "high"))
    assert (low < high).all()
    assert np.mean((low <= mean) & (mean <= high)) > 0.9


def test_every_format_gives_the_same_numbers(cordial, tmp_path):
    outs = []
    for ending in ("csv", "parquet", "jsonl"):
        files = write_tables(tmp_path, ending)
        cordial(*fast("calibrate", *files, "-o", f"o.{ending}"))
        outs.append(read(f"o.{ending}"))
    for other in outs[1:]:
        assert list(other) == list(outs[0])
        for name in ("p_1", "p_5", "mean", "low", "high"):
            assert list(map(float, other[name])) == list(map(float, outs[0][name]))


def test_a_calibrated_table_can_be_read_again(cordial, tmp_path):
    files = write_tables(tmp_path)
    cordial(*fast("calibrate", *files, "-o", "o.csv"))
    assert read_readings("o.csv").kind == "p"


def test_one_of_several_readers_and_tasks(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("calibrate", readings, labels, "-o", "alone.csv"))
    one = read(readings)
    wrong = {name: cells[::-1] if name != "item_id" else cells for name, cells in one.items()}
    both = {name: one[name] + wrong[name] + wrong[name] for name in one}
    names = {"reader": ["a", "b", "a"], "task": ["x", "x", "y"]}
    for field, values in names.items():
        both[field] = np.repeat(values, TEXTS).tolist()
    write_table("both.csv", both)
    cordial(*fast("calibrate", "both.csv", labels, "-o", "o.csv", "--reader", "a", "--task", "x"))
    out, alone = read("o.csv"), read("alone.csv")
    assert set(out.pop("reader")) == {"a"} and set(out.pop("task")) == {"x"}
    assert out == alone


def test_options_give_the_order_of_the_scale(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(readings)
    names = list(cells)
    write_table("turned.csv", {name: cells[name] for name in names[:1] + names[:0:-1]})
    cordial(*fast("calibrate", readings, labels, "-o", "a.csv"))
    cordial(*fast("calibrate", "turned.csv", labels, "-o", "b.csv", "--options", "1, 2, 3, 4, 5"))
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_a_judge_reads_columns_of_other_names(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("fit", readings, labels, "-o", "judge.cordial"))
    cells = read(readings)
    write_table("letters.csv", dict(zip(["item_id", *(f"logit_{c}" for c in "abcde")],
                                        cells.values(), strict=True)))  # fmt: skip
    wrong = cordial("predict", "judge.cordial", "letters.csv", "-o", "o.csv", status=2)
    assert "must name the columns of letters.csv" in wrong.stderr
    few = cordial(
        "predict", "judge.cordial", "letters.csv", "-o", "o.csv", "--options", "a,b", status=2
    )
    assert "2 options, but judge.cordial was fitted on 5" in few.stderr
    assert not Path("o.csv").exists()
    cordial("predict", "judge.cordial", "letters.csv", "-o", "o.csv", "--options", "a,b,c,d,e")
    cordial("predict", "judge.cordial", readings, "-o", "own.csv")
    assert Path("o.csv").read_bytes() == Path("own.csv").read_bytes()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ({"logit": np.eye(6, 3) * 4}, ["1"]),
        ({"logit": np.eye(6, 3) * 4}, ["2"] * 6),
        ({"logit": np.eye(6, 3) * 4}, ["0", "1", "0", "1"]),
        ({"logit": np.ones((6, 3))}, ["0", "1", "2"]),
        ({"p": np.tile([0.2, 0.3, 0.5], (6, 1))}, ["0", "1", "2", "2"]),
        ({"n": np.eye(6, 3) * 7 + 1}, ["0", "1", "2", "2"]),
        ({"logit": np.eye(6, 2) * 4}, ["0", "1", "1"]),
    ],
    ids=["one label", "one class", "a class unseen", "identical", "p", "counts", "K = 2"],
)
def test_little_is_enough(cordial, cells, labels):
    ((prefix, values),) = cells.items()
    ids = [f"text {i}" for i in range(len(values))]
    columns = {f"{prefix}_{k}": values[:, k] for k in range(values.shape[1])}
    write_table("r.csv", {"item_id": ids, **columns})
    write_table("l.csv", {"item_id": ids[: len(labels)], "label": labels})
    cordial(*fast("calibrate", "r.csv", "l.csv", "-o", "o.csv"))
    out = read("o.csv")
    p = np.array([out[f"p_{k}"] for k in range(values.shape[1])], float)
    assert np.isfinite(p).all() and (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=0), 1, atol=1e-12)


def test_unicode_options_with_blanks(cordial):
    options = ["très mauvais", "坏, sehr", "good 👍"]
    values = np.eye(6, 3) * 4
    cells = {f"logit_{o}": values[:, k] for k, o in enumerate(options)}
    write_table("r.jsonl", {"item_id": list("abcdef"), **cells})
    write_table("l.csv", {"item_id": list("abc"), "label": options})
    more = ["--options", 'très mauvais,"坏, sehr",good 👍']
    cordial(*fast("calibrate", "r.jsonl", "l.csv", "-o", "o.csv", *more))
    out = read("o.csv")
    assert set(out["label"]) <= set(options)
    assert f"p_{options[1]}" in out


def test_a_missing_option_is_counted_in_one_warning(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(readings)
    cells["logit_1"][3] = cells["logit_2"][3] = cells["logit_1"][30] = "-inf"
    write_table(readings, cells)
    result = cordial(*fast("calibrate", readings, labels, "-o", "o.csv"))
    assert result.stderr.count("warning: ") == result.stderr.count("\n") == 1
    assert "3 options in 2 of 60 rows" in result.stderr


def test_many_texts(cordial, tmp_path):
    n = 50_000
    labels = write_tables(tmp_path)[1]
    reviews = synthetic.reviews(n, seed=3)
    cells = {f"logit_{o}": reviews.logits[:, k] for k, o in enumerate(reviews.options)}
    write_table("r.parquet", {"item_id": [f"text {i}" for i in range(n)], **cells})
    cordial(*fast("calibrate", "r.parquet", labels, "-o", "o.parquet"))
    assert len(read("o.parquet")["p_1"]) == n


def test_the_demonstration(cordial, tmp_path):
    result = cordial("demo")
    for words in ("temperature", "too low", "Weights", "k-hat", "ESS", "confidence"):
        assert words in result.stdout
    assert "cordial calibrate" in result.stdout.splitlines()[-1]
    assert result.stderr == ""
    found = json.loads(cordial("demo", "--json").stdout)
    losses = {name: score["log_loss"] for name, score in found["scores"].items()}
    assert losses["calibrated"] < losses["label histogram"] < losses["raw reading"]
    assert f"{losses['calibrated']:.3f}" in result.stdout
    gaps = {n: score["confidence"] - score["accuracy"] for n, score in found["scores"].items()}
    assert gaps["raw reading"] > 0.1 > abs(gaps["calibrated"])
    assert sum(found["summary"]["weights"].values()) == pytest.approx(1)
    assert not list(tmp_path.iterdir())


def test_the_summary_is_said_and_the_file_is_named(cordial, tmp_path):
    files = write_tables(tmp_path)
    result = cordial("calibrate", *files, "-o", "o.csv")
    assert "temperature" in result.stdout
    assert "Expected log loss" in result.stdout
    assert result.stderr.startswith("wrote o.csv: 60 texts")
    fitted = cordial("fit", *files, "-o", "judge.cordial")
    assert fitted.stdout == result.stdout


def test_json_and_nothing_else(cordial, tmp_path):
    files = write_tables(tmp_path)
    arguments = ["--inference", "mode", "--json"]
    found = json.loads(cordial("calibrate", *files, "-o", "o.csv", *arguments).stdout)
    assert (found["output"], found["texts"], found["labels"]) == ("o.csv", TEXTS, LABELLED)
    assert found["summary"]["sentences"]
    fitted = json.loads(cordial("fit", *files, "-o", "j.cordial", *arguments).stdout)
    assert fitted["summary"] == found["summary"]
    done = cordial("predict", "j.cordial", files[0], "-o", "o.csv", "--json").stdout
    assert json.loads(done) == {"output": "o.csv", "texts": 60, "options": list("12345")}


def test_quiet(cordial, tmp_path):
    files = write_tables(tmp_path)
    result = cordial(*fast("calibrate", *files, "-o", "o.csv"))
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (CordialError("two\nlines"), 1, "error: two lines\n"),
        (KeyboardInterrupt(), 130, ""),
        (RuntimeError("a bug"), 1, ""),
    ],
)
def test_what_goes_wrong_in_the_fit(cordial, tmp_path, monkeypatch, raised, status, said):
    def fit(*arguments, **options):
        raise raised

    files = write_tables(tmp_path)
    monkeypatch.setattr(fitting, "fit_judge", fit)
    result = cordial("calibrate", *files, "-o", "o.csv", status=status)
    assert (result.stdout, result.stderr) == ("", said)
    assert not Path("o.csv").exists()


def test_only_warnings_for_the_user_are_shown_and_once(cordial, tmp_path, monkeypatch):
    def fit(*arguments, **options):
        for _ in range(2):
            warnings.warn("mind this", CordialWarning, stacklevel=1)
            warnings.warn("one library to another", DeprecationWarning, stacklevel=1)
        raise CordialError("enough")

    files = write_tables(tmp_path)
    monkeypatch.setattr(fitting, "fit_judge", fit)
    result = cordial("calibrate", *files, "-o", "o.csv", status=1)
    assert result.stderr == "warning: mind this\nerror: enough\n"


def run_python(program, **environment):
    clean = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=clean | environment
    )
    assert done.returncode == 0, done.stderr
    return done


PROGRAM = """
import sys
from types import ModuleType

# The package without what its own top imports: the room alone is under test.
package = sys.modules["cordial_ppl"] = ModuleType("cordial_ppl")
package.__path__ = [{package!r}]

from cordial_ppl.cli import main
sys.argv = ["cordial", *{arguments}]
try:
    main()
except SystemExit as done:
    assert not done.code
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_help_and_version_load_no_numerics(argument):
    done = run_python(
        PROGRAM.format(arguments=[argument], package=os.path.dirname(cordial_ppl.__file__))
    )
    assert "calibrate" in done.stdout or done.stdout.startswith("cordial 0.")
    for package in ("jax", "numpyro", "arviz", "sklearn", "pyarrow"):
        assert package not in done.stderr.split()


def test_an_interrupt_ends_the_fit_at_once():
    program = """
import os, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from cordial_ppl.cli.messages import leaving_at_once

with leaving_at_once(), ThreadPoolExecutor() as pool:
    work = pool.submit(time.sleep, 60)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    work.result()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_the_compilation_cache(tmp_path):
    program = (
        "import jax; from cordial_ppl.cli.compilation import keep_compiled; keep_compiled();"
        "print(jax.config.jax_compilation_cache_dir,"
        "jax.config.jax_persistent_cache_min_compile_time_secs)"
    )
    ours = run_python(program, XDG_CACHE_HOME=str(tmp_path)).stdout.split()
    assert ours == [str(tmp_path / "cordial"), "0.0"]
    theirs = run_python(program, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "x")).stdout.split()
    assert theirs == [str(tmp_path / "x"), "0.0"]


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    for system, place in [("linux", ".cache/cordial"), ("darwin", "Library/Caches/cordial")]:
        monkeypatch.setattr(sys, "platform", system)
        assert compilation.cache_directory() == Path("/home/ada", place)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert compilation.cache_directory() == Path("/var/cache/cordial")
