"""A stack: channels and calibrators that are fitted side by side, weighed, and mixed.

Every member is fitted to all labels and without each of four folds, and the out-of-fold predictions
give the weights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import storage
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.corpus import Sampler
from cordial_ppl.cordial.estimating import estimate
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.files import KIND, StackRecord
from cordial_ppl.cordial.fingerprints import fingerprints
from cordial_ppl.cordial.members import (
    CalibratorMember,
    ChannelMember,
    Fitted,
    Member,
    fit_members,
    warn_if_doubtful,
)
from cordial_ppl.cordial.outlook import look_ahead
from cordial_ppl.cordial.predictive import LabelCheck, check_labels
from cordial_ppl.cordial.settings import (
    check_counts,
    check_effort,
    check_list,
    check_method,
    check_names,
    check_number,
    check_seed,
)
from cordial_ppl.cordial.updating import attach, update
from cordial_ppl.cordial.weighing import ExpectedLoss, weigh
from cordial_ppl.drift import Drift, compare, sketch
from cordial_ppl.errors import InputError
from cordial_ppl.estimates.bias import Bias, find_bias
from cordial_ppl.estimates.estimate import Estimate
from cordial_ppl.forecasting import Forecast, forecast
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.export import to_datatree
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.loading import load_channel
from cordial_ppl.priors import LearnedPrior, Priors, as_priors, reading_spread, resolve
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds, extend_folds
from cordial_ppl.summary import Summary, describe
from cordial_ppl.verdict import Verdict, judge

if TYPE_CHECKING:
    from xarray import DataTree

PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's calibrators in logit space."""

FOLDS = 4


class Stack(Estimator):
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
            the default: 2 for a channel, 0.5 for proportional odds, 0.25 for temperature scaling,
            vector scaling and Dirichlet calibration, 1 for another calibrator.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Attributes:
        weights_: weight of each member by name.
        expected_: out-of-fold log losses.
        losses_: out-of-fold log loss of each member alone; empty with fewer than eight labels.
        fits_: fitted members by name.
        posteriors_: posterior of each channel by name.
        labels_: labels of the fit, positions 0..K-1, shape ``[n]``; None for files of earlier
            versions.
        out_of_fold_: out-of-fold probabilities of the labelled texts, shape ``[n, K]``, in the
            order of ``labels_``; None with fewer than eight labels, or for files of earlier
            versions.
        provenance_: how the readings were made: lists of values under "model", "prompt" and
            "decoding".  The command line sets it; a file keeps it.
        folds_: fold of each labelled text, 0..3, in the order of ``labels_``; None as for
            ``out_of_fold_``.
        seen_: fingerprints of the labelled texts, by which a report recognises them; empty for
            files of earlier versions.
        label_counts_: number of labels with each option, shape ``[K]``; empty for old files.
    """

    NAMED: ClassVar[dict[str, type["Stack"]]] = {}
    """Classes that can be saved, by name."""

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
    seed: Any = 0
    effort: Any = DEFAULT_EFFORT

    fits_: dict[str, Fitted]
    weights_: dict[str, float]
    expected_: ExpectedLoss
    losses_: dict[str, float]
    provenance_: dict[str, list[str]]
    seen_: Int[np.ndarray, " prints"]
    label_counts_: Int[np.ndarray, " K"]
    sketch_: Int[np.ndarray, "2 cells"] | None = None
    labels_: Int[np.ndarray, " n"] | None = None
    out_of_fold_: Float[np.ndarray, "n K"] | None = None
    folds_: Int[np.ndarray, " n"] | None = None
    _texts: Labelled | None = None

    def __init_subclass__(cls, named: bool = False, **rest: Any):
        """Register a stack that can be saved."""
        super().__init_subclass__(**rest)
        if named:
            Stack.NAMED[cls.__name__] = cls

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
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
        given = (*self.base, *check_list("channels", self.channels))
        channels = tuple(load_channel(channel) for channel in given)
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
        counts = {name: self.COUNTS.get(name, 2.0 if name in names else 1.0) for name in members}
        found = self.__sklearn_clone__()
        vars(found).update(
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
        return found

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
        return not prior.given and prior.shared is None and prior.learned is self._learned

    @property
    def _learned(self) -> LearnedPrior | None:
        """The learned prior that is the default."""
        return None

    @property
    def posteriors_(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return {name: fit for name, fit in self.fits_.items() if isinstance(fit, Posterior)}

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The members with so many labels, unfitted."""
        own = self.settings
        channels = (
            ChannelMember(
                channel,
                place,
                own.inference,
                own.prior.of(channel.name),
                own.effort,
            )
            for place, channel in enumerate(own.channels)
        )
        found = [name for name in own.calibrators if labels >= own.min_labels.get(name, 0)]
        return (*channels, *map(CalibratorMember, found))

    def check(self, logits: Float[np.ndarray, "n K"], covariates: Mapping[str, Any]) -> None:
        """Check that texts have what the channels need.

        Args:
            logits: validated, centred readings.
            covariates: of the texts, by name.

        Raises:
            InputError: a setting is invalid, a channel uses a covariate that the texts lack, or the
                prior does not fit the channels.
            ChannelError: a channel breaks the contract.
        """
        own = [part for part in self.parts(0) if isinstance(part, ChannelMember)]
        targets = [part.target(logits.shape[1], covariates) for part in own]
        for part, target in zip(own, targets, strict=True):
            resolve(part.prior, target, reading_spread(logits))
        self.settings.prior.check(targets)

    def fit[T: "Stack"](
        self: T,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        corpus: Any = None,
    ) -> T:
        """Learn the calibration from labelled readings.

        Args:
            logits: option logits of the labelled texts, shape ``[n, K]`` with ``n >= 1``.
            labels: their options, as names or as whole numbers 0..K-1, shape ``[n]``.
            covariates: per-text covariates of the channels that use them, each of shape ``[n]``.
            corpus: option logits of all texts that the calibrator is for, labelled or not, shape
                ``[m, K]``; ``check_readings`` compares others with counts of these, which are kept.
                By default, and if the labelled texts are a random choice, those are enough.

        Returns:
            The estimator itself.

        Raises:
            InputError: a setting, the readings or the labels are invalid; the message says where
                and why.
            ChannelError: there is no such channel, or it breaks the contract.
        """
        # Refused before the fit.
        size = None if corpus is None else np.shape(logits)[-1]
        found = None if corpus is None else sketch(self._read(corpus, size))
        super().fit(logits, labels, covariates)
        self.sketch_ = self.sketch_ if found is None else found
        return self

    def check_readings(self, logits: Any) -> Drift | None:
        """Test whether readings are like those of the fit; see `cordial_ppl.drift.compare`.

        Args:
            logits: option logits of new texts, ``[m, K]``.

        Returns:
            How they differ, with a p value; None where an earlier version saved this calibrator.

        Raises:
            InputError: the readings are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        self._check_fitted()
        found = sketch(self._read(logits, self.scale_.size))
        return None if self.sketch_ is None else compare(self.sketch_, found, self.scale_)

    def check_labels(self, logits: Any, labels: Any, covariates: Any = None) -> LabelCheck:
        """Test whether new labels are such as the calibrator predicts, by their log loss.

        Label sets are simulated from the joint posterior predictive distribution, so that a fit to
        few labels expects less of itself; see `cordial_ppl.cordial.predictive.check_labels`.

        Args:
            logits: option logits of texts that are not of the fit, ``[n, K]``.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Returns:
            The log loss, what was expected of it, and the p value.

        Raises:
            InputError: the readings or the labels are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        readings, extra = self._enter(logits, covariates)
        # A calibrator that needs no labels ignores those of a fit.
        texts = Estimator._label(self, readings, labels, extra, self.scale_)
        return check_labels(*self._mixture(texts.logits), texts, self.seed)

    def summary(self, forecast: Forecast | None = None) -> str:
        """The reader's faults, weights, the expected log loss and a verdict in plain words.

        Args:
            forecast: what more labels would give, from ``forecast``, for a sentence on it.
        """
        return self.describe(forecast).text

    def describe(self, forecast: Forecast | None = None) -> Summary:
        """The content of ``summary`` as values."""
        self._check_fitted()
        expected = self.expected_ if self.folded else None
        return describe(
            self.posteriors_,
            self.weights_,
            expected,
            self.scale_,
            self.losses_,
            forecast,
            self.verdict(),
        )

    def verdict(self) -> Verdict | None:
        """Whether to use the calibrator, and why, from its out-of-fold predictions.

        Returns:
            The verdict; None for a calibrator without folds, or that an earlier version saved.
        """
        self._check_fitted()
        if not self.folded or self.labels_ is None:
            return None
        return judge(self.labels_, self.out_of_fold_, self.scale_)

    @property
    def can_forecast(self) -> bool:
        """Whether ``forecast`` has what it needs: folds, labels of the fit, draws of a channel."""
        drawn = any(len(posterior.weights) > 1 for posterior in self.posteriors_.values())
        return self.folded and self.labels_ is not None and drawn

    def forecast(
        self, logits: Any, covariates: Any = None, *, counts: Sequence[int] | None = None
    ) -> Forecast:
        """Forecast what more labels would give: log loss, and the interval of the texts' mean.

        Nothing is fitted for it.  With fewer than 20 labels nothing is forecast.

        Args:
            logits: option logits of all texts that the mean is wanted of, ``[m, K]``.
            covariates: their covariates, as in ``fit``.
            counts: numbers of labels; by default 2, 3, 5 and 10 times those of the fit.

        Returns:
            The loss to expect now, and at these numbers of labels, with 80 % ranges.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: the readings are invalid, or the calibrator has no folds, no channel with
                draws, or was saved by an earlier version.
        """
        readings, extra = self._enter(logits, covariates)
        labels = self.labels_
        if not self.can_forecast or labels is None:
            raise InputError(
                f"this {type(self).__name__} cannot forecast: it has no folds, no channel with "
                "draws (with the mode there is one), or an earlier version saved it. Fit a "
                "Cordial with the default inference."
            )
        found = look_ahead(*self._mixture(readings), extra)
        return forecast(labels, self.out_of_fold_, self.scale_.values, found, counts)

    def labelled(self, logits: Any = None, labels: Any = None, covariates: Any = None) -> Labelled:
        """Labelled texts, validated and centred: those given, or else those of the fit.

        Args:
            logits: option logits, ``[n, K]``.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: logits came without labels or are invalid, or nothing came for a stack that
                keeps no texts, as one that was loaded and was not given them by ``attach_texts``.
        """
        self._check_fitted()
        if (logits is None) != (labels is None):
            raise InputError("logits and labels go together: give both, or neither.")
        if logits is not None:
            readings, extra = self._enter(logits, covariates)
            return self._label(readings, labels, extra, self.scale_)
        if self._texts is None:
            raise InputError("this calibrator keeps no texts of its fit: give logits and labels.")
        return self._texts

    def to_datatree(
        self, logits: Any = None, labels: Any = None, covariates: Any = None
    ) -> "DataTree":
        """Posteriors of all channels for ArviZ: a ``DataTree`` with one child a channel.

        ``az.summary(tree["mixture"])`` looks at one, ``az.compare(dict(tree.children))`` compares
        them.  Their log likelihoods are of the texts that the stack was fitted to.

        Args:
            logits: other labelled texts, ``[m, K]``, such as for a stack that was loaded.
            labels: their options.
            covariates: their covariates, as in ``fit``.

        Returns:
            A tree whose children have the groups that `cordial_ppl.inference.export` describes.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: logits came without labels, or are invalid.
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

    def predict_draws(
        self,
        logits: Any,
        draws: int = 256,
        covariates: Any = None,
        *,
        histogram: str = "redrawn",
    ) -> tuple[Float[np.ndarray, "D m K"], Float[np.ndarray, " D"]]:
        r"""Probabilities of the options under draws from the posterior, for means and other sums.

        A member's draws share its weight equally, so that the weighted mean of the draws is close
        to ``predict_proba``.

        Args:
            logits: option logits, as in ``predict_proba``.
            draws: how many draws of each channel; a calibrator has one.
            covariates: per-text covariates, as in ``fit``.
            histogram: "redrawn" draws the label histogram, which channels fall back on, from its
                Dirichlet posterior: over a corpus its uncertainty does not average out; "fixed"
                is the posterior mean, as in ``predict_proba``.

        Returns:
            Probabilities of the D draws of all members, and the weight of each.

        Raises:
            InputError: the readings, or the number or kind of draws are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        readings, extra = self._enter(logits, covariates)
        check_names("histogram", [histogram], ("redrawn", "fixed"))
        found = Sampler(
            self,
            int(check_number("draws", draws, 2, whole=True)),
            histogram == "redrawn",
            self.seed,
        )
        shares, probs = zip(*found.predict(readings, extra), strict=True)
        weights = [np.full(len(p), share / len(p)) for share, p in zip(shares, probs, strict=True)]
        return np.concatenate(probs), np.concatenate(weights)

    def estimate(
        self,
        logits: Any,
        rows: Any,
        groups: Any = None,
        covariates: Any = None,
        *,
        level: float = 0.9,
        strata: Any = None,
        probabilities: Any = None,
        draws: int = 256,
    ) -> Estimate:
        """Estimate the mean label and the shares of the options, of a corpus and of its groups.

        Intervals are meant to hold in repeated sampling of labels.  Labelled texts count as
        themselves: what is estimated are the labels of just these texts.  A group has an effect of
        its own, for a reader errs differently by group; one without labels is extrapolated.

        Args:
            logits: option logits of all texts, labelled or not, shape ``[N, K]``.
            rows: positions in ``logits`` of the texts of the fit, in its order, shape ``[n]``.
            groups: group of each text, such as the system that wrote it, shape ``[N]``; None for
                the whole corpus alone.
            covariates: per-text covariates, as in ``fit``, each of shape ``[N]``.
            level: probability inside the intervals, between 0 and 1.
            strata: strata that labelled texts were drawn from, shape ``[N]``, for the design-based
                estimate; see ``rectified_mean``.
            probabilities: inclusion probability of each labelled text, shape ``[n]``, likewise.
            draws: how many draws of each channel.

        Returns:
            The estimates.

        Raises:
            InputError: the readings or groups are invalid, ``rows`` are other texts than those of
                the fit, or there are no draws: without channels, or with ``inference="mode"``.
            NotFittedError: ``fit`` was not called yet.

        Source:
            `cordial_ppl.estimates`; `cordial_ppl.cordial.estimating` has the formula.
        """
        readings, extra = self._enter(logits, covariates)
        return estimate(
            self,
            readings,
            extra,
            rows,
            groups,
            level=level,
            strata=strata,
            probabilities=probabilities,
            draws=int(check_number("draws", draws, 2, whole=True)),
        )

    def find_bias(self, columns: Mapping[str, Any]) -> list[Bias]:
        """Look for groups of texts that the reader rates too low or too high after calibration.

        Args:
            columns: what is known of the labelled texts, such as which system wrote each, by name,
                each of shape ``[n]`` in the order of the fit.

        Returns:
            Columns whose groups differ by more than chance, with the worst group of each; a test
            with an error rate of 5 % over all columns, see `cordial_ppl.estimates.bias`.  None with
            fewer than eight labels.

        Raises:
            InputError: a column has another length.
            NotFittedError: ``fit`` was not called yet.
        """
        self._check_fitted()
        if self.out_of_fold_ is None or self.labels_ is None:
            return []
        for name, cells in columns.items():
            if len(cells) != len(self.labels_):
                raise InputError(
                    f"column {name!r} must have one cell for each of {len(self.labels_)} labels; "
                    f"got {len(cells)}."
                )
        values = self.scale_.values
        return find_bias(values[self.labels_] - self.out_of_fold_ @ values, columns, self.seed)

    def save(self, path: str | Path) -> None:
        """Write the fitted calibrator to one file of plain data, which ``load`` reads.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: this is not a named stack, such as ``Cordial``.
            FileError: the file cannot be written.
        """
        if self.NAMED.get(type(self).__name__) is not type(self):
            raise InputError(
                "only a named stack, such as Cordial, can be saved; this is a "
                f"{type(self).__name__}."
            )
        self._check_fitted()
        storage.write(path, KIND, *storage.pack(StackRecord.of(self)))

    def partial_fit[T: "Stack"](
        self: T, logits: Any, labels: Any, covariates: Mapping[str, Any] | None = None
    ) -> T:
        """Learn from further labelled texts; on an unfitted stack this is ``fit``.

        The stack is then what ``fit`` makes of all texts, old and new, up to the noise of its
        draws.  By the default inference a channel's draws are reweighted, and replaced where their
        weights are poor (`cordial_ppl.cordial.updating`); by others it is fitted anew.  The old
        texts keep their folds.

        Args:
            logits: option logits of the new texts, shape ``[m, K]``.
            labels: their options, as in ``fit``.
            covariates: their covariates, as in ``fit``.

        Returns:
            The estimator itself; unchanged after an error.

        Raises:
            InputError: as ``fit``; or the stack was loaded, and was not given its texts by
                ``attach_texts``.
        """
        if not hasattr(self, "scale_"):
            return self.fit(logits, labels, covariates)
        readings, extra = self._enter(logits, covariates)
        update(self, self._label(readings, labels, extra, self.scale_))
        return self

    def attach_texts(
        self, logits: Any, labels: Any, covariates: Mapping[str, Any] | None = None
    ) -> Bool[np.ndarray, " n"]:
        """Give a stack that was loaded the labelled texts of its fit, which a file does not keep.

        They are recognised by their fingerprints, in any order, among others.

        Args:
            logits: option logits, shape ``[n, K]``.
            labels: their options, as in ``fit``.
            covariates: their covariates, as in ``fit``.

        Returns:
            Which of the texts are others than those of the fit, for ``partial_fit``.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: the input is invalid, or lacks a text of the fit or its label.
        """
        readings, extra = self._enter(logits, covariates)
        return attach(self, self._label(readings, labels, extra, self.scale_))

    def _fit(self, texts: Labelled, earlier: "Stack | None" = None) -> None:
        """Fit to texts, of which an earlier stack knows the first."""
        logits, labels, covariates = texts
        settings = self.settings
        parts = settings.parts(len(labels))
        settings.check(logits, covariates)
        folds = held_out = None
        if self.folded and len(labels) >= MIN_LABELS:
            seed, old = settings.seed, None if earlier is None else earlier.folds_
            if old is None:
                folds = assign_folds(len(labels), FOLDS, np.random.default_rng(seed))
            else:
                folds = extend_folds(old, len(labels), FOLDS, seed)
        case = Case(texts, folds, (settings.seed,))
        if earlier is not None and settings.inference == "default":
            # Draws that are kept go on with random numbers that they have not seen.
            case = case._replace(seed=(*case.seed, len(labels)), known=earlier.posteriors_)
        fits = [job.result() for job in fit_members(parts, lambda part: part.fit([case])[0])]
        if folds is not None:
            held_out = np.stack([fit.held_out for fit in fits], axis=-1)
        names = [part.name for part in parts]
        counts = np.array([settings.weight_counts[name] for name in names])
        mixture = weigh(texts, folds, held_out, counts)
        self._fitted_settings = settings
        self.fits_ = {name: fit.fitted for name, fit in zip(names, fits, strict=True)}
        self.weights_ = dict(zip(names, mixture.weights.tolist(), strict=True))
        self.losses_ = dict(zip(names, mixture.losses, strict=False))
        self.expected_, self.out_of_fold_ = mixture.expected, mixture.out_of_fold
        self.provenance_ = {} if earlier is None else earlier.provenance_
        self.seen_ = fingerprints(logits, labels).ravel()
        self._texts, self.folds_ = texts, folds
        self.sketch_ = sketch(logits) if earlier is None else earlier.sketch_
        self.labels_ = np.asarray(labels, np.int64)
        self.label_counts_ = np.bincount(labels, minlength=logits.shape[-1])
        for posterior in self.posteriors_.values():
            warn_if_doubtful(posterior)

    def _mixture(
        self, logits: np.ndarray
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "1 M"]]:
        weights = np.array([list(self.weights_.values())])
        return [(self.fits_[name], logits) for name in self.weights_], weights
