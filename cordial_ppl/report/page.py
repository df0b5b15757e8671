"""The page: facts and pictures as one HTML file that needs nothing from elsewhere."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from cordial_ppl.arrays import FLOOR
from cordial_ppl.report.facts import Facts, Score
from cordial_ppl.report.pictures import (
    Picture,
    draw_parameters,
    draw_reliability,
    draw_thresholds,
    draw_transfer,
    draw_weights,
)
from cordial_ppl.scale import parse_number
from cordial_ppl.tables import replacing

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
""")

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
    "bias": "classes",
}

COUNTED = (
    "<p>The readings are ratings that were counted: of n ratings c for an option make log((c + "
    "&frac12;) / (n + K/2)). What is called stated is that; how sure the reader is of a single "
    "rating is not known, and a temperature away from 1 says how much a rating is worth.</p>"
)
"""What counts of ratings state."""

CITE = """@misc{cordial,
  title  = {CORDIAL: Calibrating Ordinal LLM Outputs from Few Labels},
  author = {Wang and Wang and Halgamuge}
}"""


def write_report(path: str | Path, facts: Facts, *, of: str) -> None:
    """Write the page, whole or not at all.

    Args:
        path: The file, by convention ending in ``.html``.
        facts: What it says.
        of: What it is a report of, such as the names of the files.

    Raises:
        InputError: matplotlib is not installed.
        FileError: The file cannot be written.
    """
    text = make_page(facts, of=of)
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def make_page(facts: Facts, *, of: str) -> str:
    """Return the page as text; see `write_report`."""
    body = [
        "<h1>What this reader gets wrong, and what calibration changes</h1>",
        f'<p class="of">{escape(of)}</p>',
        _lead(facts),
        *(f'<p class="warning">{escape(words)}</p>' for words in facts.summary.warnings),
        *_reader(facts),
        *_before_and_after(facts),
        *_moved(facts),
        *_method(facts),
        *_provenance(facts),
    ]
    style = files("cordial_ppl.report").joinpath("style.css").read_text("utf-8")
    return PAGE.substitute(title=escape(f"Report: {of}"), style=style, body="\n".join(body))


def _lead(facts: Facts) -> str:
    sentences = [f"<strong>The reader: {escape(facts.summary.brief)}.</strong>", _headline(facts)]
    if facts.gain is not None:
        sentences.append(_worth(facts))
    if facts.summary.diagnostics:
        trusted = all(found["trusted"] for found in facts.summary.diagnostics.values())
        sentences.append(
            "The diagnostics give no reason to doubt the posteriors."
            if trusted
            else '<span class="bad">Some posteriors are not to be trusted: see below.</span>'
        )
    return '<div class="lead">' + "".join(f"<p>{words}</p>" for words in sentences) + "</div>"


def _headline(facts: Facts) -> str:
    labels = f"{facts.judge.expected_.labels} label{'s' * (facts.judge.expected_.labels != 1)}"
    if facts.scores:
        loss, count = facts.scores[0], int(facts.unseen.sum())
        return (
            f"Calibrated with {labels}, its log loss is {loss.calibrated:.2f} nats a text instead "
            f"of {loss.raw:.2f}, on {count:,} labelled texts that the fit has not seen: a gain of "
            f"{loss.gain.mean:.2f} nats, with a 90 % interval of {loss.gain.lower:+.2f} to "
            f"{loss.gain.upper:+.2f}."
        )
    expected = facts.summary.expected
    if expected.get("cordial") is None:
        return f"It was calibrated with {labels}, too few to say how good the result is."
    return (
        f"Calibrated with {labels}, its log loss is expected to be {expected['cordial']:.2f} nats "
        f"a text instead of {expected['raw']:.2f}, with {expected['histogram']:.2f} for the label "
        "histogram. This is what folds of the labelled texts say: "
        "too few labels came that the fit has not seen."
    )


def _worth(facts: Facts) -> str:
    gain = facts.gain
    assert gain is not None
    ends = f"{gain.lower:+.2f} to {gain.upper:+.2f} nats"
    if gain.lower > 0:
        return f"It tells more than the label histogram alone (by {ends})."
    if gain.upper < 0:
        ends = f"{-gain.upper:.2f} to {-gain.lower:.2f} nats"
        return f'<span class="bad">The label histogram alone predicts better (by {ends}).</span>'
    return f"Whether it tells more than the label histogram alone is open ({ends})."


def _reader(facts: Facts) -> list[str]:
    if not facts.summary.faults:
        return []
    rows = [
        (
            escape(fault.name),
            escape(fault.words),
            _short(fault.median),
            "" if fault.low is None else f"{_short(fault.low)} to {_short(fault.high)}",
            UNITS.get(fault.name.partition(" ")[0], ""),
        )
        for fault in facts.summary.faults
    ]
    head = ("", "that is", "median", "90 % interval", "unit")
    return [
        "<h2>What is wrong with the reader</h2>",
        "<p>Estimated from the labelled texts. A fault is called probable where its interval does "
        "not exclude the opposite.</p>",
        *([COUNTED] if facts.texts.kind in ("rating", "n") else []),
        _table(head, rows, numbers=(2, 3)),
        _figure(draw_transfer(facts)),
    ]


def _before_and_after(facts: Facts) -> list[str]:
    found = ["<h2>Before and after</h2>"]
    if facts.scores:
        known = facts.scores[0].histogram is not None
        head = ["", "as stated", *(["label histogram"] if known else []), "calibrated", "gain"]
        rows = [
            (
                f"{escape(score.name)}{f' ({score.unit})' if score.unit else ''}",
                _number(score.raw),
                *([_number(score.histogram)] if score.histogram is not None else []),
                _number(score.calibrated),
                _interval(score),
            )
            for score in facts.scores
        ]
        seen = int((~facts.unseen).sum())
        words = (
            f"Means over {int(facts.unseen.sum()):,} labelled texts; less is better. The gain is "
            "over the reading as stated, with its 90 % interval (paired bootstrap). No label is "
            f"charged for a probability below {FLOOR:g}."
        )
        words += f" {seen:,} labelled texts of the fit are left out." if seen else ""
        if not known:
            words += " The judge's file does not tell its label histogram."
        if not len(facts.judge.seen_):
            words += (
                " The judge's file does not tell which texts it was fitted to; if they are among "
                "these, the figures flatter."
            )
        found += [f"<p>{words}</p>", _table(head, rows, numbers=range(1, len(head)))]
    else:
        found.append(
            "<p>Fewer than eight labels came that the fit has not seen, so there are no scores, "
            "and the pictures below show texts of the fit, which flatters the judge.</p>"
        )
    return [*found, _figure(draw_reliability(facts)), _figure(draw_thresholds(facts))]


def _moved(facts: Facts) -> list[str]:
    rows = [
        (
            escape(own.item) + (f" and {own.others:,} like it" if own.others else ""),
            _number(own.before),
            _number(own.after),
            f"{_number(own.low)} to {_number(own.high)}",
            escape(own.label or ""),
        )
        for own in facts.moved
    ]
    return [
        "<h2>Texts that calibration moves most</h2>",
        f"<p>Of {len(facts.probs):,} texts, those whose mean changes most{_counted(facts)}.</p>",
        _table(
            ("text", "stated mean", "calibrated mean", "90 % interval", "label"),
            rows,
            numbers=(1, 2, 3),
        ),
    ]


def _method(facts: Facts) -> list[str]:
    found = ["<h2>How it was done</h2>", _figure(draw_weights(facts))]
    if facts.summary.faults and any(fault.low is not None for fault in facts.summary.faults):
        found.append(_figure(draw_parameters(facts)))
    rows = [
        (
            escape(name),
            escape(own["method"]),
            str(own["draws"]),
            "" if own["khat"] is None else f"{own['khat']:.2f}",
            "" if own["ess"] is None else f"{own['ess']:.0f}",
            '<span class="good">trusted</span>'
            if own["trusted"]
            else '<span class="bad">not trusted</span>',
        )
        for name, own in facts.summary.diagnostics.items()
    ]
    if rows:
        head = ("posterior", "method", "draws", "k-hat", "ESS", "verdict")
        found += [
            _table(head, rows, numbers=(2, 3, 4)),
            "<p>k-hat above 0.7 (0.6 of 300 draws) or an effective sample size (ESS) below 50 "
            "would mean that the draws do not stand for the posterior.</p>",
        ]
    return found


def _provenance(facts: Facts) -> list[str]:
    judge = facts.judge
    rows = [
        ("options", escape(_options(facts))),
        ("texts", f"{len(facts.probs):,}, {len(facts.unseen):,} of them labelled{_fitted(facts)}"),
        ("labels of the fit", f"{judge.expected_.labels:,}"),
        ("estimator", escape(f"{type(judge).__name__}, inference {judge.inference}")),
        ("seed", str(judge.seed)),
        *((escape(name), escape(", ".join(own))) for name, own in judge.provenance_.items()),
        ("versions", escape(", ".join(f"{name} {own}" for name, own in facts.versions.items()))),
    ]
    return [
        "<h2>Where this comes from</h2>",
        _table((), rows),
        "<h2>How to cite</h2>",
        f"<pre>{escape(CITE)}</pre>",
        f"<p>Made with cordial_ppl {escape(facts.versions['cordial-ppl'])}.</p>",
    ]


def _counted(facts: Facts) -> str:
    """From where options in words are counted, if they are."""
    scale = facts.judge.scale_
    named = [parse_number(option) is not None for option in scale.options]
    return "" if all(named) else f"; options are counted from 0, {escape(repr(scale.options[0]))}"


def _options(facts: Facts) -> str:
    options = facts.judge.scale_.options
    if not _counted(facts):
        return ", ".join(options)
    return "; ".join(f"{place} {option}" for place, option in enumerate(options))


def _fitted(facts: Facts) -> str:
    seen = int((~facts.unseen).sum())
    return f" ({seen:,} in the fit)" if seen else ""


def _figure(picture: Picture) -> str:
    images = "".join(
        f'<img src="{source}" alt="{escape(alt)}" style="flex: 1 1 {picture.least}px">'
        for source, alt in picture.images
    )
    rows = f'<div class="row across{picture.across}">{images}</div>'
    return f"<figure>{rows}<figcaption>{escape(picture.caption)}</figcaption></figure>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are HTML already; the first of each row is its heading."""
    right = set(numbers)

    def kind(k: int) -> str:
        return ' class="n"' if k in right else ""

    top = "".join(f'<th scope="col"{kind(k)}>{name}</th>' for k, name in enumerate(head))
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td{kind(k)}>{cell}</td>" for k, cell in enumerate(rest, start=1))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    heading = f"<thead><tr>{top}</tr></thead>" if head else ""
    table = f"<table>{heading}<tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _interval(score: Score) -> str:
    mean, lower, upper = (f"{own:+.3f}" for own in score.gain)
    return f"{mean} ({lower} to {upper})"


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else ""


def _short(value: float | None) -> str:
    """Three significant digits without an exponent."""
    if value is None:
        return ""
    digits = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"
