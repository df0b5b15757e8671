"""The page: facts and figures as one HTML file that loads nothing from elsewhere.

`page.html` is the template and holds the words; here are the cells of its tables.
"""

import platform
from importlib.metadata import version

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.decisions.judge import Fault, number
from cordial_ppl.errors import escape
from cordial_ppl.plots.report.facts import DISTANCE, WRONG, Facts
from cordial_ppl.plots.report.pictures import draw_pictures
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.scores import Interval

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
    "form": "1: mixture, 0: location",
    "tilt": "power of the histogram",
}
"""Units of parameters."""

PACKAGES = ("cordial-ppl", "jax", "numpyro", "arviz", "numpy")
SCORED = {"log loss": "nats", DISTANCE: "scale points", WRONG: "share of texts"}
"""Units of scores."""

COLUMNS = {"raw": "the judge", "histogram": "the label histogram", "calibrated": "calibrated"}
"""What a table of scores calls predictions."""


def make_page(facts: Facts, *, of: str) -> str:
    """Return the page as text.

    Args:
        facts: what the page reports.
        of: what it is a report of, such as the names of the files.

    Raises:
        InputError: matplotlib is not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cordial_ppl.plots.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cells"] = lambda faults: [*map(_cells, faults)]
    parameters, (*others, _) = map(_cells, facts.summary.parameters), COLUMNS
    page = environment.get_template("page.html").render(
        facts=facts,
        of=of,
        pictures=draw_pictures(facts),
        floor=FLOOR,
        # Words have their positions from 0 as values.
        counted=None in map(parse_number, facts.calibrator.fit_.scale.options),
        parameters=[(*cells[::2], cells[3], UNITS.get(cells[0], "")) for cells in parameters],
        point=facts.scores.get(DISTANCE) or facts.scores.get(WRONG),
        score_head=("score", *COLUMNS.values(), *(f"gain over {COLUMNS[of]}" for of in others)),
        scores=[
            (f"{name} ({SCORED[name]})" if name in SCORED else name,)
            + tuple(f"{score.means[of]:.3f}" if of in score.means else "" for of in COLUMNS)
            + tuple(_gain(score.gains.get(of)) for of in others)
            for name, score in facts.scores.items()
        ],
        agreed=facts.agreement and facts.agreement.rows,
        moved=[
            (text.item + (f" and {text.others:,} like it" if text.others else ""),)
            + (f"{text.before:.3f}", f"{text.after:.3f}", f"{text.low:.3f} to {text.high:.3f}")
            + (text.label,)
            for text in facts.moved
        ],
        versions={"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    )
    return escape(page)


def _cells(fault: Fault) -> tuple[str, ...]:
    """Name, meaning, median and interval."""
    ends = " to ".join(number(end) for end in (fault.low, fault.high) if end is not None)
    return fault.name, fault.words, number(fault.median), ends


def _gain(gain: Interval | None) -> str:
    return "" if gain is None else "{:+.3f} ({:+.3f} to {:+.3f})".format(*gain)
