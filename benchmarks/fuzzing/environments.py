"""Commands that fit, in the environments of other machines: platforms, locales, homes, proxies."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import cordial_ppl as cp
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table
from fuzzing.door import Door

PROGRAM = "from cordial_ppl.cli import main; main()"
SECONDS = 50
SETTINGS: dict[str, tuple[str, ...]] = {
    "JAX_PLATFORMS": ("cuda", "tpu", "cpu", "nonsense", ""),
    "JAX_PLATFORM_NAME": ("gpu", "cpu", ""),
    "JAX_DISABLE_JIT": ("1", "0", "x"),
    "JAX_ENABLE_X64": ("1", "0", "x"),
    "JAX_DEBUG_NANS": ("1", "x"),
    "JAX_TRACEBACK_FILTERING": ("off", "x"),
    "JAX_NUMPY_DTYPE_PROMOTION": ("strict", "standard"),
    "JAX_NUMPY_RANK_PROMOTION": ("raise", "warn"),
    "JAX_COMPILATION_CACHE_DIR": ("/dev/null/programs", "/tmp", "{folder}", ""),
    "CORDIAL_CACHE_DIR": ("/dev/null/programs", "/tmp", "{folder}", ""),
    "CORDIAL_PROGRESS": ("0", "1", "x"),
    "HOME": ("/dev/null", "/proc", "{folder}", ""),
    "XDG_CACHE_HOME": ("/dev/null", "relative", ""),
    "TMPDIR": ("/dev/null", "/proc"),
    "LC_ALL": ("C", "POSIX", "C.UTF-8", "tr_TR.UTF-8", "nonsense"),
    "PYTHONIOENCODING": ("ascii", "latin-1", "utf-8"),
    "PYTHONUTF8": ("0", "1"),
    "COLUMNS": ("1", "0", "-5", "x", "100000"),
    "TERM": ("dumb", "", "xterm-256color"),
    "NO_COLOR": ("1",),
    "TZ": ("nonsense", "UTC"),
    "HTTP_PROXY": ("http://127.0.0.1:9", "gopher://nobody", "no address"),
    "ALL_PROXY": ("socks5://127.0.0.1:9",),
    "OMP_NUM_THREADS": ("1", "0", "-1", "x", "999"),
    "PYTHONHASHSEED": ("0", "1"),
}
COMMANDS = (
    ("calibrate", "r.csv", "l.csv", "-o", "out.csv"),
    ("calibrate", "r.csv", "l.csv", "-o", "out.csv", "--inference", "mode", "--json"),
    ("fit", "r.csv", "l.csv", "-o", "out.cordial"),
    ("estimate", "r.csv", "l.csv"),
    ("plan", "r.csv", "-n", "5", "-o", "out.csv"),
)


class Case(NamedTuple):
    """A command and the settings of its environment."""

    command: tuple[str, ...]
    settings: dict[str, str]


def _make(rng: random.Random, folder: Path) -> Case:
    texts = reviews(60, seed=rng.randrange(5))
    names = ["sehr schlecht", "schlecht", "mäßig", "gut", "sehr gut"]
    ids = [f"Text Nr. {i} „ä“" for i in range(60)]
    cells = {f"logit_{name}": texts.logits[:, k] for k, name in enumerate(names)}
    write_table(folder / "r.csv", {"item_id": ids, **cells})
    labels = [names[k] for k in texts.labels[:20]]
    write_table(folder / "l.csv", {"item_id": ids[:20], "label": labels})
    settings = rng.sample(sorted(SETTINGS), rng.randrange(1, 4))
    chosen = {name: rng.choice(SETTINGS[name]) for name in settings}
    return Case(rng.choice(COMMANDS), chosen)


def _enter(case: Case, folder: Path) -> None:
    """Run the command; what it refuses is an error here, and what it leaves is looked at."""
    home = folder / "home"
    searched = os.pathsep.join(filter(None, sys.path))
    settings = {name: value.replace("{folder}", str(home)) for name, value in case.settings.items()}
    before = {path.name for path in folder.iterdir()}
    command = [sys.executable, "-c", PROGRAM, *case.command]
    environment = os.environ | {"PYTHONPATH": searched} | settings
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(command, cwd=folder, env=environment, timeout=SECONDS, **pipes)
    said = done.stderr.decode("utf-8", "replace")
    left = {path.name for path in folder.iterdir()} - before - {"home"}
    outputs = {word for word in case.command if word.startswith("out.")}
    try:
        assert "Traceback" not in said, said
        if done.returncode:
            assert not left, f"files are left: {left}"
            errors = [line for line in said.splitlines() if line.startswith("error: ")]
            assert done.returncode in (1, 2) and len(errors) == 1, said
            raise (InputError if done.returncode == 2 else CordialError)(errors[0])
        assert left == outputs, f"there are {left}, for {outputs}"
        if case.command[0] == "calibrate":
            probs = pl.read_csv(folder / "out.csv").select("^p_.*$").to_numpy()
            assert probs.shape == (60, 5) and np.allclose(probs.sum(axis=1), 1, atol=1e-6)
        if case.command[0] == "fit":
            cp.load(folder / "out.cordial")
    finally:
        for name in left:
            (folder / name).unlink()
        subprocess.run(["rm", "-rf", str(home)], check=True)


DOORS = [Door("environment: commands that fit", _make, _enter)]
"""What other machines are like."""
