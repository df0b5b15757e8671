"""Fast posteriors against NUTS on the same density: means, and predicted probabilities."""

import time
from collections.abc import Iterator

import numpy as np

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.inference.fit import fit_channel
from cordial_ppl.inference.posterior import Posterior

RMS_LIMIT = 0.02
MEAN_LIMIT = 0.3
"""Distance of posterior means in posterior standard deviations, besides NUTS' error."""

LITERAL_RMS = 0.05


def fit(texts: Texts, method: str, seed: int = 0) -> Posterior:
    """Fit the channel to the labelled texts."""
    channel, known = texts.target.channel, texts.known
    settings = {"method": method, "seed": seed, "covariates": known.covariates}
    return fit_channel(channel, known.logits, known.labels, **settings)


def check_times(texts: Texts, seed: int) -> tuple[Posterior, Finding]:
    """Fit by default, twice, to see what compiling and running take."""
    times = []
    for run in range(2):
        start = time.perf_counter()
        posterior = fit(texts, "default", seed + run)
        times.append(time.perf_counter() - start)
    first, again = times
    words = (
        f"first fit of {len(texts.known.labels)} labels {first:.1f} s, with what has to be "
        f"compiled; again {again:.2f} s"
    )
    status = WARN if first > 60 or again > 5 else PASS
    return posterior, Finding("time", status, words, {"first": first, "again": again})


def check_posteriors(texts: Texts, default: Posterior, seed: int) -> Iterator[Finding]:
    """Compare the default and the literal posterior with NUTS."""
    diagnostics = default.diagnostics
    words = f"k-hat {diagnostics.khat:.2f}, effective sample size {diagnostics.ess:.0f}"
    figures = {"khat": diagnostics.khat, "ess": diagnostics.ess, "trusted": diagnostics.trusted}
    yield Finding("diagnostics", PASS if diagnostics.trusted else WARN, words, figures)
    reference = fit(texts, "nuts", seed)
    found = reference.diagnostics
    figures = {"ess": found.ess, "divergences": found.divergences}
    if found.divergences > len(reference.draws) / 2:
        words = f"{found.divergences} of {len(reference.draws)} transitions diverge"
        yield Finding("NUTS", FAIL, words, figures)
        return
    if not found.ess > 0:
        words = "the chains of NUTS disagree, so there is nothing to compare with"
        yield Finding("NUTS", WARN, words, figures)
        return
    words = f"effective sample size {found.ess:.0f}, {found.divergences} divergences"
    yield Finding("NUTS", PASS if found.trusted else WARN, words, figures)
    for name, posterior in {"default": default, "laplace": fit(texts, "laplace", seed)}.items():
        means, rms, worst, place = compare(texts, posterior, reference)
        trusted = posterior.diagnostics.trusted
        figures = {"means": means, "rms": rms, "worst": worst, "trusted": trusted}
        words = (
            f"predictions differ by {rms:.4f} (root mean square; at worst {worst:.3f}), means by "
            f"{means:.2f} standard deviations ({place})"
        )
        if name == "laplace":
            status = PASS if rms <= LITERAL_RMS else WARN
        elif rms <= RMS_LIMIT and means <= MEAN_LIMIT + 2.0 / np.sqrt(found.ess):
            status = PASS
        else:
            # The user knows of what the posterior's diagnostics flag.
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
    place = texts.target.coordinates[int(distances.argmax())]
    return float(distances.max()), float(np.sqrt((errors**2).mean())), float(errors.max()), place
