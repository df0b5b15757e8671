"""What a channel expects before it has seen a label."""

import jax
import numpy as np

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts, prior_draws
from cordial_ppl.compilation import compiled
from cordial_ppl.readings import Readings

DRAWS = 1000
LEAST = 0.02
"""Prior predictive probability below which an option is all but excluded, times K."""

USABLE = 0.99
"""Share of the prior under which predictions must be finite."""

SURE = 4.0
"""Logit of the option that a plain, fairly sure reading names, nats."""


def check_prior_predictive(texts: Texts, seed: int) -> Finding:
    """Look at the prior predictive of plain readings, one for each option.

    Every option must be possible, and a reading of the last must be predicted above one of the
    first.
    """
    target, size = texts.target, texts.target.options
    logits = SURE * (np.eye(size) - 1 / size)
    extra = {k: np.resize(v, size) for k, v in texts.known.covariates.items()}
    readings = Readings(texts.as_said(logits), np.full(size, 1 / size), extra)
    with jax.enable_x64(True):
        draws = prior_draws(target, DRAWS)(jax.random.key(seed), target.prior, readings)
        each = np.asarray(compiled(jax.vmap(target.probs, (0, None)))(draws, readings))
    usable = np.isfinite(each).all(axis=(1, 2))
    if usable.mean() < USABLE:
        words = f"it is not finite under {100 * (1 - usable.mean()):.0f} % of the prior"
        return Finding("prior predictive", FAIL, words, {"finite": float(usable.mean())})
    probs = each[usable].mean(axis=0)
    least, span = float(probs.min()), float((probs[-1] - probs[0]) @ np.arange(size))
    right = float(np.mean(np.diag(probs)))
    figures = {"least": least, "span": span, "agreement": right, "finite": float(usable.mean())}
    words = (
        f"labels agree with a reading that is fairly sure with {right:.2f}; from the first option "
        f"to the last they rise by {span:.1f} of {size - 1} classes"
    )
    if not span > 0:
        return Finding("prior predictive", FAIL, f"it falls with the reading: {words}", figures)
    if least < LEAST / size or span < 0.2 * (size - 1):
        hint = f"an option has probability {least:.4f}" if least < LEAST / size else "hardly moves"
        return Finding("prior predictive", WARN, f"{hint}: {words}", figures)
    return Finding("prior predictive", PASS, words, figures)
