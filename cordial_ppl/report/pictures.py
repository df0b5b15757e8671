"""The figures of a report, as images that a page can hold."""

import base64
import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl import plots
from cordial_ppl.products.figure import COLUMN, INK, looking, new_figure
from cordial_ppl.report.facts import Facts
from cordial_ppl.summary import pool_draws

LIGHT = "#dcdcdc"
"""Ink on a dark page."""

INKED: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7),
    "svg.hashsalt": "cordial",
}
"""One ink, which a dark page can replace, and letters that are legible on a screen."""

DARK = (
    f'[style*="fill: {INK}"]{{fill:{LIGHT}!important}}'
    f'[style*="stroke: {INK}"]{{stroke:{LIGHT}!important}}'
    # A heatmap is pixels, white where the probability is 0.
    "image{filter:invert(1) hue-rotate(180deg)}"
)
STYLE = f"<style>@media screen and (prefers-color-scheme: dark){{{DARK}}}</style>"
"""How an image adapts to a dark page."""


class Image(NamedTuple):
    """An image in the page.

    Attributes:
        source: an address that holds it.
        alt: what it shows, in words.
    """

    source: str
    alt: str


def draw_pictures(facts: Facts) -> dict[str, list[Image]]:
    """Draw the figures of a report, by their names in its template."""
    calibrator, texts, summary = facts.calibrator, facts.texts, facts.summary
    scale, (rows, labels) = calibrator.scale_, facts.scored
    names, logits = scale.decode(labels), texts.logits[rows]
    extra = {name: column[rows] for name, column in texts.covariates.items()}
    before, after = (probs.mean(axis=0) @ scale.values for probs in (facts.raw, facts.probs))
    predicted = {"as stated": facts.raw[rows], "calibrated": facts.probs[rows]}
    found: dict[str, list[Image]] = dict.fromkeys(("transfer", "stated", "thresholds"), [])
    if summary.faults:
        found["transfer"] = [
            _image(
                lambda ax: plots.transfer_curve(calibrator, logits, names, extra, ax=ax),
                "Label and calibrated mean of texts, given the mean that the reader states",
                2.8,
            ),
            _image(
                lambda ax: plots.label_shares(
                    calibrator, texts.logits, names, texts.covariates, ax=ax
                ),
                "How common each option is by labels, as stated and calibrated; the mean is "
                f"{before:.2f} as stated and {after:.2f} calibrated",
                2.8,
            ),
        ]
    settings: dict[str, Any] = {"options": scale}
    found["stated"] = [
        _image(
            lambda ax, p=p, title=title: plots.stated_classes(
                p, logits, **settings, title=title, ax=ax
            ),
            f"Distribution of the label given the stated class: {title}",
            2.5,
            2.4,
        )
        for title, p in {"labels": np.eye(scale.size)[labels], **predicted}.items()
    ]
    found["thresholds"] = [
        _image(
            lambda ax, p=p, title=title: plots.thresholds(p, names, **settings, title=title, ax=ax),
            f"Observed against predicted share at or below thresholds, {title}",
            3.3,
        )
        for title, p in predicted.items()
    ]
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in summary.weights.items())
    found["weights"] = [
        _image(
            lambda ax: plots.weights(calibrator, ax=ax),
            f"Weights: {weights}",
            0.6 + 0.2 * len(summary.weights),
        )
    ]
    # A posterior that is one point, by inference "mode", has no interval and cannot be drawn.
    spread = any(fault.low is not None for fault in summary.faults)
    known = pool_draws(calibrator.posteriors_, calibrator.weights_)[0] if spread else {}
    found["parameters"] = [
        _image(
            lambda ax, name=fault.name: plots.parameter(calibrator, name, ax=ax),
            f"Posterior and prior densities: {fault}",
            1.4,
            2.4,
        )
        for fault in summary.faults
        if fault.name in known
    ]
    return found


def _image(draw: Callable[[Any], object], alt: str, height: float, width: float = COLUMN) -> Image:
    """A figure as an SVG image whose ink gives way on a dark page."""
    buffer = io.StringIO()
    with looking():
        import matplotlib

        with matplotlib.rc_context(INKED):
            figure = new_figure(width, height)
            draw(figure.subplots())
            figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = re.sub(r"(<svg [^>]*>)", rf"\1{STYLE}", buffer.getvalue(), count=1, flags=re.S)
    source = "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
    return Image(source, alt)
