"""Weighted draws of a channel's parameters: what every method of inference returns."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

NOTHING = float("nan")


class Cloud(NamedTuple):
    """Weighted draws of the unconstrained parameters, and what is known of their quality.

    Attributes:
        draws: unconstrained parameters, shape ``[S, P]``.
        weights: their weights, which sum to one, shape ``[S]``.
        khat: Pareto shape of the importance weights behind the draws; NaN where there are none.
        ess: effective sample size of those weights, or of NUTS draws.
        weighed: number of those weights.
        acceptance: share of the last moves that was accepted; NaN where nothing moved.
        gradient_norm: largest component of the whitened gradient at the mode; NaN without a mode.
        repairs: how often the draws were moved and weighed again because they were not good enough.
        fold_khat: worst k-hat of the weights that carry the draws over to the folds; NaN where none
            were carried.
        probs: probabilities of the texts under the draws, labels seen or not, with rows of padding
            after them; None where they were not computed.
        transitions: of NUTS, figures of the step that led to each draw, each of shape ``[S]``.
    """

    draws: Float[np.ndarray, "S P"]
    weights: Float[np.ndarray, " S"]
    khat: float = NOTHING
    ess: float = NOTHING
    weighed: int = 0
    acceptance: float = NOTHING
    gradient_norm: float = NOTHING
    repairs: int = 0
    fold_khat: float = NOTHING
    probs: Float[np.ndarray, "rows K"] | None = None
    transitions: Mapping[str, Shaped[Any, " S"]] = {}
