"""How well estimates of all texts hold where the judge could not read some of them.

Made-up texts of three systems, with five stars: the judge fails on texts that people call bad more
often ("label"), on those of one system ("system"), on neither or on both.  Labels are of texts
drawn at random.  Counted are 90 % intervals of the mean of all texts, of each system's and of
differences of systems, for just these texts and for the population that they are drawn from, and
differences that exclude 0 with the wrong sign.  Draws where no unread text is labelled say so, and
are counted apart ("refused").
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from measurement import Line, Means, Measurement, Row

import cordial_ppl as cp
from cordial_ppl.decisions.question import TARGETS

TEXTS, SYSTEMS, STARS = 400, "ABC", [1, 2, 3, 4, 5]
QUALITY = np.array(
    [[0.15, 0.20, 0.25, 0.25, 0.15], [0.10, 0.20, 0.20, 0.30, 0.20], [0.10, 0.15, 0.20, 0.30, 0.25]]
)
"""Share of each label in each system."""

BY_LABEL, BY_SYSTEM = np.array([2, 1.5, 1, 0.5, 0.3]), np.array([0.4, 1, 1.6])
"""How often the judge fails, by label and by system, in any unit."""

DESIGNS = {"label": (1, 0), "system": (0, 1), "neither": (0, 0), "both": (1, 1)}
POPULATION = 400_000


class World(NamedTuple):
    """Texts: labels, ratings, whether the judge failed, and the system that wrote each."""

    truth: np.ndarray
    rated: np.ndarray
    fails: np.ndarray
    system: np.ndarray


def make_world(rng: np.random.Generator, texts: int, design: str, rate: float) -> World:
    """Make up texts on a share of which, `rate`, the judge fails."""
    system = rng.integers(0, len(SYSTEMS), texts)
    truth = (rng.random((texts, 1)) > QUALITY.cumsum(axis=1)[system]).sum(axis=1)
    label, of_system = DESIGNS[design]
    odds = BY_LABEL[truth] ** label * BY_SYSTEM[system] ** of_system
    fails = rng.random(texts) < np.minimum(rate * odds / odds.mean(), 0.95)
    # One in five ratings is off, and a third are one star too high besides.
    noise = rng.choice([-1, 0, 0, 0, 1], texts) + (rng.random(texts) < 0.3)
    return World(truth, np.clip(truth + noise, 0, 4), fails, system)


def means_of(world: World) -> list[float]:
    """Mean label of all texts, and of each system's."""
    parts = [world.truth, *(world.truth[world.system == k] for k in range(len(SYSTEMS)))]
    return [1 + float(part.mean()) for part in parts]


@cache
def find_population(design: str, rate: float) -> list[float]:
    """Means of the population that texts are drawn from."""
    return means_of(make_world(np.random.default_rng(1), POPULATION, design, rate))


def run(draw: int, labels: int, design: str, rate: float) -> Iterator[Line]:
    """Estimate one made-up corpus for both targets: shares of intervals that hold."""
    seed = [draw, labels, round(100 * rate), list(DESIGNS).index(design)]
    rng = np.random.default_rng(seed)
    world = make_world(rng, TEXTS, design, rate)
    logits = cp.readings_from_ratings(world.rated + 1, STARS)
    logits[world.fails] = np.nan
    rows = rng.choice(TEXTS, labels, replace=False)
    calibrator = cp.Cordial(STARS, seed=draw).fit(logits[rows], world.truth[rows] + 1)
    population, names = find_population(design, rate), np.array(list(SYSTEMS))[world.system]
    for target, truth in zip(TARGETS, (population, means_of(world)), strict=True):
        made = calibrator.estimate(logits, rows, of=target, groups=names)
        line: Line = {"of": target, "refused": bool(made.unknown)}
        if not made.unknown:
            every = [made.overall.mean, *(made.groups[name].mean for name in SYSTEMS)]
            held = [one.lower <= t <= one.upper for one, t in zip(every, truth, strict=True)]
            apart = [made.difference(*pair) for pair in combinations(SYSTEMS, 2)]
            gaps = np.array([one - other for one, other in combinations(truth[1:], 2)])
            low, high = np.array([(each.lower, each.upper) for each in apart]).T
            line |= {
                "all": held[0],
                "systems": np.mean(held[1:]),
                "differences": np.mean((low <= gaps) & (gaps <= high)),
                "sampling": made.rectified.lower <= truth[0] <= made.rectified.upper,
                "wrong": np.mean((low > 0) & (gaps < 0) | (high < 0) & (gaps > 0)),
            }
        yield line


def tabulate(rows: Sequence[Row]) -> Iterator[Line]:
    """Average over draws, in each cell and in all."""
    every = [row._replace(cell=("all", "all", "all")) for row in rows]
    return Means("labels design rate", "of labels design rate", alike="")([*rows, *every])


MEASUREMENTS = (
    Measurement(
        "unread",
        lambda draw: product((20, 60, 100), DESIGNS, (0.1, 0.25, 0.5)),
        run,
        tabulate,
        8,
        needs_data=False,
    ),
)
