"""How much the prior and the labels have to say of each parameter, by power-scaling."""

import numpy as np

from cordial_ppl.checks.finding import PASS, WARN, Finding
from cordial_ppl.inference.posterior import Posterior

SENSITIVE = 0.05
"""Sensitivity from which the prior, or the likelihood, matters (Kallioinen et al. 2024)."""


def check_sensitivity(posterior: Posterior, conflict: Finding, seed: int) -> Finding:
    """Scale the prior and the likelihood by powers near one, and see what moves.

    A parameter that both move may be pulled in two directions; that deserves a warning where the
    labels are not such as the prior expects.

    Args:
        posterior: the channel's posterior.
        conflict: what `check_conflict` found.
        seed: seed of the resampling.

    Source: Kallioinen, Paananen, Buerkner and Vehtari (2024), "Detecting and diagnosing prior and
    likelihood sensitivity with power-scaling", Statistics and Computing 34.
    """
    import arviz as az

    tree = posterior.to_datatree(seed=seed)
    # What is predicted of each text, as one more quantity of every draw.
    likely = np.exp(tree["log_likelihood"]["label"])
    tree["posterior"] = tree["posterior"].assign(prediction=likely)
    try:
        with np.errstate(all="ignore"):
            found = {group: az.psense(tree, group=group) for group in ("prior", "likelihood")}
    except ValueError as error:
        return Finding("sensitivity", WARN, f"unknown, because draws hardly differ ({error})")
    figures = {
        name: {group: float(np.max(values[name])) for group, values in found.items()}
        for name in found["prior"].data_vars
    }
    moved = figures.pop("prediction")["prior"]
    led = [n for n, each in figures.items() if each["likelihood"] < SENSITIVE <= each["prior"]]
    torn = [name for name, each in figures.items() if min(each.values()) >= SENSITIVE]
    words = f"scaling the prior moves the probability of a label by {moved:.2f} at most"
    words += f"; the labels say little of {', '.join(led)}" if led else ""
    words += f"; both prior and labels move {', '.join(torn)}" if torn else ""
    verdict = WARN if torn and conflict.status != PASS else PASS
    return Finding("sensitivity", verdict, words, {"predictions": moved, **figures})
