"""`benchmarks/results.py`: runs that are killed or shared end as one that is neither."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import results
from measurement import average

PROGRAM = """'''What is planted.'''
import os, signal
from measurement import Measurement, average

def measure(draw, task, n):
    if (draw, task) == (1, "b") and "TO_DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"loss": draw + n / 3, "texts": [n, None]}

def tabulate(rows):
    for task in ("a", "b"):
        some = [row for row in rows if row.cell[0] == task]
        losses = [row.numbers["loss"] for row in some]
        yield {"task": task, **average("loss", losses, [row.draw for row in some])}

cells = lambda draw: [(task, n) for n in (5, 20) for task in ("a", "b")]
MEASUREMENTS = (
    Measurement("planted", cells, measure, tabulate, 3, needs_data=False),
    Measurement("real", cells, measure, tabulate),
)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "made_up_measurement.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(results, "PROGRAMS", ("made_up_measurement",))
    monkeypatch.delenv("CORDIAL_DATA", raising=False)

    def run(name, *options):
        rows, tables = tmp_path / name / "rows", tmp_path / name / "tables"
        return results.main(["planted", "--rows", f"{rows}", "--tables", f"{tables}", *options])

    return run


def contents(folder):
    return {
        f"{path.relative_to(folder)}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a process is killed")
def test_a_run_that_is_killed_ends_as_one_that_is_not(run, tmp_path):
    assert run("whole") == 0
    call = "import results; results.PROGRAMS = ['made_up_measurement']; results.main()"
    folders = [f"--{each}={tmp_path / 'killed' / each}" for each in ("rows", "tables")]
    paths = tmp_path, Path(results.__file__).parent, Path(__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", call, "planted", *folders],
        env=os.environ | {"TO_DIE": "1", "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    (rows,) = (tmp_path / "killed" / "rows").iterdir()
    assert len(rows.read_text().splitlines()) == 5
    rows.write_bytes(rows.read_bytes()[:-7])
    assert run("killed") == 0
    whole = contents(tmp_path / "whole")
    assert contents(tmp_path / "killed") == whole
    table = whole["tables/planted.csv"].decode().splitlines()
    assert table[0] == "task,loss,loss se,program,commit,prior,draws"
    assert table[1].startswith("a,5.16667,0.57735,made_up_measurement.py,") and len(table) == 3


def test_runs_that_share_the_cells_make_the_table_of_one(run, tmp_path, capsys):
    assert run("whole") == 0
    assert run("shared", "--share", "1/2") == run("shared", "--draws", "2", "3") == 0
    assert not (tmp_path / "shared" / "tables").exists()
    assert "6 cells are left to other runs" in capsys.readouterr().out
    assert run("shared", "--share", "2/2") == 0
    whole, shared = (contents(tmp_path / name) for name in ("whole", "shared"))
    assert shared["tables/planted.csv"] == whole["tables/planted.csv"]
    assert sum(name.startswith("rows") for name in shared) == 3


def test_rows_of_other_sources_are_measured_anew_unless_they_are_kept(run, tmp_path, monkeypatch):
    assert run("one") == 0
    monkeypatch.setattr(results, "digest_sources", lambda: "another")
    assert run("one", "--keep-rows") == 0
    (rows,) = (tmp_path / "one" / "rows").iterdir()
    assert len(rows.read_text().splitlines()) == 12
    assert run("one") == 0
    assert len(rows.read_text().splitlines()) == 24


def test_the_digest_of_sources_is_of_code_and_prior(tmp_path, monkeypatch):
    room = Path(results.cordial_ppl.__file__).parent
    for path in ("scores.py", "stack/fit.py", f"inference/priors/{results.FILE}"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((room / path).read_bytes())
    monkeypatch.setattr(results.cordial_ppl, "__file__", f"{tmp_path / '__init__.py'}")
    digests = set()
    for path in ("notes.txt", "stack/fit.py", f"inference/priors/{results.FILE}"):
        with (tmp_path / path).open("ab") as file:
            file.write(b" ")
        results.digest_sources.cache_clear()
        digests.add(results.digest_sources())
    results.digest_sources.cache_clear()
    assert len(digests) == 3


def test_a_table_of_more_draws_stays(run, tmp_path, capsys):
    assert run("one") == 0
    before = contents(tmp_path / "one" / "tables")
    assert run("one", "--draws", "2") == 0
    assert contents(tmp_path / "one" / "tables") == before
    assert "of 3 draws, and this run of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "'nothing'; --list shows"),
        (["real"], "CORDIAL_DATA must name a folder"),
        (["planted", "--share", "3/2"], "1/4; got '3/2'"),
        (["planted", "--draws", "4", "4"], "the first one and the end"),
    ],
)
def test_mistakes_are_named(run, capsys, arguments, message):
    with pytest.raises(SystemExit) as exit:
        results.main(arguments)
    assert exit.value.code == 2
    assert message in capsys.readouterr().err


def test_measurements_are_listed_and_tried_without_files(run, tmp_path, capsys):
    assert results.main(["--list"]) == 0
    assert run("tried", "--quick") == 0
    printed = capsys.readouterr().out
    assert printed.count("What is planted.") == 2 and "1.667" in printed
    assert not (tmp_path / "tried").exists()


def test_errors_are_of_draws_and_sets_count_alike():
    values, draws = [1.0, 2.0, 5.0, 4.0, 9.0], [0, 1, 0, 1, 1]
    made = average("x", values, draws, ["a", "a", "b", "b", "b"])
    assert made["x"] == pytest.approx((1.5 + 6.0) / 2)
    # Of each draw: what its values add to the means of a (2 values) and of b (3).
    parts = [(-0.5 / 2 - 1 / 3) / 2, (0.5 / 2 + (-2 + 3) / 3) / 2]
    assert made["x se"] == pytest.approx((2 * (parts[0] ** 2 + parts[1] ** 2)) ** 0.5)
    assert average("x", values, [7] * 5)["x se"] is None
    assert average("x", [1.0] * 4, range(4)) == {"x": 1.0, "x se": None}


def test_the_papers_page_is_made_with_all(run, tmp_path, monkeypatch):
    commands = []

    def note(command, check):
        commands.append([f"{part}" for part in command])
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(results.subprocess, "run", note)
    assert results.main(["paper", "--rows", f"{tmp_path}"]) == 3
    (command,) = commands
    assert command[1].endswith("paper/make.py") and command[3].endswith("docs/paper.md")
