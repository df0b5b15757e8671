"""The program itself: its demonstration, its help, options of a file, and its exit statuses."""

import json
import re
import shlex
import subprocess
import sys
import unicodedata
import warnings

import pytest
from review_tables import TEXTS, fast, read, write_tables

from cordial_ppl.errors import CordialError, CordialWarning, InputError, SettingNeeded
from cordial_ppl.evaluation import synthetic
from cordial_ppl.tables import write_table

COMMANDS = (
    *("demo", "read", "ask", "plan", "calibrate", "fit", "predict", "fuse", "shift"),
    *("estimate", "compare", "decide", "monitor", "report", "learn-prior", "check", "sweep"),
    *("label", "agree"),
)
SYSTEMS = ["ab"[row % 2] for row in range(TEXTS)]


# It is of the same reviews wherever it runs.
@pytest.mark.pinned
def test_the_demonstration(cordial, tmp_path):
    result = cordial("demo")
    found = json.loads(cordial("demo", "--json").stdout)
    losses = {name: score["log_loss"] for name, score in found["scores"].items()}
    # .507, sd .001 over 20 seeds of the fit; the others are 1.124 and 1.470.
    assert losses["calibrated"] < losses["label histogram"] < losses["raw reading"]
    assert all(f"{loss:.3f}" in result.stdout for loss in losses.values())
    gaps = {n: score["confidence"] - score["accuracy"] for n, score in found["scores"].items()}
    # .221 and -.010, sd .003.
    assert gaps["raw reading"] > 0.1 > abs(gaps["calibrated"])
    assert sum(found["summary"]["weights"].values()) == pytest.approx(1)
    assert result.stderr == "" and not list(tmp_path.iterdir())


def test_help_lists_every_command_and_explains_each(cordial):
    listed = cordial("--help").stdout
    assert set(re.findall("^ *([a-z-]+)  ", listed, re.MULTILINE)) == {*COMMANDS}
    assert cordial().stdout == listed and cordial("--version").stdout.startswith("cordial ")
    for command in COMMANDS:
        options = re.findall("--[a-z-]+", cordial(command, "-h").stdout)
        assert {"--json", "--quiet", "--config"} <= {*options}


@pytest.fixture
def fail(cordial, monkeypatch):
    """Run the program where an error is raised and a user is warned."""

    def run(raised, status=2):
        def reviews():
            for _ in range(2):
                warnings.warn("mind this", CordialWarning, stacklevel=1)
                warnings.warn("one library to another", DeprecationWarning, stacklevel=1)
            raise raised

        monkeypatch.setattr(synthetic, "reviews", reviews)
        result = cordial("demo", status=status)
        first, *lines = result.stderr.splitlines()
        # Warnings for the user are shown, each once, and no others.
        assert (result.stdout, first) == ("", "warning: mind this")
        return lines

    return run


def needed(setting, value):
    return SettingNeeded("No.", "Say", setting, value)


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (CordialError("two\nlines"), 1, "two lines"),
        (InputError("bad input"), 2, "bad input"),
        (needed("options", ("1", "2")), 2, "No. Say: --options 1,2."),
        (needed("leave_out", ("a b",)), 2, "No. Say: --leave-out 'a b'."),
        (needed("channels", ("a.py", "b.py")), 2, "No. Say: --channel a.py --channel b.py."),
        (needed("units", {"drift": 0}), 2, "No. Say: --unit drift=0."),
        (KeyboardInterrupt(), 130, None),
    ],
)
def test_errors_become_a_line_and_a_status(fail, raised, status, told):
    assert fail(raised, status) == ([] if told is None else [f"cordial demo: {told}"])


def test_a_bug_stays_one(fail):
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError())


@pytest.mark.parametrize(
    "options",
    # Five of each: the programs are those of other tests.
    [
        ("a,b", "c d", *"efg"),
        ('say "no"', "it's", *"345"),
        ("-1", "0", "1", "2", "3"),
        ("très mauvais", "坏, ★ 👍", *"abc"),
    ],
)
def test_options_are_read_as_they_are_advised(cordial, fail, options):
    typed = shlex.split(fail(needed("options", options))[0].split(" Say: ")[1][:-1])
    ids, size = [*map(str, range(12))], len(options)
    columns = {
        f"logit_{name}": [4.0 * (row % size == k) for row in range(12)]
        for k, name in reversed([*enumerate(options)])  # --options are the order.
    }
    write_table("r.jsonl", {"item_id": ids, **columns})
    write_table("l.csv", {"item_id": ids, "label": (options * 12)[:12]})
    cordial(*fast("calibrate", "r.jsonl", "l.csv", "-o", "o.csv", *typed))
    out = read("o.csv")
    assert [name for name in out if name[:2] == "p_"] == [f"p_{name}" for name in options]
    assert set(out["label"]) <= {*options}


def test_lists_may_be_repeated(cordial):
    write_table("r.csv", {"item_id": [*"abcd"], "rating": [-1, 0, 1, 1]})
    plan = "plan", "r.csv", "-n", 2, "-q", "-o", "p.csv", "--options"
    for options in (["-1,0,1"], ["-1", "--options", "0,1"]):
        cordial(*plan, *options)
    cordial(*plan, "-1", status=2)


def test_options_of_a_file_are_those_that_are_typed(cordial, tmp_path):
    write_tables(tmp_path, system=SYSTEMS)

    def plan(*settings):
        result = cordial("plan", "r.csv", "-n", 9, *settings, "-o", "p.csv")
        return result.stderr, read("p.csv")

    # No file is read that was not typed.
    (tmp_path / "cordial.toml").write_text("seed = 9")
    (tmp_path / "pyproject.toml").write_text("[tool.cordial]\nseed = 9")
    # Keys are of every command, of which another has --level, or of one.
    (tmp_path / "o.toml").write_text("seed = 3\nlevel = 0.8\n[plan]\nby = 'system'\n[fit]\nno = 1")
    told, made = plan("--config", "o.toml")
    assert "o.toml" in told and made == plan("--by", "system", "--seed", 3)[1] != plan()[1]
    assert plan() != plan("--seed", 9) and plan() == plan("--seed", 0)
    other = plan("--config", "o.toml", "--seed", 5)[1]
    # The last counts of what is typed twice.
    assert made != other == plan("--by", "system", "--seed", 3, "--seed", 5)[1]


def test_an_interrupt_ends_the_work_at_once():
    """Python by itself waits for threads."""
    program = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from cordial_ppl.cli import main
from cordial_ppl.evaluation import synthetic

def reviews():
    with ThreadPoolExecutor() as pool:
        work = pool.submit(time.sleep, 600)
        main_thread = threading.main_thread().ident
        threading.Timer(0.2, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
        work.result()

synthetic.reviews = reviews
# Shells have programs in the background ignore it, and those that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:] = ["demo", "--quiet"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


HOSTILE = "gpt\x1b[2J\u202etp\x9b31m\u200b\U000e0041\nUse it: yes"


def test_no_text_of_others_moves_what_a_terminal_shows(cordial, as_json, tmp_path, refused):
    """Nor hides or reorders it, in results, in messages, or in JSON, which means the same."""
    readings, _ = write_tables(tmp_path, system=[HOSTILE, "b"] * 30)
    plan = "plan", readings, "--by", "system", "-o"
    shown = cordial(*plan, "text.csv")
    (line,) = [line for line in shown.stdout.splitlines() if "gpt" in line]
    assert line.split("  ")[0] == (r"gpt\u001b[2J\u202etp\u009b31m\u200b\udb40\udc41\nUse it: yes")
    (other,) = [row for row in shown.stdout.splitlines() if row.startswith("b ")]
    assert len(other) == len(line)
    printed = cordial(*plan, "json.csv", "--json").stdout
    assert {*json.loads(printed)["groups"]} == {HOSTILE, "b"}
    refused(r"no\u001b]0;x\u0007", "plan", "no\x1b]0;x\x07", "-o", "o.csv")
    seen = shown.output + printed
    assert not [
        char for char in seen if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"
    ]


def test_names_in_other_scripts_are_shown_as_they_are(cordial, tmp_path):
    names = ["坏 é ß", "می\u200cخواهم", "👩\u200d💻 ½ “ok”"]
    readings, _ = write_tables(tmp_path, system=names * 20)
    shown = cordial("plan", readings, "--by", "system", "-o", "o.csv").stdout
    assert all(name in shown for name in names)
