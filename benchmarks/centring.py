"""What centring does: vector-scaled readings of centred logits against those of log-probabilities.

Logits have no origin, and softmax(l / tau) needs none; the vector-scaled reading
softmax(e^eps * l / tau + b) does.  The package centres the logits of each text; the paper takes
them as they are.  Each channel of the paper is fitted to both by the default posterior, with the
same twenty labels and seeds: the rms difference of the probabilities of report texts, that of two
seeds, and how much lower the log loss with centred logits is.
"""

from itertools import product
from typing import Any

import jax
import numpy as np
from embedded import TASKS
from measurement import Line, Means, Measurement
from real import EMBEDDED, split_task
from scipy.special import log_softmax

from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.tasks import draw_subsets
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.target import build_target
from cordial_ppl.scores import log_loss

LABELS = 20


def compare(draw: int, channel: str, name: str) -> Line:
    """Rms difference by centring, and by the seed, and what centring gains."""
    task = split_task(EMBEDDED, name, "main")
    rows = draw_subsets(task, LABELS, draw + 1)[draw]
    centred, labels = task.pool.logits[rows], task.pool.labels[rows]
    report, truth = task.report.logits, task.report.labels
    logs, scored = (log_softmax(each, axis=1) for each in (centred, report))
    with jax.enable_x64(True):
        target = build_target(CHANNELS[channel], centred.shape[1])

    def predict(fitted: np.ndarray, texts: np.ndarray, seed: int) -> np.ndarray:
        case = Case(Labelled(fitted, labels), None, (seed,))
        posterior: Any = fit_cases(target, [case])[0].fitted
        return posterior.predict(texts, {})[0]

    one, again = (predict(centred, report, seed) for seed in (draw, draw + 1000))
    other = predict(logs, scored, draw)
    apart = (float(np.sqrt(np.mean((one - each) ** 2))) for each in (other, again))
    gain = float(log_loss(other, truth)) - float(log_loss(one, truth))
    return dict(zip(("rms", "rms of two seeds", "gain"), (*apart, gain), strict=True))


MEASUREMENTS = (
    Measurement(
        "centring",
        lambda draw: product(PAPER_CHANNELS, TASKS),
        compare,
        Means("channel task", "channel", alike="task", squared=("rms", "rms of two seeds")),
        10,
        needs_data=False,
    ),
)
