"""What per-user effects gain over the population, each text predicted from its user's earlier ones.

The readings are real (``wmt23_esa_users``, whose labels have a user and a time).  For each task the
users are split in halves at random; the population, ``Cordial``, is fitted to labels of one half,
each effect's spread to the same labels, and the other half is predicted in the order of time, then
the other way round.

With ``users-embedded`` the tasks are the embedded ones.  The population, ``Cordial.paper()``, is
fitted to 1,000 calibration labels, whose authors wrote one text each: the spread is learned from a
random half of the 400 people who wrote several, for the other half, and the other way round.

Gains are in nats; standard errors are over users.  ``users-speed`` times 10,000 users with 16
made-up texts each.
"""

import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np
from embedded import TASKS as EMBEDDED
from embedded import SyntheticTask, benchmark
from measurement import Line, Means, Measurement, Timed
from real import SOURCES, read, trained_without
from rivals import CrossValidated, UserIntercept, UserReliability, UserTemperature

from cordial_ppl import Cordial, ProportionalOdds, UserShift, scores
from cordial_ppl.stack.stacking import assign_folds

SOURCE, READER = "wmt23_esa_users", "GEMBA-MQM_gpt4"
LABELS, LATE = 1000, 11
MODE, PLAIN = {"sigma": "cross-validated"}, "shift, the paper's"
EFFECTS: dict[str, tuple[Callable[[], UserShift], str]] = {
    "shift": (UserShift, "calibrator"),
    "shift, one sigma": (CrossValidated, "calibrator"),
    PLAIN: (UserShift.paper, "calibrator"),
    "shift, whole classes": (partial(UserShift.paper, fractions="nearest"), "calibrator"),
    "reliability, mode": (partial(UserReliability, **MODE), "calibrator"),
    "temperature, mode": (partial(UserTemperature, **MODE), "calibrator"),
    "intercept, mode": (partial(UserIntercept, **MODE), "odds"),
    "intercept on the calibrator": (UserIntercept, "calibrator"),
}
"""Effect, and the population that it moves; gains are over the calibrator's."""

Gains = dict[str, np.ndarray]


def list_gains(gains: Gains, users: np.ndarray, late: np.ndarray) -> Iterator[Line]:
    """List the mean gain of each user, of late texts and of all, and what the shift gains over."""
    gains |= {
        f"{PLAIN} - {name}": gains[PLAIN] - gain
        for name, gain in gains.items()
        if name.endswith((", mode", ", whole classes"))
    }
    for kept, which in (("late", late), ("all", np.ones(len(late), bool))):
        for user in np.unique(users[which]):
            rows = which & (users == user)
            line: Line = {"texts": kept, "user": user, "number": rows.sum()}
            yield line | {name: gain[rows].mean() for name, gain in gains.items()}


def measure_embedded(draw: int, name: str) -> Iterator[Line]:
    """Gains on an embedded task with one draw of labels."""
    task = benchmark(name)
    rows = task.rows("users")
    gains = gains_of_draw(task, rows, draw)
    return list_gains(gains, task.users[rows], task.time[rows] >= LATE)


def gains_of_draw(
    task: SyntheticTask, rows: np.ndarray, draw: int, effects: Collection[str] = tuple(EFFECTS)
) -> Gains:
    """Per-text gains of effects over the population that is fitted to one draw of labels."""
    logits, labels = task.logits["main"], task.labels
    fitted = np.random.default_rng(draw).permutation(task.rows("calibration"))[:LABELS]
    populations = {
        name: each.fit(logits[fitted], labels[fitted]).predict_proba(logits[rows])
        for name, each in (("calibrator", Cordial.paper(seed=draw)), ("odds", ProportionalOdds()))
    }
    told = labels[rows], task.users[rows], task.time[rows]
    names = np.unique(told[1])
    first = np.isin(told[1], np.random.default_rng(draw).permutation(names)[: len(names) // 2])
    gains = {name: np.zeros(len(rows)) for name in effects}
    for half in (first, ~first):
        seen, after = ({k: p[part] for k, p in populations.items()} for part in (~half, half))
        earlier, later = ([each[part] for each in told] for part in (~half, half))
        for name, gain in predict_effects(seen, after, earlier, later, effects)[0].items():
            gains[name][half] = gain
    return gains


def predict_effects(
    seen: Gains, after: Gains, told: Any, later: Any, effects: Collection[str]
) -> tuple[Gains, np.ndarray]:
    """Per-text gains of effects that some texts give, on others, and how many came before each.

    What the populations predict is by their names; texts have labels, users and times.
    """
    gains, earlier = {}, np.zeros(0)
    loss = scores.log_loss(after["calibrator"], later[0], per_text=True)
    for name in effects:
        kind, base = EFFECTS[name]
        probs, earlier = kind().fit(seen[base], *told).predict_in_order(after[base], *later)
        gains[name] = loss - scores.log_loss(probs, later[0], per_text=True)
    return gains, earlier


def measure_real(split: int, task: str) -> Iterator[Line]:
    """Gains of every effect over the population, on both halves of the users."""
    texts = read(SOURCE, task, READER)
    logits, extras = texts.logits, texts.labelled.extras
    columns = texts.labels, np.asarray(extras["user"]), np.asarray(extras["time"], float)
    names = np.random.default_rng(split).permutation(np.unique(columns[1]))
    first = np.isin(columns[1], names[: len(names) // 2])
    for half, fold in enumerate((first, ~first)):
        rng = np.random.default_rng([split, half])
        fitted, unseen = rng.permutation(np.flatnonzero(fold))[:LABELS], np.flatnonzero(~fold)
        told, later = ([each[rows] for each in columns] for rows in (fitted, unseen))
        calibrator = Cordial(prior=trained_without(SOURCE)).fit(logits[fitted], told[0])
        odds = ProportionalOdds().fit(logits[fitted], told[0])
        apart = predict_out_of_fold(logits[fitted], told[0])
        seen = {"calibrator": calibrator.fit_.out_of_fold, "odds": apart}
        after = {"calibrator": calibrator.predict_proba(logits[unseen])}
        after["odds"] = odds.predict_proba(logits[unseen])
        gains, earlier = predict_effects(seen, after, told, later, EFFECTS)
        for line in list_gains(gains, later[1], earlier >= LATE):
            yield {"half": half} | line


def predict_out_of_fold(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Predictions of proportional odds that have not seen their labels."""
    folds = assign_folds(len(labels), 4, np.random.default_rng(0))
    probs = np.zeros(logits.shape)
    for fold in range(4):
        held_out = folds == fold
        odds = ProportionalOdds().fit(logits[~held_out], labels[~held_out])
        probs[held_out] = odds.predict_proba(logits[held_out])
    return probs


def time_users(draw: int) -> dict[str, float]:
    """Time 10,000 users with 16 texts each, after a run that compiles."""
    rng = np.random.default_rng(0)
    users, texts, size = 10_000, 16, 5
    probs, who = rng.dirichlet(np.ones(size), users * texts), np.repeat(np.arange(users), texts)
    labels = (probs.cumsum(axis=1) > rng.random((users * texts, 1))).argmax(axis=1)
    UserShift().fit(probs, labels, who).predict_proba(probs, who)
    start = time.perf_counter()
    effect = UserShift().fit(probs, labels, who)
    fit = time.perf_counter()
    effect.predict_proba(probs, who)
    return {"fit, s": fit - start, "predict, s": time.perf_counter() - fit}


MEASUREMENTS = (
    Measurement(
        "users",
        lambda draw: [(task,) for task in SOURCES[SOURCE].tasks],
        measure_real,
        Means("task", "task texts", "draw half", unit="user", weight="number"),
        4,
    ),
    Measurement(
        "users-embedded",
        lambda draw: [(task,) for task in EMBEDDED],
        measure_embedded,
        Means("task", "task texts", "draw", unit="user", weight="number"),
        3,
        needs_data=False,
    ),
    Timed("users-speed", lambda draw: [()], time_users, Means("", ""), 3),
)
