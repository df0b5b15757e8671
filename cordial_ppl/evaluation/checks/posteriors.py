"""Fast posteriors against NUTS on the same density: means, and predicted probabilities."""

import time
from collections.abc import Iterator

import numpy as np

from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.evaluation.checks.texts import Texts
from cordial_ppl.inference.fit import fit_channel
from cordial_ppl.inference.posterior import Posterior

RMS_LIMIT, LITERAL_RMS = 0.02, 0.05
"""Root mean square error of predicted probabilities, of the default and of the literal method."""

MEAN_LIMIT = 0.3
"""Distance of posterior means in posterior standard deviations, besides NUTS' error."""


def fit(texts: Texts, method: str, seed: int = 0) -> Posterior:
    """Fit the channel to the labelled texts."""
    channel, labelled = texts.target.channel, texts.labelled
    settings = {"method": method, "seed": seed, "covariates": labelled.covariates}
    return fit_channel(channel, labelled.logits, labelled.labels, **settings)


def check_times(texts: Texts, seed: int) -> tuple[Posterior, Finding]:
    """Fit by default, twice, to see what compiling and running take."""
    start = time.perf_counter()
    fit(texts, "default", seed)
    middle = time.perf_counter()
    posterior = fit(texts, "default", seed + 1)
    first, again = middle - start, time.perf_counter() - middle
    words = (
        f"first fit of {len(texts.labelled.labels)} labels {first:.1f} s, with what has to be "
        f"compiled; again {again:.2f} s"
    )
    status = WARN if first > 60 or again > 5 else PASS
    return posterior, Finding("time", status, words, {"first": first, "again": again})


def check_posteriors(texts: Texts, default: Posterior, seed: int) -> Iterator[Finding]:
    """Compare the default and the literal posterior with NUTS."""
    khat, ess, trusted = (getattr(default.diagnostics, n) for n in ("khat", "ess", "trusted"))
    words = f"k-hat {khat:.2f}, effective sample size {ess:.0f}"
    figures = {"khat": khat, "ess": ess, "trusted": trusted}
    yield Finding("diagnostics", PASS if trusted else WARN, words, figures)
    reference = fit(texts, "nuts", seed)
    nuts = reference.diagnostics
    diverge = nuts.divergences > len(reference.draws) / 2
    if diverge:
        words = f"{nuts.divergences} of {len(reference.draws)} transitions diverge"
    elif not nuts.ess > 0:
        words = "the chains of NUTS disagree, so there is nothing to compare with"
    else:
        words = f"effective sample size {nuts.ess:.0f}, {nuts.divergences} divergences"
    status = FAIL if diverge else PASS if nuts.trusted else WARN
    yield Finding("NUTS", status, words, {"ess": nuts.ess, "divergences": nuts.divergences})
    if diverge or not nuts.ess > 0:
        return
    for name, posterior in {"default": default, "laplace": fit(texts, "laplace", seed)}.items():
        means, rms, worst, coordinate = compare(texts, posterior, reference)
        trusted = posterior.diagnostics.trusted
        figures = {"means": means, "rms": rms, "worst": worst, "trusted": trusted}
        words = (
            f"predictions differ by {rms:.4f} (root mean square; at worst {worst:.3f}), means by "
            f"{means:.2f} standard deviations ({coordinate})"
        )
        if name == "laplace":
            status = PASS if rms <= LITERAL_RMS else WARN
        elif rms <= RMS_LIMIT and means <= MEAN_LIMIT + 2.0 / np.sqrt(nuts.ess):
            status = PASS
        else:
            # The posterior's diagnostics have warned the user already.
            status = FAIL if trusted and rms > RMS_LIMIT else WARN
        yield Finding(f"{name} against NUTS", status, words, figures)


def compare(
    texts: Texts, posterior: Posterior, reference: Posterior
) -> tuple[float, float, float, str]:
    """Worst distance of means (in standard deviations), rms and worst error of predictions.

    Returns:
        The three, and the name of the coordinate whose mean is furthest off.
    """
    centre, spread = reference.draws.mean(axis=0), reference.draws.std(axis=0)
    distances = np.abs(posterior.weights @ posterior.draws - centre) / spread
    unseen = texts.unseen
    probs = [p.predict(unseen.logits, unseen.covariates)[0] for p in (posterior, reference)]
    errors = np.abs(probs[0] - probs[1])
    coordinate = texts.target.coordinates[int(distances.argmax())]
    return (
        float(distances.max()),
        float(np.sqrt((errors**2).mean())),
        float(errors.max()),
        coordinate,
    )
