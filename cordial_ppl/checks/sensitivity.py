"""How much the prior and the labels have to say, by power-scaling, and whether they disagree."""

import numpy as np

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.inference.posterior import Posterior

SENSITIVE = 0.05
"""Sensitivity from which the prior, or the likelihood, matters (Kallioinen et al. 2024)."""

FAR, FURTHER = 2.0, 3.0
"""Distances of a posterior mean from the prior's location, in prior standard deviations."""


def check_sensitivity(texts: Texts, posterior: Posterior, seed: int) -> list[Finding]:
    """Scale the prior and the likelihood by powers near one, and see what moves.

    Prior and labels disagree where a posterior mean is two standard deviations of the prior or more
    away from where the prior has it; from three that is a failure.

    Source: Kallioinen, Paananen, Buerkner and Vehtari (2024), "Detecting and diagnosing prior and
    likelihood sensitivity with power-scaling", Statistics and Computing 34.
    """
    import arviz as az

    tree = posterior.to_datatree(seed=seed)
    with np.errstate(all="ignore"):
        prior = az.psense(tree, group="prior")
        likelihood = az.psense(tree, group="likelihood")
        # What is predicted of each text, as one more quantity of every draw.
        likely = np.exp(tree["log_likelihood"]["label"])
        tree["posterior"] = tree["posterior"].assign(prediction=likely)
        predictions = az.psense(tree, var_names=["prediction"], group="prior")["prediction"]
    figures = {
        name: {"prior": float(np.max(prior[name])), "likelihood": float(np.max(likelihood[name]))}
        for name in prior.data_vars
    }
    moved = float(np.max(predictions))
    led = [name for name, own in figures.items() if own["likelihood"] < SENSITIVE <= own["prior"]]
    words = f"predictions move with the prior by {moved:.2f}"
    words += f"; the labels say little of {', '.join(led)}" if led else "; all parameters learn"
    lines = [Finding("sensitivity", PASS, words, {"predictions": moved, **figures})]
    loc, scale = texts.target.prior if posterior.prior is None else posterior.prior
    off = (posterior.weights @ posterior.draws - loc) / scale
    place = int(np.abs(off).argmax())
    name, distance = texts.target.coordinates[place], float(off[place])
    words = f"furthest is {name}, {distance:+.1f} prior deviations from where the prior has it"
    status = PASS if abs(distance) < FAR else WARN if abs(distance) < FURTHER else FAIL
    hint = "" if status == PASS else "prior and labels disagree: "
    lines.append(Finding("prior against labels", status, hint + words, {name: distance}))
    return lines
