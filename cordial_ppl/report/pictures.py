"""The pictures of a report, as images that a page can hold, with what they show in words."""

import base64
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cordial_ppl import plots
from cordial_ppl.products.figure import COLUMN, INK, looking, new_figure
from cordial_ppl.report.facts import Facts
from cordial_ppl.summary import pool_draws

LIGHT = "#dcdcdc"
"""Ink on a dark page."""

INKED: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.hashsalt": "cordial",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
}
"""One ink throughout, which a dark page can replace, and letters that a screen shows well."""


@dataclass(frozen=True)
class Picture:
    """A row of images, which a narrow page stands below each other, and its words.

    Attributes:
        images: Each image as an address that holds it, and what it shows for who does not see it.
        caption: How to read them.
        least: Width that an image needs, in pixels.
        across: Images side by side on a wide page.
    """

    images: tuple[tuple[str, str], ...]
    caption: str
    least: int = 300
    across: int = 2


def draw_transfer(facts: Facts) -> Picture:
    """Draw transfer curve and label shares."""
    rows, labels = facts.scored
    judge, texts = facts.judge, facts.texts
    names = judge.scale_.decode(labels)
    extra = {name: column[rows] for name, column in texts.covariates.items()}
    before, after = (own.mean(axis=0) @ judge.scale_.values for own in (facts.raw, facts.probs))
    curve = _image(
        lambda ax: plots.transfer_curve(judge, texts.logits[rows], names, extra, ax=ax), 2.8
    )
    shares = _image(
        lambda ax: plots.label_shares(judge, texts.logits, names, texts.covariates, ax=ax), 2.8
    )
    return Picture(
        (
            (
                curve,
                "Label and calibrated mean of texts, given the mean that the reader states",
            ),
            (
                shares,
                "How common each option is by labels, as stated and calibrated; the mean is "
                f"{before:.2f} as stated and {after:.2f} calibrated",
            ),
        ),
        f"Grey: {len(rows):,} labelled texts, by the mean that the reader states and by their "
        "label (moved a little to be seen). Blue: the calibrated mean of the same texts in "
        "groups, and the mean of their 90 % intervals. On the dotted line the reader would be "
        "right. Beside it, how common each option is among these labels, and as stated and "
        f"calibrated over all {len(texts.items):,} texts.",
    )


def draw_reliability(facts: Facts) -> Picture:
    """Draw what texts get given the stated class: by people, as stated, and calibrated."""
    rows, labels = facts.scored
    scale, logits = facts.judge.scale_, facts.texts.logits[rows]
    people = np.eye(scale.size)[labels]

    def draw(probs: np.ndarray, title: str) -> str:
        settings: dict[str, Any] = {"options": scale, "title": title}
        return _image(lambda ax: plots.stated_classes(probs, logits, **settings, ax=ax), 2.5, 2.4)

    shown = (("labels", people), ("as stated", facts.raw[rows]), ("calibrated", facts.probs[rows]))
    return Picture(
        tuple(
            (draw(probs, title), f"Distribution of the label given the stated class: {title}")
            for title, probs in shown
        ),
        f"For each class that the reader states (rows), the distribution of the label on "
        f"{len(rows):,} labelled texts; more colour is more. Calibrated should look like the "
        "labels. Outlined: label and stated class agree. Hatched: no text.",
        least=200,
        across=3,
    )


def draw_thresholds(facts: Facts) -> Picture:
    """Draw the reliability of thresholds before and after."""
    rows, labels = facts.scored
    scale = facts.judge.scale_
    names = scale.decode(labels)

    def draw(probs: np.ndarray, title: str) -> str:
        settings: dict[str, Any] = {"options": scale, "title": title}
        return _image(lambda ax: plots.thresholds(probs[rows], names, **settings, ax=ax), 3.3)

    shown = (("as stated", facts.raw), ("calibrated", facts.probs))
    return Picture(
        tuple(
            (
                draw(probs, title),
                f"Observed against predicted share at or below thresholds, {title}",
            )
            for title, probs in shown
        ),
        f"Of the texts that are said to be at most t with some probability, how many are, over "
        f"{len(rows):,} labelled texts. On the diagonal, said and seen agree; vertical lines are "
        "90 % intervals.",
    )


def draw_parameters(facts: Facts) -> Picture:
    """Draw the posterior of each parameter over its prior."""
    judge = facts.judge
    known = pool_draws(judge.posteriors_, judge.weights_)[0]
    faults = {fault.name: fault for fault in facts.summary.faults if fault.name in known}
    return Picture(
        tuple(
            (
                _image(lambda ax, name=name: plots.parameter(judge, name, ax=ax), 1.4, 2.4),
                f"Posterior and prior densities: {fault}",
            )
            for name, fault in faults.items()
        ),
        "What the labels say of the reader (blue) beyond what was assumed (grey), with 90 % "
        "intervals; dotted: a reader without that fault.",
        least=220,
        across=3,
    )


def draw_weights(facts: Facts) -> Picture:
    """Draw the members' weights."""
    words = ", ".join(f"{name} {weight:.2f}" for name, weight in facts.summary.weights.items())
    height = 0.6 + 0.2 * len(facts.summary.weights)
    return Picture(
        ((_image(lambda ax: plots.weights(facts.judge, ax=ax), height), f"Weights: {words}"),),
        "How far each member is believed, by what it predicted of texts that it had not seen.",
    )


def _image(draw: Callable[[Any], object], height: float, width: float = COLUMN) -> str:
    """A picture as an SVG image whose ink gives way on a dark page."""
    buffer = io.StringIO()
    with looking():
        import matplotlib

        with matplotlib.rc_context(INKED):
            figure = new_figure(width, height)
            draw(figure.subplots())
            figure.savefig(buffer, format="svg", metadata={"Date": None})
    swap = (
        f'[style*="fill: {INK}"]{{fill:{LIGHT}!important}}'
        f'[style*="stroke: {INK}"]{{stroke:{LIGHT}!important}}'
    )
    # A heatmap is pixels, from white for nothing.
    swap += "image{filter:invert(1) hue-rotate(180deg)}"
    style = f"<style>@media screen and (prefers-color-scheme: dark){{{swap}}}</style>"
    text = re.sub(r"(<svg [^>]*>)", rf"\1{style}", buffer.getvalue(), count=1, flags=re.S)
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
