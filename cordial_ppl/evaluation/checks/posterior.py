"""Posteriors beside NUTS on the same density, and beside other channels on labels left out."""

import time
import warnings
from typing import Any

import numpy as np

from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.evaluation.checks.trial import Trial
from cordial_ppl.inference.fit import fit_channel
from cordial_ppl.inference.posterior import Posterior

RMS_LIMIT, LITERAL_RMS = 0.02, 0.05
"""Root mean square error of predicted probabilities, of the default and of the literal method."""

MEAN_LIMIT = 0.3
"""Distance of posterior means in posterior standard deviations, besides NUTS' error."""


def check_time(trial: Trial) -> Finding:
    """Fit by default, twice, to see what compiling and running take."""
    moments = [time.perf_counter()]
    for _ in range(2):
        trial.fit("default")
        moments.append(time.perf_counter())
    first, again = np.diff(moments).tolist()
    words = (
        f"first fit of {len(trial.labelled.labels)} labels: {first:.1f} s, compiling included; "
        f"second: {again:.2f} s"
    )
    status = WARN if first > 60 or again > 5 else PASS
    return Finding("time", status, words, {"first": first, "again": again})


def check_diagnostics(trial: Trial) -> Finding:
    """Look at the default posterior's own diagnostics."""
    figures = {name: getattr(trial.posterior.diagnostics, name) for name in ("khat", "ess")}
    trusted = trial.posterior.diagnostics.trusted
    words = f"k-hat {figures['khat']:.2f}, effective sample size {figures['ess']:.0f}"
    return Finding("diagnostics", PASS if trusted else WARN, words, {**figures, "trusted": trusted})


def check_nuts(trial: Trial) -> Finding:
    """Look at the chains of NUTS, which the other posteriors are compared with."""
    nuts, draws = trial.reference.diagnostics, len(trial.reference.draws)
    status = PASS if nuts.trusted else WARN
    words = f"effective sample size {nuts.ess:.0f}, {nuts.divergences} divergences"
    if nuts.divergences > draws / 2:
        status, words = FAIL, f"{nuts.divergences} of {draws} transitions diverge"
    elif not nuts.ess > 0:
        words = "the chains of NUTS disagree, so there is nothing to compare with"
    return Finding("NUTS", status, words, {"ess": nuts.ess, "divergences": nuts.divergences})


def check_against_nuts(trial: Trial, method: str) -> Finding | None:
    """Compare the posterior of a method with NUTS, unless its chains failed."""
    nuts, draws = trial.reference.diagnostics, len(trial.reference.draws)
    if nuts.divergences > draws / 2 or not nuts.ess > 0:
        return None
    posterior = trial.posterior if method == "default" else trial.fit(method)
    means, rms, worst, coordinate = compare(trial, posterior, trial.reference)
    trusted = posterior.diagnostics.trusted
    words = (
        f"predictions differ by {rms:.4f} (root mean square; at worst {worst:.3f}), means by "
        f"{means:.2f} standard deviations ({coordinate})"
    )
    figures = {"means": means, "rms": rms, "worst": worst, "trusted": trusted}
    status = judge(method, rms, means - 2.0 / np.sqrt(nuts.ess), trusted)
    return Finding(f"{method} against NUTS", status, words, figures)


def judge(method: str, rms: float, means: float, trusted: bool) -> str:
    """Judge a method by its errors, of probabilities and of means, and whether it trusts itself."""
    if method == "laplace":
        return PASS if rms <= LITERAL_RMS else WARN
    if rms <= RMS_LIMIT and means <= MEAN_LIMIT:
        return PASS
    # The posterior's diagnostics have warned the user already.
    return FAIL if trusted and rms > RMS_LIMIT else WARN


def compare(
    trial: Trial, posterior: Posterior, reference: Posterior
) -> tuple[float, float, float, str]:
    """Compute the worst distance of means (standard deviations), and errors of predictions.

    Returns:
        That distance, the root mean square and the worst error of probabilities, and the name of
        the coordinate whose mean is furthest off.
    """
    centre, spread = reference.draws.mean(axis=0), reference.draws.std(axis=0)
    distances = np.abs(posterior.weights @ posterior.draws - centre) / spread
    unseen = trial.unseen
    probs = [p.predict(unseen.logits, unseen.covariates)[0] for p in (posterior, reference)]
    errors = np.abs(probs[0] - probs[1])
    rms, worst = float(np.sqrt((errors**2).mean())), float(errors.max())
    return float(distances.max()), rms, worst, trial.target.coordinates[int(distances.argmax())]


def check_labels_left_out(trial: Trial) -> Finding | None:
    """Estimate the expected log predictive density by leaving labels out (PSIS-LOO).

    A label that is left out is left out of the histogram too.  The channel passes where it is
    better than that histogram by two standard errors.

    Source: Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; ArviZ computes it.
    """
    if not (loo := _leave_out(trial, trial.posterior)):
        return None
    elpd, labels, size = loo.elpd_i.values, trial.labelled.labels, trial.target.options
    # The histogram of the other labels, with one pseudo-count an option.
    counts = np.bincount(labels, minlength=size)[labels]
    histogram = np.log(counts / (len(labels) - 1 + size))
    poor = int((loo.pareto_k > loo.good_k).sum())
    gain, error, words = _gain(elpd, histogram)
    words = f"log loss {-elpd.mean():.3f}, label histogram {-histogram.mean():.3f}: {words}"
    if poor:
        words += f"; {poor} of {len(labels)} labels are influential (k-hat above {loo.good_k:.2f})"
    figures = {"log_loss": float(-elpd.mean()), "histogram": float(-histogram.mean())}
    status = PASS if gain > 2 * error else WARN
    return Finding("labels left out", status, words, {**figures, "influential": poor})


def check_other_channels(trial: Trial) -> Finding | None:
    """Compare the expected log predictive density with the best of the package's channels."""
    if not (loo := _leave_out(trial, trial.posterior)):
        return None
    logits, labels = trial.labelled.logits, trial.labelled.labels
    others = [name for name in PAPER_CHANNELS if CHANNELS[name] is not trial.target.channel]
    fits = {name: fit_channel(name, logits, labels, seed=trial.seed) for name in others}
    loos = {name: _leave_out(trial, fit) for name, fit in fits.items()}
    elpds = {name: other.elpd_i.values for name, other in loos.items() if other}
    best = max(elpds, key=lambda name: elpds[name].mean())
    gain, error, words = _gain(loo.elpd_i.values, elpds[best], f" than {best}")
    words = f"{words}; {best} is the best of the package's channels"
    status = WARN if gain < -2 * error else PASS
    figures = {name: float(-values.mean()) for name, values in elpds.items()}
    return Finding("beside other channels", status, words, figures)


def _leave_out(trial: Trial, posterior: Posterior) -> Any:
    """Leave each label out; None where that says nothing.

    Simulated labels, or two, say nothing; and the package's channels are of one reader.
    """
    if trial.synthetic or trial.target.channel.several or len(trial.labelled.labels) < 3:
        return None
    import arviz as az

    try:
        with warnings.catch_warnings():
            # Influential labels are counted.
            warnings.simplefilter("ignore", UserWarning)
            return az.loo(posterior.to_datatree(seed=trial.seed), pointwise=True)
    except ValueError:  # Draws hardly differ.
        return None


def _gain(one: np.ndarray, other: np.ndarray, than: str = "") -> tuple[float, float, str]:
    """Return the mean difference, its standard error, and both in words."""
    difference = one - other
    gain, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
    better = "better" if gain > 0 else "worse"
    return gain, error, f"{better}{than} by {abs(gain):.3f} ± {error:.3f} nats a label"
