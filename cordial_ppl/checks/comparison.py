"""A channel beside the package's own, by how well each predicts labels that are left out."""

import warnings
from typing import Any

import numpy as np

from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.checks.finding import PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.inference.fit import fit_channel
from cordial_ppl.inference.posterior import Posterior


def check_comparison(texts: Texts, posterior: Posterior, seed: int) -> list[Finding]:
    """Estimate the expected log predictive density by leaving labels out (PSIS-LOO).

    A label that is left out is left out of the histogram too.  It passes where it is better than
    that histogram by two standard errors.

    Source: Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; ArviZ computes it.
    """
    import arviz as az

    known = texts.known
    others = [name for name in PAPER_CHANNELS if CHANNELS[name] is not posterior.channel]
    fits = [fit_channel(name, known.logits, known.labels, seed=seed) for name in others]
    try:
        with warnings.catch_warnings():
            # Influential labels are counted below.
            warnings.simplefilter("ignore", UserWarning)
            found: list[Any] = [
                az.loo(each.to_datatree(seed=seed), pointwise=True) for each in (posterior, *fits)
            ]
    except ValueError as error:
        words = f"cannot be told, for draws hardly differ ({error})"
        return [Finding("labels left out", WARN, words)]
    own, *rest = (np.asarray(each.elpd_i) for each in found)
    elpds = dict(zip(others, rest, strict=True))
    count, size = len(known.labels), texts.target.options
    # The histogram of the other labels, with one pseudo-count an option.
    counts = np.bincount(known.labels, minlength=size)[known.labels]
    nothing = np.log(counts / (count - 1 + size))
    limit = float(found[0].good_k)
    poor = int((np.asarray(found[0].pareto_k) > limit).sum())
    lines = []
    gain, error = _difference(own, nothing)
    words = f"log loss {-own.mean():.3f}, label histogram {-nothing.mean():.3f}"
    words += f": {'better' if gain > 0 else 'worse'} by {abs(gain):.3f} ± {error:.3f} nats a label"
    figures = {"log_loss": float(-own.mean()), "histogram": float(-nothing.mean())}
    figures |= {"influential": poor}
    words += f"; {poor} of {count} labels are influential (k-hat above {limit:.2f})" if poor else ""
    status = PASS if gain > 2 * error else WARN
    lines.append(Finding("labels left out", status, words, figures))
    if elpds:
        best = max(elpds, key=lambda name: elpds[name].sum())
        gain, error = _difference(own, elpds[best])
        words = f"{'better' if gain > 0 else 'worse'} than {best}, the best of the package's own, "
        words += f"by {abs(gain):.3f} ± {error:.3f} nats a label"
        figures = {name: float(-values.mean()) for name, values in elpds.items()}
        status = WARN if gain < -2 * error else PASS
        lines.append(Finding("beside other channels", status, words, figures))
    return lines


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Mean difference and its standard error."""
    difference = one - other
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
