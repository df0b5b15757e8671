"""The embedded benchmark: four made-up tasks and four readers.

Its shape, the share of texts that the readers get right and what calibration reaches from few
labels follow the experiments of the CORDIAL paper (reviews of music, beauty and software with five
stars, spoken sentences with seven levels of sentiment); texts, people and readers are made up.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.synthetic import Raters, Reader
from cordial_ppl.evaluation.tasks import Task

SPLITS = ("calibration", "report", "users")
"""Texts to learn from, texts to be scored on, and texts of people who wrote several."""

CALIBRATION, REPORT, USERS = 2000, 4000, 400
FEWEST, MOST = 8, 16
"""Number of texts of a person who comes back."""


class SyntheticTask(NamedTuple):
    """A task: the same texts read by every reader, labelled by people, in their order.

    Attributes:
        name: name of the task.
        logits: for each reader, unnormalised log-probabilities [n, K] (nats).
        labels: the option that the text's author chose, 0..K-1.
        split: for each text, its place in `SPLITS`.
        users: the author of each text; those of the first two splits wrote one.
        time: place of a text among its author's, from 0.
        options: the names of the K options, lowest first.
    """

    name: str
    logits: Mapping[str, Float[np.ndarray, "n K"]]
    labels: Int[np.ndarray, " n"]
    split: Int[np.ndarray, " n"]
    users: Int[np.ndarray, " n"]
    time: Int[np.ndarray, " n"]
    options: tuple[str, ...]

    def rows(self, split: str) -> Int[np.ndarray, " m"]:
        """Return the rows of one of `SPLITS`, in order."""
        return np.flatnonzero(self.split == SPLITS.index(split))


class Recipe(NamedTuple):
    """Recipe of a task.

    Attributes:
        options: the names of its options, lowest first.
        raters: the people who label its texts.
        readers: the language models that read them, by name.
        ambiguity: standard deviation of what makes all readers misread a text alike.
        habit: standard deviation of what a person who comes back adds to every label, in classes.
        calibration: number of texts to calibrate on.
    """

    options: tuple[str, ...]
    raters: Raters
    readers: Mapping[str, Reader]
    ambiguity: float
    habit: float
    calibration: int = CALIBRATION

    def write(
        self, rng: np.random.Generator, users: Int[np.ndarray, " n"]
    ) -> tuple[Int[np.ndarray, " n"], Mapping[str, Float[np.ndarray, "n K"]]]:
        """Write a text of each of these authors: return its label, and its logits by reader."""
        quality = rng.standard_normal(len(users))
        offsets = self.raters.offset * rng.standard_normal(users.max() + 1)
        labels = self.raters.label(rng, quality, offsets[users])
        seen, cuts = quality + self.ambiguity * rng.standard_normal(len(users)), self.raters.cuts()
        return labels, {name: model.read(rng, seen, cuts) for name, model in self.readers.items()}


STARS = ("1", "2", "3", "4", "5")
SENTIMENT = ("-3", "-2", "-1", "0", "1", "2", "3")


def _readers(main: Reader) -> Mapping[str, Reader]:
    """Return the main reader with three more: smaller, larger, and of another family."""
    small = main._replace(noise=1.6 * main.noise, severity=main.severity + 0.15, jitter=2.0)
    large = main._replace(noise=0.8 * main.noise, severity=main.severity - 0.1)
    other = main._replace(
        noise=1.5 * main.noise,
        severity=main.severity - 0.05,
        stretch=1.1 * main.stretch,
        favour=-main.favour,
        sharpness=0.8 * main.sharpness,
    )
    return {"main": main, "small": small, "large": large, "other": other}


# Tuned so that the main reader is right, sure and wrong as often, and calibration from 20 and from
# 200 labels gets as far, as the paper reports; habits, so that per-user shifts gain as much. A
# reader's numbers stand in the order of the arguments of `Reader`.
TASKS: Mapping[str, Recipe] = {
    "music": Recipe(
        STARS,
        Raters(5, skew=5.43, centre=0.257, noise=0.148, stray=0.013, offset=0.12),
        _readers(Reader(0.154, 0.317, 25.0, 1.7, 1.03, 0.042, 23.0)),
        ambiguity=0.123,
        habit=0.18,
    ),
    "beauty": Recipe(
        STARS,
        Raters(5, skew=5.04, centre=0.303, noise=0.118, stray=0.041, offset=0.12),
        _readers(Reader(0.114, 0.322, 31.0, 1.5, 0.97, 0.059, 22.0)),
        ambiguity=0.086,
        habit=0.14,
    ),
    "software": Recipe(
        STARS,
        Raters(5, skew=5.28, centre=0.325, noise=0.233, stray=0.047, offset=0.12),
        _readers(Reader(0.117, 0.296, 35.0, 0.3, 1.0, 0.041, 22.0)),
        ambiguity=0.085,
        habit=0.145,
    ),
    "mosei": Recipe(
        SENTIMENT,
        Raters(7, skew=-8.3, centre=0.575, noise=0.265, stray=0.038, offset=0.2),
        _readers(Reader(0.2, -0.103, 62.0, 0.95, 0.51, 0.29, 25.0)),
        ambiguity=0.334,
        habit=0.25,
        calibration=18_135,
    ),
}


def benchmark(name: str, seed: int = 0) -> SyntheticTask:
    """Make a task of the benchmark: 'music', 'beauty', 'software' (K = 5) or 'mosei' (K = 7).

    A text's quality is standard normal. Its author labels it by `quality + offset + noise` and
    readers read `quality + ambiguity m + noise`, with m shared by all of them, so that their errors
    are correlated. 2,000 texts to calibrate on (mosei: 18,135, as in the paper) and 4,000 to report
    on have one author each; 400 people more have written 8 to 16 texts each, in order of time.
    These have a habit each, `h ~ N(0, habit^2)` classes: a label z becomes z + h, rounded up or
    down at random so that it is right on average, and stays on the scale.  The same seed gives the
    same task.
    """
    if name not in TASKS:
        raise InputError(f"the benchmark's tasks are {', '.join(TASKS)}; got {name!r}.")
    recipe, rng = TASKS[name], np.random.default_rng(seed)
    single, further = CALIBRATION + REPORT, recipe.calibration - CALIBRATION
    texts = np.r_[np.ones(single, int), rng.integers(FEWEST, MOST + 1, USERS)]
    users = np.repeat(np.arange(single + USERS), texts)
    labels, logits = recipe.write(rng, users)
    # Habits have their generator: no other number changes with them.
    other = np.random.default_rng([seed, 1])
    habits = recipe.habit * other.standard_normal(single + USERS)
    habits[:single] = 0.0
    moves = np.floor(habits[users] + other.random(len(users))).astype(labels.dtype)
    labels = np.clip(labels + moves, 0, len(recipe.options) - 1)
    split = np.repeat(np.arange(len(SPLITS)), [CALIBRATION, REPORT, len(users) - single])
    time = np.arange(len(users)) - np.searchsorted(users, users)
    if further:  # So has what a larger pool has more, behind all other texts.
        more, read = recipe.write(np.random.default_rng([seed, 2]), np.arange(further))
        logits = {reader: np.vstack([own, read[reader]]) for reader, own in logits.items()}
        labels, users = np.r_[labels, more], np.r_[users, users.max() + 1 + np.arange(further)]
        split, time = (np.r_[own, np.zeros(further, int)] for own in (split, time))
    return SyntheticTask(name, logits, labels, split, users, time, recipe.options)


def load_tasks(
    names: Collection[str] = tuple(TASKS), readers: Collection[str] = (), seed: int = 0
) -> list[Task]:
    """Load tasks of the benchmark as sweeps take them: texts to calibrate on, and 4,000 to score.

    By default all four readers read them; the seed is that of labelled subsets and of fits.
    """
    loaded = []
    for name in names:
        task = benchmark(name)
        pool, report = task.rows("calibration"), task.rows("report")
        for reader in readers or task.logits:
            texts = Labelled(as_logits(task.logits[reader]), task.labels)
            parts = texts.take(pool), texts.take(report)
            loaded.append(Task(name, reader, Scale(task.options), *parts, seed))
    return loaded
