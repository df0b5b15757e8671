"""Fitted stacks on disk.

A file never holds code.  Of a channel from a user's file it has the name and the digest, and that
file must be named again to load the stack.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64, Int64, Num

from cordial_ppl.channels import CHANNELS, is_built_in
from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.drift import check_sketch
from cordial_ppl.decisions.reader import Reader, check_reader
from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.inference.posterior import Diagnostics, Posterior
from cordial_ppl.inference.priors import Priors
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.runtime.storage import Record, blaming
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.members import CalibratorFit, Fitted
from cordial_ppl.stack.weighing import ExpectedLoss

if TYPE_CHECKING:
    from cordial_ppl.estimators.stack import Stack

KIND = "calibrator"
SETTINGS = "inference", "weight_counts", "seed", "min_labels", "calibrators", "effort"
"""Arguments of a stack that its file has as they are."""


class PosteriorRecord(Record):
    """The posterior of a channel, and how the channel is found again; see ``Posterior``."""

    built_in: bool
    digest: str
    diagnostics: Diagnostics
    covariates: tuple[str, ...]
    histogram: Float[np.ndarray, " _K"]
    draws: Float[np.ndarray, "_S _P"]
    weights: Float[np.ndarray, " _S"]
    predicting: Float[np.ndarray, " _S"]
    prior: Float[np.ndarray, "2 _P"] | None

    @classmethod
    def of(cls, posterior: Posterior) -> "PosteriorRecord":
        """What is saved of a posterior."""
        prior, names = posterior.prior, ("diagnostics", "covariates", "histogram", "draws")
        return cls(
            built_in=is_built_in(posterior.channel),
            digest=posterior.channel.digest,
            prior=None if prior is None else np.asarray(prior, np.float64),
            weights=posterior.weights,
            predicting=posterior.thinned_weights,
            **{name: getattr(posterior, name) for name in names},
        )

    def restore(self, channel: Channel, size: int, readers: int | None = None) -> Posterior:
        """The posterior of a channel for K options.

        Raises:
            ValueError: it is for other options or parameters, or its numbers cannot be used.
        """
        names = "diagnostics", "covariates", "histogram", "draws", "weights", "predicting"
        prior = None if self.prior is None else Prior(*self.prior)
        fields = {name: getattr(self, name) for name in names}
        posterior = Posterior(channel, prior=prior, readers=readers, **fields)
        for name in ("histogram", "weights", "predicting"):
            check_shares(name, fields[name])
        if len(self.histogram) != size or self.draws.shape[1] != posterior.target.size:
            raise ValueError(f"channel {channel.name!r} has other options or parameters")
        # Predictions are made in single precision.
        if np.abs(self.draws).max(initial=0) > np.finfo(np.float32).max:
            raise ValueError(f"the draws of channel {channel.name!r} are too large")
        if prior is not None:
            posterior.target.check_prior(prior)
        return posterior


class StackRecord(Record):
    """A fitted stack; names that end in "_" are attributes of the fit, see ``Stack``."""

    estimator: str
    named: bool
    default_prior: bool
    inference: str
    weight_counts: dict[str, float]
    seed: int
    min_labels: dict[str, int]
    calibrators: tuple[str, ...]
    effort: Effort
    posteriors: dict[str, PosteriorRecord]
    regressions: dict[str, dict[str, Num[np.ndarray, "..."]]]
    scale_: Scale
    covariates_: tuple[str, ...]
    weights_: dict[str, float]
    losses_: dict[str, float]
    expected_: ExpectedLoss
    provenance_: dict[str, list[str]]
    label_counts_: Num[np.ndarray, " _K"]
    sketch_: Int64[np.ndarray, "2 _cells"]
    labels_: Int64[np.ndarray, " _n"]
    sample_weight_: Float64[np.ndarray, " _n"]
    texts_: Int64[np.ndarray, " _n"]
    out_of_fold_: Float64[np.ndarray, "_n _K"] | None = None
    folds_: Int64[np.ndarray, " _n"] | None = None
    reader_: Reader | None = None

    @classmethod
    def of(cls, stack: "Stack") -> "StackRecord":
        """What is saved of a fitted stack."""
        settings = stack.fitted_settings
        learned = [name for name in cls.__struct_fields__ if name.endswith("_")]
        regressions = {k: v.params for k, v in stack.fits_.items() if isinstance(v, CalibratorFit)}
        return cls(
            estimator=type(stack).__name__,
            named=stack.options is not None,
            default_prior=stack.has_default_prior,
            posteriors={name: PosteriorRecord.of(fit) for name, fit in stack.posteriors_.items()},
            regressions={
                name: {field: np.asarray(values) for field, values in params._asdict().items()}
                for name, params in regressions.items()
            },
            **{name: getattr(settings, name) for name in SETTINGS},
            **{name: getattr(stack, name) for name in learned},
        )

    def restore(
        self,
        path: str | Path,
        channels: Iterable[str | Path | Channel],
        kinds: Mapping[str, type],
    ) -> "Stack":
        """Make the stack, ready to predict.

        Arguments and errors are those of `cordial_ppl.load`; ``kinds`` are the classes by name.
        """
        models, scale = find_channels(self.posteriors, channels), self.scale_
        with blaming(path):
            fits: dict[str, Fitted] = {}
            for name, posterior in self.posteriors.items():
                fits[name] = posterior.restore(models[name], scale.size)
            for name, params in self.regressions.items():
                kind = CALIBRATORS[name]
                fits[name] = fit = CalibratorFit(kind, kind.params(**params))
                if not np.isfinite(fit.predict(np.zeros((1, scale.size)))[0]).all():
                    raise ValueError(f"calibrator {name!r} predicts no probabilities")
            check_shares("weights", np.array(list(self.weights_.values())))
            counts = self.label_counts_
            if len(counts) != scale.size or counts.min() < 0 or self.weights_.keys() != fits.keys():
                raise ValueError("the weights or the counts of labels are of another fit")
            weights = self.sample_weight_
            if (
                self.labels_.min(initial=0) < 0
                or weights.min(initial=1) <= 0
                or not np.array_equal(np.bincount(self.labels_, weights, scale.size), counts)
            ):
                raise ValueError("the labels are of another fit")
            if self.folds_ is not None and self.folds_.min(initial=0) < 0:
                raise ValueError("a fold has a negative number")
            for probs in () if self.out_of_fold_ is None else self.out_of_fold_:
                check_shares("out-of-fold probabilities", probs)
            check_sketch(self.sketch_, scale.size)
            if self.reader_ is not None:
                check_reader(self.reader_, scale.size)
            priors = {name: getattr(fit, "prior", None) for name, fit in fits.items()}
            channel_priors = {name: prior for name, prior in priors.items() if prior is not None}
            learned = [name for name in self.__struct_fields__ if name.endswith("_")]
            stack = object.__new__(kinds[self.estimator])
            vars(stack).update(
                # The channels and calibrators of the file are all that there are.
                base=(),
                options=scale.options if self.named else None,
                channels=tuple(models.values()),
                # Fitted to other readings, the default is another one; what was given is not.
                prior=None if self.default_prior else Priors(channel_priors),
                fits_=fits,
                **{name: getattr(self, name) for name in (*SETTINGS, *learned)},
            )
            stack._fitted_settings = stack.settings  # Validates them.
            return stack


def find_channels(
    saved: Mapping[str, PosteriorRecord], channels: Iterable[str | Path | Channel]
) -> dict[str, Channel]:
    """Find the channels of a saved stack by their names, and among those that are given.

    Raises:
        InputError: one has other contents.
        SettingNeeded: one is needed and not given.
    """
    models, candidates = {}, {channel.name: channel for channel in map(load_channel, channels)}
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
