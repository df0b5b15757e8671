"""Fitted stacks on disk.

A file never holds code.  Of a channel from a user's file it has the name and the digest, and that
file must be named again to load the stack.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64, Num

from cordial_ppl.channels import CHANNELS, is_built_in
from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.answers import reader_of
from cordial_ppl.decisions.judge import Reader
from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.inference.posterior import Diagnostics, Posterior
from cordial_ppl.inference.priors import Priors
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.storage import Record, blaming
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import CalibratorFit, Fitted
from cordial_ppl.stack.settings import Defaults, make_settings
from cordial_ppl.stack.sketch import check_sketch
from cordial_ppl.stack.weighing import ExpectedLoss

KIND = "calibrator"
SETTINGS = (
    *("inference", "weight_counts", "seed", "min_labels", "calibrators", "effort"),
    *("fixed_counts", "has_default_prior"),
)
"""Settings that a file has as they are."""


class PosteriorRecord(Record):
    """The posterior of a channel, and how the channel is found again; see ``Posterior``."""

    built_in: bool
    digest: str
    diagnostics: Diagnostics
    covariates: tuple[str, ...]
    histogram: Float[np.ndarray, " _K"]
    draws: Float[np.ndarray, "_S _P"]
    weights: Float[np.ndarray, " _S"]
    thinned: Float[np.ndarray, " _S"]
    prior: Float[np.ndarray, "2 _P"] | None

    @classmethod
    def of(cls, posterior: Posterior) -> "PosteriorRecord":
        """Make the record of a posterior."""
        prior, names = posterior.prior, ("diagnostics", "covariates", "histogram", "draws")
        return cls(
            built_in=is_built_in(posterior.channel),
            digest=posterior.channel.digest,
            prior=None if prior is None else np.asarray(prior, np.float64),
            weights=posterior.weights,
            thinned=posterior.thinned_weights,
            **{name: getattr(posterior, name) for name in names},
        )

    def restore(self, channel: Channel, size: int, readers: int | None = None) -> Posterior:
        """Make the posterior of a channel for K options.

        Raises:
            ValueError: it is for other options or parameters, or its numbers cannot be used.
        """
        names = "diagnostics", "covariates", "histogram", "draws", "weights", "thinned"
        prior = None if self.prior is None else Prior(*self.prior)
        fields = {name: getattr(self, name) for name in names}
        posterior = Posterior(channel, prior=prior, readers=readers, **fields)
        for name in ("histogram", "weights", "thinned"):
            check_shares(name, fields[name])
        if len(self.histogram) != size or self.draws.shape[1] != posterior.target.size:
            raise ValueError(f"channel {channel.name!r} has other options or parameters than here")
        # Predictions are made in single precision.
        if np.abs(self.draws).max(initial=0) > np.finfo(np.float32).max:
            raise ValueError(f"the draws of channel {channel.name!r} are too large")
        if prior is not None:
            posterior.target.check_prior(prior)
        return posterior


class AnyFitRecord(Record):
    """What a file has of a fit of one reader or of several; names are those of ``AnyFit``."""

    scale: Scale
    covariates: tuple[str, ...]
    weights: dict[str, float]
    expected: ExpectedLoss
    labels: Int64[np.ndarray, " _n"]
    sample_weight: Float64[np.ndarray, " _n"]
    texts: Int64[np.ndarray, " _n"]
    out_of_fold: Float64[np.ndarray, "_n _K"] | None

    def check(self, members: Collection[str]) -> None:
        """Check that the numbers belong together, and to these members.

        Raises:
            ValueError: they do not.
        """
        check_shares("weights", np.array(list(self.weights.values())))
        if self.weights.keys() != {*members}:
            raise ValueError("the weights are of other members")
        if not ((self.labels >= 0) & (self.labels < self.scale.size)).all():
            raise ValueError("the labels are no options of the scale")
        if self.sample_weight.min(initial=1) <= 0:
            raise ValueError("the weights of the labels are not positive")
        for probs in () if self.out_of_fold is None else self.out_of_fold:
            if len(probs) != self.scale.size:
                raise ValueError("the out-of-fold probabilities are of other options")
            check_shares("out-of-fold probabilities", probs)


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
    label_counts: Num[np.ndarray, " _K"]
    sketch: Int64[np.ndarray, "2 _cells"]
    folds: Int64[np.ndarray, " _n"] | None
    fixed_counts: tuple[str, ...]
    reader: Reader | None

    @classmethod
    def of(cls, fit: Fit, estimator: str) -> "FitRecord":
        """Make the record of a fit by an estimator of this name."""
        regressions = {k: v.params for k, v in fit.members.items() if isinstance(v, CalibratorFit)}
        return cls(
            estimator=estimator,
            posteriors={name: PosteriorRecord.of(each) for name, each in fit.posteriors.items()},
            regressions={
                name: {field: np.asarray(values) for field, values in params._asdict().items()}
                for name, params in regressions.items()
            },
            reader=reader_of(fit),
            **{name: getattr(fit.settings, name) for name in SETTINGS},
            **{name: getattr(fit, name) for name in VALUES},
        )

    def restore(self, path: str | Path, channels: Iterable[str | Path | Channel]) -> Fit:
        """Make the fit; arguments and errors are those of `cordial_ppl.load`."""
        models, size = find_channels(self.posteriors, channels), self.scale.size
        with blaming(path):
            members: dict[str, Fitted] = {}
            for name, posterior in self.posteriors.items():
                members[name] = posterior.restore(models[name], size)
            for name, params in self.regressions.items():
                kind = CALIBRATORS[name]
                members[name] = fit = CalibratorFit(kind, kind.params(**params))
                if not np.isfinite(fit.predict(np.zeros((1, size)))[0]).all():
                    raise ValueError(f"calibrator {name!r} predicts no probabilities")
            self.check(members)
            priors = {name: getattr(member, "prior", None) for name, member in members.items()}
            channel_priors = {name: prior for name, prior in priors.items() if prior is not None}
            arguments = {name: getattr(self, name) for name in SETTINGS}
            # Fitted to other readings, a default prior is another one; what was given is not.
            settings = make_settings(
                Defaults(**{k: arguments.pop(k) for k in ("min_labels", "fixed_counts")}),
                channels=tuple(models.values()),
                prior=Priors(channel_priors),
                **{name: value for name, value in arguments.items() if name != "has_default_prior"},
            )
            settings = replace(settings, has_default_prior=self.has_default_prior)
            values = {name: getattr(self, name) for name in VALUES}
            return Fit(settings=settings, members=members, reader=self.reader, **values)

    def check(self, members: Collection[str]) -> None:
        """Check that the numbers belong together, and to these members; see ``AnyFitRecord``."""
        super().check(members)
        size = self.scale.size
        if not np.array_equal(
            np.bincount(self.labels, self.sample_weight, size), self.label_counts
        ):
            raise ValueError("the labels are of another fit")
        if self.folds is not None and self.folds.min(initial=0) < 0:
            raise ValueError("a fold has a negative number")
        check_sketch(self.sketch, size)
        if self.reader and {len(self.reader.texts), len(self.reader.bias)} != {size}:
            raise ValueError("what is known of the judge is of other options")


VALUES = (
    *AnyFitRecord.__struct_fields__,
    *("losses", "provenance", "label_counts", "sketch", "folds"),
)
"""Values of a fit that a file has as they are."""


def save(fit: Fit, path: str | Path, estimator: str) -> None:
    """Write a fit to one file; arguments are those of ``FitRecord.of``.

    Raises:
        FileError: the file cannot be written.
    """
    storage.write(path, KIND, *storage.pack(FitRecord.of(fit, estimator)))


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
        if name in candidates and posterior.digest not in ("", candidates[name].digest):
            raise InputError(
                f"the calibrator was fitted with another {name}.py than {candidates[name].source}: "
                "their contents differ. Name the file as it was, or fit the calibrator again."
            )
        if name not in candidates and not (posterior.built_in and name in CHANNELS):
            files = (f"{n}.py" for n in saved if n not in (*candidates, *CHANNELS))
            raise SettingNeeded(
                f"the calibrator was fitted with the channel file {name}.py.",
                "Name that file again (its code is run)",
                "channels",
                tuple(files) or (f"{name}.py",),
            )
        built_in = posterior.built_in and name in CHANNELS
        models[name] = CHANNELS[name] if built_in else candidates[name]
    return models


def check_shares(name: str, shares: np.ndarray) -> None:
    """Check that shares are not negative and sum to one.

    Raises:
        ValueError: they do not.
    """
    if not (shares >= 0).all() or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
        raise ValueError(f"the {name} do not sum to one")
