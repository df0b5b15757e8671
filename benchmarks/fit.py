"""How long a fit of the default takes, cold and warm, by number of options.

Cold is what a new process pays: a fresh interpreter that finds nothing compiled imports the package
and fits once.  Kept is the same in a second process, which finds what the first has compiled; CPU
seconds, of all cores, are steadier than time where the machine is busy.  Warm is a fit with other
labels and another seed in a process that has fitted such.

    python benchmarks/results.py fit-cold fit-warm
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter, process_time

import numpy as np
from measurement import Line, Means, Measurement

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews

TEXTS, LABELS = 2000, 20


def time_fit(n: int, size: int, seed: int) -> Line:
    """Time a fit to n labels, with at least two options among them."""
    texts, rng = reviews(TEXTS, options=size), np.random.default_rng([seed, n])
    rows = rng.choice(TEXTS, n, replace=False)
    while len(np.unique(texts.labels[rows])) == 1:
        rows = rng.choice(TEXTS, n, replace=False)
    start, spent = perf_counter(), process_time()
    cp.Cordial(seed=seed).fit(texts.logits[rows], texts.labels[rows])
    return {"fit, s": perf_counter() - start, "fit, CPU s": process_time() - spent}


def run_cold(draw: int) -> Iterator[Line]:
    """Time the first fit in a fresh process, without kept programs and with them."""
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    with tempfile.TemporaryDirectory() as folder:
        for run in ("cold", "kept"):
            start = perf_counter()
            done = subprocess.run(
                [sys.executable, __file__, str(draw)],
                env=environment | {"CORDIAL_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            whole = {"process, s": perf_counter() - start}
            yield {"run": run} | json.loads(done.stdout.splitlines()[-1]) | whole


def run_warm(draw: int, n: int, size: int) -> Line:
    """Time a fit after another one."""
    time_fit(n, size, draw + 1000)
    return time_fit(n, size, draw)


MEASUREMENTS = (
    Measurement("fit-cold", lambda draw: [()], run_cold, Means("", "run"), 3, needs_data=False),
    Measurement(
        "fit-warm",
        lambda draw: [(n, 5) for n in (5, 100)] + [(LABELS, k) for k in (3, 5, 7, 11, 15, 21, 31)],
        run_warm,
        Means("labels options", "labels options"),
        needs_data=False,
    ),
)

if __name__ == "__main__":
    line = time_fit(LABELS, 5, int(sys.argv[1]))
    print(json.dumps(line | {"process, CPU s": process_time()}))
