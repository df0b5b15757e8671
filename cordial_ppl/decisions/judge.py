r"""The reader as it is: what labels are where it states an option, and how often it is right.

A fault is what happens to labels: the mean label less what was stated, of texts of which the reader
states one option (by its rating, or the option nearest to the mean of what it states).  Its
posterior is that of predictions, whatever members make them, and an effect of the option on what
these leave out of fold, as groups have in an estimate:

.. math:: \beta_k = \frac{1}{n_k} \sum_{i:\, s_i = k} \big( \mu_d(x_i) - m_i \big) + b_k

with the mean mu of a text under draw d, and the stated mean m.  Noise alone makes labels higher
than the lowest ratings and lower than the highest.  So a rating is called too high or too low only
where the mean of all labels is off to the same side; elsewhere it is said what labels are.
`benchmarks/words.py` measures how often intervals and words are true.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import TextLabels
from cordial_ppl.data.ratings import state
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.effects import CHAINS, GROUP_SCALE, Factor, draw_effects, find_axes
from cordial_ppl.decisions.forecasting import Range
from cordial_ppl.decisions.residuals import VARIANCE_SHARE, covariance_of, residuals_of
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.weighing import stated

LEVEL = 0.9
"""Probability inside the intervals of a summary, and of a report."""

LEVELS = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
"""Quantiles that describe a fault: its median within its 90 % interval."""

SURE = 0.998
"""How probable one side has to be to say that ratings are too high, or too low, on average."""

LEAST = 1e-4
"""Least variance of a label about its mean, squared classes."""

SAME = 1e-6
"""What a sum may differ by rounding."""


class Fault(NamedTuple):
    """One property of the reader, of its labels, or of a channel.

    Attributes:
        name: what it is, such as "bias at '5'", or the parameter.
        median: its median, or its value at the mode.
        low: lower end of its 90 % interval; None if only the mode is known, or if it is fixed.
        high: upper end of its 90 % interval; None likewise.
        words: what that means; empty for a parameter of the package.
    """

    name: str
    median: float
    low: float | None
    high: float | None
    words: str = ""

    def __str__(self) -> str:
        """Return the fault in one sentence: "bias at '5' -1.1 (-1.3 to -0.88): rates ..."."""
        signed = self.name == "offset" or self.name.startswith("bias")
        digits = 2 if signed or self.name == "spread" else None
        text = number(self.median, digits)
        median = "+" + text if signed and self.median > 0 and text != "0" else text
        interval = ""
        if self.low is not None and self.high is not None and self.low < self.high:
            # An end that is not zero does not read "0".
            ends = (number(x, digits if abs(x) >= 0.005 else None) for x in (self.low, self.high))
            interval = f" ({' to '.join(ends)})"
        return f"{self.name} {median}{interval}" + (f": {self.words}" if self.words else "")


class Points(NamedTuple):
    """How near point predictions are to labels, and how probable these are.

    Attributes:
        accuracy: share of the labels that are the most probable option.
        distance: mean distance of the median from the label, on the scale; None with two options,
            where the accuracy says as much.
        loss: log loss, nats; None where no probabilities are stated.
    """

    accuracy: float
    distance: float | None
    loss: float | None

    @property
    def miss(self) -> float:
        """Return the distance, or else the share of the labels that are another option."""
        return 1 - self.accuracy if self.distance is None else self.distance


class Reader(NamedTuple):
    """The reader as it is, by its readings of the labelled texts and their labels.

    Attributes:
        kind: what readings are: "rating", one of each text, "ratings", several, or
            "probabilities"; ratings say nothing of confidence.
        texts: how many of the labelled texts it states each option for.
        bias: mean label less what is stated, classes, by option: median and 90 % interval; None
            where it states the option for none of the texts.
        overall: mean label less what is stated of all texts, classes, likewise.
        side: 1 if ratings are too low on average for sure, -1 if too high, else 0.
        spread: standard deviation of a label about its mean, given the reading, likewise.
        stated_spread: the one that readings state, classes.
        points: how near it is to the labels.
        certain: whether intervals are known; a mode has none.
    """

    kind: str
    texts: tuple[int, ...]
    bias: tuple[Range | None, ...]
    overall: Range
    side: int
    spread: Range
    stated_spread: float
    points: Points
    certain: bool = True

    @property
    def hard(self) -> bool:
        """Whether each reading is one rating."""
        return self.kind == "rating"

    def list_faults(self, scale: Scale) -> tuple[Fault, ...]:
        """Say what labels are overall, at the ends, in the middle and at the commonest option."""
        signed, faults = self._signed(scale), list[Fault]()
        unit = "" if (np.abs(np.diff(scale.values)) == 1).all() else " classes"
        (whole, low, high), side = signed.overall, "low" if signed.side > 0 else "high"
        size, more = number(abs(whole), 2), "higher" if whole > 0 else "lower"
        words = "no clear bias overall"
        if signed.side:
            words = f"ratings are {size}{unit} too {side} on average"
        elif low > 0 or high < 0:
            words = f"labels are {size}{unit} {more} than ratings on average, possibly by chance"
        faults.append(Fault("bias", *signed.overall, words))
        last, commonest = len(self.texts) - 1, int(np.argmax(self.texts))
        middle = max(last // 2, (last + 1) // 2, key=lambda option: self.texts[option])
        for option in sorted({0, middle, last, commonest}):
            if (bias := signed.bias[option]) is not None:
                size, more = number(abs(bias.value), 2), "higher" if bias.value > 0 else "lower"
                if size == "0" or bias.low <= 0 <= bias.high:
                    words = "no clear bias"
                elif bias.value * signed.side > 0:
                    words = f"ratings are {size}{unit} too {side}"
                else:
                    words = f"labels are {size}{unit} {more} than ratings"
                faults.append(Fault(f"bias at {scale.options[option]!r}", *bias, words))
        faults.append(Fault("spread", *self.spread, self._describe_spread(unit)))
        if not self.certain:
            faults = [fault._replace(low=None, high=None) for fault in faults]
        return tuple(faults)

    def _signed(self, scale: Scale) -> "Reader":
        """Give biases the signs of the options' numbers, which may fall from worst to best."""
        if scale.rising:
            return self
        ranges = (self.overall, *self.bias)
        overall, *bias = (each and Range(-each.value, -each.high, -each.low) for each in ranges)
        return self._replace(bias=tuple(bias), overall=overall, side=-self.side)

    def _describe_spread(self, unit: str) -> str:
        about = f"apart from bias, labels scatter by ±{number(self.spread.value, 2)}{unit} around"
        if self.kind != "probabilities":
            return f"noise: {about} the ratings"
        words = f"{about} the judge's means; the judge states ±{number(self.stated_spread, 2)}"
        if self.stated_spread < self.spread.low:
            return f"over-confident: {words}"
        if self.stated_spread > self.spread.high:
            return f"under-confident: {words}"
        return f"about as confident as it should be: {words}"


def assess(fit: Fit) -> Reader:
    """Compare what a reader states with labels, and with what a fit predicts of them."""
    per_text, size, rng = fit.text_labels, fit.scale.size, np.random.default_rng(fit.seed)
    texts, classes = fit.labelled.take(per_text.first), np.arange(fit.scale.size, dtype=float)
    shares, kind = state(texts.logits)
    distances = np.abs((shares @ fit.scale.values)[:, None] - fit.scale.values)
    options, codes = np.unique(distances.argmin(axis=1), return_inverse=True)
    member = np.eye(len(options))[codes] * per_text.weights[:, None]
    predicted, drawn = _draw_means(fit, texts, rng)
    bias = (drawn - shares @ classes) @ (member / member.sum(axis=0))
    within, residuals = _variances(per_text.shares), residuals_of(fit)
    # Without folds nothing is known of single labels but what is predicted of them.
    covariance = residuals.covariance
    if fit.out_of_fold is None:
        covariance = VARIANCE_SHARE * covariance_of(predicted) / len(predicted)
    variance = np.array([[max(covariance.sum() - np.mean(within), LEAST)]])
    axes = find_axes(variance, np.ones(1), np.array([size - 1.0]))
    count = len(residuals.steps)
    under = residuals.steps.sum(axis=1) - (drawn - predicted @ classes)[:, :count]
    factors = {"option": Factor(codes[:count], len(options), GROUP_SCALE)}
    effects = draw_effects(under[..., None], np.ones(count), factors, axes, variance, rng)
    bias = bias[effects.chains] + effects.levels["option"][..., 0]
    groups = [(shares @ classes)[codes == code] for code in range(len(options))]
    low, high = (np.array([end(group) for group in groups]) for end in (np.min, np.max))
    bias = np.clip(bias, -high, size - 1 - low)
    sigma = effects.sigma[:, 0] * effects.basis[0, 0]
    ranges = dict(zip(options.tolist(), map(_summarise, bias.T), strict=True))
    # How often it states each option is known of these texts alone.
    overall = np.sum(bias * rng.dirichlet(member.sum(axis=0), len(bias)), axis=1)
    sides = {1: np.mean(overall > 0), -1: np.mean(overall < 0)}
    points = score_points(shares, per_text, fit.scale)
    loss = score_points(stated(texts.logits), per_text, fit.scale).loss
    return Reader(
        kind=kind,
        texts=tuple(np.bincount(options[codes], minlength=size).tolist()),
        bias=tuple(ranges.get(option) for option in range(size)),
        overall=_summarise(overall),
        side=next((side for side, share in sides.items() if share >= SURE), 0),
        spread=_summarise(np.sqrt(sigma**2 + np.average(within, weights=per_text.weights))),
        stated_spread=math.sqrt(np.average(_variances(shares), weights=per_text.weights)),
        points=points._replace(loss=None if kind == "rating" else loss),
        certain=fit.has_draws,
    )


def score_points(probs: Float[np.ndarray, "T K"], labels: TextLabels, scale: Scale) -> Points:
    """Score the most probable option, the median and the probabilities of each text.

    Args:
        probs: probabilities of the options.
        labels: labels of the same texts.
        scale: the options.
    """
    right = np.eye(scale.size)[probs.argmax(axis=1)]
    away = np.abs(scale.values[find_medians(probs)][:, None] - scale.values)
    each = right, away, -np.log(np.maximum(probs, FLOOR))
    sums = (np.sum(labels.shares * part, axis=1) for part in each)
    points = Points(*(float(np.average(column, weights=labels.weights)) for column in sums))
    return points if scale.size > 2 else points._replace(distance=None)


def find_medians(probs: Float[np.ndarray, "T K"]) -> Int[np.ndarray, " T"]:
    """Return the median option of each text: the point that is nearest to labels."""
    # A sum that should be one half may be less by rounding.
    return (probs.cumsum(axis=1) < 0.5 - SAME).sum(axis=1)


def number(x: float, digits: int | None = None) -> str:
    """Write two significant digits, never an exponent: 0.062, 0.20, 6.1, 11, 120.

    Args:
        x: the number.
        digits: decimals that are written at most; a smaller number is "0".
    """
    if abs(x) < (1e-3 if digits is None else 0.5 * 10.0**-digits):
        return "0"
    if not math.isfinite(x):  # Of a file that was changed.
        return str(x)
    x = float(f"{x:.1e}") if abs(x) < 100 else x
    decimals = max(0, 1 - math.floor(math.log10(abs(x))))
    return f"{x:.{decimals if digits is None else min(decimals, digits)}f}"


def _draw_means(
    fit: Fit, texts: Labelled, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "T K"], Float[np.ndarray, "D T"]]:
    """Return the mixture's probabilities of texts, and draws of each text's mean label, classes."""
    classes, mixed = np.arange(fit.scale.size, dtype=float), 0.0
    means, shares = [], []
    for name, weight in fit.weights.items():
        if weight > 0:
            member = fit.members[name]
            probs, drawn = member.predict(texts.logits, texts.covariates, classes)
            mixed = mixed + weight * probs
            means.append(np.asarray(drawn, np.float64))
            shares.append(weight * np.asarray(member.prediction_weights))
    pooled = np.concatenate(shares)
    chosen = rng.choice(len(pooled), CHAINS[1], p=pooled / pooled.sum())
    return mixed / np.sum(mixed, axis=1, keepdims=True), np.concatenate(means)[chosen]


def _variances(shares: Float[np.ndarray, "T K"]) -> Float[np.ndarray, " T"]:
    """Return the variance of each distribution over classes."""
    classes = np.arange(shares.shape[1])
    return np.sum(shares * (classes - (shares @ classes)[:, None]) ** 2, axis=1)


def _summarise(draws: Float[np.ndarray, " D"]) -> Range:
    return Range(*np.quantile(draws, np.array(LEVELS)[[1, 0, 2]]).tolist())
