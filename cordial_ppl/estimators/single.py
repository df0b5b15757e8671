"""Single calibrators and channels as estimators: fits of one member, without folds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.checks import check_names
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.named import FULL_CHANNELS
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.priors import LearnedPrior
from cordial_ppl.inference.target import Prior
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import CalibratorFit
from cordial_ppl.stack.settings import Defaults, Settings, make_settings
from cordial_ppl.stack.weighing import ExpectedLoss

if TYPE_CHECKING:
    from xarray import DataTree


class LogitCalibrator(Estimator[Fit]):
    """A calibrator that acts on the logits; base of those below.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.

    Attributes:
        params_: fitted parameters, a NamedTuple of arrays.
    """

    name: str

    def __init__(self, options: Sequence[str | float] | Scale | None = None):
        self.options = options

    @property
    def settings(self) -> Settings:
        """The settings; see ``Estimator.settings``."""
        return Settings(calibrators=(self.name,), folded=False)

    @property
    def params_(self) -> Any:
        """Fitted parameters, a NamedTuple of arrays."""
        member = self.fit_.members[self.name]
        return member.params if isinstance(member, CalibratorFit) else None


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
        penalty: penalty added to the mean log loss: "fixed", ``100 / (2n) |w|^2``, as in the
            paper's stack; or "cv", ``c / 2 |w|^2`` with the best c of 1e-4, 1e-3, ..., 100 on four
            folds.

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

    If calibrated predictions are no better than the label histogram, the judge adds no information.
    """

    name = "histogram"


class DirichletCalibration(LogitCalibrator):
    """Dirichlet calibration, ``softmax(W log q + b)`` with ``q = softmax(l)``.

    Penalties ``lambda / (K (K - 1))`` on the squared off-diagonal weights and ``mu / K`` on the
    squared intercepts are added to the mean log loss; four folds choose lambda from {1e-4, ..., 10}
    and mu from {1e-3, 0.1, 10}.

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
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn from readings.

        Args:
            logits: option logits of any texts, shape ``[n, K]`` with ``n >= 1``.
            labels: ignored; may be left out.
            covariates: ignored.
            sample_weight: what each reading counts; by default one, which the rows of a text share.
            texts: which text each row is of, where a text has several rows.

        Returns:
            The estimator itself.

        Raises:
            InputError: the readings are invalid; the message says where and why.
        """
        readings, _ = self._read(logits)
        # Any labels will do.
        labels = np.full(len(readings), Scale.of(self.options, readings.shape[-1]).options[0])
        return super().fit(logits, labels, sample_weight=sample_weight, texts=texts)

    def _fit(self, texts: Labelled, scale: Scale, settings: Settings, names: Any) -> Fit:
        fit, nan = super()._fit(texts, scale, settings, names), float("nan")
        expected = ExpectedLoss(nan, nan, nan, 0)
        return replace(fit, entered=fit.entered.take(slice(0)), expected=expected)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class RawReading(LabelFree):
    """The raw reading, ``softmax(l)``: the baseline for every calibrator."""

    name = "raw"


class BatchCalibration(LabelFree):
    """Batch calibration, ``q(z) / mean q(z)`` normalised, with ``q = softmax(l)``.

    The mean is taken over the texts passed to ``fit``.

    Source: Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning
    and prompt engineering".
    """

    name = "batch"


class ChannelCalibrator(Estimator[Fit]):
    """One channel as an estimator.

    Args:
        channel: name of a channel, path of a channel file (whose code is run), or ``Channel``;
            "full" and "full-vector" are the full K x K channels, which have no posterior.
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace", "mode" or "nuts".
        prior: replaces the channel's own prior: location and scale of all unconstrained parameters
            (``Prior``) or of some parameters by name (see ``NamedPrior``), a prior learned from
            other tasks, or the path of its file.
        seed: seed for the random numbers.
        effort: how much work the default inference does.

    Attributes:
        posterior_: the posterior of the channel's parameters.
    """

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

    @property
    def settings(self) -> Settings:
        """The settings, validated and complete; see ``Estimator.settings``."""
        full = tuple(name for name in FULL_CHANNELS if name == self.channel)
        if full and not (self.inference == "default" and self.prior is None):
            raise InputError(f"channel {self.channel!r} does not accept `inference` or `prior`.")
        return make_settings(
            Defaults(calibrators=full),
            channels=() if full else (self.channel,),
            folded=False,
            **{name: getattr(self, name) for name in ("inference", "prior", "seed", "effort")},
        )

    @property
    def posterior_(self) -> Posterior:
        """The posterior of the channel's parameters."""
        for posterior in self.fit_.posteriors.values():
            return posterior
        raise AttributeError(f"channel {self.channel!r} has no posterior.")

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """Export the posterior to ArviZ, with the arguments of ``Stack.to_datatree``."""
        for tree in answers.export(self.fit_, logits, labels, covariates).values():
            return tree
        raise InputError(f"channel {self.channel!r} has no posterior.")
