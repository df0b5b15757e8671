"""Pictures of odd names, readings, predictions and labels."""

import random
import warnings
from functools import cache
from pathlib import Path

import matplotlib

import cordial_ppl as cp
from cordial_ppl import plots
from cordial_ppl.data.scale import Scale
from cordial_ppl.plots.axis import Axes
from fuzzing.arrays import LOGITS, NAMES, PROBS, STARS, Case, damaged
from fuzzing.door import Door
from fuzzing.mutations import WORDS, mostly, odd_value

CODES = [STARS.index(name) for name in NAMES]
STRANGE = (("$0-$10", r"a $\frac$ b", "$", "10 $", "$$"), ("\n", "_", "^{", "\\", "x" * 300))


def _make(rng: random.Random, folder: Path) -> Case:
    del folder
    words = rng.sample(WORDS, 5)
    options = rng.choice((STARS, *STRANGE, words, [f"{word}$" for word in words]))
    usual = {"logits": LOGITS, "probs": PROBS, "labels": [options[k] for k in CODES]}
    return {
        "draw": rng.choice((_transfer, _shares, _thresholds, _stated)),
        "options": mostly(rng, options, odd_value(rng)),
        "title": rng.choice(("", "$", r"$\frac$", *words)),
        **damaged(rng, usual, 0.9),
    }


def _enter(case: Case, folder: Path) -> None:
    del folder
    matplotlib.use("Agg")
    from matplotlib import pyplot

    try:
        # Whether a font has a letter is no matter of ours.
        warnings.filterwarnings("ignore", message="Glyph")
        case["draw"](case).figure.draw_without_rendering()
    finally:
        pyplot.close("all")


@cache
def _fitted() -> cp.LogitStack:
    return cp.LogitStack().fit(LOGITS, CODES)


def _named(case: Case) -> cp.LogitStack:
    """The stack, with the options of the case: to fit it again would take longer."""
    calibrator = cp.LogitStack(case["options"])
    vars(calibrator).update(
        vars(_fitted()) | {"options": case["options"], "scale_": Scale.of(case["options"], 5)}
    )
    return calibrator


def _transfer(case: Case) -> Axes:
    return plots.transfer_curve(_named(case), case["logits"], case["labels"])


def _shares(case: Case) -> Axes:
    return plots.label_shares(_named(case), case["logits"], case["labels"])


def _thresholds(case: Case) -> Axes:
    settings = {"options": case["options"], "title": case["title"]}
    return plots.thresholds(case["probs"], case["labels"], **settings)


def _stated(case: Case) -> Axes:
    settings = {"options": case["options"], "title": case["title"]}
    return plots.stated_classes(case["probs"], case["logits"], **settings)


DOORS = [Door("pictures", _make, _enter)]
"""What is drawn."""
