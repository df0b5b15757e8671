"""The members of a stack: channels and calibrators, fitted to one data set or to many.

A member is fitted to all labels, which is the fit that is kept, and without each fold in turn,
for predictions of the texts held out.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels.channel import Channel
from cordial_ppl.inference.case import Case, CaseFit
from cordial_ppl.inference.effort import Effort
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.predictions import TEXTS
from cordial_ppl.inference.priors import ChannelPrior, NamedPrior, reading_spread, resolve
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.runtime.blas import on_one_core
from cordial_ppl.runtime.compilation import workers
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.calibrators import CALIBRATORS, Calibrator
from cordial_ppl.stack.calibrators.samples import spread_folds
from cordial_ppl.stack.interval import quantiles


@dataclass(frozen=True, eq=False)
class CalibratorFit:
    """A fitted calibrator.

    Attributes:
        calibrator: which one.
        params: its parameters, a NamedTuple of arrays.
    """

    calibrator: Calibrator
    params: Any

    def predict(
        self,
        logits: Float[np.ndarray, "m *readers K"],
        covariates: Mapping[str, np.ndarray] | None = None,
        values: Float[np.ndarray, " K"] | None = None,
    ) -> tuple[Float[np.ndarray, "m K"], Float[np.ndarray, "1 m"] | None]:
        """Predict as a posterior of one draw would, `Posterior.predict`; covariates are ignored."""
        masses = np.exp(self.calibrator.log_probs(self.params, logits))
        probs = masses / masses.sum(axis=1, keepdims=True)
        return probs, None if values is None else (probs @ values)[None]

    @property
    def prediction_weights(self) -> Float[np.ndarray, " 1"]:
        """The weight of its one draw."""
        return np.ones(1)


Fitted = Posterior | CalibratorFit


def predict_each(
    fit: Fitted, logits: Float[np.ndarray, "m *readers K"], covariates: Mapping[str, np.ndarray]
) -> Float[np.ndarray, "D m K"]:
    """Predict texts under each draw that predicts, in order of ``prediction_weights``.

    The probability of an option is the expected value of "it is this one", whose program is
    compiled already where texts were predicted.
    """
    options = np.eye(logits.shape[-1])
    parts = [np.asarray(fit.predict(logits, covariates, option)[1]) for option in options]
    probs = np.stack(parts, axis=-1, dtype=np.float64)
    return probs / probs.sum(axis=-1, keepdims=True)


def predict_mixture(
    members: Sequence[tuple[Fitted, np.ndarray]],
    shares: Float[np.ndarray, "#m M"],
    covariates: Mapping[str, np.ndarray],
    values: Float[np.ndarray, " K"],
    level: float | None = None,
) -> tuple[Float[np.ndarray, "m K"], Float[np.ndarray, "2 m"] | None]:
    r"""Predict texts, and find two quantiles of each text's expected position.

    .. math:: \hat p(z \mid x) = \sum_j \omega_j\, \hat p_j(z \mid x)

    Args:
        members: fitted members, each with the readings that it sees.
        shares: weight of each member in each text's mixture, or in that of all texts.
        covariates: of the texts, by name.
        values: position of each option on the scale.
        level: probability between the two; None where no quantiles are wanted.

    Returns:
        Probabilities, and the lower and upper quantiles over draws and members.
    """
    positive = shares.any(axis=0)
    used = [member for member, weighs in zip(members, positive, strict=True) if weighs]
    shares, count = shares[:, positive], len(used[0][1])
    # Before the threads: a fit chooses the draws that predict when it is first asked.
    weights = [fit.prediction_weights for fit, _ in used]
    probs, ends = np.empty((count, len(values))), np.empty((2, count))
    positions = None if level is None else values

    def predict(start: int) -> None:
        rows = slice(start, start + TEXTS)
        extra = {name: column[rows] for name, column in covariates.items()}
        block = shares[rows] if len(shares) > 1 else shares
        predictions = [fit.predict(seen[rows], extra, positions) for fit, seen in used]
        # What a member without a share predicts may not be finite.
        mixed = sum(
            np.where(share[:, None] > 0, share[:, None] * p, 0.0)
            for share, (p, _) in zip(block.T, predictions, strict=True)
        )
        probs[rows] = mixed / np.sum(mixed, axis=1, keepdims=True)
        if level is not None:
            means = [each for _, each in predictions if each is not None]
            ends[:, rows] = quantiles(means, weights, block, level)

    starts = range(0, count, TEXTS)
    with ThreadPoolExecutor(max_workers=workers(max(1, len(starts)))) as pool:
        list(pool.map(predict, starts))
    return probs, None if level is None else ends


@dataclass(frozen=True, eq=False)
class CalibratorMember:
    """A calibrator, by name."""

    name: str

    @property
    def key(self) -> tuple:
        """Members with equal keys have equal fits."""
        return (self.name,)

    def fit(self, cases: Sequence[Case]) -> list[CaseFit]:
        """Fit to every data set and its folds."""
        return [*map(self._fit, cases)]

    def _fit(self, case: Case) -> CaseFit:
        """Fit to a data set and its folds, all in one call."""
        calibrator, texts, folds = CALIBRATORS[self.name], case.texts, case.folds
        if folds is None and calibrator.grid is not None:
            folds = spread_folds(texts.labels, texts.texts)
        merged, _ = case.merge(folds)
        sets = [merged.texts.labels, *(merged.masks if case.masks else ())]
        counted = merged.texts.weights, merged.folds
        params = calibrator.fit(merged.texts.logits, np.stack(sets), *counted)
        fits = [CalibratorFit(calibrator, each) for each in map(type(params), *params)]
        if case.folds is None:
            return CaseFit(fits[0], None)
        held_out = np.empty((len(texts.labels), texts.logits.shape[-1]))
        for fold, fit in enumerate(fits[1:]):
            held_out[case.folds == fold], _ = fit.predict(texts.logits[case.folds == fold])
        return CaseFit(fits[0], held_out)


@dataclass(frozen=True, eq=False)
class ChannelMember:
    """A channel.

    Attributes:
        channel: which one.
        index: its place among the members, for random numbers that differ: or their errors would
            correlate.
        method: how its posterior is found.
        prior: what replaces its prior; None for its own.
        effort: how much work the default inference does.
    """

    channel: Channel
    index: int
    method: str
    prior: ChannelPrior
    effort: Effort

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.channel.name

    @property
    def key(self) -> tuple:
        """Members with equal keys have equal fits; priors of arrays are told apart by identity."""
        prior = self.prior.key if isinstance(self.prior, NamedPrior) else id(self.prior)
        return self.channel, self.index, self.method, prior, self.effort

    def target(self, size: int, covariates: Mapping[str, Any], *readers: int) -> Target:
        """Return the channel's density for K options."""
        return build_target(self.channel, size, tuple(covariates), *readers)

    def fit(self, cases: Sequence[Case]) -> list[CaseFit]:
        """Fit to every data set and its folds."""
        return fit_cases(*self.prepare(cases), method=self.method, effort=self.effort)

    def prepare(self, cases: Sequence[Case]) -> tuple[Target, list[Case]]:
        """Return the channel's density, and the data sets with their priors and seeds."""
        first = cases[0].texts
        *readers, size = first.logits.shape[1:]
        target = self.target(size, first.covariates, *readers)
        prepared = []
        for case in cases:
            spread = reading_spread(case.texts.logits, case.texts.weights)
            prior = resolve(self.prior, target, spread)
            prepared.append(case._replace(seed=(*case.seed, self.index), prior=prior))
        return target, prepared


Member = CalibratorMember | ChannelMember


@on_one_core
def fit_members[M](members: Sequence[M], fit: Callable[[M], Any]) -> list[Future]:
    """Fit members side by side, in threads.

    Args:
        members: what to fit, by whatever ``fit`` takes.
        fit: fits one of them.

    Returns:
        For each member what ``fit`` returned, or the error that it raised.
    """
    # The slowest begin first: channels, of which the largest come last.
    order = sorted(members[::-1], key=lambda member: isinstance(member, CalibratorMember))
    total = len(members)
    with (
        doing("fitting", total if total > 1 else 0, "members") as stage,
        ThreadPoolExecutor(max_workers=workers(max(1, total))) as pool,
    ):
        jobs = {id(member): pool.submit(fit, member) for member in order}
        for done, _ in enumerate(as_completed(jobs.values()), 1):
            stage.reach(done)
    return [jobs[id(member)] for member in members]
