"""How far users differ: the standard deviation of their values, on a grid; in files too."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int
from scipy.special import log_ndtr, log_softmax, softmax

from cordial_ppl.data.scale import Scale
from cordial_ppl.runtime.arrays import CHUNK_ROWS
from cordial_ppl.runtime.storage import Record

KIND = "users"

LEAST = 1e-300
WIDEST = 1e9
"""The standard deviation of users lies between its inverse and it, in classes."""
SPREADS = 0.0125 * 2.0 ** np.arange(0, 8.25, 0.25)
"""The possible standard deviations, in an effect's unit."""
_EDGES = [0.0, *np.sqrt(SPREADS[1:] * SPREADS[:-1]), math.inf]
SPREAD_PROBS = np.diff([math.erf(edge / math.sqrt(2)) for edge in _EDGES])
"""Their prior probabilities: of the interval nearest to each, under a half-normal of one unit."""


class Spreads(NamedTuple):
    """Standard deviations that users' values may have, with their posterior.

    Attributes:
        deviations: the standard deviations.
        logs: log prior of the values under each.
        log_shares: log posterior of each, up to a constant.
        evidence: log likelihood of each fitted user's labels under each.
    """

    deviations: Float[np.ndarray, " S"]
    logs: Float[np.ndarray, "S G"]
    log_shares: Float[np.ndarray, " S"]
    evidence: Float[np.ndarray, "U S"]

    @classmethod
    def learn(
        cls,
        totals: Float[np.ndarray, "U G"],
        grid: Float[np.ndarray, " G"],
        deviations: Float[np.ndarray, " S"],
        prior: Float[np.ndarray, " S"],
    ) -> "Spreads":
        r"""Weigh standard deviations by the labels of all users.

        .. math:: p(\sigma_s \mid z) \propto p(\sigma_s) \prod_u \sum_g p_s(v_g)\, \exp L_u(v_g)

        Args:
            totals: log likelihood L of each user's labels at every value.
            grid: the values.
            deviations: the standard deviations; a single one if it is known.
            prior: their prior probabilities.
        """
        logs = log_normals(grid, deviations)
        evidence = np.concatenate([log_product(some, logs.T) for some in in_chunks(totals)])
        return cls(deviations, logs, evidence.sum(axis=0) + np.log(prior), evidence)

    @property
    def mean(self) -> float:
        """Posterior mean of the standard deviation."""
        return float(softmax(self.log_shares) @ self.deviations)

    def weigh(
        self, totals: Float[np.ndarray, "n G"], users: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n G"]:
        """Compute posterior probabilities of users' values, averaged over the standard deviation.

        Args:
            totals: log likelihood of each user's labels at every value.
            users: each one's number; -1, or a number beyond the fit, for a user without labels in
                it.
        """
        # A fitted user's labels are in `log_shares` already and must not count twice.
        fitted = np.where(users < len(self.evidence), users, -1)
        fitted_users, index = np.unique(fitted, return_inverse=True)
        shares = np.tile(self.log_shares, (len(fitted_users), 1))
        shares[fitted_users >= 0] -= self.evidence[fitted_users[fitted_users >= 0]]
        return softmax(totals + log_product(shares, self.logs)[index], axis=1)


class UsersRecord(Record):
    """A fitted ``UserShift``.

    Attributes:
        scale: the scale.
        sigma: the setting.
        nearest: whether fractions of a class go to the nearest option.
        names: the users with labels.
        totals: log likelihood of each one's labels at every value.
        counts: each one's number of labels.
        spreads: the standard deviations; a file has no ``logs``, which follow from them.
    """

    scale: Scale
    sigma: float | str
    names: list[str]
    totals: Float64[np.ndarray, "_U _G"]
    counts: Int[np.ndarray, " _U"]
    spreads: Spreads
    nearest: bool = False


def in_chunks(rows: np.ndarray) -> list[np.ndarray]:
    """Split rows, some thousands at a time, to bound the memory."""
    return np.array_split(rows, 1 + len(rows) // CHUNK_ROWS)


def log_normals(
    grid: Float[np.ndarray, " G"], deviations: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S G"]:
    """Compute log probabilities of the values under normals around zero, in nats.

    Args:
        grid: the values, evenly spaced and symmetric; mass beyond either end is added to it.
        deviations: the standard deviations.
    """
    step = grid[1] - grid[0]
    logs = -0.5 * np.square(grid[None, :] / deviations[:, None])
    logs += np.log(step / (deviations * math.sqrt(2 * math.pi)))[:, None]
    tails = log_ndtr(-(grid[-1] + step / 2) / deviations)
    logs[:, [0, -1]] = np.logaddexp(logs[:, [0, -1]], tails[:, None])
    return log_softmax(logs, axis=1)


def log_product(
    left: Float[np.ndarray, "U M"], right: Float[np.ndarray, "M N"]
) -> Float[np.ndarray, "U N"]:
    r"""Multiply matrices of logarithms, :math:`\log \sum_m e^{a_{um} + b_{mn}}`, in nats.

    Sums below 1e-300, relative to the largest factors of their row and column, are set to it.
    """
    rows, columns = left.max(axis=1, keepdims=True), right.max(axis=0, keepdims=True)
    return np.log(np.maximum(np.exp(left - rows) @ np.exp(right - columns), LEAST)) + rows + columns
