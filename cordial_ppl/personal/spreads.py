r"""How far users differ: standard deviations of their values, and how probable each one is."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.personal.evidence import highest, normalised
from cordial_ppl.personal.labelled import Labelled

LEAST = 1e-300
SPREADS = 0.0125 * 2.0 ** np.arange(0, 8.25, 0.25)
"""Standard deviations of users' values that are told apart, in an effect's unit."""
_EDGES = [0.0, *np.sqrt(SPREADS[1:] * SPREADS[:-1]), math.inf]
SPREAD_PROBS = np.diff([math.erf(edge / math.sqrt(2)) for edge in _EDGES])
"""Prior probability of each: of what lies nearest to it under a half-normal of one unit."""
USERS_AT_A_TIME = 4096


class Spreads(NamedTuple):
    """Standard deviations that users' values may have, and how probable each is.

    Attributes:
        deviations: the standard deviations.
        logs: log prior of the values under each.
        log_shares: log posterior of each, up to a constant.
        evidence: what each fitted user's labels contributed to that.
    """

    deviations: Float[np.ndarray, " S"]
    logs: Float[np.ndarray, "S G"]
    log_shares: Float[np.ndarray, " S"]
    evidence: Float[np.ndarray, "U S"]

    @classmethod
    def single(cls, deviation: float, grid: np.ndarray, average: bool) -> "Spreads":
        """One standard deviation that is known."""
        only = np.array([deviation])
        return cls(only, log_priors(grid, only, average), np.zeros(1), np.zeros((0, 1)))

    @property
    def mean(self) -> float:
        """Posterior mean of the standard deviation."""
        return float(normalised(self.log_shares[None])[0] @ self.deviations)

    def weigh(
        self,
        totals: Float[np.ndarray, "n G"],
        rows: Int[np.ndarray, " n"],
        grid: Float[np.ndarray, " G"],
        average: bool,
    ) -> Float[np.ndarray, "n G"]:
        """Weights of the values of users.

        Args:
            totals: log likelihood of each one's labels at every value.
            rows: each one's number, or -1 for a user without labels in the fit.
            grid: the values.
            average: posterior probabilities, or all weight on the mode.
        """
        # A user's labels must not count again where they have told of the spread already.
        fitted = np.where(rows < len(self.evidence), rows, -1)
        who, place = np.unique(fitted, return_inverse=True)
        shares = np.tile(self.log_shares, (len(who), 1))
        shares[who >= 0] -= self.evidence[who[who >= 0]]
        posterior = totals + log_mixtures(shares, self.logs)[place]
        return normalised(posterior) if average else highest(posterior, grid)


def learn_spreads(
    labelled: Labelled, totals: Float[np.ndarray, "U G"], *, sigma: Any, average: bool
) -> Spreads:
    """Weigh the standard deviations by the labels, or choose the one that predicts them best.

    Args:
        labelled: the labelled texts.
        totals: log likelihood of each user's labels at every value.
        sigma: "posterior"; "cross-validated", the one under which each label is predicted best
            from its user's earlier ones (as "posterior" where no label has any); or a number.
        average: predictions average over a user's values, or plug in the mode.
    """
    size = len(labelled.histogram)
    grid, deviations = labelled.effect.grid(size), labelled.effect.unit(size) * SPREADS
    if not isinstance(sigma, str):
        return Spreads.single(float(sigma), grid, average)
    logs = log_priors(grid, deviations, average)
    if sigma == "cross-validated" and labelled.history.earlier.any():
        best = int(np.argmax(sequential(labelled, grid, logs, average)))
        return Spreads.single(float(deviations[best]), grid, average)
    normals = log_normals(grid, deviations)
    starts = range(0, len(totals), USERS_AT_A_TIME)
    parts = [log_evidence(totals[start : start + USERS_AT_A_TIME], normals) for start in starts]
    evidence = np.concatenate(parts)
    return Spreads(deviations, logs, evidence.sum(axis=0) + np.log(SPREAD_PROBS), evidence)


def sequential(
    labelled: Labelled,
    grid: Float[np.ndarray, " G"],
    logs: Float[np.ndarray, "S G"],
    average: bool,
) -> Float[np.ndarray, " S"]:
    """Log probability of all labels, each predicted from the earlier ones, a prior each.

    Args:
        labelled: the labelled texts.
        grid: the values.
        logs: log prior of the values, one row a standard deviation.
        average: predictions average over a user's values, or plug in the mode.
    """
    total = np.zeros(len(logs))
    for block, new in labelled.blocks():
        # The first label of a user is predicted by the population, whatever the spread.
        later = labelled.history.earlier[block] > 0
        before, own = labelled.history.sums_before(new, block)[later], new[later]
        if average:
            total += np.sum(log_evidence(before + own, logs) - log_evidence(before, logs), axis=0)
            continue
        for number, prior in enumerate(logs):
            total[number] += np.sum(highest(before + prior[None], grid) * own)
    return total


def log_priors(
    grid: Float[np.ndarray, " G"], spreads: Float[np.ndarray, " S"], average: bool
) -> Float[np.ndarray, "S G"]:
    """Log prior of the values: a mode is that of a density, averages need the mass beyond too."""
    return log_normals(grid, spreads) if average else log_densities(grid, spreads)


def log_densities(
    grid: Float[np.ndarray, " G"], spreads: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S G"]:
    """Log densities of the values under normals around zero, in nats."""
    logs = -0.5 * np.square(grid[None, :] / spreads[:, None])
    return logs - np.log(spreads * math.sqrt(2 * math.pi))[:, None]


def log_normals(
    grid: Float[np.ndarray, " G"], spreads: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S G"]:
    """Log probabilities of the values under normals around zero, in nats.

    What lies beyond the grid counts for its end; a grid that begins at zero is of absolute values.
    """
    step = grid[1] - grid[0]
    logs = log_densities(grid, spreads) + np.log(step)
    for place in (0, -1):
        if grid[place] != 0:
            ends = (abs(grid[place]) + 0.5 * step) / (spreads * math.sqrt(2))
            tails = [0.5 * math.erfc(end) for end in ends]
            beyond = [math.log(tail) if tail else -math.inf for tail in tails]
            logs[:, place] = np.logaddexp(logs[:, place], beyond)
    logs[:, grid == 0] += math.log(0.5) if grid[0] == 0 else 0.0
    return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)


def log_mixtures(
    log_shares: Float[np.ndarray, "U S"], logs: Float[np.ndarray, "S G"]
) -> Float[np.ndarray, "U G"]:
    r"""Log of mixtures of priors, :math:`\log \sum_s e^{a_s} p_s(v)`, in nats.

    Products of matrices do it, in units of the largest prior of each value; a share below 1e-300
    counts as that much.
    """
    largest = logs.max(axis=0, keepdims=True)
    shares = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
    return np.log(np.maximum(shares, LEAST) @ np.exp(logs - largest)) + largest


def log_evidence(
    totals: Float[np.ndarray, "U G"], logs: Float[np.ndarray, "S G"]
) -> Float[np.ndarray, "U S"]:
    r"""Log probability of each user's labels if values have this prior, in nats.

    .. math:: \log \sum_g p_s(v_g)\, \exp L_u(v_g)

    A spread under which a user's labels are less probable than 1e-300 times those of the best is
    taken to be as probable as that.

    Args:
        totals: log likelihood L of each user's labels at every value.
        logs: log prior of the values, one row a spread.
    """
    widest = logs.max(axis=0, keepdims=True)
    weights = totals + widest
    largest = weights.max(axis=1, keepdims=True)
    found = np.exp(weights - largest) @ np.exp(logs - widest).T
    return largest + np.log(np.maximum(found, LEAST))
