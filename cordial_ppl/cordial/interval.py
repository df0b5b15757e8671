"""Mixtures of fitted members, and intervals of a text's expected position on the scale."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.frames import like
from cordial_ppl.cordial.settings import check_level
from cordial_ppl.errors import InputError
from cordial_ppl.inference.posterior import Posterior

BLOCK = 512
"""Texts whose draws are sorted at a time."""

ROUNDING = 1e-9
"""Share of the weight that a quantile may fall short of its own: what sums in 64 bits may lose."""


class MixtureEstimator(Estimator):
    """A weighted mixture of fitted members: base of the stack and of the fusion."""

    @abstractmethod
    def _mixture(
        self, logits: Float[np.ndarray, "m *readers K"]
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "m M"]]:
        """Fitted members, each with the readings that it sees, and their weights in each text."""

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None, *, mean: Any = None
    ) -> tuple[Any, Any]:
        """Credible interval of each text's expected position on the scale.

        The uncertainty is that of the few labels: parameters of the channels vary over their
        posteriors, members over their weights.  It is not the spread of single labels.  A channel
        contributes the draws that it predicts with, a calibrator its one answer.  Where the
        quantiles miss ``predict_mean``, as they can with ``inference="mode"``, whose members have
        one answer each, the interval is widened to it.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.
            mean: what ``predict_mean`` says of the same texts, where that is already known.

        Returns:
            Lower and upper ends, each of shape ``[m]``, in the units of ``predict_mean``; of a data
            frame, series "low" and "high".

        Raises:
            InputError: ``level`` is not between 0 and 1, the readings cannot be used, or ``mean``
                is of another length.
            NotFittedError: there was no fit yet.
        """
        level = check_level(level)
        readings, extra = self._enter(logits, covariates)
        values = self.scale_.values
        if mean is None:
            mean = self._predict(readings, extra) @ values
        elif np.shape(mean) != (len(readings),):
            raise InputError(
                f"mean must have one number for each of {len(readings)} texts; got shape "
                f"{np.shape(mean)}."
            )
        members, shares = self._mixture(readings)
        used = [member for member, own in zip(members, shares.T, strict=True) if own.any()]
        shares = shares[:, shares.any(axis=0)]
        weights = [fit.kept[1] if isinstance(fit, Posterior) else np.ones(1) for fit, _ in used]
        low, high = np.array(mean, np.float64), np.array(mean, np.float64)
        for start in range(0, len(readings), BLOCK):
            rows = slice(start, start + BLOCK)
            own = {name: column[rows] for name, column in extra.items()}
            means = [
                fit.expected(seen[rows], own, values)
                if isinstance(fit, Posterior)
                else (fit.predict_centred(seen[rows], own) @ values)[None]
                for fit, seen in used
            ]
            ends = quantiles(means, weights, shares[rows], level)
            low[rows] = np.minimum(low[rows], ends[0])
            high[rows] = np.maximum(high[rows], ends[1])
        return like(logits, low, "low"), like(logits, high, "high")


def quantiles(
    means: Sequence[Float[np.ndarray, "_ m"]],
    weights: Sequence[Float[np.ndarray, " _"]],
    shares: Float[np.ndarray, "*m M"],
    level: float,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    r"""Two quantiles of each text, over all draws of all members.

    .. math:: \inf \{ x : \sum_j \omega_j \sum_d w_{jd}\, [\mu_{jd} \le x] \ge \alpha \},
       \qquad \alpha = (1 \mp \mathrm{level}) / 2

    Args:
        means: what each draw of a member says of each text, ``[D_j, m]`` for member j; a
            calibrator, which has one answer, has one draw.
        weights: of the draws of each member, ``[D_j]``.
        shares: weight of each member, or of each member in each text's mixture.
        level: probability between the two.

    Returns:
        Lower and upper quantiles.
    """
    own = np.concatenate(weights)
    member = np.repeat(np.arange(len(weights)), [len(each) for each in weights])
    tails = (1 - level) / 2, (1 + level) / 2
    values = np.concatenate(means, dtype=np.float32).T.copy()
    order = np.argsort(values, axis=1)
    mass = own * shares[..., member]
    mass = mass[order] if mass.ndim == 1 else np.take_along_axis(mass, order, axis=1)
    below = mass.cumsum(axis=1)
    found = []
    for tail in tails:
        enough = below >= (tail - ROUNDING) * below[:, -1:]
        draw = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        found.append(np.take_along_axis(values, draw, axis=1)[:, 0])
    return found[0], found[1]
