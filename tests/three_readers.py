"""Three readers of the reviews in `few_labels`, each wrong in its own way; one has gaps."""

import numpy as np
from few_labels import LABELS, LOGITS, TEST, TRUTH

from cordial_ppl.data.readings import as_logits


def _others(logits, seed):
    noise = np.random.default_rng(seed).normal(size=(2, *logits.shape))
    return np.stack([logits, 0.5 * np.roll(logits, 1, axis=1) + noise[0], 3 * noise[1]], axis=1)


THREE, THREE_TEST = (_others(as_logits(x), seed) for seed, x in enumerate((LOGITS, TEST)))
LABELS, TRUTH = np.asarray(LABELS), np.asarray(TRUTH)
NAMES = ("plain", "lower", "noise")
