"""The program itself: its demonstration, its help, and what it says of errors."""

import json
import shlex
import subprocess
import sys
import warnings

import pytest
import typer
from cordial_ppl.cli.declaring import split_names
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cordial_ppl.cli.app import COMMANDS, app
from cordial_ppl.cli.messages import as_option, reporting
from cordial_ppl.cli.options import GROUPS
from cordial_ppl.errors import CordialError, CordialWarning, InputError, SettingNeeded


# It is of the same reviews wherever it runs.
@pytest.mark.pinned
def test_the_demonstration(cordial, tmp_path):
    result = cordial("demo")
    for words in ("temperature", "too low", "Weights", "confidence"):
        assert words in result.stdout
    assert "cordial calibrate" in result.stdout.splitlines()[-1]
    assert result.stderr == ""
    found = json.loads(cordial("demo", "--json").stdout)
    losses = {name: score["log_loss"] for name, score in found["scores"].items()}
    # .507, sd .001 over 20 seeds of the fit; the others are 1.124 and 1.470.
    assert losses["calibrated"] < losses["label histogram"] < losses["raw reading"]
    assert f"{losses['calibrated']:.3f}" in result.stdout
    gaps = {n: score["confidence"] - score["accuracy"] for n, score in found["scores"].items()}
    # .221 and -.010, sd .003.
    assert gaps["raw reading"] > 0.1 > abs(gaps["calibrated"])
    assert sum(found["summary"]["weights"].values()) == pytest.approx(1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(command):
    # A terminal of 100 columns leaves a margin of two.
    name = command.__name__.replace("_", "-")
    lines = CliRunner().invoke(app, [name, "-h"], terminal_width=98).stdout.splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 98
    groups = [line.rstrip(":") for line in lines if line.rstrip(":") in GROUPS]
    assert groups == sorted(groups, key=GROUPS.index) and "Output" in groups
    assert any(line.startswith("  --json ") for line in lines)


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (CordialError("two\nlines"), 1, "error: two lines\n"),
        (InputError("bad input"), 2, "error: bad input\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_a_line_and_a_status(capsys, raised, status, told):
    with pytest.raises(typer.Exit) as left, reporting():
        raise raised
    assert left.value.exit_code == status and capsys.readouterr().err == told


def test_a_bug_stays_one():
    with pytest.raises(RuntimeError), reporting():
        raise RuntimeError


def test_only_warnings_for_the_user_are_shown_and_once(capsys):
    with reporting():
        for _ in range(2):
            warnings.warn("mind this", CordialWarning, stacklevel=1)
            warnings.warn("one library to another", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: mind this\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare r.csv", "'LABELS'. Try 'cordial compare -h' for help."),
        ("fit r.csv l.csv --update f -o o.cordial", "--update. Fit again with all labels."),
        ("read r.csv --guess -o o.csv", "--guess. Say what the answer follows: --after REGEX."),
        ("predict --bogus", "--bogus. Try 'cordial predict -h' for help."),
        ("calibrate r.csv l.csv", "'-o' / '--output'. Try 'cordial calibrate -h' for help."),
        ("fit r.csv l.csv -o o.cordial --inference magic", "Try 'cordial fit -h' for help."),
        ("fit r.csv l.csv -o o.cordial --seed -1", "Try 'cordial fit -h' for help."),
        ("predit", "Try 'cordial -h' for help."),
        ("--bogus", "--bogus. Try 'cordial -h' for help."),
    ],
)
def test_a_command_that_is_typed_wrongly_is_one_line(cordial, tmp_path, words, message):
    result = cordial(*words.split(), status=2)
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ") and result.stderr.endswith(f"{message}\n")
    assert not list(tmp_path.iterdir())


def test_settings_are_written_for_either_interface():
    for setting, value, python, typed in (
        ("options", ("1", "2"), "options=('1','2')", "--options 1,2"),
        ("leave_out", ("a b",), "leave_out=('a b',)", "--leave-out 'a b'"),
        ("channels", ("a.py", "b.py"), "channels=('a.py','b.py')", "--channel a.py --channel b.py"),
        ("units", {"drift": 0}, "units={'drift': 0}", "--unit drift=0"),
    ):
        assert str(SettingNeeded("No.", "Say", setting, value)) == f"No. Say: {python}."
        assert as_option(setting, value) == typed


def test_an_interrupt_ends_the_fit_at_once():
    program = """
import os, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from cordial_ppl.cli.messages import leaving_at_once

with leaving_at_once(), ThreadPoolExecutor() as pool:
    work = pool.submit(time.sleep, 600)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    work.result()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


names = st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(str.strip).filter(len)


@given(st.lists(names, min_size=2, max_size=5))
def test_options_are_read_as_they_are_advised(options):
    assert shlex.split(as_option("task", options[0])) == ["--task", options[0]]
    flag, text = shlex.split(as_option("options", tuple(options)))
    assert flag == "--options"
    assert split_names("--options", text) == tuple(options)
