"""Log loss on real readings: the paper's stack, the default, and ideas for a better one.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.
Every stack sees the same labels and is scored on the same held-out texts.  A learned prior is of
other sets alone; that of the default is trained on other sets alone, by `ship_prior.py --apart`,
which comes first.  Prints, for the tasks that ideas are developed on or for those that confirm
them, the mean gain in nats over the paper's stack with one pseudo-count a member, with 95 %
intervals (paired bootstrap over texts and subsets; a task's readers are resampled together), and
how many pairs of task and reader gain and lose beyond theirs; then what is asked of the default.
Fits are kept in a folder, and an idea that only weighs them anew costs nothing.

    CORDIAL_DATA=path python benchmarks/accuracy.py --half development --budgets 5 10 20
"""

import argparse
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from members import Said, fit_members, trained_without
from real import (
    EMBEDDED,
    FOLDER,
    FURTHER,
    HALVES,
    NEEDED,
    SOURCES,
    Pair,
    load_embedded,
    load_pairs,
)

from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.estimators.single import VectorScaling
from cordial_ppl.evaluation.tasks import draw_subsets
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.scores import paired_bootstrap
from cordial_ppl.stack.fit import FOLDS
from cordial_ppl.stack.settings import PAPER_CALIBRATORS, share_of_proof
from cordial_ppl.stack.stacking import MIN_LABELS, assign_folds, earned_counts, stack_weights

DEFAULT = Cordial(prior="own").settings
COUNTS = DEFAULT.weight_counts
BOTH = "both"
REFERENCES: dict[str, np.ndarray] = {}
CALIBRATORS = {name: COUNTS[name] for name in PAPER_CALIBRATORS}
DIRICHLET = {"dirichlet": COUNTS["dirichlet"]}
CHANNELS = {channel.name: COUNTS[channel.name] for channel in DEFAULT.channels}
FOUR = dict.fromkeys(PAPER_CHANNELS, 2.0)


def fitted(how: str, counts: Mapping[str, float]) -> dict[str, float]:
    """Pseudo-counts of channels that are fitted in one way."""
    return {f"{how}:{name}": count for name, count in counts.items()}


PAPER = (*fitted("paper", FOUR), *PAPER_CALIBRATORS)
REFERENCE, CAUTIOUS = "the paper, one count", "cautious prior, no tilt"
STACKS: Mapping[str, Mapping[str, float]] = {
    REFERENCE: dict.fromkeys(PAPER, 1.0),
    "the paper, flat": dict.fromkeys(PAPER, 0.0),
    "default": fitted("trained", CHANNELS) | {name: COUNTS[name] for name in DEFAULT.calibrators},
    CAUTIOUS: fitted("untilted", CHANNELS) | CALIBRATORS,
    "cautious prior, tilted": fitted("learned", CHANNELS) | CALIBRATORS,
    "default without Dirichlet": fitted("trained", CHANNELS) | CALIBRATORS,
    "default, whole counts": fitted("trained", CHANNELS) | CALIBRATORS,
    "default, equal weights": {
        name: 1e6 for name in (*fitted("trained", CHANNELS), *PAPER_CALIBRATORS)
    },
    "default, channels only": fitted("trained", CHANNELS),
    "default with Dirichlet": fitted("trained", CHANNELS)
    | CALIBRATORS
    | {"dirichlet": COUNTS["dirichlet"]},
    "own priors": fitted("own", CHANNELS) | CALIBRATORS,
    "four channels": fitted("learned", FOUR) | CALIBRATORS,
    "four channels, own priors": fitted("own", FOUR) | CALIBRATORS,
    "the paper's rule": fitted("literal", CHANNELS) | CALIBRATORS,
    "and probit": fitted("own", FOUR | {"probit": 2.0}) | CALIBRATORS,
    "two channels": fitted("learned", {"mixture-vector": 4.0, "bridge": 4.0}) | CALIBRATORS,
    "bridge alone": fitted("learned", {"bridge": 1.0}),
    "logit stack": dict.fromkeys(PAPER_CALIBRATORS, 1.0),
    "logit stack, flat": dict.fromkeys(PAPER_CALIBRATORS, 0.0),
    "Dirichlet calibration": {"dirichlet": 1.0},
}
"""What a stack's members are, and their pseudo-counts; those of "default" may wait for labels."""
PROVED = "default", "default without Dirichlet", "default, channels only", "default with Dirichlet"
"""Stacks whose channels have to earn what their pseudo-counts exceed one by."""


class Cell(NamedTuple):
    """One task and reader with n labels.

    Attributes:
        pair: task and reader.
        n: labels.
        losses: of each stack and each single member, nats, ``[S, m]``.
        optimism: by how much the losses that are expected of the default exceed those that come,
            ``[S]``; luck with the labels is taken out.
    """

    pair: Pair
    n: int
    losses: dict[str, np.ndarray]
    optimism: np.ndarray


def main() -> None:
    """Fit, weigh and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=(*HALVES, BOTH, EMBEDDED), default=HALVES[0])
    parser.add_argument("--sources", nargs="+", choices=[*SOURCES, *FURTHER], default=list(SOURCES))
    parser.add_argument("--tasks", nargs="+", help="tasks to compare on; by default all")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--budgets", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--stacks", nargs="+", choices=list(STACKS), default=list(STACKS))
    parser.add_argument("--reference", choices=list(STACKS), default=REFERENCE)
    parser.add_argument("--fits", type=Path, default=Path("fits"), help="folder that keeps fits")
    parser.add_argument("--out", type=Path, default=Path("accuracy.json"))
    args = parser.parse_args()
    embedded = args.half == EMBEDDED
    if not (embedded or os.environ.get(FOLDER)):
        parser.error(NEEDED)
    everything = load_embedded() if embedded else load_pairs(args.sources)
    everything = [p for p in everything if p.reading.name in (args.tasks or [p.reading.name])]
    chosen = dict.fromkeys((args.reference, *args.stacks))
    cells, start = [], time.perf_counter()
    for n in args.budgets:
        for pair in everything:
            if args.half not in (pair.half, BOTH) or n > len(pair.reading.pool.labels):
                continue
            stacks = {name: members_of(name, n, pair.source, args.fits) for name in chosen}
            names = list(dict.fromkeys(name for counts in stacks.values() for name in counts))
            members = fit_members(pair, n, args.draws, [*names, "histogram"], args.fits)
            losses = weigh(members, stacks)
            excess = optimism(pair, n, members, stacks.get("default", {}), losses.get("default"))
            cells.append(Cell(pair, n, losses, excess))
            means = {name: loss.mean() for name, loss in cells[-1].losses.items()}
            shown = " ".join(f"{means[name]:.4f}" for name in stacks)
            print(f"{n:4} {pair.name:62} {shown} ({time.perf_counter() - start:.0f} s)", flush=True)
    report(cells, tuple(chosen), args)


def members_of(
    stack: str, n: int, source: str = "", folder: Path | None = None
) -> Mapping[str, float]:
    """Members of a stack with n labels, and their pseudo-counts: those trained without the set."""
    late = DEFAULT.min_labels if stack == "default" else {}
    counts = {name: count for name, count in STACKS[stack].items() if n >= late.get(name, 0)}
    if folder and any(name.startswith("trained:") for name in counts) and "equal" not in stack:
        trained = trained_without(source, folder).rule.counts
        counts = {name: trained.get(name.split(":")[-1], each) for name, each in counts.items()}
    return counts


def weigh(
    members: Mapping[str, Said], stacks: Mapping[str, Mapping[str, float]]
) -> dict[str, np.ndarray]:
    """Log losses of every stack, and of what it is made of."""
    losses = {name: _loss(values.report) for name, values in members.items()}
    for name, counts in stacks.items():
        held_out = np.stack([members[member].held_out for member in counts], axis=-1)
        report = np.stack([members[member].report for member in counts], axis=-1)
        logs = np.log(np.maximum(held_out.astype(float), FLOOR))
        prior = weight_prior(name, counts, logs.shape[1])
        weights = np.stack([find_weights(values, *prior) for values in logs])
        losses[name] = _loss(np.einsum("smk,sk->sm", report, weights))
    return losses


def weight_prior(stack: str, counts: Mapping[str, float], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-counts of a stack's members, and what needs no proof: of the default as it has it."""
    prior = np.array(list(counts.values()), float)
    earning = np.array([stack in PROVED and ":" in name for name in counts])
    return prior, prior - earning * np.maximum(prior - 1, 0) * share_of_proof(n)


def find_weights(logs: np.ndarray, prior: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Weights of members from the log probabilities that they give held-out labels."""
    return stack_weights(logs, earned_counts(logs, prior, kept))


def optimism(
    pair: Pair,
    n: int,
    members: Mapping[str, Said],
    counts: Mapping[str, float],
    losses: np.ndarray | None,
) -> np.ndarray:
    """Expected less realised log loss of a stack, less what a fixed calibrator says is luck."""
    if losses is None or n < MIN_LABELS:
        return np.zeros(0)
    held_out = np.stack([members[name].held_out for name in counts], axis=-1)
    prior, luck, excess = weight_prior("default", counts, n), reference(pair), []
    subsets = draw_subsets(pair.reading, n, len(held_out))
    for seed, (each, rows) in enumerate(zip(held_out.astype(float), subsets, strict=True)):
        folds = assign_folds(n, FOLDS, np.random.default_rng(seed))
        logs, expected = np.log(np.maximum(each, FLOOR)), np.empty(n)
        for fold in range(FOLDS):
            held = folds == fold
            expected[held] = _loss(each[held] @ find_weights(logs[~held], *prior))
        excess.append(expected.mean() - losses[seed].mean() - luck[rows].mean())
    return np.array(excess)


def reference(pair: Pair) -> np.ndarray:
    """Loss of a calibrator with many labels on each text of the pool, less that on the report."""
    if pair.name in REFERENCES:
        return REFERENCES[pair.name]
    reading = pair.reading
    pool, report = ((part.logits, part.labels) for part in (reading.pool, reading.report))
    both = [np.concatenate(parts) for parts in zip(pool, report, strict=True)]
    fitted = VectorScaling(list(range(pool[0].shape[1]))).fit(both[0], both[1])
    losses = [
        _loss(fitted.predict_proba(logits)[np.arange(len(labels)), labels])
        for logits, labels in (pool, report)
    ]
    return REFERENCES.setdefault(pair.name, losses[0] - losses[1].mean())


def _loss(probs: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(probs, FLOOR))


def report(cells: list[Cell], stacks: tuple[str, ...], args: argparse.Namespace) -> None:
    """Print the tables and write the JSON file."""
    rows = []
    for n in args.budgets:
        matches = [cell for cell in cells if cell.n == n]
        base = np.mean([cell.losses[args.reference].mean() for cell in matches])
        print(f"\n{n} labels, {len(matches)} pairs; {args.reference}: {base:.4f}")
        print(f"  {'gain over it':32} {'mean':>8} {'95 %':>20}  pairs +:-   worst")
        for name in stacks:
            if name == args.reference:
                continue
            mean, half, each = gains(matches, name, args.reference)
            better = sum(one.resolved and one.mean > 0 for one in each)
            worse = sum(one.resolved and one.mean < 0 for one in each)
            least = min(one.mean for one in each)
            interval = f"[{mean - half:+.4f}, {mean + half:+.4f}]"
            print(f"  {name:32} {mean:+8.4f} {interval:>20}  {better:3}:{worse:<3}  {least:+.4f}")
            rows.append(
                {"n": n, "stack": name, "mean": mean, "lower": mean - half, "upper": mean + half}
                | {"gain": better, "lose": worse, "worst": least, "pairs": len(matches)}
            )
        if {CAUTIOUS, "default"} <= {*stacks}:
            pairs = [(cell.pair.source, cell.losses) for cell in matches]
            of_sets: dict[str, list[float]] = {}
            for source, loss in pairs:
                of_sets.setdefault(source, []).append(
                    float(np.mean(loss[CAUTIOUS] - loss["default"]))
                )
            sets = {source: float(np.mean(values)) for source, values in of_sets.items()}
            every = sorted(value for values in of_sets.values() for value in values)
            print(f"  gain of the trained prior, mean over sets: {np.mean([*sets.values()]):+.4f}")
            print("   " + "".join(f" {name} {gain:+.4f}" for name, gain in sets.items()))
            lost = sum(value < -0.01 for value in every)
            print(f"    the worst pair {every[0]:+.4f}; {lost} of {len(every)} lose more than 0.01")
            rows.append({"n": n, "trained": sets, "worst": every[0], "lost": lost})
        if excess := [cell.optimism.mean() for cell in matches if len(cell.optimism)]:
            error = np.std(excess, ddof=1) / len(excess) ** 0.5
            print(f"  expected less realised, default: {np.mean(excess):+.4f} (se {error:.4f})")
            rows.append({"n": n, "optimism": float(np.mean(excess)), "error": float(error)})
        for name in stacks:
            rows.append({"n": n, "stack": name} | asked(matches, name))
            text = "  ".join(f"{what} {value:+.4f}" for what, value in asked(matches, name).items())
            print(f"  {name:32} {text}")
    settings = {key: str(value) for key, value in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1))


def gains(cells: list[Cell], name: str, reference: str) -> tuple[float, float, list]:
    """Mean gain of a stack, half the width of its interval, and the interval of each pair."""
    tasks: dict[str, list[np.ndarray]] = {}
    for cell in cells:
        gain = cell.losses[reference] - cell.losses[name]
        tasks.setdefault(f"{cell.pair.source} {cell.pair.reading.name}", []).append(gain)
    means, widths = [], []
    for values in tasks.values():
        least = min(gain.shape[1] for gain in values)
        interval = paired_bootstrap(
            np.mean([gain[:, :least] for gain in values], axis=0), draws=2000
        )
        means.append(len(values) / len(cells) * np.mean([gain.mean() for gain in values]))
        widths.append(len(values) / len(cells) * (interval.upper - interval.lower) / 2)
    each = [paired_bootstrap(gain, draws=2000) for values in tasks.values() for gain in values]
    return float(np.sum(means)), float(np.linalg.norm(widths)), each


def asked(cells: list[Cell], name: str) -> dict[str, float]:
    """The largest excess over the histogram, and over the stack's best channel in hindsight."""
    above, beyond = [], []
    for cell in cells:
        loss = {key: values.mean() for key, values in cell.losses.items()}
        above.append(loss[name] - loss["histogram"])
        single = [loss[key] for key in members_of(name, cell.n) if ":" in key]
        beyond.append(loss[name] - min(single, default=float("nan")))
    return {
        "over the histogram, worst": float(max(above)),
        "over the best channel, mean": float(np.mean(beyond)),
        "worst": float(max(beyond)),
    }


if __name__ == "__main__":
    main()
