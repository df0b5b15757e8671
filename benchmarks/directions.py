"""How often is a fit warned that labels fall as ratings rise, rightly and wrongly?

Every task and judge of the public sets, random texts of each: labels as they are, where a warning
is a false alarm, and turned round, where it should come; that is counted of all judges, and of
those whose ratings correlate with all labels by more than .4 ("if clear").  Ratings are as they
came, or the likeliest option of each.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from measurement import Line, Means, Measurement
from scipy.stats import spearmanr
from words import CELL, list_judges, load_judge

from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.errors import CordialWarning
from cordial_ppl.stack.fit import warn_if_reversed


def is_warned(logits: np.ndarray, labels: np.ndarray, scale: Any) -> bool:
    """Whether a fit to these labels would be warned of their direction."""
    texts: Any = SimpleNamespace(
        scale=scale,
        text_labels=by_text(labels, scale.size),
        labelled=SimpleNamespace(logits=logits),
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_if_reversed(texts)
    return any(issubclass(each.category, CordialWarning) for each in seen)


def run(draw: int, *cell: str) -> Iterator[Line]:
    """Count warnings of one judge, of so many random labels."""
    judge, rng = load_judge(*cell), np.random.default_rng(draw)
    top = judge.scale.size - 1
    for kind, logits in (("as they came", as_logits(judge.logits)), ("hard", judge.hard.logits)):
        stated = state(logits)[0] @ judge.scale.values
        clear = spearmanr(stated, judge.labels)[0] > 0.4  # pyright: ignore
        for n in (n for n in (10, 20, 50) if n <= len(stated)):
            rows = rng.choice(len(stated), n, replace=False)
            some, labels = logits[rows], judge.labels[rows]
            noticed = is_warned(some, top - labels, judge.scale)
            yield {
                "ratings": kind,
                "labels": n,
                "false alarm": is_warned(some, labels, judge.scale),
                "noticed": noticed,
                "noticed if clear": noticed if clear else None,
            }


EVERY, TABLE = partial(list_judges, most=1000), Means(CELL, "ratings labels", alike="")
MEASUREMENTS = (Measurement("directions", EVERY, run, TABLE, 10),)
