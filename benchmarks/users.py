"""What per-user effects gain over the population, each text predicted from its user's earlier ones.

Three programs in one.  By default the readings are real: CORDIAL_DATA names a folder with
``wmt23_esa_users`` (``readings.parquet`` and ``labels.csv``, whose labels have a user and a time).
For each task the users are split in halves at random; the population, ``Cordial``, is fitted to
labels of one half, each effect's spread to the same labels, and the other half is predicted in the
order of time, then the other way round.

With ``--benchmark`` the tasks are the embedded ones.  The population is fitted to 1,000 calibration
labels, 20 draws of them, whose authors wrote one text each: the spread is learned from a random
half of the 400 people who wrote several, for the other half, and the other way round.

Prints the gains in nats with 95 % bootstrap intervals over texts and over users, and writes them
as JSON.  With ``--speed`` it times 10,000 users with 16 made-up texts each instead.

    CORDIAL_DATA=path python benchmarks/users.py
    python benchmarks/users.py --benchmark
    python benchmarks/users.py --speed
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np
from embedded import TASKS as EMBEDDED
from embedded import SyntheticTask, benchmark
from members import without
from rivals import CrossValidated, UserIntercept, UserReliability, UserTemperature

from cordial_ppl import Cordial, ProportionalOdds, UserShift, scores
from cordial_ppl.errors import CordialWarning
from cordial_ppl.stack.stacking import assign_folds
from cordial_ppl.tables import match_labels, read_labels, read_readings

TASKS = ("ESA-1", "ESA-2", "ESA-IAA", "MQM-1", "MQM-IAA")
READER = "GEMBA-MQM_gpt4"
LABELS, LATE, BOOTSTRAPS = 1000, 11, 2000
NEEDED = "set CORDIAL_DATA to a folder that holds wmt23_esa_users"
MODE, PLAIN = {"sigma": "cross-validated"}, "shift, the paper's"
EFFECTS: dict[str, tuple[Callable[[], UserShift], str]] = {
    "shift": (UserShift, "calibrator"),
    "shift, one sigma": (CrossValidated, "calibrator"),
    PLAIN: (UserShift.paper, "calibrator"),
    "shift, whole classes": (partial(UserShift.paper, fractions="nearest"), "calibrator"),
    "reliability": (UserReliability, "calibrator"),
    "reliability, mode": (partial(UserReliability, **MODE), "calibrator"),
    "temperature": (UserTemperature, "calibrator"),
    "temperature, mode": (partial(UserTemperature, **MODE), "calibrator"),
    "intercept": (UserIntercept, "odds"),
    "intercept, mode": (partial(UserIntercept, **MODE), "odds"),
    "intercept on the calibrator": (UserIntercept, "calibrator"),
    "intercept on the calibrator, mode": (partial(UserIntercept, **MODE), "calibrator"),
}
"""Effect, and the population that it moves; gains are over the calibrator's."""


def main() -> None:
    """Run a comparison, or the timing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=5, help="of the real users into halves")
    parser.add_argument("--draws", type=int, default=20, help="of the embedded tasks' labels")
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS, *EMBEDDED])
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("users.json"))
    args = parser.parse_args()
    if args.speed:
        return speed()
    if args.benchmark:
        results = {task: embedded(task, args.draws) for task in args.tasks or EMBEDDED}
        args.out.write_text(json.dumps(results, indent=1))
        return None
    if not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    folder = Path(os.environ["CORDIAL_DATA"]) / "wmt23_esa_users"
    results = {}
    for task in args.tasks or TASKS:
        gains = [gain for split in range(args.splits) for gain in compare(folder, task, split)]
        results[task] = {name: summarise([gain[name] for gain in gains]) for name in EFFECTS}
        print(task, flush=True)
        for name, (late, low, high, users, every) in results[task].items():
            print(
                f"  {name:28} {late:7.3f} [{low:.3f}, {high:.3f}] over texts, [{users[0]:.3f}, "
                f"{users[1]:.3f}] over users; over all texts {every:.3f}",
                flush=True,
            )
    args.out.write_text(json.dumps(results, indent=1))
    return None


def embedded(name: str, draws: int) -> dict:
    """Gains on an embedded task and what the shift gains over each other effect, printed."""
    results = measure_gains(name, draws)
    print(name, flush=True)
    for effect, parts in results.items():
        print(f"  {effect:44}", end="")
        for kept, (mean, over_texts, over_users) in parts.items():
            print(
                f" {kept} {mean:7.4f} [{over_texts[0]:.4f}, {over_texts[1]:.4f}] texts "
                f"[{over_users[0]:.4f}, {over_users[1]:.4f}] users;",
                end="",
            )
        print(flush=True)
    return results


def measure_gains(
    name: str,
    draws: int,
    effects: Collection[str] = tuple(EFFECTS),
    make: Callable[..., Cordial] = Cordial,
) -> dict[str, dict[str, list]]:
    """Gains over the population, late and over all texts: mean, intervals over texts and users.

    What the shift gains over another effect, "shift - effect", is there too; the third number of an
    interval is the standard error.
    """
    task = benchmark(name)
    rows = task.rows("users")
    users, late = task.users[rows], task.time[rows] >= LATE
    gains = [gains_of_draw(task, rows, draw, effects, make) for draw in range(draws)]
    means = {effect: np.stack([gain[effect] for gain in gains]) for effect in effects}
    for effect in effects:
        first = PLAIN if effect.endswith((", mode", ", whole classes")) else "shift"
        if effect not in (first, "shift, one sigma") and first in effects:
            means[f"{first} - {effect}"] = means[first] - means[effect]
    results: dict[str, dict[str, list]] = {}
    for effect, gain in means.items():
        results[effect] = {}
        for kept, which in (("late", late), ("all", np.ones(len(late), bool))):
            part = gain[:, which]
            over_texts = resample(part, np.arange(part.shape[1]))
            over_users = resample(part, users[which])
            results[effect][kept] = [float(part.mean()), over_texts, over_users]
    return results


def gains_of_draw(
    task: SyntheticTask,
    rows: np.ndarray,
    draw: int,
    effects: Collection[str],
    make: Callable[..., Cordial],
) -> dict[str, np.ndarray]:
    """Per-text gains of effects over the population that is fitted to one draw of labels."""
    populations = fit_populations(task, rows, draw, make)
    labels, users, times = task.labels[rows], task.users[rows], task.time[rows]
    names = np.unique(users)
    first = np.isin(users, np.random.default_rng(draw).permutation(names)[: len(names) // 2])
    loss = scores.log_loss(populations["calibrator"], labels, per_text=True)
    gains = {}
    for name in effects:
        kind, base = EFFECTS[name]
        probs, gains[name] = populations[base], np.zeros(len(rows))
        for half in (first, ~first):
            effect = kind().fit(probs[~half], labels[~half], users[~half], times[~half])
            shifted, _ = effect.predict_in_order(
                probs[half], labels[half], users[half], times[half]
            )
            gains[name][half] = loss[half] - scores.log_loss(shifted, labels[half], per_text=True)
    return gains


def fit_populations(
    task: SyntheticTask, rows: np.ndarray, draw: int, make: Callable[..., Cordial]
) -> dict[str, np.ndarray]:
    """Predictions of the calibrator and of proportional odds, fitted to the same labels."""
    logits, pool = task.logits["main"], task.rows("calibration")
    fitted = np.random.default_rng(draw).permutation(pool)[:LABELS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CordialWarning)
        calibrator = make(seed=draw).fit(logits[fitted], task.labels[fitted])
        odds = ProportionalOdds().fit(logits[fitted], task.labels[fitted])
    return {
        "calibrator": calibrator.predict_proba(logits[rows]),
        "odds": odds.predict_proba(logits[rows]),
    }


def resample(gains: np.ndarray, groups: np.ndarray) -> list[float]:
    """95 % interval and error of a mean: draws, and groups of texts, are drawn again."""
    rng = np.random.default_rng(0)
    _, index = np.unique(groups, return_inverse=True)
    counts = np.bincount(index).astype(float)
    sums = np.stack([np.bincount(index, gain) for gain in gains])
    means = np.zeros(BOOTSTRAPS)
    for b in range(BOOTSTRAPS):
        draws = rng.integers(0, len(sums), len(sums))
        drawn = np.bincount(rng.integers(0, len(counts), len(counts)), minlength=len(counts))
        means[b] = (sums[draws] @ drawn).mean() / (counts @ drawn)
    return [*np.quantile(means, [0.025, 0.975]).tolist(), float(means.std(ddof=1))]


def compare(folder: Path, task: str, split: int) -> list[dict]:
    """Per-text gains of every effect over the population, on both halves of the users."""
    readings = read_readings(folder / "readings.parquet", task=task, reader=READER)
    table = read_labels(folder / "labels.csv", readings.scale, task=task)
    table, rows = match_labels(readings, table)
    logits, labels = readings.logits[rows], table.labels
    users = np.asarray(table.extras["user"])
    times = np.asarray(table.extras["time"], float)
    names = np.random.default_rng(split).permutation(np.unique(users))
    first = np.isin(users, names[: len(names) // 2])
    results = []
    for half, fold in enumerate((first, ~first)):
        rng = np.random.default_rng([split, half])
        fitted, unseen = rng.permutation(np.flatnonzero(fold))[:LABELS], np.flatnonzero(~fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CordialWarning)
            calibrator = Cordial(prior=without("wmt23_esa_users")).fit(
                logits[fitted], labels[fitted]
            )
            odds = ProportionalOdds().fit(logits[fitted], labels[fitted])
            own_folds, unseen_odds = (
                calibrator.fit_.out_of_fold,
                out_of_fold(logits[fitted], labels[fitted]),
            )
        seen = labels[fitted], users[fitted], times[fitted]
        after = labels[unseen], users[unseen], times[unseen]
        population = calibrator.predict_proba(logits[unseen])
        loss = scores.log_loss(population, labels[unseen], per_text=True)
        gains = {}
        for name, (kind, of) in EFFECTS.items():
            base, held_out_probs = (odds, unseen_odds) if of == "odds" else (calibrator, own_folds)
            effect = kind().fit(held_out_probs, *seen)
            probs, earlier = effect.predict_in_order(base.predict_proba(logits[unseen]), *after)
            own_loss = scores.log_loss(probs, labels[unseen], per_text=True)
            gains[name] = loss - own_loss, earlier, users[unseen]
        results.append(gains)
    return results


def out_of_fold(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Predictions of proportional odds that have not seen their labels."""
    folds = assign_folds(len(labels), 4, np.random.default_rng(0))
    probs = np.zeros(logits.shape)
    for fold in range(4):
        held_out = folds == fold
        odds = ProportionalOdds().fit(logits[~held_out], labels[~held_out])
        probs[held_out] = odds.predict_proba(logits[held_out])
    return probs


def summarise(gains: list) -> tuple:
    """Mean gain after enough labels, its intervals over texts and over users, and over all."""
    late = [(gain[earlier >= LATE], who[earlier >= LATE]) for gain, earlier, who in gains]
    rng = np.random.default_rng(0)
    by_text = np.zeros((len(late), BOOTSTRAPS))
    by_user = np.zeros((len(late), BOOTSTRAPS))
    for row, (gain, who) in enumerate(late):
        by_text[row] = gain[rng.integers(0, len(gain), (BOOTSTRAPS, len(gain)))].mean(axis=1)
        _, index = np.unique(who, return_inverse=True)
        sums, counts = np.bincount(index, gain), np.bincount(index)
        drawn = rng.integers(0, len(sums), (BOOTSTRAPS, len(sums)))
        by_user[row] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    # Splits share their texts: their intervals are averaged, not narrowed.
    low, high = np.quantile(by_text, [0.025, 0.975], axis=1).mean(axis=1)
    users = np.quantile(by_user, [0.025, 0.975], axis=1).mean(axis=1)
    mean = np.mean([gain.mean() for gain, _ in late])
    every = np.mean([gain.mean() for gain, _, _ in gains])
    return float(mean), float(low), float(high), users.tolist(), float(every)


def speed() -> None:
    """Time 10,000 users with 16 texts each."""
    rng = np.random.default_rng(0)
    users, texts, size = 10_000, 16, 5
    probs = rng.dirichlet(np.ones(size), users * texts)
    who = np.repeat(np.arange(users), texts)
    labels = (probs.cumsum(axis=1) > rng.random((users * texts, 1))).argmax(axis=1)
    for run in ("first", "second"):
        start = time.perf_counter()
        effect = UserShift().fit(probs, labels, who)
        fit = time.perf_counter()
        effect.predict_proba(probs, who)
        end = time.perf_counter()
        print(
            f"{run}: fit {fit - start:.2f} s, predict {end - fit:.2f} s, {end - start:.2f} in all"
        )


if __name__ == "__main__":
    main()
