"""The page: facts and figures as one HTML file that loads nothing from elsewhere.

`page.html` is the template and holds the words; here are the cells of its tables.
"""

import math
from importlib.resources import files
from pathlib import Path

from cordial_ppl.arrays import FLOOR
from cordial_ppl.report.facts import Facts
from cordial_ppl.report.pictures import draw_pictures
from cordial_ppl.scale import parse_number
from cordial_ppl.tables import replacing

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
    "bias": "classes",
}


def write_report(path: str | Path, facts: Facts, *, of: str) -> None:
    """Write the page to a temporary file, then rename it.

    Args:
        path: The file, by convention ending in ``.html``.
        facts: What the page reports.
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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cordial_ppl.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    with_histogram = bool(facts.scores) and facts.scores[0].histogram is not None
    return environment.get_template("page.html").render(
        facts=facts,
        of=of,
        style=files("cordial_ppl.report").joinpath("style.css").read_text("utf-8"),
        pictures=draw_pictures(facts),
        floor=FLOOR,
        seen=int((~facts.unseen).sum()),
        counted=_counted(facts),
        faults=[
            (fault.name, fault.words, _short(fault.median), _range(fault.low, fault.high, _short))
            + (UNITS.get(fault.name.partition(" ")[0], ""),)
            for fault in facts.summary.faults
        ],
        score_head=(
            *("", "as stated"),
            *(("label histogram",) if with_histogram else ()),
            *("calibrated", "gain"),
        ),
        scores=[
            (
                score.name + (f" ({score.unit})" if score.unit else ""),
                _number(score.raw),
                *((_number(score.histogram),) if with_histogram else ()),
                _number(score.calibrated),
                "{:+.3f} ({:+.3f} to {:+.3f})".format(*score.gain),
            )
            for score in facts.scores
        ],
        moved=[
            (
                text.item + (f" and {text.others:,} like it" if text.others else ""),
                _number(text.before),
                _number(text.after),
                _range(text.low, text.high, _number),
                text.label or "",
            )
            for text in facts.moved
        ],
        provenance=_provenance(facts),
    )


def _provenance(facts: Facts) -> list[tuple[str, str]]:
    calibrator, seen = facts.calibrator, int((~facts.unseen).sum())
    options = calibrator.scale_.options
    counted = "; ".join(f"{place} {option}" for place, option in enumerate(options))
    labelled = f"{len(facts.unseen):,} of them labelled" + (f" ({seen:,} in the fit)" * (seen > 0))
    return [
        ("options", counted if _counted(facts) else ", ".join(options)),
        ("texts", f"{len(facts.probs):,}, {labelled}"),
        ("labels of the fit", f"{calibrator.expected_.labels:,}"),
        ("estimator", f"{type(calibrator).__name__}, inference {calibrator.inference}"),
        ("seed", str(calibrator.seed)),
        *((name, ", ".join(found)) for name, found in calibrator.provenance_.items()),
        ("versions", ", ".join(f"{name} {number}" for name, number in facts.versions.items())),
    ]


def _counted(facts: Facts) -> bool:
    """Whether options are words, whose values are their positions from 0."""
    return any(parse_number(option) is None for option in facts.calibrator.scale_.options)


def _range(low: float | None, high: float | None, form) -> str:
    return "" if low is None else f"{form(low)} to {form(high)}"


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.3f}"


def _short(value: float | None) -> str:
    """Three significant digits without an exponent."""
    if value is None:
        return ""
    digits = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"
