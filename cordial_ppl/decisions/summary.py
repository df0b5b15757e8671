"""A fitted calibrator in plain words: the reader's faults, and how good the correction is.

Faults are medians and 90 % intervals of parameters of the channels on the plain temperature
reading, `mixture` and `location`, pooled in proportion to their stack weights. On the vector-scaled
reading the biases of single options carry part of every fault, so the same names mean less there.
What a channel of one's own adds is reported by itself, in the words of its file.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.forecasting import Forecast
from cordial_ppl.decisions.reported import Parameter, channel_shares, list_parameters
from cordial_ppl.decisions.verdict import Verdict
from cordial_ppl.inference.posterior import Posterior

LEVEL = 0.9
"""Probability inside the intervals of a summary, and of a report."""

LEVELS = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
"""Quantiles that describe a fault: its median within its 90 % interval."""

LIKELY = 0.8
"""Probability from which a direction is called probable although the interval leaves it open."""

WIDE = 100
"""Letters of a line on which entries of a vector stand side by side."""

Losses = tuple[float, float, float, int]
LOSSES = "cordial", "histogram", "raw", "labels"

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
"""The neutral value of a quantity, and what it means above it, below it, and if that is unclear."""


@dataclass(frozen=True)
class Fault:
    """One property of the reader, or of its labels.

    Attributes:
        name: the parameter, or the place on the scale of a bias.
        median: its median, or its value at the mode.
        low: lower end of its 90 % interval; None if only the mode is known, or if it is fixed.
        high: upper end of its 90 % interval; None likewise.
        words: what that means.
    """

    name: str
    median: float
    low: float | None
    high: float | None
    words: str

    def __str__(self) -> str:
        """Return the fault in one sentence: "temperature 6.1 (3.2 to 11): over-confident"."""
        signed = self.name == "offset" or self.name.startswith("bias")
        median = ("+" if signed and self.median > 0 else "") + _number(self.median)
        interval = ""
        if self.low is not None and self.high is not None and self.low < self.high:
            interval = f" ({_number(self.low)} to {_number(self.high)})"
        return f"{self.name} {median}{interval}" + (f": {self.words}" if self.words else "")


@dataclass(frozen=True)
class Summary:
    """The summary of a fit.

    Attributes:
        faults: the reader's faults.
        channels: the channels whose posteriors they are read from.
        weights: the members' stack weights.
        diagnostics: method, k-hat, effective sample size and trust of each channel's posterior.
        expected: expected log losses (nats) and the number of labels; None if unknown.
        warnings: what the user should beware of.
        losses: expected log loss (nats) of each member alone; empty if unknown.
        forecast: what more labels would give; None if unknown.
        verdict: whether to use the calibrator; None if unknown.
        channel_faults: of each channel of one's own the parameters that it adds, in its author's
            words.
    """

    faults: tuple[Fault, ...]
    channels: tuple[str, ...]
    weights: dict[str, float]
    diagnostics: dict[str, dict[str, Any]]
    expected: dict[str, float | None]
    warnings: tuple[str, ...]
    losses: dict[str, float]
    forecast: Forecast | None = None
    verdict: Verdict | None = None
    channel_faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Faults, the expected loss, warnings, the forecast and the verdict, one sentence each."""
        noun, _, losses = self._losses()
        additions = [
            f"channel {name}: {fault}"
            for name, faults in self.channel_faults.items()
            for fault in faults
        ]
        loss = [f"{noun}: {losses}"] if losses else []
        return (*map(str, self.faults), *additions, *loss, *self.warnings, *self.closing)

    @property
    def closing(self) -> tuple[str, ...]:
        """Say what more labels would give, and whether to use the calibrator."""
        more = (self.forecast.sentence,) if self.forecast and self.forecast.counts else ()
        return (*more, *((self.verdict.text,) if self.verdict else ()))

    @property
    def brief(self) -> str:
        """The reader's faults in one line: its sharpness, and where it rates too high or low."""
        if self.verdict and self.verdict.alike:
            return "unknown, for all labels are alike"
        words = []
        for fault in self.faults:
            kind, _, position = fault.name.partition(" ")
            if kind in ("temperature", "bias") and not fault.words.startswith("no "):
                words.append(f"{fault.words} {position}".strip())
        return "; ".join(words) or "no clear fault"

    @property
    def text(self) -> str:
        """Everything as plain text, in blocks of short lines."""
        if self.verdict and self.verdict.alike:
            return join_blocks([], self.warnings, self.closing)
        blocks = []
        weights = {
            name: f"weight {self.weights.get(name, 1.0):.2f}" for name in self.channel_faults
        }
        for title, note, faults in (
            ("The reader", f"from {' and '.join(self.channels)}", self.faults),
            *(
                (f"The channel {name}", weights[name], faults)
                for name, faults in self.channel_faults.items()
            ),
        ):
            if faults:
                intervals = any(fault.low is not None for fault in faults)
                what = "median and 90 % interval" if intervals else "at the mode, without intervals"
                blocks.append([f"{title} ({what}, {note})", *_lines(faults)])
        if self.weights:
            width = max(map(len, self.weights)) + 2
            losses = {name: f"{loss:.2f}" for name, loss in self.losses.items()}
            more = ", and the expected log loss of each by itself" if losses else ""
            lines = weight_lines(
                {f"{k:{width}}{losses.get(k, '')}": w for k, w in self.weights.items()}
            )
            blocks.append([f"Weights of the members{more}", *lines])
        if self.diagnostics:
            lines = [f"  {name}: {_quality(figures)}" for name, figures in self.diagnostics.items()]
            blocks.append(["Posteriors", *lines])
        noun, note, losses = self._losses()
        if losses:
            blocks.append([f"{noun.capitalize()} ({note})", f"  {losses}"])
        return join_blocks(blocks, self.warnings, self.closing)

    def to_dict(self) -> dict[str, Any]:
        """Everything as values that JSON can express."""
        figures = asdict(self) | {"sentences": list(self.sentences)}
        for name in ("forecast", "verdict"):
            part = getattr(self, name)
            figures[name] = part and part.to_dict()
        return figures

    def _losses(self) -> tuple[str, str, str]:
        """The name of the losses, a note, and the losses; without folds only the raw reading's."""
        names = {"cordial": "calibrated", "histogram": "label histogram", "raw": "raw reading"}
        losses = {words: self.expected.get(name) for name, words in names.items()}
        figures = [f"{words} {loss:.2f}" for words, loss in losses.items() if loss is not None]
        if self.expected and losses["calibrated"] is None and losses["raw reading"] is not None:
            labels = self.expected["labels"]
            on = "the one label" if labels == 1 else f"the {labels:.0f} labels"
            loss = f"raw reading, on {on}, {losses['raw reading']:.2f}"
            return "log loss", "nats; too few labels for folds", loss
        return "expected log loss", "out-of-fold, nats", ", ".join(figures)


def describe(
    posteriors: Mapping[str, Posterior],
    weights: Mapping[str, float],
    expected: Losses | None,
    scale: Scale,
    losses: Mapping[str, float] | None = None,
    forecast: Forecast | None = None,
    verdict: Verdict | None = None,
) -> Summary:
    """Put a fit into plain words.

    The map of the scale is c(y) = gain y + offset, so the reader's bias at class y is c(y) - y,
    with c(y) kept on the scale; it is reported at both ends and in the middle.

    Args:
        posteriors: posterior of each channel.
        weights: stack weight of each member.
        expected: out-of-fold losses (nats) of the stack, the label histogram and the raw reading,
            and the number of labels; the first two are NaN if these are too few for folds.
        scale: the K options.
        losses: out-of-fold loss (nats) of each member alone, if known.
        forecast: what more labels would give, if known.
        verdict: whether to use the calibrator, if known.

    Returns:
        The summary; of labels that are all alike, which say nothing of the reader, without its
        faults and without losses.
    """
    diagnostics = {name: _diagnose(posterior) for name, posterior in posteriors.items()}
    weights = {name: float(weight) for name, weight in weights.items()}
    if verdict is not None and verdict.alike:
        unknown = {**dict.fromkeys(LOSSES), "labels": expected and expected[-1]}
        warnings = tuple(warn(None, diagnostics))
        return Summary((), (), weights, diagnostics, unknown, warnings, {}, verdict=verdict)
    listed = list_parameters(posteriors, weights).values()
    entries = [entry for parameter in listed for entry in parameter.entries]
    shared = {parameter.name: parameter for parameter in entries if not parameter.channel}
    channel_faults: dict[str, tuple[Fault, ...]] = {}
    for parameter in entries:
        if name := parameter.channel:
            channel_faults[name] = (*channel_faults.get(name, ()), as_fault(parameter))
    warnings = warn(expected, diagnostics)
    if any(parameter.modes for parameter in entries):
        warnings.append(
            "the mode has no intervals: those of predictions show only how the members disagree."
        )
    return Summary(
        faults=tuple(map(as_fault, (*shared.values(), *_biases(shared, scale)))),
        channels=tuple(channel_shares(posteriors, weights)),
        weights=weights,
        diagnostics=diagnostics,
        expected={name: _finite(x) for name, x in zip(LOSSES, expected or (), strict=False)},
        warnings=tuple(warnings),
        losses=dict(losses or {}),
        forecast=forecast,
        verdict=verdict,
        channel_faults=channel_faults,
    )


def as_fault(parameter: Parameter) -> Fault:
    """Say where a parameter lies, and what that means."""
    draws, weights, modes = parameter.draws, parameter.weights, parameter.modes
    low, median, high = np.quantile(draws, LEVELS, weights=weights, method="inverted_cdf").tolist()
    fixed = not modes and low == high
    kind = "" if parameter.channel else parameter.site.partition(" ")[0]
    words = parameter.words
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
        if fixed and kind == "bias" and median == neutral:
            words = "no bias: the scale ends there"
    ends = (None, None) if modes or fixed else (low, high)
    return Fault(parameter.name, median, *ends, words)


def warn(expected: Losses | None, diagnostics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List warnings: no gain, an unknown loss, posteriors not to be trusted.

    Args:
        expected: as for ``describe``.
        diagnostics: as in ``Summary``, by the posterior's name.
    """
    warnings = []
    if expected is not None:
        cordial, histogram, _, labels = expected
        if not (math.isfinite(cordial) and math.isfinite(histogram)):
            warnings.append(
                f"too few labels for folds ({labels}): the weights are those of the prior, "
                "and the loss to expect is unknown."
            )
        elif cordial >= histogram:
            warnings.append(
                f"the reader adds nothing over the label histogram: expected log loss "
                f"{cordial:.2f} against {histogram:.2f} nats. Label more texts, or take another "
                "reader."
            )
    doubtful = [
        f"{k}: {_quality(figures)}" for k, figures in diagnostics.items() if not figures["trusted"]
    ]
    if doubtful:
        warnings.append(
            f"some posteriors are not to be trusted ({'; '.join(doubtful)}). Compare with NUTS as "
            "the inference."
        )
    return warnings


def weight_lines(weights: Mapping[str, float]) -> list[str]:
    """Return a line for each member's weight, the largest first."""
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return [f"  {weight:5.2f}  {name}".rstrip() for name, weight in ranked]


def join_blocks(
    blocks: list[list[str]], warnings: Iterable[str], closing: Iterable[str] = ()
) -> str:
    """Blocks of lines, warnings and closing sentences, with an empty line between two."""
    ends = ([sentence[0].upper() + sentence[1:]] for sentence in closing)
    blocks = [*blocks, *([f"warning: {warning}"] for warning in warnings), *ends]
    return "\n\n".join("\n".join(block) for block in blocks)


def _lines(faults: Iterable[Fault]) -> Iterator[str]:
    """Return a line for each, and the entries of a vector side by side below what they are."""
    for site, group in groupby(faults, key=lambda fault: fault.name.partition("[")[0]):
        first, *others = group
        if first.name == site:
            yield from (f"  {fault}" for fault in (first, *others))
            continue
        yield f"  {site}" + (f": {first.words}" if first.words else "")
        cells = [str(replace(f, words="")).removeprefix(site) for f in (first, *others)]
        wide = max(map(len, cells)) + 2
        across = max(1, (WIDE - 4) // wide)
        for start in range(0, len(cells), across):
            row = "".join(cell.ljust(wide) for cell in cells[start : start + across])
            yield f"    {row}".rstrip()


def _biases(parameters: Mapping[str, Parameter], scale: Scale) -> Iterator[Parameter]:
    """Return the reader's bias at both ends of the scale and in the middle."""
    offset, stretch, top = parameters.get("offset"), parameters.get("gain"), scale.size - 1
    if offset is None or stretch is None or offset.shares != stretch.shares:
        return
    gain = stretch.draws
    middle = {"in the middle": top / 2} if top > 1 else {}
    low, high = (f"at {option!r}" for option in (scale.options[0], scale.options[-1]))
    for position, y in {low: 0.0, **middle, high: float(top)}.items():
        bias = np.clip(gain * y + offset.draws, 0, top) - y
        yield replace(offset, site=f"bias {position}", draws=bias)


def _diagnose(posterior: Posterior) -> dict[str, Any]:
    figures = posterior.diagnostics
    return {
        "method": figures.method,
        "khat": _finite(figures.khat),
        "ess": _finite(figures.ess),
        "draws": len(posterior.weights),
        "trusted": bool(figures.trusted),
    }


def _quality(figures: Mapping[str, Any]) -> str:
    khat = "" if figures["khat"] is None else f", k-hat {figures['khat']:.2f}"
    ess = "" if figures["ess"] is None or figures["draws"] == 1 else f", ESS {figures['ess']:.0f}"
    trust = "" if figures["trusted"] else " (not trusted)"
    draws = "the mode" if figures["draws"] == 1 else f"{figures['draws']} draws"
    return f"{draws}{khat}{ess}{trust}"


def _finite(number: float) -> Any:
    """Return the number itself if it is finite, else None."""
    return number if math.isfinite(number) else None


def _number(x: float) -> str:
    """Two significant digits, never an exponent: 0.062, 0.7, 6.1, 11, 120."""
    if abs(x) < 1e-3:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(x))))
    text = f"{x:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits > 1 or text.endswith(".0") else text
