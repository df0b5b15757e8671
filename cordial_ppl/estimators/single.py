"""Single calibrators and channels as estimators: stacks of one member, without folds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.drift import sketch
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.named import FULL_CHANNELS
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.priors import LearnedPrior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.stack.members import CalibratorFit, CalibratorMember, Member
from cordial_ppl.stack.settings import check_names

if TYPE_CHECKING:
    from xarray import DataTree


class LogitCalibrator(Stack):
    """A calibrator that acts on the logits; base of those below.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.

    Attributes:
        params_: fitted parameters, a NamedTuple of arrays.
    """

    name: str
    folded = False

    def __init__(self, options: Sequence[str | float] | Scale | None = None):
        self.options = options

    @property
    def calibrators(self) -> tuple[str, ...]:
        """The one calibrator."""
        return (self.name,)

    @property
    def params_(self) -> Any:
        """Fitted parameters, a NamedTuple of arrays."""
        fit = self.fits_[self.name]
        return fit.params if isinstance(fit, CalibratorFit) else None


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

    Source: McCullagh (1980).
    """

    def __init__(
        self, options: Sequence[str | float] | Scale | None = None, *, penalty: str = "fixed"
    ):
        self.options, self.penalty = options, penalty

    @property
    def name(self) -> str:
        """The calibrator with this penalty."""
        names = {"fixed": "odds", "cv": "odds-cv"}
        check_names("penalty", [self.penalty], names)
        return names[self.penalty]


class LabelHistogram(LogitCalibrator):
    """The label histogram, ``(count_k + 1) / (n + K)`` for every text, whatever its reading.

    A calibrated reader that is no better carries no information.
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
        self: T,
        logits: Any,
        labels: Any = None,
        covariates: Mapping[str, Any] | None = None,
        corpus: Any = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn from readings.

        Args:
            logits: option logits of any texts, shape ``[n, K]`` with ``n >= 1``.
            labels: ignored; may be left out.
            covariates: ignored.
            corpus: all texts that it is for, as of any stack.
            sample_weight: what each reading counts; by default one, which the rows of a text share.
            texts: which text each row is of, where a text has several rows.

        Returns:
            The estimator itself.

        Raises:
            InputError: the readings are invalid; the message says where and why.
        """
        readings = self._read(logits)
        # Any labels will do.
        labels = np.full(len(readings), Scale.of(self.options, readings.shape[-1]).options[0])
        return super().fit(logits, labels, corpus=corpus, sample_weight=sample_weight, texts=texts)

    def parts(self, labels: int) -> tuple[Member, ...]:
        """None: nothing is fitted to labels."""
        return ()

    def _fit(self, texts: Labelled) -> None:
        (fit,) = CalibratorMember(self.name).fit([Case(texts)])
        self.fits_, self.weights_, self.losses_ = {self.name: fit.fitted}, {self.name: 1.0}, {}
        self.sketch_, self.texts_ = sketch(texts.logits[texts.first]), texts.texts
        self.labels_, self.sample_weight_ = np.zeros(0, np.int64), np.zeros(0)
        self.label_counts_ = np.zeros(0)

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
    """One channel as an estimator.

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

    Attributes:
        posterior_: the posterior of the channel's parameters.
    """

    folded = False

    def __init__(
        self,
        channel: str | Path | Channel,
        options: Sequence[str | float] | Scale | None = None,
        *,
        inference: str = "default",
        prior: Prior | Mapping[str, Any] | LearnedPrior | str | Path | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        self.channel, self.options, self.inference = channel, options, inference
        self.prior, self.seed, self.effort = prior, seed, effort
        full = isinstance(channel, str) and channel in FULL_CHANNELS
        self.channels, self.calibrators = ((), (str(channel),)) if full else ((channel,), ())

    @property
    def settings(self) -> Stack:
        """The same calibrator with settings that are validated and complete."""
        is_default = self.inference == "default" and self.prior is None
        if self.calibrators and not is_default and "_valid" not in vars(self):
            raise InputError(f"the channel {self.channel!r} takes neither inference nor prior.")
        return super().settings

    @property
    def posterior_(self) -> Posterior:
        """The posterior of the channel's parameters."""
        for posterior in self.posteriors_.values():
            return posterior
        raise AttributeError(f"the channel {self.channel!r} has no posterior.")

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """The posterior for ArviZ; arguments and errors are those of ``Stack.to_datatree``."""
        tree = super().to_datatree(logits, labels, covariates)
        for name in self.posteriors_:
            return tree[name].copy()  # pyright: ignore[reportReturnType]
        raise InputError(f"the channel {self.channel!r} has no posterior.")
