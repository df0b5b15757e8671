"""How many fits a second a sweep makes, by method, batch and device.

The same run uses a GPU where JAX finds one; "accelerator" fits channels by
`cordial_ppl.inference.accelerator`, which a CPU can run too: its CPU seconds are then compared with
the host's.  Times are of other labels after a first batch that compiled.
"""

from itertools import product
from time import perf_counter, process_time

import numpy as np
from measurement import Line, Means, Timed

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.subsets import BatchFit, fit_subsets
from cordial_ppl.evaluation.synthetic import reviews

METHODS = {"paper": cp.Cordial.paper, "default": cp.Cordial}
TEXTS, LABELS, PREDICTED = 2000, 20, 8


def run(draw: int, method: str, size: int, device: str) -> Line:
    """Time one call for many subsets, after one that compiled."""
    texts = reviews(TEXTS)
    pool = Labelled(as_logits(texts.logits), texts.labels)
    seconds = spent = 0.0
    for seed in (2 * draw, 2 * draw + 1):
        rng = np.random.default_rng([seed, LABELS])
        rows = np.stack([rng.choice(TEXTS, LABELS, replace=False) for _ in range(size)])
        start, began = perf_counter(), process_time()
        report, seeds = pool.take(slice(PREDICTED)), range(seed, seed + size)
        made = fit_subsets({"it": METHODS[method]()}, pool, rows, seeds, report, device=device)
        if not isinstance(made["it"], BatchFit):
            raise made["it"]
        seconds, spent = perf_counter() - start, process_time() - began
    return {"fits a second": size / seconds, "CPU s": spent}


MEASUREMENTS = (
    Timed(
        "sweep",
        lambda draw: product(METHODS, (1, 60, 256), ("host", "accelerator")),
        run,
        Means("method subsets device", "method subsets device"),
        3,
    ),
)
