"""How far the default is above the label histogram on a scale of which few options are used.

Eleven options, of which seven are ever the label, and a reader with hard ratings that states the
label of another text, or the right one in a quarter or half of the texts.  The log loss less that
of the label histogram, one count for each option, in nats on 1,000 further texts: of the default
and of the stack without channels.

    python benchmarks/results.py odd-scales
"""

from itertools import product

import numpy as np
from accuracy import score
from measurement import Line, Means, Measurement

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits, label_histogram

OPTIONS = list(range(11))
USED, SHARES = [0, 2, 3, 5, 7, 8, 10], [0.05, 0.1, 0.25, 0.2, 0.25, 0.1, 0.05]
TEXTS, REPORT = 3000, 1000
RIGHT = {"shuffled": 0.0, "weak": 0.25, "half": 0.5}
BUDGETS = 5, 10, 20, 50, 100


def run(draw: int, kind: str, n: int) -> Line:
    """Make readings and fit: what each stack loses beyond the histogram."""
    rng = np.random.default_rng(3)
    truth = rng.choice(USED, TEXTS, p=SHARES)
    stated = {  # Readers are made one after the other.
        name: np.where(rng.random(TEXTS) < right, truth, rng.permutation(truth))
        for name, right in RIGHT.items()
    }
    logits = as_logits(cp.readings_from_ratings(stated[kind], options=OPTIONS))
    order, texts = np.random.default_rng([draw, n]).permutation(TEXTS), Labelled(logits, truth)
    histogram, report = label_histogram(truth[order[:n]], len(OPTIONS)), texts.take(order[-REPORT:])
    stacks = {"default": cp.Cordial(OPTIONS), "without channels": cp.LogitStack(OPTIONS)}
    losses = score(stacks, texts, order[:n], draw, report)
    return {name: loss + np.log(histogram[report.labels]).mean() for name, loss in losses.items()}


MEASUREMENTS = (
    Measurement(
        "odd-scales",
        lambda draw: product(RIGHT, BUDGETS),
        run,
        Means("reader labels", "reader labels"),
        5,
        needs_data=False,
    ),
)
