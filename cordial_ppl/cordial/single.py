"""Single calibrators as estimators, with the interface of the stack."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.channel import Channel
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.members import (
    CalibratorFit,
    fit_calibrators,
    fit_channel_member,
    warn_if_doubtful,
)
from cordial_ppl.cordial.settings import check_method, check_seed
from cordial_ppl.errors import InputError
from cordial_ppl.inference.fit import make_lanes
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Prior
from cordial_ppl.inference.tempering import DEFAULT_EFFORT, Effort
from cordial_ppl.loading import load_channel
from cordial_ppl.scale import Scale


class LogitCalibrator(Estimator):
    """A calibrator that acts on the logits; base of the three below.

    Attributes:
        fit_: the fitted parameters.
    """

    name: str
    fit_: CalibratorFit

    @property
    def params_(self) -> Any:
        """Fitted parameters, a NamedTuple of arrays."""
        return self.fit_.params

    def _fit(
        self, logits: np.ndarray, labels: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> None:
        self.fit_ = fit_calibrators((self.name,), make_lanes(logits, labels))[self.name][0]

    def _predict(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        return self.fit_.predict_centred(logits)


class TemperatureScaling(LogitCalibrator):
    """Temperature scaling, ``softmax(l / tau)`` with tau by maximum likelihood in [0.05, 200].

    Source: Guo, Pleiss, Sun and Weinberger (2017).
    """

    name = "temperature"


class VectorScaling(LogitCalibrator):
    """Vector scaling, ``softmax(w * l + b)`` with a slight ridge towards the identity.

    Source: Guo, Pleiss, Sun and Weinberger (2017).
    """

    name = "vector"


class ProportionalOdds(LogitCalibrator):
    """Ordinal regression on the logits, ``P(z <= t) = sigmoid(theta_t - w . l)``.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        penalty: "fixed", an L2 penalty of ``100 / n`` on the weights.

    Source: McCullagh (1980).
    """

    name = "odds"

    def __init__(self, options: Sequence[str] | Scale | None = None, *, penalty: str = "fixed"):
        """Check the penalty."""
        super().__init__(options)
        if penalty != "fixed":
            raise InputError(f"penalty must be 'fixed'; got {penalty!r}.")
        self.penalty = penalty


class ChannelCalibrator(Estimator):
    """One channel as an estimator.

    Args:
        channel: name of a channel, path of a channel file (whose code is run), or ``Channel``.
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace", "mode" or "nuts".
        prior: location and scale of the unconstrained parameters, instead of the channel's own.
        seed: seed of the random numbers.
        effort: how much work the default inference does.

    Attributes:
        posterior_: the posterior of the channel's parameters.
    """

    posterior_: Posterior

    def __init__(
        self,
        channel: str | Path | Channel,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        prior: Prior | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Find the channel."""
        super().__init__(options)
        self.channel = load_channel(channel)
        self.inference = check_method(inference)
        self.prior = prior
        self.seed = check_seed(seed)
        self.effort = effort

    def _fit(
        self, logits: np.ndarray, labels: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> None:
        lanes = make_lanes(logits, labels, covariates=covariates)
        self.posterior_, _ = fit_channel_member(
            self.channel, lanes, (self.seed, 0), self.inference, self.prior, self.effort
        )
        warn_if_doubtful(self.posterior_)

    def _predict(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        return self.posterior_.predict_centred(logits, covariates)
