"""A stack of calibrators: members that are fitted side by side, weighed, and predict together.

Every member is fitted to all labels and to four folds of them, whose out-of-fold predictions give
the weights.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl import storage
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.estimator import encode
from cordial_ppl.cordial.files import KIND, Contents, pack
from cordial_ppl.cordial.fingerprints import fingerprints
from cordial_ppl.cordial.interval import MixtureEstimator
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
    check_effort,
    check_list,
    check_mapping,
    check_method,
    check_names,
    check_seed,
)
from cordial_ppl.cordial.weighing import ExpectedLoss, weigh
from cordial_ppl.errors import InputError
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.export import to_datatree
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.loading import load_channel
from cordial_ppl.priors import LearnedPrior, Priors, as_priors, reading_spread, resolve
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds
from cordial_ppl.summary import Summary, describe

if TYPE_CHECKING:
    from xarray import DataTree

PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's logit-space calibrators; what else is registered is a member of nothing by itself."""

FOLDS = 4


class Stack(MixtureEstimator):
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
        expected_: out-of-fold log losses.
        losses_: out-of-fold log loss of each member by itself; empty with fewer than eight labels.
        fits_: fitted members by name.
        out_of_fold_: probabilities of the labelled texts by fits that have not seen their labels,
            shape ``[n, K]``; None with fewer than eight labels, or where the stack was loaded.
        provenance_: how the readings were made, "model", "prompt" and "decoding" with the values
            that there are; set by who knows it, and kept in the file.
        seen_: fingerprints of the labelled texts, by which they are known again when the judge is
            scored; empty in files that were written without them.
        label_counts_: how many labels of the fit had each option, shape ``[K]``; empty in files
            that were written without them.
    """

    NAMED: ClassVar[dict[str, type["Stack"]]] = {}
    """Classes that files remember by their names; others cannot be saved."""

    COUNTS: ClassVar[Mapping[str, float]] = {
        "temperature": 0.25,
        "vector": 0.25,
        "odds": 0.5,
        "dirichlet": 0.25,
    }
    """Dirichlet pseudo-counts of the weights by default; of others 2 a channel, 1 a calibrator."""

    folded = True

    fits_: dict[str, Fitted]
    weights_: dict[str, float]
    expected_: ExpectedLoss
    losses_: dict[str, float]
    provenance_: dict[str, list[str]]
    seen_: Int[np.ndarray, " n"]
    label_counts_: Int[np.ndarray, " K"]
    out_of_fold_: Float[np.ndarray, "n K"] | None = None

    def __init_subclass__(cls, named: bool = False, **rest: Any):
        """Register a named stack; a class derived from one is none unless it says so."""
        super().__init_subclass__(**rest)
        if named:
            Stack.NAMED[cls.__name__] = cls

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
        super().__init__(options)
        self.channels = tuple(load_channel(channel) for channel in check_list("channels", channels))
        self.calibrators = check_list("calibrators", calibrators)
        check_names("calibrators", self.calibrators, CALIBRATORS)
        self.min_labels = check_mapping("min_labels", min_labels, self.calibrators)
        doubled = sorted({name for name in self.members if self.members.count(name) > 1})
        if doubled:
            raise InputError(f"two members of the stack are called {doubled[0]!r}: rename one.")
        self.inference = check_method(inference)
        names = [channel.name for channel in self.channels]
        self.prior: Priors = as_priors(prior, names, self._learned())
        counts = {
            name: self.COUNTS.get(name, 2.0 if name in names else 1.0) for name in self.members
        }
        self.weight_counts = counts | check_counts(weight_counts, self.members)
        self.seed = check_seed(seed)
        self.effort = check_effort(effort)

    @property
    def has_default_prior(self) -> bool:
        """Whether nothing was given in the place of the default."""
        prior = self.prior
        return not prior.given and prior.shared is None and prior.learned is self._learned()

    def _learned(self) -> LearnedPrior | None:
        """The learned prior that replaces the channels' own by default; none."""
        return None

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members, channels first, those that wait for more labels among them."""
        return (*(channel.name for channel in self.channels), *self.calibrators)

    @property
    def posteriors_(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return {name: fit for name, fit in self.fits_.items() if isinstance(fit, Posterior)}

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The members with so many labels, unfitted."""
        prior = self.prior.of
        channels = (
            ChannelMember(own, place, self.inference, prior(own.name), self.effort)
            for place, own in enumerate(self.channels)
        )
        found = [name for name in self.calibrators if labels >= self.min_labels.get(name, 0)]
        return (*channels, *map(CalibratorMember, found))

    def check(self, logits: Float[np.ndarray, "n K"], covariates: Mapping[str, Any]) -> None:
        """Check that texts have what the channels need.

        Args:
            logits: validated, centred readings.
            covariates: of the texts, by name.

        Raises:
            InputError: a channel uses a covariate that the texts lack, or a prior that was given is
                not for its channels.
            ChannelError: a channel breaks the contract.
        """
        own = [part for part in self.parts(0) if isinstance(part, ChannelMember)]
        targets = [part.target(logits.shape[1], covariates) for part in own]
        for part, target in zip(own, targets, strict=True):
            resolve(part.prior, target, reading_spread(logits))
        self.prior.check(targets)

    def summary(self) -> str:
        """The reader's faults, the members' weights and the expected log loss in plain words."""
        return self.describe().text

    def describe(self) -> Summary:
        """What ``summary`` says, as values: faults, weights, diagnostics, losses and warnings.

        Raises:
            NotFittedError: there was no fit yet.
        """
        self._check_fitted()
        # Without folds nothing is known of other texts.
        expected = self.expected_ if self.folded else None
        return describe(self.posteriors_, self.weights_, expected, self.scale_, self.losses_)

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
        self._check_fitted()
        if (logits is None) != (labels is None):
            raise InputError("logits and labels go together: give both, or neither.")
        if logits is not None:
            readings, extra = self._enter(logits, covariates)
            return Labelled(readings, encode(labels, self.scale_, len(readings)), extra)
        for posterior in self.posteriors_.values():
            if posterior.data is not None:
                return posterior.data
        raise InputError("this judge keeps no texts of its fit: give logits and labels.")

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

        self._check_fitted()
        given = logits is not None or labels is not None
        data = self.labelled(logits, labels, covariates) if given else None
        options, seed = self.scale_.options, self.seed
        return DataTree(
            children={
                name: to_datatree(posterior, data=data, options=options, seed=seed)
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
        if self.NAMED.get(type(self).__name__) is not type(self):
            raise InputError(
                "only a named stack, such as Cordial, can be saved; this is a "
                f"{type(self).__name__}."
            )
        self._check_fitted()
        storage.write(path, KIND, *pack(self))

    @classmethod
    def assemble[T: "Stack"](cls: type[T], **settings: Any) -> T:
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

    @staticmethod
    def restore(contents: Contents) -> "Stack":
        """Make a fitted stack of what a file held."""
        kind, settings, learned = contents
        stack = Stack.NAMED[kind].assemble(**settings)
        vars(stack).update(learned)
        return stack

    def _fit(self, texts: Labelled) -> None:
        logits, labels, covariates = texts
        parts = self.parts(len(labels))
        self.check(logits, covariates)
        folds = held_out = None
        if self.folded and len(labels) >= MIN_LABELS:
            folds = assign_folds(len(labels), FOLDS, np.random.default_rng(self.seed))
        fits = [fit for (fit,) in fit_members(parts, [Case(texts, folds, (self.seed,))])]
        if folds is not None:
            held_out = np.stack([fit.held_out for fit in fits if fit.held_out is not None], axis=-1)
        names = [part.name for part in parts]
        mixture = weigh(texts, folds, held_out, np.array([self.weight_counts[n] for n in names]))
        self.fits_ = {name: fit.fitted for name, fit in zip(names, fits, strict=True)}
        self.weights_ = dict(zip(names, mixture.weights.tolist(), strict=True))
        self.losses_ = dict(zip(names, mixture.losses, strict=False))
        self.expected_, self.out_of_fold_ = mixture.expected, mixture.out_of_fold
        self.provenance_, self.seen_ = {}, fingerprints(logits, labels)
        self.label_counts_ = np.bincount(labels, minlength=logits.shape[-1])
        for posterior in self.posteriors_.values():
            warn_if_doubtful(posterior)

    def _mixture(
        self, logits: np.ndarray
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "m M"]]:
        weights = np.array(list(self.weights_.values()))
        shares = np.broadcast_to(weights, (len(logits), len(weights)))
        return [(self.fits_[name], logits) for name in self.weights_], shares

    def _predict(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        def predict(name: str) -> np.ndarray:
            return self.fits_[name].predict_centred(logits, covariates)

        used = [name for name, weight in self.weights_.items() if weight > 0]
        mixed = np.zeros((len(logits), logits.shape[-1]))
        with ThreadPoolExecutor(max_workers=workers(len(used))) as pool:
            for name, probs in zip(used, pool.map(predict, used), strict=True):
                mixed += self.weights_[name] * probs
        mixed /= mixed.sum(axis=1, keepdims=True)
        return mixed
