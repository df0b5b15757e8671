r"""Which labels tend to be common: pseudo-counts of the label histogram, learned from other tasks.

.. math:: \pi_k = (c_k + \alpha_k) / (n + \sum_j \alpha_j), \qquad
   c \sim \mathrm{DirichletMultinomial}(\alpha)

In place of one pseudo-count an option, alpha is the likeliest of the other tasks' label counts.
"""

import numpy as np
from jaxtyping import Float, Int

MOST = 50.0
"""Pseudo-counts at most in all: few tasks cannot show that the next is like them."""


def pseudo_counts(counts: Int[np.ndarray, "T K"]) -> Float[np.ndarray, " K"]:
    """Fit a Dirichlet-multinomial distribution, with a log-normal prior about one pseudo-count.

    Args:
        counts: label counts of T tasks.

    Returns:
        alpha, shape ``[K]``.
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    size = counts.shape[1]

    def loss(logs: np.ndarray) -> float:
        alpha = np.exp(logs)
        total = alpha.sum()
        terms = gammaln(counts + alpha).sum(axis=1) - gammaln(counts.sum(axis=1) + total)
        own = gammaln(total) - gammaln(alpha).sum()
        # Two tasks alike are no certainty.
        return float(-(terms + own).sum() + 0.5 * (logs**2).sum() / 1.5**2)

    found = minimize(loss, np.zeros(size), method="L-BFGS-B", bounds=[(-4.0, 4.0)] * size)
    alpha = np.exp(found.x)
    return alpha * min(1.0, MOST / alpha.sum())
