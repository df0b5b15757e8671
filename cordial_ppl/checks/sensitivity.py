"""How much the prior and the labels have to say of each parameter, by power-scaling."""

import numpy as np

from cordial_ppl.checks.finding import PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.inference.posterior import Posterior

SENSITIVE = 0.05
"""Sensitivity from which the prior, or the likelihood, matters (Kallioinen et al. 2024)."""


def check_sensitivity(texts: Texts, posterior: Posterior, conflict: Finding, seed: int) -> Finding:
    """Scale the prior and the likelihood by powers near one, and see what moves.

    A parameter that both move is where prior and labels may pull in two directions; that deserves a
    warning where the labels are none that the prior expects.

    Source: Kallioinen, Paananen, Buerkner and Vehtari (2024), "Detecting and diagnosing prior and
    likelihood sensitivity with power-scaling", Statistics and Computing 34.

    Args:
        texts: what the channel is checked with.
        posterior: its posterior.
        conflict: what `check_conflict` found.
        seed: seed of the resampling.
    """
    import arviz as az

    tree = posterior.to_datatree(seed=seed)
    # What is predicted of each text, as one more quantity of every draw.
    likely = np.exp(tree["log_likelihood"]["label"])
    tree["posterior"] = tree["posterior"].assign(prediction=likely)
    try:
        with np.errstate(all="ignore"):
            prior, likelihood = (az.psense(tree, group=group) for group in ("prior", "likelihood"))
    except ValueError as error:
        words = f"cannot be told, for draws hardly differ ({error})"
        return Finding("sensitivity", WARN, words)
    moved = float(np.max(prior["prediction"]))
    figures = {
        name: {"prior": float(np.max(prior[name])), "likelihood": float(np.max(likelihood[name]))}
        for name in prior.data_vars
        if name != "prediction"
    }
    led = [name for name, own in figures.items() if own["likelihood"] < SENSITIVE <= own["prior"]]
    torn = [name for name, own in figures.items() if min(own.values()) >= SENSITIVE]
    words = f"scaling the prior moves the probability of a label by {moved:.2f} at most"
    words += f"; the labels say little of {', '.join(led)}" if led else ""
    words += f"; both prior and labels move {', '.join(torn)}" if torn else ""
    status = WARN if torn and conflict.status != PASS else PASS
    return Finding("sensitivity", status, words, {"predictions": moved, **figures})
