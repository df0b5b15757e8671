"""Methods for users and for several readers that ours are compared with in `users.py`, `fusion.py`.

Of users: one cross-validated spread under which values are averaged, and three other effects of one
number per user.  Of readers: a fusion without channels and one without its joint channel, one
regression on all readings, and their average.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, log_softmax, softmax

from cordial_ppl import UserShift
from cordial_ppl.channels.user_effects import Effect
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.estimators.fusion import Fusion
from cordial_ppl.estimators.fusion.fusion_fit import COUNTS, JOINT, READER_COUNT, FusionFit
from cordial_ppl.estimators.fusion.panel import as_reader_logits
from cordial_ppl.estimators.named import LogitStack
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.calibrators.dirichlet import GRID, RIDGE, Dirichlet
from cordial_ppl.stack.calibrators.regression import fit_softmax
from cordial_ppl.stack.calibrators.samples import as_samples, cross_validate
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.settings import Settings
from cordial_ppl.stack.weighing import stated, weigh


class CrossValidated(UserShift):
    """One sigma, under which each label is predicted best from its user's earlier ones."""

    def fit[T: "CrossValidated"](
        self: T, probs: Any, labels: Any, users: Any, order: Any = None
    ) -> T:
        """Choose sigma; it is the smallest where no label has earlier ones."""
        super().fit(probs, labels, users, order)
        codes, names = self.scale_.encode(labels), [*map(str, users)]
        self._cross_validate(probs, codes, names, np.ones(len(codes)), order)
        return self


class Rival(Effect):
    """An effect that is no matrix: its rule stands in the place of the matrices."""

    def log_likelihoods(self, probs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Log likelihood of each label at every value."""
        rows = [moved[np.arange(len(labels)), labels] for moved in self._moved(probs)]
        return np.log(np.maximum(np.stack(rows, axis=1), FLOOR))

    def average(self, probs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Predictions averaged over the values of each text's user."""
        pairs = zip(weights.T, self._moved(probs), strict=True)
        mixture = np.sum([weight[:, None] * moved for weight, moved in pairs], axis=0)
        return mixture / mixture.sum(axis=1, keepdims=True)

    def _moved(self, probs: np.ndarray) -> list[np.ndarray]:
        return [self.matrices(probs, value) for value in self.grid(probs.shape[1])]


def temper(probs: Float[np.ndarray, "n K"], value: float) -> Float[np.ndarray, "n K"]:
    r"""Make predictions more or less confident, with a temperature per user.

    .. math:: p_u(z) \propto p(z)^{1 / e^{v}}
    """
    return softmax(_log(probs) * math.exp(-value), axis=1)


def intercept(probs: Float[np.ndarray, "n K"], value: float) -> Float[np.ndarray, "n K"]:
    r"""Random intercept of ordinal regression, on the cumulative logits of a prediction.

    .. math:: \operatorname{logit} P_u(z \le t) = \operatorname{logit} P(z \le t) - v

    On the predictions of a proportional-odds regression this is the regression with a random
    intercept (Agresti 2010, "Analysis of Ordinal Categorical Data", Section 10.1).  A positive v
    moves mass up the scale.
    """
    below = np.cumsum(probs, axis=1)[:, :-1]
    above = np.cumsum(probs[:, ::-1], axis=1)[:, ::-1][:, 1:]
    moved = expit(_log(below) - _log(above) - value)
    return np.diff(moved, axis=1, prepend=0.0, append=1.0)


def _log(probs: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probs, np.finfo(np.float64).tiny))


def _grid(last: float, step: float) -> Float[np.ndarray, " G"]:
    return step * np.arange(-round(last / step), round(last / step) + 1)


class UserTemperature(UserShift):
    """Per-user temperature: makes a user's predictions more or less confident."""

    effect = Rival("temperature", temper, lambda _: _grid(3.0, 0.05), lambda _: 1.0)


class UserIntercept(UserShift):
    """Per-user intercept on the cumulative logits.

    On the predictions of ``ProportionalOdds`` it is random-intercept ordinal regression.
    """

    effect = Rival("intercept", intercept, lambda _: _grid(8.0, 0.1), lambda _: 2.0)


class UserReliability(UserShift):
    r"""Per-user reliability: draws a prediction to the label histogram (Remark 1).

    .. math:: p_u(z) = \beta p(z) + (1 - \beta) \pi(z), \qquad \beta = e^{-|v|}
    """

    def fit[T: "UserReliability"](
        self: T, probs: Any, labels: Any, users: Any, order: Any = None
    ) -> T:
        """Learn each user's reliability; labels are whole numbers 0..K-1."""
        histogram = label_histogram(labels, probs.shape[1])

        def matrices(values: np.ndarray, size: int) -> np.ndarray:
            beta = np.exp(-np.abs(values))[:, None, None]
            return beta * np.eye(size) + (1 - beta) * histogram[:, None]

        self.effect = Effect("reliability", matrices, lambda _: _grid(6.0, 0.05), lambda _: 1.0)
        return super().fit(probs, labels, users, order)


class LogitFusion(Fusion):
    """The same fusion without channels: logit stacks, also of the average, and no joint channel."""

    def _members(self, readers: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in super()._members(readers) if name != JOINT.name)

    @property
    def settings(self) -> Settings:
        """The settings of each stack, which has no channels."""
        return LogitStack(self.options, seed=self.seed).settings


def leave_out_joint(fit: FusionFit) -> FusionFit:
    """Leave out the joint channel: the same members otherwise, weighed anew with the same counts.

    Every reader has read each text.
    """
    members = {name: each for name, each in fit.members.items() if isinstance(each, Fit)}
    counts = {name: COUNTS.get(name, READER_COUNT) for name in members}
    counts |= {k: v for k, v in fit.settings["weight_counts"].items() if k in members}
    folds = next(iter(members.values())).folds
    each = [own for member in members.values() if (own := member.out_of_fold) is not None]
    held_out = np.stack(each, axis=-1) if each else None
    mixture = weigh(fit.labelled, folds, held_out, np.array(list(counts.values())))
    weights = dict(zip(members, mixture.weights.tolist(), strict=True))
    return replace(fit, members=members, weights=weights, expected=mixture.expected)


def predict_concatenated(
    logits: Any, labels: Int[np.ndarray, " n"], report: Any
) -> Float[np.ndarray, "m K"]:
    r"""Predict by Dirichlet calibration of all readings at once.

    .. math:: \hat p(z) = \mathrm{softmax}\big(\textstyle\sum_r W_r \log q_r + b\big)

    R K^2 + K parameters, with the penalties of ``DirichletCalibration`` on each ``W_r``; the fit is
    pulled towards the geometric mean of the readings.  Logits are those of labelled texts,
    ``[n, R, K]``, and of the texts to predict, ``[m, R, K]``; every reader has read each.
    """
    readings = [as_reader_logits(each)[0] for each in (logits, report)]
    fitted, seen = (log_softmax(each, axis=2).reshape(len(each), -1) for each in readings)
    size, width = readings[0].shape[2], fitted.shape[1]
    identity = np.tile(np.eye(size), width // size)
    centre = np.hstack([identity * (size / width), np.zeros((size, 1))])

    def fit(logs: np.ndarray, labels: np.ndarray, weights: np.ndarray, grid: np.ndarray) -> Any:
        data = as_samples(logs, labels, weights, options=size)
        features = np.concatenate([data.logits, np.ones_like(data.logits[:, :1])], axis=1)
        pairs = np.broadcast_to(grid, (*data.shape, 2)).reshape(-1, 2, 1, 1)
        off = np.where(identity > 0.0, RIDGE, 2.0 / (size * (size - 1)) * pairs[:, 0])
        free = np.broadcast_to(2.0 / size * pairs[:, 1], (len(pairs), size, 1))
        penalties = np.concatenate([off, free], axis=2)
        coefs = fit_softmax(features[:, None], data.chosen, penalties, centre)
        return Dirichlet(data.unfold(coefs[:, :, :width]), data.unfold(coefs[:, :, width]))

    def log_probs(params: Dirichlet, logs: np.ndarray) -> np.ndarray:
        weights, bias = (np.asarray(part) for part in params)
        return log_softmax(logs @ weights.swapaxes(-1, -2) + bias[..., None, :], axis=-1)

    params = cross_validate(fit, log_probs, fitted, labels, grid=GRID)
    return np.exp(log_probs(params, seen))


def average_reading(logits: Any) -> Float[np.ndarray, "n K"]:
    r"""Logits of the average, :math:`\log \frac1R \sum_r \mathrm{softmax}(\ell_r)`, of R readers.

    Readings ``[n, R, K]`` that are missing are left out of the average.
    """
    readings, _ = as_reader_logits(logits)
    return np.log(np.maximum(stated(readings), np.finfo(np.float64).tiny))
