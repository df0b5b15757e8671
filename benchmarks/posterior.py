"""How near the posteriors come to NUTS runs, in predicted probabilities.

Every channel is fitted to n labels of summaries by the default.  Its predictions for held-out texts
are compared with those of the package's NUTS, four chains of 500 draws each: root mean square
difference, the largest one, and the worst of both over subsets.

    CORDIAL_DATA=path python benchmarks/results.py posterior
"""

from itertools import product

import numpy as np
from measurement import Line, Means, Measurement
from real import SOURCES, load

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.readings import as_logits
from cordial_ppl.inference.channel_fits import fit_channel

HELD_OUT = 400


def run(draw: int, channel: str, n: int) -> Line:
    """Compare the two on one subset, each of another task or reader."""
    tasks, readers = SOURCES["summeval_logits"].tasks, SOURCES["summeval_logits"].readers[:2]
    pair = tasks[draw % len(tasks)], readers[(draw + draw // len(tasks)) % len(readers)]
    logits, labels = load("summeval_logits", *pair)
    order = np.random.default_rng([draw, 5]).permutation(len(labels))
    rows, unseen = order[:n], as_logits(logits[order[-HELD_OUT:]])
    seen = as_logits(logits[rows]), labels[rows]
    fit, nuts = (
        fit_channel(channel, *seen, method=each, seed=draw) for each in ("default", "nuts")
    )
    error = fit.predict_proba(unseen) - nuts.predict_proba(unseen)
    return {
        "rms": np.sqrt(np.mean(error**2)),
        "largest": np.abs(error).max(),
        "trusted": fit.diagnostics.trusted,
        "NUTS trusted": nuts.diagnostics.trusted,
    }


MEASUREMENTS = (
    Measurement(
        "posterior",
        lambda draw: product(CHANNELS, (5, 20, 100)),
        run,
        Means("channel labels", "channel labels", alike="draw", highest=("rms", "largest")),
        2,
    ),
)
