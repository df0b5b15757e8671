"""What draws are worth: figures of importance weights, moves and gradients, and their limits."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from cordial_ppl.inference.importance import khat_limit

PAPER_METHODS = ("laplace", "mode")
"""The paper's own methods, of which every draw and digit is kept."""

NOTHING = float("nan")
LEAST_ESS = 50.0
LEAST_ACCEPTANCE = 0.02
LARGEST_GRADIENT = 1e-4


class Diagnostics(NamedTuple):
    """How a posterior was found and whether it can be trusted; NaN where a figure is undefined.

    Attributes:
        method: "default", "laplace", "mode" or "nuts".
        khat: Pareto shape of the importance weights, which are unreliable above `khat_limit`.
        ess: effective sample size of the importance weights, or of the NUTS draws.
        acceptance: acceptance rate of the last moves; NaN if no moves were needed.
        gradient_norm: largest component of the gradient at the mode, in prior-whitened coordinates.
        repairs: how often the draws were moved and reweighted.
        trusted: whether all figures are within their limits.
        fold_khat: worst Pareto shape of the weights that adapt the draws to the folds of the
            labels; if it was high, the draws were also moved. NaN without folds, or if each fold
            was fitted separately.
        divergences: number of divergent NUTS transitions.
        chains: number of NUTS chains, stored one after another; one for other methods.
    """

    method: str
    khat: float = NOTHING
    ess: float = NOTHING
    acceptance: float = NOTHING
    gradient_norm: float = NOTHING
    repairs: int = 0
    trusted: bool = False
    fold_khat: float = NOTHING
    divergences: int = 0
    chains: int = 1


class Draws(NamedTuple):
    """Weighted draws of the unconstrained parameters.

    Attributes:
        draws: unconstrained parameters, shape ``[S, P]``.
        weights: their weights, which sum to one, shape ``[S]``.
        diagnostics: what they are worth.
        probs: probabilities of the texts under the draws, labels seen or not, with rows of padding
            after them; None where they were not computed.
        transitions: NUTS statistics of the step that led to each draw, each of shape ``[S]``.
    """

    draws: Float[np.ndarray, "S P"]
    weights: Float[np.ndarray, " S"]
    diagnostics: Diagnostics
    probs: Float[np.ndarray, "rows K"] | None = None
    transitions: Mapping[str, Shaped[Any, " S"]] = {}


def diagnose(
    method: str, draws: Float[np.ndarray, "S P"], *, weighed: int = 0, **figures: Any
) -> Diagnostics:
    """Diagnose draws.

    Draws are trusted with k-hat within `khat_limit`, an effective sample size of at least 50, moves
    of which at least 2 % are accepted, a gradient below 1e-4 at the mode, no divergent transition
    of NUTS, and not one that is not finite; a figure that a method does not have is not held
    against it, nor are the weights of the folds, which only the stack's weights and the expected
    loss depend on.  ``inference="mode"`` is judged by its gradient alone: trusted says that it is a
    mode, not that one point is enough.

    Args:
        method: "default", "laplace", "mode" or "nuts".
        draws: the draws.
        weighed: number of the importance weights.
        figures: those of `Diagnostics` that the method has.
    """
    judged = Diagnostics(method, **figures)
    poor = (
        judged.khat > khat_limit(weighed)
        or judged.acceptance < LEAST_ACCEPTANCE
        or judged.gradient_norm > LARGEST_GRADIENT
        or not np.isfinite(draws).all()
        # Where one transition diverges, chains may keep out of a region, and no other figure tells
        # (Betancourt 2017, arXiv:1701.02434): as NumPyro and ArviZ, which warn of the first.
        or judged.divergences > 0
        or (method != "mode" and not judged.ess >= LEAST_ESS)
    )
    return judged._replace(trusted=not poor)


def precision(method: str) -> Any:
    """Return the precision of predictions: the paper's figures are compared digit by digit."""
    return np.float64 if method in PAPER_METHODS else np.float32
