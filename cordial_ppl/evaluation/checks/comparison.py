"""A channel beside the package's channels, by how well each predicts labels that are left out."""

import warnings
from typing import Any

import numpy as np

from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.evaluation.checks.finding import PASS, WARN, Finding
from cordial_ppl.evaluation.checks.texts import Texts
from cordial_ppl.inference.fit import fit_channel
from cordial_ppl.inference.posterior import Posterior


def check_comparison(texts: Texts, posterior: Posterior, seed: int) -> list[Finding]:
    """Estimate the expected log predictive density by leaving labels out (PSIS-LOO).

    A label that is left out is left out of the histogram too.  The channel passes where it is
    better than that histogram by two standard errors.

    Source: Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; ArviZ computes it.
    """
    import arviz as az

    name, labelled = "labels left out", texts.labelled
    others = [name for name in PAPER_CHANNELS if CHANNELS[name] is not posterior.channel]
    fits = [fit_channel(other, labelled.logits, labelled.labels, seed=seed) for other in others]
    try:
        with warnings.catch_warnings():
            # Influential labels are counted below.
            warnings.simplefilter("ignore", UserWarning)
            loos: list[Any] = [
                az.loo(fit.to_datatree(seed=seed), pointwise=True) for fit in (posterior, *fits)
            ]
    except ValueError as error:
        return [Finding(name, WARN, f"unknown, because draws hardly differ ({error})")]
    elpd, *rest = (np.asarray(fit.elpd_i) for fit in loos)
    count, size = len(labelled.labels), texts.target.options
    # The histogram of the other labels, with one pseudo-count an option.
    counts = np.bincount(labelled.labels, minlength=size)[labelled.labels]
    histogram = np.log(counts / (count - 1 + size))
    limit = float(loos[0].good_k)
    poor = int((np.asarray(loos[0].pareto_k) > limit).sum())
    gain, error, gained = _compare(elpd, histogram)
    words = f"log loss {-elpd.mean():.3f}, label histogram {-histogram.mean():.3f}: {gained}"
    words += f"; {poor} of {count} labels are influential (k-hat above {limit:.2f})" if poor else ""
    figures = {"log_loss": float(-elpd.mean()), "histogram": float(-histogram.mean())}
    status = PASS if gain > 2 * error else WARN
    lines = [Finding(name, status, words, {**figures, "influential": poor})]
    if others:
        figures = {o: float(-values.mean()) for o, values in zip(others, rest, strict=True)}
        best = min(figures, key=lambda other: figures[other])
        gain, error, gained = _compare(elpd, rest[others.index(best)], f" than {best}")
        words = f"{gained}; {best} is the best of the package's channels"
        status = WARN if gain < -2 * error else PASS
        lines.append(Finding("beside other channels", status, words, figures))
    return lines


def _compare(one: np.ndarray, other: np.ndarray, than: str = "") -> tuple[float, float, str]:
    """Return the mean difference, its standard error, and both in words."""
    difference = one - other
    gain, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
    better = "better" if gain > 0 else "worse"
    return gain, error, f"{better}{than} by {abs(gain):.3f} ± {error:.3f} nats a label"
