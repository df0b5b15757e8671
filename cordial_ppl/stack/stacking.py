"""Stacking: the weights of an ensemble's members, from out-of-fold predictions.

The stack predicts the mixture `sum_m w_m p_m(z)`, with the weights under which the labels are
likeliest if every label is predicted by members that were not fitted to it.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.data.labelling import rank_texts, sum_at
from cordial_ppl.runtime.arrays import EPS, FLOOR

MIN_LABELS = 8
"""With fewer labels fitted weights would be noise: the prior's are used."""

LEAST_ERROR = 0.01
"""Nats that are no difference between members, however sure."""

MAX_ROUNDS = 2000
"""Few are needed, unless members lack texts, where Newton's step is a rougher guess."""

LEAST = EPS**2


def assign_folds(n: int, folds: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    """Assign n texts to folds 0..folds-1 at random; sizes differ by at most one."""
    return rng.permutation(np.arange(n, dtype=np.int64) % folds)


def prior_weights(prior_counts: Float[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    """Compute weights without a label, `a_m / sum_m a_m`; equal ones if all counts are 0."""
    counts = np.asarray(prior_counts, np.float64)
    counts = counts if counts.sum() > 0 else np.ones_like(counts)
    return counts / counts.sum()


def earned_counts(
    log_probs: Float[np.ndarray, "n M"],
    counts: Float[np.ndarray, " M"],
    kept: Float[np.ndarray, " M"],
    weights: Float[np.ndarray, " n"] | None = None,
    texts: Int[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, " M"]:
    r"""Lower pseudo-counts of members that the labels speak against.

    .. math:: k_m + (a_m - k_m) \exp(-\max(z_m, 0)^2 / 2), \qquad
        z_m = \bar d_m / (\mathrm{se}(d_m) + 0.01)

    Here d is by how much the loss of a member, out of fold, exceeds that of all members mixed by
    the parts k of their pseudo-counts that need no proof. A member that predicts as well keeps its
    pseudo-count, one that is three standard errors worse has a hundredth of the rest of it
    (``benchmarks/unproven.py``, ``benchmarks/odd_scales.py``).

    Args:
        log_probs: log probability of the observed label by each member, out of fold, nats; with
            fewer than eight texts the counts are returned as they are.
        counts: `a`, pseudo-counts, nonnegative.
        kept: `k`, at most `a`; if all are zero the counts are returned as they are.
        weights: what each label counts, of which the scale does not matter; one by default.
        texts: which text each label is of; by default each of another.

    Returns:
        Pseudo-counts, none larger than before.
    """
    ranks = np.arange(len(log_probs)) if texts is None else rank_texts(texts)
    if np.all(kept == counts) or not kept.sum() or ranks.max(initial=-1) + 1 < MIN_LABELS:
        return counts
    logs = np.maximum(log_probs, math.log(FLOOR))
    share = np.ones(len(logs)) if weights is None else weights
    share = share / share.sum()
    excess = np.log(np.exp(logs) @ (kept / kept.sum()))[:, None] - logs
    mean = share @ excess
    # What is said of one text goes together.
    apart = sum_at(ranks, share[:, None] * (excess - mean), (ranks.max() + 1, len(counts)))
    score = np.maximum(mean / (np.sqrt(np.sum(apart**2, axis=0)) + LEAST_ERROR), 0.0)
    return kept + (counts - kept) * np.exp(-0.5 * score**2)


def stack_weights(
    log_probs: Float[np.ndarray, "n M"],
    prior_counts: Float[np.ndarray, " M"],
    present: Bool[np.ndarray, "n M"] | None = None,
    weights: Float[np.ndarray, " n"] | None = None,
    texts: Int[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, " M"]:
    """Find the weights with the highest posterior under a `Dirichlet(1 + prior_counts)` prior.

    Maximises `sum_i v_i log sum_m w_m p_m(z_i) + sum_m a_m log w_m` over the simplex, which is
    concave.  An EM step is `w_m = (sum_i v_i r_im + a_m) / (sum_i v_i + sum_m a_m)`, with `r_im`
    the share of member `m` in the mixture's probability of label `i`, which counts `v_i`.  Each is
    followed by a Newton step, kept if it raises the posterior further, so that similar members take
    a dozen steps where EM alone would take thousands.  The search ends when no weights can be
    likelier by more than rounding.

    A member that does not predict a text is left out of its mixture, `sum_m w_m p_m / s_i`, where
    `s_i` is the sum of the other weights.  The step is then, up to a factor,
    `w_m = (sum_i v_i r_im + a_m) / (sum_i v_i [m present] / s_i + sum_m a_m)`, which never lowers
    the posterior either: it replaces the convex `-log s_i` by its tangent.

    Args:
        log_probs: log probability of the observed label by each member, out of fold, nats.
        prior_counts: `a`, nonnegative: 0 for maximum likelihood, 1 for one label's worth a member.
        present: which members predict which texts; by default all of them all.
        weights: `v`, what each label counts; one by default.
        texts: which text each label is of; by default each of another.

    Returns:
        Weights `[M]`, nonnegative, summing to one; those of the prior with fewer than eight texts.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm"; Hunter and Lange (2004), "A tutorial on MM algorithms".
    """
    logs, prior = np.maximum(log_probs, math.log(FLOOR)), np.asarray(prior_counts, np.float64)
    predicted = np.ones_like(logs) if present is None else np.asarray(present, np.float64)
    covered = predicted.any(axis=1)
    logs, predicted = np.where(predicted, logs, -np.inf)[covered], predicted[covered]
    texts_weighed = len(logs) if texts is None else len(np.unique(texts[covered]))
    if texts_weighed < MIN_LABELS:
        return prior_weights(prior)
    counts = np.ones(len(logs)) if weights is None else np.asarray(weights)[covered]
    # Scaling a row moves no weight; by its best member, every mixture stays away from zero.
    return _maximise(np.exp(logs - logs.max(axis=1, keepdims=True)), predicted, counts, prior)


def _maximise(
    probs: Float[np.ndarray, "n M"],
    present: Float[np.ndarray, "n M"],
    counts: Float[np.ndarray, " n"],
    prior: Float[np.ndarray, " M"],
) -> Float[np.ndarray, " M"]:
    """Maximise the posterior of the weights; see `stack_weights`."""
    total = counts.sum() + prior.sum()

    def objective(weights: np.ndarray) -> float:
        mixed = counts * (np.log(probs @ weights) - np.log(present @ weights))
        return float(mixed.sum() + prior[prior > 0] @ np.log(weights[prior > 0]))

    def pull(weights: np.ndarray) -> np.ndarray:
        """Compute what the slopes equal at the maximum: the slope of the weights' sums."""
        return np.maximum((counts / (present @ weights)) @ present + prior.sum(), LEAST)

    def slopes(weights: np.ndarray) -> np.ndarray:
        """Compute the slope of the log posterior in each weight."""
        return (counts / (probs @ weights)) @ probs + prior / np.maximum(weights, LEAST)

    def update(weights: np.ndarray) -> np.ndarray:
        moved = (weights * ((counts / (probs @ weights)) @ probs) + prior) / pull(weights)
        return moved / moved.sum()

    def leap(weights: np.ndarray) -> np.ndarray:
        """Take Newton's step with weights of any sum; each may fall to 1 % of its value."""
        excess = slopes(weights) - pull(weights)
        shares = np.sqrt(counts)[:, None] * (probs / (probs @ weights)[:, None])
        # The floor tells similar members apart.
        above = np.maximum(weights, LEAST)
        slack = np.maximum(-excess, 0.0) + prior / above + total * EPS**0.5
        moved = weights + np.linalg.solve(shares.T @ shares + np.diag(slack / above), excess)
        moved = np.maximum(moved, np.maximum(0.01 * weights, LEAST))
        return moved / moved.sum()

    estimate = np.full(len(prior), 1 / len(prior))
    for _ in range(MAX_ROUNDS):
        plain = update(estimate)
        bold = leap(plain)
        estimate = bold if objective(bold) >= objective(plain) else plain
        if np.max(slopes(estimate) / pull(estimate)) - 1 <= EPS**0.75:
            break
    return estimate / estimate.sum()
