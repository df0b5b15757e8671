"""A fitted calibrator in plain words: the reader's faults, and how good the correction is."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cordial_ppl.decisions.forecasting import Forecast
from cordial_ppl.decisions.judge import Fault, Reader
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.decisions.reported import find_heaviest, list_parameters
from cordial_ppl.decisions.verdict import Verdict, tabulate
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.runtime.text_table import align
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.weighing import ExpectedLoss


@dataclass(frozen=True)
class Summary:
    """The summary of a fit.

    Attributes:
        faults: what is wrong with the reader: what labels are, less what it states.
        parameters: the parameters of a channel, as such.
        channels: the channel whose parameters they are; none without channels of the package.
        weights: the members' stack weights.
        diagnostics: method, k-hat, effective sample size and trust of each channel's posterior.
        expected: expected log losses (nats) and the number of labels; None if unknown.
        warnings: what the user should beware of.
        losses: expected log loss (nats) of each member alone; empty if unknown.
        forecast: what more labels would give; None if unknown.
        verdict: whether to use the calibrator; None if unknown.
        channel_faults: of each channel of one's own the parameters, in its author's words.
        reader: the reader as it is, by option; None where its readings are unknown.
    """

    faults: tuple[Fault, ...]
    parameters: tuple[Fault, ...]
    channels: tuple[str, ...]
    weights: dict[str, float]
    diagnostics: dict[str, dict[str, Any]]
    expected: dict[str, float | None]
    warnings: tuple[str, ...]
    losses: dict[str, float]
    forecast: Forecast | None = None
    verdict: Verdict | None = None
    channel_faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    reader: Reader | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Faults, parameters, scores, warnings, the forecast and the verdict, one line each."""
        named = dict.fromkeys(self.channels, self.parameters) | self.channel_faults
        parameters = (f"channel {of}: {fault}" for of, faults in named.items() for fault in faults)
        return (*map(str, self.faults), *parameters, *self.warnings, *self.closing)

    @property
    def closing(self) -> tuple[str, ...]:
        """Say what more labels would give, and whether to use the calibrator."""
        more = (self.forecast.sentence,) if self.forecast and self.forecast.counts else ()
        return (*more, *((self.verdict.text,) if self.verdict else ()))

    @property
    def brief(self) -> str:
        """The reader's faults in one line: where it rates too high or low, and its spread."""
        if self.verdict and self.verdict.alike:
            return "unknown, because all labels are identical"
        *biases, spread = self.faults or (None,)
        if spread is None:
            return "unknown"
        words = [f"{fault.words}{fault.name[4:]}" for fault in biases if fault.words[:3] != "no "]
        return "; ".join([*(words or ["no clear bias"]), spread.words])

    @property
    def text(self) -> str:
        """Everything as plain text, in blocks of short lines."""
        if self.verdict and self.verdict.alike:
            return join_blocks([], self.warnings, self.closing)
        blocks = [self._list_faults(self.reader)] if self.reader else []
        if table := tabulate(self.reader and self.reader.points, self.verdict):
            count = self.expected.get("labels") or sum(self.reader.texts if self.reader else ())
            texts = "the one labelled text" if count == 1 else f"the {count:.0f} labelled texts"
            out = ", out of fold" if len(table[0]) > 2 else ""
            lines = (f"  {line}" for line in align(*table))
            blocks.append([f"Accuracy on {texts}{out}", *lines])
        named = self.channel_faults | dict.fromkeys(self.channels, self.parameters)
        for name, rows in named.items():
            intervals = any(fault.low is not None for fault in rows)
            what = "medians and 90 % intervals" if intervals else "at the mode, without intervals"
            title = f"Parameters of channel {name!r} (weight {self.weights.get(name, 1.0):.2f})"
            blocks.append([f"{title}: {what}", *(f"  {fault}" for fault in rows)])
        if self.weights:
            more = ", and the expected log loss of each member alone" if self.losses else ""
            lines = weight_lines(self.weights, self.losses)
            blocks.append([f"Weights of the members{more}", *lines])
        return join_blocks(blocks, self.warnings, self.closing)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return list_fields(self) | {"sentences": list(self.sentences)}

    def _list_faults(self, reader: Reader) -> list[str]:
        what = "rating" if reader.hard else "mean rating"
        unit = "classes" if " classes " in self.faults[-1].words else "scale points"
        ends = "; 90 % intervals" if reader.certain else ""
        title = f"Bias (human label minus the judge's {what}, in {unit}{ends})"
        return [title, *(f"  {fault}" for fault in self.faults)]


def describe(
    fit: Fit, verdict: Verdict | None, reader: Reader | None, forecast: Forecast | None = None
) -> Summary:
    """Put a fit into plain words.

    Args:
        fit: the fit.
        verdict: whether to use the calibrator, if known.
        reader: the reader as it is, if known.
        forecast: what more labels would give, if known.

    Returns:
        The summary; of labels that are all alike, which say nothing of the reader, without its
        faults and without losses.
    """
    diagnostics = {name: _diagnose(posterior) for name, posterior in fit.posteriors.items()}
    weights = {name: float(weight) for name, weight in fit.weights.items()}
    expected = fit.expected if fit.judged else None
    if verdict is not None and verdict.alike:
        unknown: dict[str, float | None] = dict.fromkeys(ExpectedLoss._fields)
        unknown["labels"] = expected and expected.labels
        warnings = tuple(warn(None, diagnostics))
        return Summary((), (), (), weights, diagnostics, unknown, warnings, {}, verdict=verdict)
    heaviest = find_heaviest(fit.posteriors, weights)
    parameters = list_parameters(fit.posteriors, heaviest)
    warnings = warn(expected, diagnostics)
    if expected and reader and reader.hard:  # A rating states no probabilities.
        expected = expected._replace(raw=math.nan)
    if any(diagnostics[name]["draws"] == 1 for name in parameters):
        warnings.append(
            "with inference 'mode', parameters have no intervals, and prediction intervals show "
            "only how much the members disagree."
        )
    return Summary(
        faults=reader.list_faults(fit.scale) if reader else (),
        parameters=parameters.pop(heaviest, ()),
        channels=(heaviest,) if heaviest else (),
        weights=weights,
        diagnostics=diagnostics,
        expected={name: _finite(x) for name, x in expected._asdict().items()} if expected else {},
        warnings=tuple(warnings),
        losses=dict(fit.losses),
        forecast=forecast,
        verdict=verdict,
        channel_faults=parameters,
        reader=reader,
    )


def warn(expected: ExpectedLoss | None, diagnostics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List warnings: no gain, an unknown loss, posteriors not to be trusted.

    Args:
        expected: out-of-fold losses (nats) of the stack, the label histogram and the raw reading,
            and the number of labels; the first two are NaN if these are too few for folds.
        diagnostics: as in ``Summary``, by the posterior's name.
    """
    warnings = []
    if expected is not None:
        cordial, histogram, _, labels = expected
        if not (math.isfinite(cordial) and math.isfinite(histogram)):
            warnings.append(
                f"too few labels ({labels}) for cross-validation: the weights are the prior "
                "weights, and the expected loss is unknown."
            )
        elif cordial >= histogram:
            warnings.append(
                f"the judge adds nothing to the label histogram (expected log loss {cordial:.2f} "
                f"nats; histogram: {histogram:.2f}). Label more texts, or use a different judge."
            )
    doubtful = [
        f"{k}: {_quality(figures)}" for k, figures in diagnostics.items() if not figures["trusted"]
    ]
    if doubtful:
        warnings.append(
            f"some posteriors are unreliable ({'; '.join(doubtful)}). Fit again with NUTS and "
            "compare the results."
        )
    return warnings


def weight_lines(
    weights: Mapping[str, float], losses: Mapping[str, float] | None = None
) -> list[str]:
    """Return a line for each member's weight, and its loss if known, the largest weight first."""
    names, width = sorted(weights, key=lambda name: -weights[name]), max(map(len, weights)) + 2
    each = {name: f"{loss:.2f}" for name, loss in (losses or {}).items()}
    lines = (f"  {weights[name]:5.2f}  {name:{width}}{each.get(name, '')}" for name in names)
    return [line.rstrip() for line in lines]


def join_blocks(blocks: list[list[str]], warnings: Iterable[str], closing: Iterable[str]) -> str:
    """Blocks of lines, warnings and closing sentences, with an empty line between two."""
    ends = ([sentence[0].upper() + sentence[1:]] for sentence in closing)
    blocks = [*blocks, *([f"warning: {warning}"] for warning in warnings), *ends]
    return "\n\n".join("\n".join(block) for block in blocks)


def _diagnose(posterior: Posterior) -> dict[str, Any]:
    figures, draws = posterior.diagnostics, len(posterior.weights)
    return {
        "method": figures.method,
        "khat": _finite(figures.khat),
        # The draws are chosen from more, and are worth no more than there are.
        "ess": _finite(min(figures.ess, draws)),
        "draws": draws,
        "trusted": bool(figures.trusted),
    }


def _quality(figures: Mapping[str, Any]) -> str:
    khat = "" if figures["khat"] is None else f", k-hat {figures['khat']:.2f}"
    ess = "" if figures["ess"] is None or figures["draws"] == 1 else f", ESS {figures['ess']:.0f}"
    draws = "the mode" if figures["draws"] == 1 else f"{figures['draws']} draws"
    return f"{draws}{khat}{ess}"


def _finite(number: float) -> Any:
    """Return the number itself if it is finite, else None."""
    return number if math.isfinite(number) else None
