"""Stacks of calibrators: the paper's seven members, and the logit stack without channels.

Every member is fitted to all labels and to four folds of them; the weights are those under which
the out-of-fold predictions make the labels likeliest, shrunk by a Dirichlet prior.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import pad_rows
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled, workers
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.interval import mean_interval
from cordial_ppl.cordial.members import (
    Fitted,
    fit_calibrators,
    fit_channel_member,
    warn_if_doubtful,
)
from cordial_ppl.cordial.settings import (
    check_counts,
    check_level,
    check_method,
    check_names,
    check_seed,
)
from cordial_ppl.errors import InputError
from cordial_ppl.inference.export import to_datatree
from cordial_ppl.inference.fit import Lanes, make_lanes
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Prior
from cordial_ppl.inference.tempering import DEFAULT_EFFORT, Effort
from cordial_ppl.loading import load_channel
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds, stack_weights
from cordial_ppl.summary import describe

if TYPE_CHECKING:
    from xarray import DataTree

PAPER_CHANNELS: tuple[str, ...] = ("mixture", "mixture-vector", "location", "location-vector")
PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's seven members; what else is registered is a member of nothing by itself."""

FOLDS = 4
FLOOR = 1e-4
CHANNEL_COUNT = 2.0
CALIBRATOR_COUNTS = {"temperature": 0.5, "vector": 0.5, "odds": 1.0}
"""Dirichlet pseudo-counts of the default weights: ten labels' worth, most of it on the channels.

On real readings they predict better than one count for each member at every number of labels from
10 to 50, and far better than none (``benchmarks/accuracy.py``).
"""


class ExpectedLoss(NamedTuple):
    """Mean out-of-fold log loss in nats: what to expect on texts like the labelled ones.

    Attributes:
        cordial: of the stack; slightly flattered, for the weights were chosen on these folds.
        histogram: of the smoothed histogram of the other folds' labels.
        raw: of the reading as it came, which needs no labels.
        labels: how many labels the means are over; below eight there are no folds, and the first
            two are NaN.
    """

    cordial: float
    histogram: float
    raw: float
    labels: int


class Stack(Estimator):
    """Weighted mixture of channels and logit-space calibrators; base of the stacks below.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        channels: channels by name, path of a channel file (whose code is run), or ``Channel``.
        calibrators: logit-space calibrators by name.
        inference: "default", "laplace", "mode" or "nuts".
        prior: location and scale by channel name, which replace the channels' own priors.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 2 a channel, 1 for proportional odds, 0.5 for the other two.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Raises:
        InputError: a setting is none of those; the message says what it may be.
        ChannelError: there is no such channel.

    Attributes:
        weights_: weight of each member by name.
        posteriors_: posterior of each channel by name.
        expected_: out-of-fold log losses.
    """

    weights_: dict[str, float]
    posteriors_: dict[str, Posterior]
    expected_: ExpectedLoss

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        channels: Sequence[str | Path | Channel] = (),
        calibrators: Sequence[str] = PAPER_CALIBRATORS,
        inference: str = "default",
        prior: dict[str, Prior] | None = None,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Find the members by name."""
        super().__init__(options)
        self.channels = tuple(load_channel(channel) for channel in channels)
        self.calibrators = tuple(calibrators)
        check_names("calibrators", self.calibrators, CALIBRATORS)
        doubled = sorted({name for name in self.members if self.members.count(name) > 1})
        if doubled:
            raise InputError(f"two members of the stack are called {doubled[0]!r}: rename one.")
        self.inference = check_method(inference)
        self.prior = dict(prior or {})
        names = [channel.name for channel in self.channels]
        check_names("prior", self.prior, names)
        counts = dict.fromkeys(names, CHANNEL_COUNT)
        counts |= {name: CALIBRATOR_COUNTS.get(name, 1.0) for name in self.calibrators}
        self.weight_counts = counts | check_counts(weight_counts or {}, self.members)
        self.seed = check_seed(seed)
        self.effort = effort

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members, channels first."""
        return tuple(channel.name for channel in self.channels) + self.calibrators

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Credible interval of each text's expected position on the scale.

        The uncertainty is that of the few labels: parameters of the channels vary over their
        posteriors, members over their weights.  It is not the spread of single labels.

        Args:
            logits: option logits, shape ``[m, K]``.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Lower and upper ends, each of shape ``[m]``, in the units of ``predict_mean``.

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings cannot be used.
            NotFittedError: there was no fit yet.
        """
        level = check_level(level)
        readings, extra = self._enter(logits, covariates)
        return mean_interval(
            self._fits, self.weights_, readings, extra, self.scale_.values, level, self.seed
        )

    def summary(self) -> str:
        """The reader's faults, the members' weights and the expected log loss in plain words."""
        return describe(self.posteriors_, self.weights_, self.expected_, self.scale_).text

    def to_datatree(self) -> "DataTree":
        """Posteriors of all channels for ArviZ: a ``DataTree`` with one child a channel."""
        from xarray import DataTree

        trees = {
            name: to_datatree(posterior, self.seed) for name, posterior in self.posteriors_.items()
        }
        return DataTree(children=trees)

    def save(self, path: str | Path) -> None:
        """Write the fitted judge to one file of plain data; ``load`` reads it back."""
        from cordial_ppl.cordial.files import save

        save(self, path)

    def _fit(
        self, logits: np.ndarray, labels: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> None:
        rng = np.random.default_rng(self.seed)
        enough = len(labels) >= MIN_LABELS
        folds = assign_folds(len(labels), FOLDS, rng) if enough else None
        lanes = make_lanes(logits, labels, folds, covariates)
        jobs = [(index, channel) for index, channel in enumerate(self.channels)]
        with ThreadPoolExecutor(max_workers=workers(len(self.channels) + 1)) as pool:
            # The slowest first: channels on the vector-scaled reading have the most parameters.
            order = sorted(jobs, key=lambda job: "vector" not in job[1].name)
            running = {
                channel.name: pool.submit(
                    fit_channel_member,
                    channel,
                    lanes,
                    (self.seed, index),
                    self.inference,
                    self.prior.get(channel.name),
                    self.effort,
                )
                for index, channel in order
            }
            others = pool.submit(fit_calibrators, self.calibrators, lanes)
            found: dict[str, Any] = {name: job.result() for name, job in running.items()}
            found |= others.result()
        self._fits: dict[str, Fitted] = {name: found[name][0] for name in self.members}
        self.posteriors_ = {channel.name: found[channel.name][0] for channel in self.channels}
        held_out = np.stack([found[name][1] for name in self.members], axis=-1)
        self._weigh(lanes, labels, held_out, enough)
        for posterior in self.posteriors_.values():
            warn_if_doubtful(posterior)

    def _weigh(self, lanes: Lanes, labels: np.ndarray, held_out: np.ndarray, enough: bool) -> None:
        """Set the weights and the expected losses from held-out probabilities ``[n, K, M]``."""
        count, rows = len(labels), len(lanes.lane)
        logits = lanes.logits[:count]
        raw = np.exp(logits - logits.max(axis=1, keepdims=True))
        raw /= raw.sum(axis=1, keepdims=True)
        losses = {"raw": _mean_loss(raw[np.arange(count), labels])}
        weights = np.full(len(self.members), 1 / len(self.members))
        if enough:
            chosen = held_out[np.arange(count), labels]
            counts = np.array([self.weight_counts[name] for name in self.members])
            with jax.enable_x64(True):
                logs = pad_rows(np.log(np.maximum(chosen, FLOOR)), rows, 0.0)
                weights = np.asarray(_weights(logs, np.arange(rows) < count, counts))
            histogram = lanes.histograms[lanes.lane[:count], labels]
            losses["cordial"] = _mean_loss(chosen @ weights)
            losses["histogram"] = _mean_loss(histogram)
        self.weights_ = dict(zip(self.members, weights.tolist(), strict=True))
        nothing = float("nan")
        self.expected_ = ExpectedLoss(
            losses.get("cordial", nothing), losses.get("histogram", nothing), losses["raw"], count
        )

    def _predict(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        dtype = "float64" if self.inference == "laplace" else "float32"

        def weighted(name: str) -> np.ndarray:
            probs = self._fits[name].predict_centred(logits, covariates, dtype=dtype)
            return self.weights_[name] * probs

        used = [name for name in self.members if self.weights_[name] > 0]
        with ThreadPoolExecutor(max_workers=workers(len(used))) as pool:
            probs = sum(pool.map(weighted, used))
        return probs / np.sum(probs, axis=1, keepdims=True)


class Cordial(Stack):
    r"""The paper's estimator: four channels and three logit-space calibrators, stacked (Eq. 5).

    .. math:: \hat p(z \mid x) = \sum_{m=1}^{7} \omega_m\, \hat p_m(z \mid x)

    The default differs from the paper in two choices, which predict better from few labels: each
    channel's posterior is sampled by tempering, importance weights and moves, and carried over to
    the folds by importance weights; the stack weights have ten labels' worth of prior, most of it
    on the channels.  :meth:`paper` makes the literal choices.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts" (minutes).
        prior: location and scale by channel name, which replace the channels' own priors.
        channels: further channels as members, by path of their file, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 2 a channel, 1 for proportional odds, 0.5 for the other two.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.
    """

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        prior: dict[str, Prior] | None = None,
        channels: Sequence[str | Path | Channel] = (),
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Add further channels to the paper's four."""
        super().__init__(
            options,
            channels=(*PAPER_CHANNELS, *channels),
            inference=inference,
            prior=prior,
            weight_counts=weight_counts,
            seed=seed,
            effort=effort,
        )

    @classmethod
    def paper(
        cls,
        options: Sequence[str] | Scale | None = None,
        *,
        weights: str = "flat",
        seed: int = 0,
    ) -> "Cordial":
        """The literal method of the paper, kept exact for comparison.

        Args:
            options: names of the K ordered options.
            weights: "flat", maximum likelihood as "Dirichlet(1)" reads, or "one-count", one
                pseudo-count for each member.
            seed: seed of the folds and of every random number.

        Raises:
            InputError: ``weights`` is neither.
        """
        counts = {"flat": 0.0, "one-count": 1.0}
        if weights not in counts:
            raise InputError(f"weights must be 'flat' or 'one-count'; got {weights!r}.")
        same = dict.fromkeys((*PAPER_CHANNELS, *PAPER_CALIBRATORS), counts[weights])
        return cls(options, inference="laplace", weight_counts=same, seed=seed)


class LogitStack(Stack):
    """The stack without channels, which shows what the channels add.

    Its members are temperature scaling, vector scaling and proportional odds; the weights are the
    paper's, by maximum likelihood, unless ``weight_counts`` says otherwise.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        weight_counts: Dirichlet pseudo-counts of the weights by member; 0 where not named.
        seed: seed of the folds.
    """

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        """Take the logit-space calibrators only."""
        counts = dict.fromkeys(PAPER_CALIBRATORS, 0.0) | dict(weight_counts or {})
        super().__init__(options, weight_counts=counts, seed=seed)


def _mean_loss(probs: np.ndarray) -> float:
    return float(-np.mean(np.log(np.maximum(probs, FLOOR))))


@lru_cache(maxsize=1)
def _stacker() -> Any:
    return compiled(stack_weights)


def _weights(log_probs: np.ndarray, mask: np.ndarray, counts: np.ndarray) -> jnp.ndarray:
    return _stacker()(log_probs, mask, counts)
