"""What a fit says about texts without labels: how good it is, and what it does not know."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.decisions.forecasting import Outlook, entropy
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import predict_each

SAMPLE = 512
"""Texts that are looked at, at most."""


def expected_loss_and_gap(
    fit: Fit, logits: Float[np.ndarray, "m K"], covariates: Mapping[str, np.ndarray]
) -> Outlook:
    r"""Average over texts the loss that a fit expects, and what of it labels can remove.

    .. math:: G = \sum_j \omega_j \left[ H\!\left(\sum_s w_{js}\, p_{js}\right)
        - \sum_s w_{js} H(p_{js}) \right]

    A calibrator has one set of parameters, and no gap.  Of many texts a sample is looked at.

    Args:
        fit: the fit.
        logits: centred logits of the texts.
        covariates: of the texts, by name.

    Source: Houlsby, Huszár, Ghahramani and Lengyel (2011), "Bayesian active learning for
    classification and preference learning".
    """
    rows = spread_rows(logits)
    extra = {name: column[rows] for name, column in covariates.items()}
    mixed, gap = np.zeros((len(rows), fit.scale.size)), np.zeros(len(rows))
    members, (shares,) = fit.mixture(logits[rows])
    for (member, seen), share in zip(members, shares, strict=True):
        if share > 0:
            draws, weights = predict_each(member, seen, extra), member.prediction_weights
            mean = np.tensordot(weights, draws, axes=1)
            mixed += share * mean
            gap += share * (entropy(mean) - np.tensordot(weights, entropy(draws), axes=1))
    loss, logs = entropy(mixed), np.log(np.where(mixed > 0, mixed, 1.0))
    spread = np.sum(mixed * logs**2, axis=1) - loss**2
    return Outlook(len(logits), *map(float, (loss.mean(), spread.mean(), max(gap.mean(), 0.0))))


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
