"""What a mixture says about texts without labels: how good it is, and what it does not know."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.decisions.forecasting import Outlook, entropy
from cordial_ppl.inference.programs import TEXTS
from cordial_ppl.stack.members import predict_each


def expected_loss_and_gap(
    members: Sequence[tuple[Any, np.ndarray]],
    shares: Float[np.ndarray, "#m M"],
    covariates: Mapping[str, np.ndarray],
) -> Outlook:
    r"""Average over texts the loss that a mixture expects, and what of it labels can remove.

    .. math:: G = \sum_j \omega_j \left[ H\!\left(\sum_s w_{js}\, p_{js}\right)
        - \sum_s w_{js} H(p_{js}) \right]

    A calibrator has one set of parameters, and no gap.  Of many texts a sample is looked at.

    Args:
        members: fitted members, each with the readings that it sees.
        shares: weight of each member in each text's mixture, or in that of all texts.
        covariates: of the texts, by name.

    Source: Houlsby, Huszár, Ghahramani and Lengyel (2011), "Bayesian active learning for
    classification and preference learning".
    """
    count, size = len(members[0][1]), members[0][1].shape[-1]
    rows = spread_rows(members[0][1])
    extra = {name: column[rows] for name, column in covariates.items()}
    text_shares = shares[rows] if len(shares) > 1 else shares
    mixed, gap = np.zeros((len(rows), size)), np.zeros(len(rows))
    for (fit, seen), share in zip(members, text_shares.T, strict=True):
        if not share.any():
            continue
        draws = predict_each(fit, seen[rows], extra)
        weights = fit.prediction_weights
        mean = np.tensordot(weights, draws, axes=1)
        mixed += share[:, None] * mean
        gap += share * (entropy(mean) - np.tensordot(weights, entropy(draws), axes=1))
    loss = entropy(mixed)
    logs = np.log(np.where(mixed > 0, mixed, 1.0))
    spread = np.sum(mixed * logs**2, axis=1) - loss**2
    return Outlook(count, float(loss.mean()), float(spread.mean()), float(max(gap.mean(), 0.0)))


def spread_rows(logits: Float[np.ndarray, "m *readers K"]) -> Int[np.ndarray, " rows"]:
    """At most `TEXTS` texts, evenly along the mean of what is stated; their order is no matter."""
    count, size = len(logits), logits.shape[-1]
    if count <= TEXTS:
        return np.arange(count)
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    means = (shares @ np.arange(size)) / shares.sum(axis=-1)
    # A trace of the logits tells texts with equal means apart: the order of the table does not.
    means += 1e-9 * (logits @ np.sqrt(np.arange(1, size + 1)))
    ranked = np.argsort(means.reshape(count, -1).sum(axis=1))
    return ranked[np.linspace(0, count - 1, TEXTS).round().astype(int)]
