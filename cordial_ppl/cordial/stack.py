"""A stack of calibrators: members that are fitted side by side, weighed, and predict together.

Every member is fitted to all labels and to four folds of them, whose out-of-fold predictions give
the weights.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import FLOOR
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.files import State, write
from cordial_ppl.cordial.fingerprints import fingerprints
from cordial_ppl.cordial.frames import like
from cordial_ppl.cordial.interval import mean_interval
from cordial_ppl.cordial.members import (
    CalibratorMember,
    ChannelMember,
    Fitted,
    Member,
    fit_members,
    warn_if_doubtful,
)
from cordial_ppl.cordial.settings import (
    check_counts,
    check_level,
    check_list,
    check_mapping,
    check_method,
    check_names,
    check_seed,
)
from cordial_ppl.cordial.weighing import ExpectedLoss, weigh
from cordial_ppl.errors import InputError, NotFittedError
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.export import to_datatree
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.loading import load_channel
from cordial_ppl.priors import (
    LearnedPrior,
    Priors,
    as_priors,
)
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds
from cordial_ppl.summary import Summary, describe

if TYPE_CHECKING:
    from xarray import DataTree

S = TypeVar("S", bound="Stack")

PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's logit-space calibrators; what else is registered is a member of nothing by itself."""

FOLDS = 4
CHANNEL_COUNT = 2.0
CALIBRATOR_COUNTS = {"temperature": 0.25, "vector": 0.25, "odds": 0.5, "dirichlet": 0.25}
"""Dirichlet pseudo-counts of the weights by default: most is on the channels."""

SETTINGS = (
    "options",
    "channels",
    "calibrators",
    "min_labels",
    "inference",
    "prior",
    "weight_counts",
    "seed",
    "effort",
)
"""Arguments of a stack, each an attribute of the same name."""


class Stack(Estimator):
    """Weighted mixture of channels and logit-space calibrators; base of the named ones.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        channels: channels by name, path of a channel file (whose code is run), or ``Channel``.
        calibrators: logit-space calibrators by name.
        min_labels: number of labels from which a calibrator is a member, by name; by default
            each is from the first label on.
        inference: "default", "laplace", "mode" or "nuts".
        prior: what replaces the channels' own priors: location and scale by the name of a
            parameter (see ``NamedPrior``), such as ``{"offset": (0.0, 0.3)}``, or a ``Prior`` or
            such a mapping by the name of a channel; a learned prior, or the path of its file;
            "own" or None for nothing.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 2 a channel, 0.5 for proportional odds, 0.25 for temperature and vector
            scaling and for Dirichlet calibration, 1 for another calibrator.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Raises:
        InputError: a setting is none of those; the message says what it may be.
        ChannelError: there is no such channel.

    Attributes:
        weights_: weight of each member by name.
        posteriors_: posterior of each channel by name.
        expected_: out-of-fold log losses.
        losses_: out-of-fold log loss of each member by itself; empty with fewer than eight labels.
        out_of_fold_: probabilities of the labelled texts by fits that have not seen their labels,
            shape ``[n, K]``; None with fewer than eight labels, or where the stack was loaded.
        provenance_: how the readings were made, "model", "prompt" and "decoding" with the values
            that there are; set by who knows it, and kept in the file.
        seen_: fingerprints of the labelled texts, by which they are known again when the judge is
            scored; empty in files that were written without them.
        label_counts_: how many labels of the fit had each option, shape ``[K]``; empty in files
            that were written without them.
    """

    kind: ClassVar[str | None] = None
    """Name under which a file remembers the class; without one it cannot be saved."""

    weights_: dict[str, float]
    posteriors_: dict[str, Posterior]
    expected_: ExpectedLoss
    losses_: dict[str, float]
    provenance_: dict[str, list[str]]
    seen_: Int[np.ndarray, " n"]
    label_counts_: Int[np.ndarray, " K"]
    out_of_fold_: Float[np.ndarray, "n K"] | None = None
    _fits: dict[str, Fitted]
    _priors: dict[str, Prior]

    def __init_subclass__(cls, kind: str | None = None, **rest: Any):
        """Take the name that files remember; whoever derives from a named stack has none."""
        super().__init_subclass__(**rest)
        cls.kind = kind

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        channels: Sequence[str | Path | Channel] = (),
        calibrators: Sequence[str] = PAPER_CALIBRATORS,
        min_labels: Mapping[str, int] | None = None,
        inference: str = "default",
        prior: Mapping[str, Any] | LearnedPrior | Priors | str | Path | None = None,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Find the members by name."""
        super().__init__(options)
        self.channels = tuple(load_channel(channel) for channel in check_list("channels", channels))
        self.calibrators = check_list("calibrators", calibrators)
        check_names("calibrators", self.calibrators, CALIBRATORS)
        self.min_labels = check_mapping("min_labels", min_labels)
        check_names("min_labels", self.min_labels, self.calibrators)
        doubled = sorted({name for name in self.members if self.members.count(name) > 1})
        if doubled:
            raise InputError(f"two members of the stack are called {doubled[0]!r}: rename one.")
        self.inference = check_method(inference)
        names = [channel.name for channel in self.channels]
        self.prior: Priors = as_priors(prior, names, self._learned())
        counts = dict.fromkeys(names, CHANNEL_COUNT)
        counts |= {name: CALIBRATOR_COUNTS.get(name, 1.0) for name in self.calibrators}
        self.weight_counts = counts | check_counts(weight_counts, self.members)
        self.seed = check_seed(seed)
        self.effort = effort

    def _has_default_prior(self) -> bool:
        """Whether nothing was given in the place of the default."""
        prior = self.prior
        return not prior.given and prior.shared is None and prior.learned is self._learned()

    def _learned(self) -> LearnedPrior | None:
        """The learned prior that replaces the channels' own by default; none."""
        return None

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members, channels first, those that wait for more labels among them."""
        return tuple(channel.name for channel in self.channels) + self.calibrators

    def calibrators_of(self, labels: int) -> tuple[str, ...]:
        """Names of the calibrators that are members with so many labels."""
        return tuple(c for c in self.calibrators if labels >= self.min_labels.get(c, 0))

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The members with so many labels, unfitted."""
        channels = (
            ChannelMember(
                channel,
                place,
                self.inference,
                self.prior.of(channel.name),
                self.prior.pseudo_counts,
                self.effort,
            )
            for place, channel in enumerate(self.channels)
        )
        return (*channels, *map(CalibratorMember, self.calibrators_of(labels)))

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None, *, mean: Any = None
    ) -> tuple[Any, Any]:
        """Credible interval of each text's expected position on the scale.

        The uncertainty is that of the few labels: parameters of the channels vary over their
        posteriors, members over their weights.  It is not the spread of single labels.  Where the
        quantiles miss ``predict_mean``, as they can with ``inference="mode"``, whose members have
        one answer each, the interval is widened to it.

        Args:
            logits: option logits, shape ``[m, K]``.
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
        members = [(self._fits[name], readings) for name in self.weights_]
        weights = np.array(list(self.weights_.values()))
        shares = np.broadcast_to(weights, (len(readings), len(weights)))
        low, high = mean_interval(members, shares, extra, values, level)
        if mean is None:
            mean = self._predict(readings, extra) @ values
        elif np.shape(mean) != (len(readings),):
            raise InputError(
                f"mean must have one number for each of {len(readings)} texts; got shape "
                f"{np.shape(mean)}."
            )
        low, high = np.minimum(low, np.asarray(mean)), np.maximum(high, np.asarray(mean))
        return like(logits, low, "low"), like(logits, high, "high")

    def summary(self) -> str:
        """The reader's faults, the members' weights and the expected log loss in plain words."""
        return self.describe().text

    def describe(self) -> Summary:
        """What ``summary`` says, as values: faults, weights, diagnostics, losses and warnings.

        Raises:
            NotFittedError: there was no fit yet.
        """
        if not hasattr(self, "scale_"):
            raise NotFittedError("there is nothing to describe: call fit(logits, labels) first.")
        fits = self.posteriors_, self.weights_, self.expected_
        return describe(*fits, self.scale_, self.losses_)

    def labelled(self, logits: Any = None, labels: Any = None, covariates: Any = None) -> Labelled:
        """Labelled texts, checked and centred: those given, or else those of the fit.

        Args:
            logits: option logits, ``[n, K]``.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: logits came without labels or cannot be used, or none came for a stack that
                knows none: one that was loaded, or that has no channels.
        """
        data = self._labelled(logits, labels, covariates)
        known = (posterior.data for posterior in self.posteriors_.values())
        data = data or next((own for own in known if own is not None), None)
        if data is None:
            raise InputError("this judge keeps no texts of its fit: give logits and labels.")
        return data

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """Posteriors of all channels for ArviZ: a ``DataTree`` with one child a channel.

        ``az.summary(tree["mixture"])`` looks at one, ``az.compare(dict(tree.children))`` compares
        them.  Their log likelihoods are of the texts that the stack was fitted to.

        Args:
            logits: other labelled texts to be looked at, ``[m, K]``, as after ``cp.load``, which
                knows none.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Returns:
            A tree whose children have the groups that `cordial_ppl.inference.export` describes.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: logits came without labels, or cannot be used.
        """
        from xarray import DataTree

        data = self._labelled(logits, labels, covariates)
        settings: dict[str, Any] = {"data": data, "options": self.scale_.options}
        return DataTree(
            children={
                name: to_datatree(posterior, **settings, seed=self.seed)
                for name, posterior in self.posteriors_.items()
            }
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted judge to one file of plain data; ``load`` reads it back.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: this is no named stack, such as ``Cordial``, but of another class.
            FileError: the file cannot be written.
        """
        if self.kind is None:
            raise InputError(
                "only a named stack, such as Cordial, can be saved; this is a "
                f"{type(self).__name__}."
            )
        if not hasattr(self, "scale_"):
            raise NotFittedError("there is nothing to save: call fit(logits, labels) first.")
        write(path, self.state(self.kind))

    def state(self, kind: str) -> State:
        """All that the fitted stack consists of."""
        own = (name for name in self.calibrators if name in self._fits)
        calibrators: dict[str, Any] = {name: self._fits[name] for name in own}
        return State(
            kind=kind,
            scale=self.scale_,
            settings={name: getattr(self, name) for name in SETTINGS}
            | {"prior": self._priors, "default_prior": self._has_default_prior()},
            posteriors=self.posteriors_,
            calibrators=calibrators,
            weights=self.weights_,
            expected=self.expected_,
            losses=self.losses_,
            provenance=self.provenance_,
            seen=self.seen_,
            counts=self.label_counts_,
            covariates=self.covariates_,
        )

    @classmethod
    def assemble(cls: type[S], **settings: Any) -> S:
        """Make one of this kind with other settings than its own: a file's, or the paper's.

        Args:
            settings: arguments of a ``Stack``.

        Raises:
            InputError: a setting is none of those; the message says what it may be.
            ChannelError: there is no such channel.
        """
        stack = cls.__new__(cls)
        Stack.__init__(stack, **settings)
        return stack._made_by(cls.assemble, **settings)

    @classmethod
    def restore(cls, state: State) -> "Stack":
        """Make a fitted stack of what a file held."""
        settings = dict(state.settings)
        # Fitted to other readings, the default is another one; what was given is not.
        default = settings.pop("default_prior")
        settings["prior"] = None if default else Priors(state.settings["prior"])
        stack = cls.assemble(**settings)
        stack._fits = {**state.posteriors, **state.calibrators}
        stack._priors = state.settings["prior"]
        stack.posteriors_, stack.weights_ = state.posteriors, state.weights
        stack.expected_, stack.losses_ = state.expected, state.losses
        stack.scale_, stack.provenance_ = state.scale, state.provenance
        stack.covariates_, stack.seen_ = state.covariates, state.seen
        stack.label_counts_ = state.counts
        return stack

    def _fit(
        self, logits: np.ndarray, labels: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> None:
        enough, rng = len(labels) >= MIN_LABELS, np.random.default_rng(self.seed)
        folds = assign_folds(len(labels), FOLDS, rng) if enough else None
        texts, parts = Labelled(logits, labels, covariates), self.parts(len(labels))
        channels = [part for part in parts if isinstance(part, ChannelMember)]
        self.prior.check([part.target(logits.shape[1], covariates) for part in channels])
        fits = [fit for (fit,) in fit_members(parts, [Case(texts, folds, (self.seed,))])]
        members = [part.name for part in parts]
        self._fits = {name: fit.fitted for name, fit in zip(members, fits, strict=True)}
        self.posteriors_ = {
            name: fit for name, fit in self._fits.items() if isinstance(fit, Posterior)
        }
        unseen = [fit.held_out for fit in fits if fit.held_out is not None]
        held_out = np.stack(unseen, axis=-1) if enough else None
        counts = np.array([self.weight_counts[name] for name in members])
        weights, self.expected_ = weigh(texts, folds, held_out, counts)
        self.weights_ = dict(zip(members, weights.tolist(), strict=True))
        self.provenance_, self.seen_ = {}, fingerprints(logits, labels)
        self.label_counts_ = np.bincount(labels, minlength=logits.shape[-1])
        self.losses_, self.out_of_fold_ = {}, None
        if held_out is not None:
            own = np.maximum(held_out[np.arange(len(labels)), labels], FLOOR)
            self.losses_ = dict(zip(members, (-np.mean(np.log(own), axis=0)).tolist(), strict=True))
            mixed = held_out @ weights
            self.out_of_fold_ = mixed / mixed.sum(axis=1, keepdims=True)
        self._priors = {
            name: posterior.prior
            for name, posterior in self.posteriors_.items()
            if posterior.prior is not None
        }
        for posterior in self.posteriors_.values():
            warn_if_doubtful(posterior)

    def _predict(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        def weighted(name: str) -> np.ndarray:
            probs = self._fits[name].predict_centred(logits, covariates)
            return self.weights_[name] * probs

        used = [name for name, weight in self.weights_.items() if weight > 0]
        with ThreadPoolExecutor(max_workers=workers(len(used))) as pool:
            probs = sum(pool.map(weighted, used))
        return probs / np.sum(probs, axis=1, keepdims=True)
