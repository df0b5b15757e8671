"""What a channel expects before it has seen a label."""

import jax
import numpy as np

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts, predictions, prior_draws

DRAWS = 1000
LEAST = 0.02
"""Prior predictive probability, times K, below which an option is all but excluded."""

USABLE = 0.99
"""Share of the prior under which predictions must be finite."""

SURE = 4.0
"""Logit of the option that a plain, fairly sure reading names, nats."""


def check_prior_predictive(texts: Texts, seed: int) -> Finding:
    """Look at the prior predictive of plain readings, one for each option.

    Every option must be possible, and a reading of the last must be predicted above one of the
    first.
    """
    name, target, size = "prior predictive", texts.target, texts.target.options
    readings = texts.plain(SURE * (np.eye(size) - 1 / size))
    with jax.enable_x64(True):
        draws = prior_draws(target, DRAWS)(jax.random.key(seed), target.prior, readings)
        each = np.asarray(predictions(target)(draws, readings))
    usable = np.isfinite(each).all(axis=(1, 2))
    finite = float(usable.mean())
    if finite < USABLE:
        words = f"it is not finite under {100 * (1 - finite):.0f} % of the prior"
        return Finding(name, FAIL, words, {"finite": finite})
    probs = each[usable].mean(axis=0)
    least, span = float(probs.min()), float((probs[-1] - probs[0]) @ np.arange(size))
    right = float(np.mean(np.diag(probs)))
    figures = {"least": least, "span": span, "agreement": right, "finite": finite}
    words = (
        f"labels agree with a reading that is fairly sure with {right:.2f}; from the first option "
        f"to the last they rise by {span:.1f} of {size - 1} classes"
    )
    if not span > 0:
        return Finding(name, FAIL, f"it falls with the reading: {words}", figures)
    if least < LEAST / size:
        return Finding(name, WARN, f"an option has probability {least:.4f}: {words}", figures)
    if span < 0.2 * (size - 1):
        return Finding(name, WARN, f"it hardly moves with the reading: {words}", figures)
    return Finding(name, PASS, words, figures)
