"""The figures of a report, as images that a page can hold."""

import base64
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from cordial_ppl import plots
from cordial_ppl.data.ratings import state
from cordial_ppl.plots.figure import COLUMN, INK, PAGE, looking, new_figure
from cordial_ppl.plots.report.facts import Facts
from cordial_ppl.scores import means_given_stated

LIGHT = "#dcdcdc"
"""Ink on a dark page."""

DARK = (
    f'[style*="fill: {INK}"]{{fill:{LIGHT}!important}}'
    f'[style*="stroke: {INK}"]{{stroke:{LIGHT}!important}}'
    # A heatmap is pixels, white where the probability is 0.
    "image{filter:invert(1) hue-rotate(180deg)}"
)
STYLE = f"<style>@media screen and (prefers-color-scheme: dark){{{DARK}}}</style>"
"""How an image adapts to a dark page."""


def draw_pictures(facts: Facts) -> dict[str, list[tuple[str, str]]]:
    """Draw a report's figures by their names in its template: an address that holds each, words."""
    images: dict[str, list[tuple[str, str]]] = {}
    for name, draw, alt, size in _list_pictures(facts):
        images.setdefault(name, []).append((_draw(draw, *size), alt))
    return images


def _list_pictures(
    facts: Facts,
) -> Iterator[tuple[str, Callable[..., object], str, tuple[float, float]]]:
    """List pictures: name in the template, what draws it, what it shows, and its size in inches."""
    calibrator, texts, summary = facts.calibrator, facts.texts, facts.summary
    scale, scored = calibrator.fit_.scale, facts.scored
    names, logits, extra = scale.decode(scored.labels), scored.logits, scored.covariates
    weighted = partial(partial, sample_weight=scored.weights)
    before, after = (probs.mean(axis=0) @ scale.values for probs in (facts.raw, facts.probs))
    predicted = {"as stated": state(logits)[0]} if not facts.hard else {}
    predicted["calibrated"] = facts.predicted
    if summary.reader:
        draw = weighted(plots.transfer_curve, calibrator, logits, names, extra)
        alt = "Labels and calibrated means, plotted against the judge's mean rating"
        yield "transfer", draw, alt, (COLUMN, 2.8)
        draw = weighted(plots.label_shares, calibrator, texts.logits, names, texts.covariates)
        alt = "Share of each option among the labels, as stated by the judge, and after "
        alt += f"calibration; the mean is {before:.2f} as stated and {after:.2f} after calibration"
        yield "transfer", draw, alt, (COLUMN, 2.8)
    panels = {"labels": np.eye(scale.size)[scored.labels]} | predicted
    stated = logits.argmax(axis=1)
    compared = [means_given_stated(panels[title], stated) for title in ("labels", "calibrated")]
    for title, probs in panels.items():
        look = {"options": scale, "title": title, "most": np.nanmax(compared)}
        draw = partial(plots.stated_classes, probs, logits, **look)
        alt = f"Distribution of the label for each of the judge's ratings: {title}"
        yield "stated", draw, alt, (2.7, 2.4)
    for title, probs in predicted.items():
        draw = weighted(plots.thresholds, probs, names, options=scale, title=title)
        alt = f"Observed and predicted shares of labels at or below each threshold: {title}"
        yield "thresholds", draw, alt, (COLUMN, 3.3)
    if facts.agreement and facts.agreement.values:
        alt = "Agreement among people, and between people and the judge, with intervals"
        yield "agreement", partial(plots.agreement, facts.agreement), alt, (PAGE * 0.75, 3.2)
    if summary.forecast and summary.forecast.counts:
        alt = summary.forecast.sentence
        yield "forecast", partial(plots.forecast, summary.forecast), alt, (COLUMN, 3.0)
    alt = ", ".join(f"{name} {weight:.2f}" for name, weight in summary.weights.items())
    size = COLUMN, 0.6 + 0.2 * len(summary.weights)
    yield "weights", partial(plots.weights, calibrator), f"Member weights: {alt}", size


def _draw(draw: Callable[..., object], width: float, height: float) -> str:
    """Return the address of an SVG image whose ink gives way on a dark page."""
    buffer = io.StringIO()
    with looking(Path(__file__).with_name("screen.mplstyle")):
        figure = new_figure(width, height)
        draw(ax=figure.subplots())
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = re.sub(r"(<svg [^>]*>)", rf"\1{STYLE}", buffer.getvalue(), count=1, flags=re.S)
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
