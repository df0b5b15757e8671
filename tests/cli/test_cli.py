"""The program itself: its demonstration, what it says of errors, its help, and its caches."""

import json
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_tables import write_tables

from cordial_ppl.cli import calibrate
from cordial_ppl.cli.messages import as_option
from cordial_ppl.cli.records import split_names
from cordial_ppl.errors import CordialError, CordialWarning, SettingNeeded


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
    monkeypatch.setattr(calibrate, "fit_calibrator", fit)
    result = cordial("calibrate", *files, "-o", "o.csv", status=status)
    assert (result.stdout, result.stderr) == ("", said)
    assert not Path("o.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compare r.csv", "'LABELS'. Try 'cordial compare -h' for help."),
        ("predict --bogus", "--bogus. Try 'cordial predict -h' for help."),
        ("predit", "Try 'cordial -h' for help."),
        ("--bogus", "--bogus. Try 'cordial -h' for help."),
    ],
)
def test_a_command_that_is_typed_wrongly_is_one_line(cordial, words, said):
    result = cordial(*words.split(), status=2)
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ") and result.stderr.endswith(f"{said}\n")


def test_settings_are_written_for_either_interface():
    for setting, value, python, typed in (
        ("options", ("1", "2"), "options=('1','2')", "--options 1,2"),
        ("leave_out", ("a b",), "leave_out=('a b',)", "--leave-out 'a b'"),
        ("channels", ("a.py", "b.py"), "channels=('a.py','b.py')", "--channel a.py --channel b.py"),
        ("units", {"drift": 0}, "units={'drift': 0}", "--unit drift=0"),
    ):
        assert str(SettingNeeded("No.", "Say", setting, value)) == f"No. Say: {python}."
        assert as_option(setting, value) == typed


def test_only_warnings_for_the_user_are_shown_and_once(cordial, tmp_path, monkeypatch):
    def fit(*arguments, **options):
        for _ in range(2):
            warnings.warn("mind this", CordialWarning, stacklevel=1)
            warnings.warn("one library to another", DeprecationWarning, stacklevel=1)
        raise CordialError("enough")

    files = write_tables(tmp_path)
    monkeypatch.setattr(calibrate, "fit_calibrator", fit)
    result = cordial("calibrate", *files, "-o", "o.csv", status=1)
    assert result.stderr == "warning: mind this\nerror: enough\n"


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


names = st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(str.strip).filter(len)


@given(st.lists(names, min_size=2, max_size=5))
def test_options_are_read_as_they_are_advised(options):
    assert shlex.split(as_option("task", options[0])) == ["--task", options[0]]
    flag, text = shlex.split(as_option("options", tuple(options)))
    assert flag == "--options"
    assert split_names("--options", text) == tuple(options)
