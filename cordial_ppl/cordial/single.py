"""Single calibrators as estimators, with the interface of the stack."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.comparisons import FULL_CHANNELS
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.members import CalibratorFit, CalibratorMember, Member
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.loading import load_channel
from cordial_ppl.priors import LearnedPrior
from cordial_ppl.scale import Scale

if TYPE_CHECKING:
    from xarray import DataTree


class LogitCalibrator(Estimator):
    """A calibrator that acts on the logits; base of those below.

    Attributes:
        fit_: the fitted parameters.
    """

    name: str
    fit_: CalibratorFit

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The calibrator."""
        return (CalibratorMember(self.name),)

    @property
    def params_(self) -> Any:
        """Fitted parameters, a NamedTuple of arrays."""
        return self.fit_.params

    def _fit(self, texts: Labelled) -> None:
        calibrator = CALIBRATORS[self.name]
        self.fit_ = CalibratorFit(calibrator, calibrator.fit(texts.logits, texts.labels))

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
        penalty: on ``|w|^2 / 2`` beside the mean log loss: "fixed", ``100 / n``, as in the paper's
            stack; or "cv", the best of 1e-4, 1e-3, ..., 100 on four folds.

    Raises:
        InputError: ``penalty`` is neither.

    Source: McCullagh (1980).
    """

    def __init__(self, options: Sequence[str] | Scale | None = None, *, penalty: str = "fixed"):
        super().__init__(options)
        names = {"fixed": "odds", "cv": "odds-cv"}
        if not isinstance(penalty, str) or penalty not in names:
            raise InputError(f"penalty must be 'fixed' or 'cv'; got {penalty!r}.")
        self.penalty = penalty
        self.name = names[penalty]


class LabelHistogram(LogitCalibrator):
    """The label histogram, ``(count_k + 1) / (n + K)`` for every text: no reader at all.

    What a calibrated reader does not beat, it adds nothing to.
    """

    name = "histogram"


class DirichletCalibration(LogitCalibrator):
    """Dirichlet calibration, ``softmax(W log q + b)`` with ``q = softmax(l)``.

    Penalties ``lambda / (K (K - 1))`` on the squared off-diagonal weights and ``mu / K`` on the
    squared intercepts, beside the mean log loss, are the best on four folds of lambda in
    {1e-4, ..., 10} and mu in {1e-3, 0.1, 10}.

    Source: Kull et al. (2019), "Beyond temperature scaling" (ODIR).
    """

    name = "dirichlet"


class LabelFree(LogitCalibrator):
    """A calibrator that learns from readings alone; base of the two below."""

    def fit[T: "LabelFree"](
        self: T, logits: Any, labels: Any = None, covariates: Mapping[str, Any] | None = None
    ) -> T:
        """Learn from readings.

        Args:
            logits: option logits of any texts, shape ``[n, K]`` with ``n >= 1``.
            labels: not looked at; may be left out.
            covariates: not looked at.

        Returns:
            The estimator itself.

        Raises:
            InputError: the readings cannot be used; the message says where and why.
        """
        del labels, covariates
        readings = self._read(logits)
        scale = Scale.of(self.options, readings.shape[1])
        texts = Labelled(readings, np.zeros(len(readings), np.int64), {})
        return self.fit_labelled(texts, scale)

    def parts(self, labels: int) -> tuple[Member, ...]:
        """None that labels are needed for."""
        return ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class RawReading(LabelFree):
    """The reading as it is, ``softmax(l)``: what every calibrator is to improve on."""

    name = "raw"


class BatchCalibration(LabelFree):
    """Batch calibration, ``q(z) / mean q(z)`` normalised, with ``q = softmax(l)``.

    The mean is over the texts of ``fit``.

    Source: Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning
    and prompt engineering".
    """

    name = "batch"


class ChannelCalibrator(Stack):
    """One channel as an estimator: a stack of one, without folds.

    Args:
        channel: name of a channel, path of a channel file (whose code is run), or ``Channel``;
            "full" and "full-vector" are the full K x K channels, which have no posterior.
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace", "mode" or "nuts".
        prior: what replaces the channel's own: location and scale of all unconstrained
            parameters (``Prior``) or of some by name (see ``NamedPrior``), a prior learned from
            other tasks, or the path of its file.
        seed: seed of the random numbers.
        effort: how much work the default inference does.

    Raises:
        ChannelError: there is no such channel.
        InputError: a setting is none of those; the message says what it may be.

    Attributes:
        posterior_: the posterior of the channel's parameters.
    """

    folded = False

    def __init__(
        self,
        channel: str | Path | Channel,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        prior: Prior | Mapping[str, Any] | LearnedPrior | str | Path | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        full = isinstance(channel, str) and channel in FULL_CHANNELS
        if full and (inference != "default" or prior is not None):
            raise InputError(f"the channel {channel!r} takes neither inference nor prior.")
        self.channel: Any = channel if full else load_channel(channel)
        super().__init__(
            options,
            channels=() if full else (self.channel,),
            calibrators=(self.channel,) if full else (),
            inference=inference,
            prior={self.channel.name: prior} if isinstance(prior, Prior) else prior,
            seed=seed,
            effort=effort,
        )

    @property
    def posterior_(self) -> Posterior:
        """The posterior of the channel's parameters."""
        return self.posteriors_[self.channel.name]

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """The posterior for ArviZ: a ``DataTree``, as ``Stack.to_datatree`` has for each channel.

        Args:
            logits: other labelled texts than those of the fit, ``[m, K]``.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: logits came without labels, or cannot be used, or the channel has no
                posterior.
        """
        for tree in super().to_datatree(logits, labels, covariates).children.values():
            return tree.copy()
        raise InputError(f"the channel {self.channel!r} has no posterior.")
