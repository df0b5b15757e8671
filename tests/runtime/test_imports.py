import gc
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cordial_ppl.runtime.compilation import workers
from cordial_ppl.runtime.garbage import paused

HEAVY = {"arviz", "jax", "matplotlib", "openai", "optax", "pandas", "polars", "sklearn"}


PROGRAM = "sys.argv = ['cordial', '{}']; atexit.register(show); cordial_ppl.cli.main()"


@pytest.mark.parametrize("use", ["show()", PROGRAM.format("--help"), PROGRAM.format("--version")])
def test_importing_the_package_leaves_heavy_ones_alone(use):
    begin = "import atexit, sys, cordial_ppl.cli; show = lambda: print(*sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", begin + use], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "cordial_ppl" in loaded and not loaded & HEAVY
    assert "--help" not in use or "calibrate" in loaded


def test_a_table_that_is_refused_needs_no_jax(tmp_path):
    (tmp_path / "r.csv").write_text("item_id,user,logit_1,logit_2\na,u,0,0\nb,u,0,nan\n")
    (tmp_path / "l.csv").write_text("item_id,user,label\na,u,1\n")
    pair = "r.csv", "l.csv"
    program = f"""
import sys
from cordial_ppl.cli.app import run
for words in (
    ("calibrate", *{pair}, "-o", "o.csv"), ("fuse", *{pair}, "-o", "o.csv"),
    ("shift", *{pair}, "-o", "o.csv"), ("estimate", *{pair}), ("compare", *{pair}, "--by", "x"),
    ("decide", *{pair}, "--pass", "2", "--person", "1"), ("plan", "r.csv", "-o", "p.csv"),
):
    assert run(words) == 2, words
print(*sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nan in line 3") == 7 and "jax" not in done.stdout.split()


def test_reading_tables_needs_no_jax():
    code = "import sys, cordial_ppl.decisions.planning, cordial_ppl.tables; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"polars"} == set(done.stdout.split()) & (HEAVY | {"scipy"})


def test_garbage_is_looked_for_again_unless_the_user_looks_for_none():
    before = gc.isenabled()
    try:
        for searching in (True, False):
            (gc.enable if searching else gc.disable)()
            with pytest.raises(KeyError), paused(), paused():
                assert not gc.isenabled()
                raise KeyError
            assert gc.isenabled() == searching
    finally:
        (gc.enable if before else gc.disable)()


def test_what_is_installed_is_imported():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    code = "\n".join(path.read_text() for path in (root / "cordial_ppl").rglob("*.py"))
    used = set(re.findall(r"^ *(?:import|from) (\w+)", code, flags=re.MULTILINE))
    beside = {path.stem for path in (root / "benchmarks").rglob("*.py")}
    assert not beside & set(re.findall(r"^ *(?:import|from) (\w+) ", code, flags=re.MULTILINE))
    names = {re.split(r"[\[>=]", line)[0] for line in project["dependencies"]}
    modules = {"scikit-learn": "sklearn", "arviz": "arviz_base", "arviz-base": "arviz_base"}
    assert {modules.get(name, name) for name in names} <= used


def test_threads_keep_to_the_cores_that_the_process_has(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 6}, raising=False)
    assert [workers(jobs) for jobs in (0, 1, 2, 9)] == [1, 1, 2, 3]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert workers(9) == 8
