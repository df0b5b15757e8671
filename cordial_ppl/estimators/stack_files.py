"""Fitted stacks on disk.

A file never holds code.  Of a channel from a user's file it has the name and the digest, and that
file must be named again to load the stack.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Num

from cordial_ppl.channels import CHANNELS, is_built_in
from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import salt_texts
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import ChannelError, InputError, SettingNeeded, list_names, naming
from cordial_ppl.inference.diagnostics import Diagnostics
from cordial_ppl.inference.effort import Effort
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.priors import ChannelPrior, Priors, RelativePrior
from cordial_ppl.inference.priors.fits import TYPICAL_SPREAD
from cordial_ppl.inference.target import Prior
from cordial_ppl.runtime.storage import Record, blaming, require
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import CalibratorFit, Fitted
from cordial_ppl.stack.settings import Settings
from cordial_ppl.stack.sketch import check_sketch
from cordial_ppl.stack.weighing import ExpectedLoss

KIND = "calibrator"


class PosteriorRecord(Record):
    """The posterior of a channel, and how the channel is found again; see ``Posterior``.

    Attributes:
        relative: the numbers of a ``RelativePrior``, for a fit to other readings; None in older
            files and where the prior is the same for all readings.
    """

    built_in: bool
    digest: str
    diagnostics: Diagnostics
    histogram: Float[np.ndarray, " _K"]
    draws: Float[np.ndarray, "_S _P"]
    weights: Float[np.ndarray, " _S"]
    thinned: Float[np.ndarray, " _S"]
    prior: Float[np.ndarray, "2 _P"] | None
    transitions: dict[str, Num[np.ndarray, " _S"]]
    coordinates: Sequence[str] = ()
    relative: Float[np.ndarray, "3 _P"] | None = None

    @classmethod
    def of(cls, posterior: Posterior, source: ChannelPrior = None) -> "PosteriorRecord":
        """Make the record of a posterior, and of where its prior came from."""
        prior, relative = posterior.prior, None
        if not isinstance(source, Prior | None):
            spreads = TYPICAL_SPREAD, 2 * TYPICAL_SPREAD
            typical, doubled = (source.of(posterior.target, spread) for spread in spreads)
            relative = np.stack([*typical, typical.loc != doubled.loc])
        return cls.take(
            posterior,
            built_in=is_built_in(posterior.channel),
            digest=posterior.channel.digest,
            prior=None if prior is None else np.asarray(prior, np.float64),
            relative=relative,
            thinned=posterior.thinned_weights,
        )

    @property
    def source(self) -> Prior | RelativePrior | None:
        """Where the prior comes from; in older files, that of one spread of the readings."""
        if self.relative is not None:
            return RelativePrior(*self.relative)
        return None if self.prior is None else Prior(*self.prior)

    def restore(self, channel: Channel, texts: Labelled) -> Posterior:
        """Make the posterior of a channel that was fitted to these texts.

        Raises:
            ChannelError: the channel has other parameters.
            ValueError: it is for other options, or its numbers cannot be used.
        """
        prior = None if self.prior is None else Prior(*self.prior)
        posterior = self.give(Posterior, channel=channel, prior=prior, data=texts)
        # A channel that is no file has no digest, and older files have no names of parameters.
        if [*self.coordinates] not in ([], there := posterior.coordinates):
            fitted = f"was fitted with {list_names(self.coordinates)}. Pass the same channel"
            raise ChannelError(f"channel {channel.name!r} has {list_names(there)}, but {fitted}.")
        # Other processors round otherwise, and might choose other draws to predict with.
        vars(posterior)["thinned_weights"] = self.thinned
        for name in ("histogram", "weights", "thinned"):
            check_shares(name, getattr(self, name))
        lengths = {len(each) for each in (self.draws, *self.transitions.values())}
        require(len(lengths) == 1, "the transition statistics do not match the draws")
        sizes = len(self.histogram), self.draws.shape[1]
        expected = texts.logits.shape[-1], posterior.target.size
        require(sizes == expected, f"the draws do not match channel {channel.name!r}")
        small = np.abs(self.draws).max(initial=0) <= np.finfo(np.float32).max
        require(small, f"channel {channel.name!r} has draws whose values are too large")
        for numbers in (each for each in (self.prior, self.relative) if each is not None):
            posterior.target.check_prior(Prior(*numbers[:2]))
        return posterior


class LabelledRecord(Record):
    """Labelled texts; names are those of ``Labelled``.

    Attributes:
        read: which texts were read, by each of several readers; logits of others are zero here.
        salt: made of the labelled texts, so that equal fits give equal files; empty in files whose
            texts have digests without one.
    """

    logits: Float64[np.ndarray, "_n ..."]
    labels: Int64[np.ndarray, " _n"]
    covariates: dict[str, Float64[np.ndarray, " _n"]]
    weights: Float64[np.ndarray, " _n"]
    texts: Int64[np.ndarray, " _n"]
    read: Bool[np.ndarray, "_n ..."] | None
    salt: str = ""

    @classmethod
    def of(cls, texts: Labelled) -> "LabelledRecord":
        """Make the record of labelled texts, whose names are digested with a salt."""
        read, numbers = ~np.isnan(texts.logits[..., 0]), texts.texts
        if not (salt := texts.salt):
            salt = hashlib.sha256(texts.logits.tobytes() + texts.labels.tobytes()).hexdigest()
            numbers = salt_texts(numbers, salt)
        return cls(
            logits=np.nan_to_num(texts.logits),
            labels=np.asarray(texts.labels, np.int64),
            covariates={k: np.asarray(v, np.float64) for k, v in texts.covariates.items()},
            weights=texts.weights,
            texts=np.asarray(numbers, np.int64),
            salt=salt,
            read=None if texts.readers is None and read.all() else read,
        )

    def restore(self, size: int) -> Labelled:
        """Make labelled texts of K options.

        Raises:
            ValueError: their numbers do not fit together.
        """
        logits, read = self.logits, self.read
        if read is not None:
            require(logits.shape[:-1] == read.shape, "the reading mask has the wrong shape")
            logits = np.where(read[..., None], logits, np.nan)
        fitting = logits.ndim > 1 and logits.shape[-1] == size
        require(fitting, "the readings do not match the options")
        lengths = {len(each) for each in (self.labels, *self.covariates.values())}
        require(len(lengths) == 1, "the labels do not match the covariates")
        require(np.isin(self.labels, range(size)).all(), "some labels are not options of the scale")
        require(self.weights.min(initial=1) > 0, "some label weights are not positive")
        return self.give(Labelled, logits=logits)


class AnyFitRecord(Record):
    """What a file has of a fit of one reader or of several; names are those of ``AnyFit``."""

    scale: Scale
    weights: dict[str, float]
    expected: ExpectedLoss
    labelled: LabelledRecord
    out_of_fold: Float64[np.ndarray, "_n _K"] | None
    columns: list[str] | None

    def check(self, members: Collection[str], count: int) -> None:
        """Check that the numbers belong together, to these members and to so many labels.

        Raises:
            ValueError: they do not.
        """
        check_shares("weights", np.array(list(self.weights.values())))
        require(self.weights.keys() == {*members}, "the weights do not match the members")
        if self.out_of_fold is not None:
            fitting = self.out_of_fold.shape == (count, self.scale.size)
            require(fitting, "the out-of-fold probabilities do not match the labels")
            check_shares("out-of-fold probabilities", self.out_of_fold)


class FitRecord(AnyFitRecord):
    """A fit of a stack and its settings; names are those of ``Fit`` and ``Settings``."""

    estimator: str
    has_default_prior: bool
    inference: str
    weight_counts: dict[str, float]
    seed: int
    min_labels: dict[str, int]
    calibrators: tuple[str, ...]
    effort: Effort
    posteriors: dict[str, PosteriorRecord]
    regressions: dict[str, dict[str, Num[np.ndarray, "..."]]]
    losses: dict[str, float]
    provenance: dict[str, list[str]]
    sketch: Int64[np.ndarray, "2 _cells"]
    folds: Int64[np.ndarray, " _n"] | None
    fixed_counts: tuple[str, ...]

    @classmethod
    def of(cls, fit: Fit, estimator: str) -> "FitRecord":
        """Make the record of a fit by an estimator of this name."""
        posteriors, of = fit.posteriors.items(), fit.settings.prior.of
        return cls.take(
            fit,
            fit.settings,
            estimator=estimator,
            labelled=LabelledRecord.of(fit.entered),
            columns=None if fit.columns is None else list(fit.columns),
            posteriors={name: PosteriorRecord.of(each, of(name)) for name, each in posteriors},
            regressions={
                name: {field: np.asarray(values) for field, values in each.params._asdict().items()}
                for name, each in fit.members.items()
                if isinstance(each, CalibratorFit)
            },
        )

    def restore(self, path: str | Path, channels: Iterable[str | Path | Channel]) -> Fit:
        """Make the fit; arguments and errors are those of `cordial_ppl.load`."""
        with naming(path):
            models, size = find_channels(self.posteriors, channels), self.scale.size
        with blaming(path):
            texts, members = self.labelled.restore(size), dict[str, Fitted]()
            read = texts.read
            for name, posterior in self.posteriors.items():
                members[name] = posterior.restore(models[name], read)
            for name, params in self.regressions.items():
                kind = CALIBRATORS[name]
                members[name] = fit = CalibratorFit(kind, kind.params(**params))
                probs, _ = fit.predict(np.zeros((1, size)))
                require(np.isfinite(probs).all(), f"calibrator {name!r} has invalid predictions")
            count = len(read.labels)
            self.check(members, count)
            if (folds := self.folds) is not None:
                fitting = folds.shape == (count,) and folds.min(initial=0) >= 0
                require(fitting, "the folds do not match the labels")
            check_sketch(self.sketch, size)
            sources = ((name, each.source) for name, each in self.posteriors.items())
            prior = Priors({name: source for name, source in sources if source is not None})
            settings = self.give(Settings, channels=tuple(models.values()), prior=prior)
            columns = None if self.columns is None else np.array(self.columns, object)
            made = {"settings": settings, "members": members, "columns": columns}
            return self.give(Fit, entered=texts, **made)


def find_channels(
    saved: Mapping[str, PosteriorRecord], channels: Iterable[str | Path | Channel]
) -> dict[str, Channel]:
    """Find the channels of a saved stack by their names, and among those that are given.

    Raises:
        InputError: one has other contents.
        SettingNeeded: one is needed and not given.
    """
    single = isinstance(channels, str | Channel) or not isinstance(channels, Iterable)
    listed: Any = [channels] if single else channels
    models, candidates = {}, {channel.name: channel for channel in map(load_channel, listed)}
    for name, posterior in saved.items():
        built_in = posterior.built_in and name in CHANNELS
        if name in candidates and posterior.digest not in ("", candidates[name].digest):
            raise InputError(
                f"{candidates[name].source} differs from the file {name}.py with which the "
                "calibrator was fitted. Pass the original file, or fit the calibrator again."
            )
        if not built_in and name not in candidates:
            files = (f"{n}.py" for n in saved if n not in (*candidates, *CHANNELS))
            raise SettingNeeded(
                f"the calibrator was fitted with the channel file {name}.py.",
                "Pass that file again (its code will be run)",
                "channels",
                tuple(files) or (f"{name}.py",),
            )
        models[name] = CHANNELS[name] if built_in else candidates[name]
    return models


def check_shares(name: str, shares: np.ndarray) -> None:
    """Check that shares are not negative and sum to one, along the last axis.

    Raises:
        ValueError: they do not.
    """
    fitting = (shares >= 0).all() and np.allclose(shares.sum(axis=-1), 1, rtol=0, atol=1e-6)
    require(fitting, f"the {name} do not sum to one")
