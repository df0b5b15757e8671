"""A stack: channels and calibrators that are fitted side by side, weighed, and mixed.

Every member is fitted to all labels and without each of four folds, and the out-of-fold predictions
give the weights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.channels import is_built_in
from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.drift import sketch
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.exports import Exports
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.priors import LearnedPrior, Priors, as_priors, reading_spread, resolve
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.members import (
    CalibratorMember,
    ChannelMember,
    Member,
    fit_members,
    warn_if_doubtful,
)
from cordial_ppl.stack.settings import (
    check_counts,
    check_effort,
    check_list,
    check_method,
    check_names,
    check_seed,
)
from cordial_ppl.stack.stacking import MIN_LABELS, assign_folds
from cordial_ppl.stack.weighing import weigh

PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's calibrators in logit space."""

FOLDS = 4


def deal_folds(texts: Labelled, seed: int) -> Int[np.ndarray, " n"]:
    """Return the fold of each label, the same for the labels of a text.

    Args:
        texts: the labelled texts.
        seed: seed of the folds.
    """
    return assign_folds(texts.count, FOLDS, np.random.default_rng(seed))[texts.ranks]


class Stack(Exports):
    """Weighted mixture of channels and calibrators; base of the named ones.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        channels: further channels as members, by name, path of a channel file (whose code is run),
            or ``Channel``.
        calibrators: calibrators in logit space by name; by default those of the class.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts" (minutes).
        prior: None for the default; "own" for that of each channel's file; location and scale by
            the name of a parameter (see ``NamedPrior``), such as ``{"offset": (0.0, 0.3)}``, or a
            ``Prior`` or such a mapping by the name of a channel, beside the default; a ``Prior``,
            if there is one channel; in place of the default a prior learned from other tasks
            (``learn_prior``), or the path of its file.  The default of ``Cordial`` is learned
            (``shipped_prior``), that of other stacks each channel's own.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 2 for a channel that comes with the package; 1 for another, which falls
            with what it loses out of fold (``earned_counts``); 0.5 for proportional odds, 0.25 for
            temperature scaling, vector scaling and Dirichlet calibration, 1 for another calibrator.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Attributes:
        weights_: weight of each member by name.
        expected_: out-of-fold log losses.
        losses_: out-of-fold log loss of each member alone; empty with fewer than eight labels.
        fits_: fitted members by name.
        posteriors_: posterior of each channel by name.
        provenance_: how the readings were made: lists of values under "model", "prompt" and
            "decoding".  The command line sets it; a file keeps it.
    """

    COUNTS: ClassVar[Mapping[str, float]] = {
        "temperature": 0.25,
        "vector": 0.25,
        "odds": 0.5,
        "dirichlet": 0.25,
    }
    """Default pseudo-counts of the weights; of other members 2 a channel, 1 a calibrator."""

    base: Sequence[Any] = ()
    """Channels beside those that were given."""

    CALIBRATORS: ClassVar[Sequence[str]] = PAPER_CALIBRATORS
    """Default calibrators."""

    min_labels: Mapping[str, int] = {}
    """Number of labels from which a calibrator is a member, if not the first."""

    folded = True

    # What a subclass has whose constructor lacks a setting.
    channels: Any = ()
    calibrators: Any = None
    inference: Any = "default"
    prior: Any = None
    weight_counts: Any = None
    effort: Any = DEFAULT_EFFORT

    def __init__(
        self,
        options: Sequence[str | float] | Scale | None = None,
        *,
        channels: Sequence[str | Path | Channel] = (),
        calibrators: Sequence[str] | None = None,
        inference: str = "default",
        prior: Prior | Mapping[str, Any] | LearnedPrior | Priors | str | Path | None = None,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        self.options, self.channels, self.calibrators = options, channels, calibrators
        self.inference, self.prior, self.weight_counts = inference, prior, weight_counts
        self.seed, self.effort = seed, effort

    @property
    def settings(self) -> "Stack":
        """The same stack, unfitted, with settings that are validated and complete.

        Raises:
            InputError: a setting is invalid; the message says what it may be.
            ChannelError: there is no such channel.
        """
        if "_valid" in vars(self):
            return self
        sources = (*self.base, *check_list("channels", self.channels))
        channels = tuple(load_channel(channel) for channel in sources)
        names = [channel.name for channel in channels]
        default = self.CALIBRATORS if self.calibrators is None else self.calibrators
        calibrators = check_list("calibrators", default)
        check_names("calibrators", calibrators, CALIBRATORS)
        members = (*names, *calibrators)
        doubled = sorted({name for name in members if members.count(name) > 1})
        if doubled:
            raise InputError(f"two members of the stack are called {doubled[0]!r}: rename one.")
        alone = isinstance(self.prior, Prior) and len(names) == 1
        late = {name: least for name, least in self.min_labels.items() if name in calibrators}
        kinds = {c.name: 2.0 if is_built_in(c) else 1.0 for c in channels}
        counts = {name: self.COUNTS.get(name, kinds.get(name, 1.0)) for name in members}
        stack = self.__sklearn_clone__()
        vars(stack).update(
            base=(),
            channels=channels,
            calibrators=calibrators,
            min_labels=late,
            inference=check_method(self.inference),
            prior=as_priors({names[0]: self.prior} if alone else self.prior, names, self._learned),
            weight_counts=counts | check_counts(self.weight_counts, members),
            seed=check_seed(self.seed),
            effort=check_effort(self.effort),
            _valid=True,
        )
        return stack

    @property
    def fitted_settings(self) -> "Stack":
        """The settings of the fit, for which no file is read again; before a fit, ``settings``."""
        return vars(self).get("_fitted_settings") or self.settings

    @property
    def members(self) -> tuple[str, ...]:
        """Names of all members, channels first."""
        settings = self.settings
        return (*(channel.name for channel in settings.channels), *settings.calibrators)

    @property
    def has_default_prior(self) -> bool:
        """Whether the prior is the default one."""
        prior = self.fitted_settings.prior
        return not prior.by_channel and prior.shared is None and prior.learned is self._learned

    @property
    def _learned(self) -> LearnedPrior | None:
        """The learned prior that is the default."""
        return None

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The members with so many labels, unfitted."""
        settings = self.settings
        channels = (
            ChannelMember(
                channel,
                index,
                settings.inference,
                settings.prior.of(channel.name),
                settings.effort,
            )
            for index, channel in enumerate(settings.channels)
        )
        least = settings.min_labels
        names = [name for name in settings.calibrators if labels >= least.get(name, 0)]
        return (*channels, *map(CalibratorMember, names))

    def levels(self) -> dict[str, int]:
        """Levels of covariates, as the base class says."""
        return count_levels(*self.fitted_settings.channels)

    def prior_of_weights(
        self, names: Sequence[str]
    ) -> tuple[Float[np.ndarray, " M"], Bool[np.ndarray, " M"]]:
        """Pseudo-counts of members, and which of them have to earn theirs: channels of files."""
        settings = self.settings
        unproven = {channel.name for channel in settings.channels if not is_built_in(channel)}
        counts = np.array([settings.weight_counts[name] for name in names])
        return counts, np.array([name in unproven for name in names])

    def check(self, logits: Float[np.ndarray, "n K"], covariates: Mapping[str, Any]) -> None:
        """Check that texts have what the channels need.

        Args:
            logits: validated, centred readings.
            covariates: of the texts, by name.

        Raises:
            InputError: a setting is invalid, a channel uses a covariate that the texts lack or has
                fewer levels of one, or the prior does not fit the channels.
            ChannelError: a channel breaks the contract.
        """
        settings = self.settings
        as_covariates(covariates, len(logits), levels=count_levels(*settings.channels))
        parts = [part for part in settings.parts(0) if isinstance(part, ChannelMember)]
        targets = [part.target(logits.shape[1], covariates) for part in parts]
        for part, target in zip(parts, targets, strict=True):
            resolve(part.prior, target, reading_spread(logits))
        settings.prior.check(targets)

    def fit[T: "Stack"](
        self: T,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        corpus: Any = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn the calibration from labelled readings.

        Args:
            logits: option logits of the labelled texts, shape ``[n, K]`` with ``n >= 1``.
            labels: their options, as names or as whole numbers 0..K-1, shape ``[n]``; of several
                annotators shape ``[n, m]``, with None, NaN or -1 where one has given none.
            covariates: per-text covariates of the channels that use them, each of shape ``[n]``.
            corpus: option logits of all texts that the calibrator is for, labelled or not, shape
                ``[m, K]``; ``check_readings`` compares others with counts of these, which are kept.
                By default, and if the labelled texts are a random choice, those are enough.
            sample_weight: what each label counts, numbers from 0 up, in the shape of the labels; by
                default one, and 1/m for each of a text's m labels.
            texts: which text each row is of, names or whole numbers, where a text has several rows:
                these share a fold.

        Returns:
            The estimator itself.

        Raises:
            InputError: a setting, the readings or the labels are invalid; the message says where
                and why.
            ChannelError: there is no such channel, or it breaks the contract.
        """
        # Refused before the fit.
        size = None if corpus is None else np.shape(logits)[-1]
        corpus_sketch = None if corpus is None else sketch(self._read(corpus, size))
        super().fit(logits, labels, covariates, sample_weight=sample_weight, texts=texts)
        self.sketch_ = self.sketch_ if corpus_sketch is None else corpus_sketch
        return self

    def _fit(self, texts: Labelled) -> None:
        """Fit to validated, centred readings."""
        logits, labels = texts.logits, texts.labels
        settings = self.settings
        # Rounding must not make 200 thirds of three labels fewer than 200.
        parts = settings.parts(round(float(texts.weights.sum())))
        folds = held_out = None
        if self.folded and texts.count >= MIN_LABELS:
            folds = deal_folds(texts, settings.seed)
        case = Case(texts, folds, (settings.seed,))
        fits = [job.result() for job in fit_members(parts, lambda part: part.fit([case])[0])]
        if folds is not None:
            held_out = np.stack([fit.held_out for fit in fits], axis=-1)
        names = [part.name for part in parts]
        mixture = weigh(texts, folds, held_out, *settings.prior_of_weights(names))
        self._fitted_settings = settings
        self.fits_ = {name: fit.fitted for name, fit in zip(names, fits, strict=True)}
        self.weights_ = dict(zip(names, mixture.weights.tolist(), strict=True))
        self.losses_ = dict(zip(names, mixture.losses, strict=False))
        self.expected_, self.out_of_fold_ = mixture.expected, mixture.out_of_fold
        self.provenance_ = {}
        self._texts, self.folds_ = texts, folds
        vars(self).pop("reader_", None)
        self.sketch_ = sketch(logits[texts.first])
        self.labels_ = np.asarray(labels, np.int64)
        self.sample_weight_, self.texts_ = texts.weights, np.asarray(texts.texts, np.int64)
        self.label_counts_ = np.bincount(labels, texts.weights, logits.shape[-1])
        for posterior in self.posteriors_.values():
            warn_if_doubtful(posterior)

    def _mixture(
        self, logits: np.ndarray
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "1 M"]]:
        weights = np.array([list(self.weights_.values())])
        return [(self.fits_[name], logits) for name in self.weights_], weights
