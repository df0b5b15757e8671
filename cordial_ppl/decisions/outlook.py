"""What a fit says about texts without labels: how good it is, and what it does not know."""

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.decisions.forecasting import Outlook, entropy
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import predict_each

SAMPLE = 512
"""Texts that are looked at, at most."""


def expected_loss_and_gap(fit: Fit, texts: Labelled) -> Outlook:
    r"""Average over texts the loss that a fit expects, and what of it labels can remove.

    .. math:: G = \sum_j \omega_j \left[ H\!\left(\sum_s w_{js}\, p_{js}\right)
        - \sum_s w_{js} H(p_{js}) \right]

    A calibrator has one set of parameters, and no gap.  Of many texts a sample is looked at.

    Args:
        fit: the fit.
        texts: the texts; their labels do not count.

    Source: Houlsby, Huszár, Ghahramani and Lengyel (2011), "Bayesian active learning for
    classification and preference learning".
    """
    some = texts.take(spread_rows(texts.logits))
    mixed, gap = np.zeros((len(some.labels), fit.scale.size)), np.zeros(len(some.labels))
    members, (shares,) = fit.mixture(some.logits)
    for (member, seen), share in zip(members, shares, strict=True):
        if share > 0:
            draws, weights = predict_each(member, seen, some.covariates), member.prediction_weights
            mean = np.tensordot(weights, draws, axes=1)
            mixed += share * mean
            gap += share * (entropy(mean) - np.tensordot(weights, entropy(draws), axes=1))
    loss, logs = entropy(mixed), np.log(np.where(mixed > 0, mixed, 1.0))
    spread = np.sum(mixed * logs**2, axis=1) - loss**2
    figures = loss.mean(), spread.mean(), max(gap.mean(), 0.0)
    return Outlook(len(texts.labels), *map(float, figures))


def spread_rows(logits: Float[np.ndarray, "m K"]) -> Int[np.ndarray, " rows"]:
    """At most `SAMPLE` texts, evenly along the mean of what is stated; their order is no matter."""
    count, size = len(logits), logits.shape[-1]
    if count <= SAMPLE:
        return np.arange(count)
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    means = (shares @ np.arange(size)) / shares.sum(axis=-1)
    # A trace of the logits tells texts with equal means apart: the order of the table does not.
    means += 1e-9 * (logits @ np.sqrt(np.arange(1, size + 1)))
    return np.argsort(means)[np.linspace(0, count - 1, SAMPLE).round().astype(int)]
