"""A fitted judge in plain words: what is wrong with the reader, and how good the correction is.

The faults are medians and 90 % intervals of the channels' parameters. They are read from the
channels on the plain temperature reading, `mixture` and `location`, pooled in proportion to their
stack weights: on the vector-scaled reading the biases of single options carry part of every fault,
so that the same names mean less there.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.scale import Scale

LEVEL = 0.9
"""Probability inside the intervals of a summary, and of a report."""

LEVELS = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
"""Quantiles that a fault is described by: the median within its 90 % interval."""

LIKELY = 0.8
"""Probability from which a direction is called probable although the interval leaves it open."""

SPEAKERS = ("mixture", "location")
"""Channels whose parameters carry all of a fault; without them, all channels are heard."""

Draws = Float[np.ndarray, " S"]
Losses = tuple[float, float, float, int]


PARAMETERS = ("temperature", "offset", "gain", "concentration", "strength")
"""The paper's parameters in the order that they are reported in, before those of others."""

PHRASES = {
    "temperature": (1, "over-confident", "under-confident", "no clear fault in its sharpness"),
    "offset": (
        0,
        "rates {} too low at the low end",
        "rates {} too high at the low end",
        "no clear offset",
    ),
    "gain": (1, "compresses the scale", "exaggerates the scale", "no clear stretch of the scale"),
    "bias": (0, "rates {} too low", "rates {} too high", "no clear bias"),
}
"""The neutral value of a quantity, and what it means above it, below it, and on neither side."""


@dataclass(frozen=True)
class Fault:
    """One property of the reader.

    Attributes:
        name: The parameter, or the place on the scale where the reader is off.
        median: Its median, or its value at the mode.
        low: Lower end of its 90 % interval; None where only the mode is known.
        high: Upper end of its 90 % interval; None where only the mode is known.
        words: What that means.
    """

    name: str
    median: float
    low: float | None
    high: float | None
    words: str

    def __str__(self) -> str:
        """Say it in one sentence: "temperature 6.1 (3.2-11): over-confident"."""
        signed = self.name == "offset" or self.name.startswith("bias")
        median = ("+" if signed and self.median > 0 else "") + _number(self.median)
        interval = ""
        if self.low is not None and self.high is not None and self.low < self.high:
            dash = "-" if self.low >= 0 else " to "
            interval = f" ({_number(self.low)}{dash}{_number(self.high)})"
        return f"{self.name} {median}{interval}" + (f": {self.words}" if self.words else "")


@dataclass(frozen=True)
class Summary:
    """What there is to say of a fit.

    Attributes:
        faults: The reader's faults.
        channels: The channels whose posteriors the faults were read from.
        weights: The members' stack weights.
        diagnostics: Method, k-hat, effective sample size and trust of each channel's posterior.
        expected: Expected log losses (nats) and the number of labels; None where not known.
        warnings: What the user should beware of.
        losses: Expected log loss (nats) of each member by itself; empty where not known.
    """

    faults: tuple[Fault, ...]
    channels: tuple[str, ...]
    weights: dict[str, float]
    diagnostics: dict[str, dict[str, Any]]
    expected: dict[str, float | None]
    warnings: tuple[str, ...]
    losses: dict[str, float]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reader's faults, the expected loss and the warnings, each in one sentence."""
        losses = [f"{noun}: {found}" for noun, _, found in self._losses()]
        return (*map(str, self.faults), *losses, *self.warnings)

    @property
    def brief(self) -> str:
        """What is wrong with the reader in one line: its sharpness, and where it rates too high."""
        words = []
        for fault in self.faults:
            kind, _, place = fault.name.partition(" ")
            if kind in ("temperature", "bias") and fault.words != PHRASES[kind][-1]:
                words.append(f"{fault.words} {place}".strip())
        return "; ".join(words) or "no clear fault"

    @property
    def text(self) -> str:
        """Everything as plain text, in blocks of short lines."""
        blocks = []
        if self.faults:
            known = any(fault.low is not None for fault in self.faults)
            what = "median and 90 % interval" if known else "at the mode, without intervals"
            title = f"The reader ({what}, from {' and '.join(self.channels)})"
            blocks.append([title, *(f"  {fault}" for fault in self.faults)])
        if self.weights:
            weights = sorted(self.weights.items(), key=lambda item: -item[1])
            width = max(map(len, self.weights)) + 2 if self.losses else 0
            lines = [
                f"  {weight:5.2f}  {name:{width}}"
                + (f"{self.losses[name]:.2f}" if name in self.losses else "")
                for name, weight in weights
            ]
            title = "Weights of the members" + (
                ", and the expected log loss of each by itself" if self.losses else ""
            )
            blocks.append([title, *map(str.rstrip, lines)])
        if self.diagnostics:
            lines = [f"  {name}: {_quality(found)}" for name, found in self.diagnostics.items()]
            blocks.append(["Posteriors", *lines])
        for noun, note, found in self._losses():
            blocks.append([f"{noun.capitalize()} ({note})", f"  {found}"])
        blocks += [[f"Warning: {warning}"] for warning in self.warnings]
        return "\n\n".join("\n".join(block) for block in blocks)

    def to_dict(self) -> dict[str, Any]:
        """Everything as values that JSON can express."""
        return asdict(self) | {"sentences": list(self.sentences)}

    def _losses(self) -> list[tuple[str, str, str]]:
        """What the losses are, a note, and the losses; without folds only the raw reading's."""
        names = {"cordial": "calibrated", "histogram": "label histogram", "raw": "raw reading"}
        found = {words: self.expected.get(name) for name, words in names.items()}
        known = {words: loss for words, loss in found.items() if loss is not None}
        if not known:
            return []
        if list(known) == ["raw reading"]:
            labels = self.expected["labels"]
            on = "the one label" if labels == 1 else f"the {labels:.0f} labels"
            found = f"raw reading, on {on}, {known['raw reading']:.2f}"
            return [("log loss", "nats; too few labels for folds", found)]
        losses = ", ".join(f"{words} {loss:.2f}" for words, loss in known.items())
        return [("expected log loss", "out-of-fold, nats", losses)]


def describe(
    posteriors: Mapping[str, Posterior],
    weights: Mapping[str, float],
    expected: Losses | None,
    scale: Scale,
    losses: Mapping[str, float] | None = None,
) -> Summary:
    """Put a fit into plain words.

    The map of the scale is c(y) = gain y + offset, so the reader's bias at class y is c(y) - y,
    with c(y) kept on the scale; it is reported at both ends and in the middle.

    Args:
        posteriors: Posterior of each channel.
        weights: Stack weight of each member.
        expected: Out-of-fold losses (nats) of the stack, the label histogram and the raw reading,
            and the number of labels; the first two are NaN where these are too few for folds.
        scale: The K options.
        losses: Out-of-fold loss (nats) of each member by itself, where known.

    Returns:
        The summary.
    """
    channels = speakers(posteriors)
    modes = bool(channels) and all(len(posteriors[name].weights) == 1 for name in channels)
    diagnostics = {name: _diagnose(posterior) for name, posterior in posteriors.items()}
    figures = _expect(expected)
    return Summary(
        faults=_faults(*pool_draws(posteriors, weights), scale, modes) if channels else (),
        channels=channels,
        weights={name: float(weight) for name, weight in weights.items()},
        diagnostics=diagnostics,
        expected=figures,
        warnings=tuple(_warn(figures, diagnostics, modes)),
        losses=dict(losses or {}),
    )


def speakers(posteriors: Mapping[str, Posterior]) -> tuple[str, ...]:
    """Names of the channels whose parameters are reported."""
    return tuple(name for name in SPEAKERS if name in posteriors) or tuple(posteriors)


def channel_shares(
    posteriors: Mapping[str, Posterior], weights: Mapping[str, float]
) -> dict[str, float]:
    """How much each channel that is reported counts: its stack weight, to a sum of one."""
    channels = speakers(posteriors)
    shares = np.array([weights.get(name, 0.0) for name in channels], np.float64)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(channels), 1 / len(shares))
    return dict(zip(channels, shares.tolist(), strict=True))


def pool_draws(
    posteriors: Mapping[str, Posterior], weights: Mapping[str, float]
) -> tuple[dict[str, Draws], Draws]:
    """Pool the draws of the scalar parameters that the reported channels share.

    Args:
        posteriors: Posterior of each channel, at least one.
        weights: Stack weight of each member.

    Returns:
        Draws of each parameter in its own units, and the draws' weights, which sum to one.
    """
    channels = channel_shares(posteriors, weights)
    drawn = [
        {key: np.asarray(x, np.float64) for key, x in posteriors[name].parameters().items()}
        for name in channels
    ]
    shared = [key for key in drawn[0] if all(key in own and own[key].ndim == 1 for own in drawn)]
    pooled = {key: np.concatenate([own[key] for own in drawn]) for key in shared}
    own = [np.asarray(posteriors[name].weights, np.float64) for name in channels]
    shares = channels.values()
    return pooled, np.concatenate([share * w for share, w in zip(shares, own, strict=True)])


def _faults(
    draws: dict[str, Draws], weights: Draws, scale: Scale, modes: bool
) -> tuple[Fault, ...]:
    names = sorted(draws, key=lambda name: [*PARAMETERS, name].index(name))
    faults = [_fault(name, draws[name], weights, modes) for name in names]
    if {"offset", "gain"} <= draws.keys():
        top = scale.size - 1
        middle = {"": top / 2} if top > 1 else {}
        places = {scale.options[0]: 0.0, **middle, scale.options[-1]: float(top)}
        for option, y in places.items():
            bias = np.clip(draws["gain"] * y + draws["offset"], 0, top) - y
            place = f"at {option!r}" if option else "in the middle"
            faults.append(_fault(f"bias {place}", bias, weights, modes))
    return tuple(faults)


def _fault(name: str, draws: Draws, weights: Draws, modes: bool) -> Fault:
    low, median, high = np.quantile(draws, LEVELS, weights=weights, method="inverted_cdf").tolist()
    kind = name.partition(" ")[0]
    if kind == "concentration":
        # exp(-kappa (z - c)^2) is a Gaussian of this standard deviation, in classes.
        spread = _number(1 / math.sqrt(2 * median))
        words = f"labels spread about ±{spread} classes around the corrected reading"
    elif kind == "strength":
        words = f"the reading is believed {100 * median:.0f} %"
    elif kind in PHRASES:
        neutral, above, below, unclear = PHRASES[kind]
        sides = float(weights[draws > neutral].sum()), float(weights[draws < neutral].sum())
        words = (above if sides[0] > sides[1] else below).format(_number(abs(median - neutral)))
        clear = median != neutral if modes else low > neutral or high < neutral
        if not clear:
            words = f"probably {words}" if max(sides) >= LIKELY else unclear
    else:
        words = ""
    return Fault(name, median, None if modes else low, None if modes else high, words)


def _diagnose(posterior: Posterior) -> dict[str, Any]:
    found = posterior.diagnostics
    return {
        "method": found.method,
        "khat": _known(found.khat),
        "ess": _known(found.ess),
        "draws": len(posterior.weights),
        "trusted": bool(found.trusted),
    }


def _quality(found: dict[str, Any]) -> str:
    khat = "" if found["khat"] is None else f", k-hat {found['khat']:.2f}"
    ess = "" if found["ess"] is None or found["draws"] == 1 else f", ESS {found['ess']:.0f}"
    trust = "" if found["trusted"] else " (not trusted)"
    draws = "the mode" if found["draws"] == 1 else f"{found['draws']} draws"
    return f"{draws}{khat}{ess}{trust}"


def _expect(expected: Losses | None) -> dict[str, float | None]:
    if expected is None:
        return {}
    *losses, labels = expected
    named = zip(("cordial", "histogram", "raw"), losses, strict=True)
    return {**{name: _known(loss) for name, loss in named}, "labels": labels}


def _warn(
    losses: dict[str, float | None], diagnostics: dict[str, dict[str, Any]], modes: bool
) -> list[str]:
    warnings = []
    cordial, histogram, labels = (losses.get(k) for k in ("cordial", "histogram", "labels"))
    if cordial is None or histogram is None:
        if labels is not None:
            warnings.append(
                f"too few labels for folds ({labels}): the weights are those of the prior, "
                "and what to expect is not known."
            )
    elif cordial >= histogram:
        warnings.append(
            f"the reader adds nothing over the label histogram: expected log loss {cordial:.2f} "
            f"against {histogram:.2f} nats. Label more texts, or take another reader."
        )
    if modes:
        warnings.append(
            "the mode has no intervals: those of predictions hold only the members' disagreement."
        )
    doubtful = [name for name, found in diagnostics.items() if not found["trusted"]]
    if doubtful:
        found = "; ".join(f"{name}: {_quality(diagnostics[name])}" for name in doubtful)
        warnings.append(
            f"posteriors that are not to be trusted ({found}). Compare with NUTS as the inference."
        )
    return warnings


def _known(number: float) -> float | None:
    """A finite number, else None."""
    return float(number) if math.isfinite(number) else None


def _number(x: float) -> str:
    """Two significant digits, never an exponent: 0.062, 0.7, 6.1, 11, 120."""
    if abs(x) < 1e-3:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(x))))
    text = f"{x:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits > 1 or text.endswith(".0") else text
