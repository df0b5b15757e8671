"""How long a fit of the default takes, cold and warm, by number of options.

Cold is what a new process pays: a fresh interpreter that finds nothing compiled imports the package
and fits once.  Kept is the same in a second process, which finds what the first has compiled; CPU
seconds, of all cores, are steadier than time where the machine is busy.  Warm is a fit with other
labels and another seed in a process that has fitted such.  Starts are whole processes, in CPU
seconds and in multiples of `import jax, numpyro`, as warm fits are.  Memory is the largest resident
size of a process that fits five numbers of labels, on Linux; disk is what installing takes.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from measurement import Line, Means, Timed
from packaging.requirements import Requirement

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime.cache import cache_programs

TEXTS, LABELS = 2000, 20

UNLIKE_USERS = ("JAX_", "OMP_", "PYTHONDONTWRITEBYTECODE")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(UNLIKE_USERS)}
"""Environment in which nothing but the package's own cache, and its byte code, is kept."""

BEGIN = """
from cordial_ppl.runtime.cache import cache_programs
cache_programs()
import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
"""
SIZES = f"""{BEGIN}
from pathlib import Path
texts = reviews(4000)
for n in (5, 20, 100, 500, 2000):
    cp.Cordial().fit(texts.logits[:n], texts.labels[:n]).predict_proba(texts.logits[2000:])
# Not what `resource` says: that begins with the parent's.
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
"""
CLI = "import sys; sys.argv[0] = 'cordial'; from cordial_ppl.cli import main; main()"
FIT = f"""{BEGIN}
texts = reviews()
cp.Cordial().fit(texts.logits[:20], texts.labels[:20]).predict_proba(texts.logits[20:])
"""
FILES = "r.csv", "l.csv"
STARTS = {
    "import jax, numpyro": ("import jax, numpyro",),
    "demo": (CLI, "demo"),
    "calibrate": (CLI, "calibrate", *FILES, "-o", "o.csv"),
    "estimate": (CLI, "estimate", *FILES),
    "fit, predict": (FIT,),
}
"""Programs of new processes, the first to compare with, in a folder with readings and labels."""


def spend(words: Sequence[str], **settings: Any) -> tuple[str, float]:
    """Run a new process of Python: what it printed, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings |= {"capture_output": True, "check": True, "text": True}
    output = subprocess.run([sys.executable, *words], **settings).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spend_twice(words: Sequence[str], **settings: Any) -> Iterator[tuple[str, str, float]]:
    """Run a process that finds nothing compiled, and one that finds what the first has compiled."""
    with tempfile.TemporaryDirectory() as folder:
        for run in ("cold", "kept"):
            yield run, *spend(words, env=CLEAN | {"CORDIAL_CACHE_DIR": folder}, **settings)


def time_fit(n: int, size: int, seed: int) -> Line:
    """Time a fit to n labels, with at least two options among them."""
    texts, rng = reviews(TEXTS, options=size), np.random.default_rng([seed, n])
    rows = rng.choice(TEXTS, n, replace=False)
    while len(np.unique(texts.labels[rows])) == 1:
        rows = rng.choice(TEXTS, n, replace=False)
    began, spent = perf_counter(), process_time()
    cp.Cordial(seed=seed).fit(texts.logits[rows], texts.labels[rows])
    return {"fit, s": perf_counter() - began, "fit, CPU s": process_time() - spent}


def run_cold(draw: int) -> Iterator[Line]:
    """Time the first fit in a fresh process, without kept programs and with them."""
    start = perf_counter()
    for run, output, _ in spend_twice([__file__, str(draw)]):
        whole = {"process, s": perf_counter() - start}
        yield {"run": run} | json.loads(output.splitlines()[-1]) | whole
        start = perf_counter()


def run_memory(draw: int) -> Iterator[Line]:
    """Measure a process that fits five numbers of labels, and files that the package requires."""
    sizes, left = {}, [cp.__name__]
    while left:
        found = distribution(left.pop())
        needed = [*map(Requirement, () if found.name in sizes else found.requires or ())]
        left += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
        paths = (Path(str(file.locate())) for file in found.files or ())
        sizes[found.name] = sum(path.stat().st_size for path in paths if path.exists())
    disk = {"disk, MiB": sum(sizes.values()) / 2**20}
    for run, output, _ in spend_twice(["-c", SIZES]):
        yield {"run": run, "memory, MiB": float(output)} | disk


def run_starts(draw: int) -> Iterator[Line]:
    """Time new processes, with nothing compiled before and with all of it."""
    texts, unit = reviews(TEXTS), np.nan
    columns = ",".join(f"logit_{option}" for option in range(texts.logits.shape[1]))
    readings = [f"{row},{','.join(map(str, each))}" for row, each in enumerate(texts.logits)]
    labels = [f"{row},{label}" for row, label in enumerate(texts.labels[:LABELS])]
    for name, words in STARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "r.csv").write_text("\n".join([f"item_id,{columns}", *readings]))
            Path(folder, "l.csv").write_text("\n".join(["item_id,label", *labels]))
            for run, _, spent in spend_twice(["-c", *words], cwd=folder):
                unit = spent if name.startswith("import") else unit
                yield {"start": name, "run": run, "CPU s": spent, "imports": spent / unit}


def run_warm(draw: int, n: int, size: int) -> Line:
    """Time a fit after another one."""
    time_fit(n, size, draw + 1000)
    _, unit = spend(["-c", *STARTS["import jax, numpyro"]])
    line = time_fit(n, size, draw)
    return line | {"imports": line["fit, CPU s"] / unit}


MEASUREMENTS = (
    Timed("fit-cold", lambda _: [()], run_cold, Means("", "run"), 3),
    Timed("fit-memory", lambda _: [()], run_memory, Means("", "run"), 3),
    Timed("fit-starts", lambda _: [()], run_starts, Means("", "start run"), 5),
    Timed(
        "fit-warm",
        lambda draw: (
            [(5, 5), *((LABELS, k) for k in (3, 5, 7, 11, 15, 21, 31))]
            + [(n, 5) for n in (100, 200, 500, 1000, 2000)]
        ),
        run_warm,
        Means("labels options", "labels options"),
        draws=5,
    ),
)

if __name__ == "__main__":
    cache_programs()
    line = time_fit(LABELS, 5, int(sys.argv[1]))
    print(json.dumps(line | {"process, CPU s": process_time()}))
