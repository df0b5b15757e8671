"""What channels of files cost and gain as further members, by how their pseudo-counts are set.

Two channels that predict badly (the reading nearly as it is, and upside down) and two of the
gallery are added to the default on the real sets of `real.py`, and one that helps to a stack of one
channel.  Prints, for each number of labels and rule, the mean log loss in nats and the weight of
what was added.  The rules: a fixed pseudo-count, and one that falls by `earned_counts`.  Fits are
those that `accuracy.py` keeps, and such as it would keep.

    CORDIAL_DATA=path python benchmarks/unproven.py --budgets 10 20 50
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from accuracy import CALIBRATORS, CHANNELS, fitted
from members import Said, fit_members
from real import FOLDER, NEEDED, load_pairs

from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.settings import share_of_proof
from cordial_ppl.stack.stacking import earned_counts, stack_weights

DEFAULT = fitted("learned", CHANNELS) | CALIBRATORS
ONE = fitted("learned", {"location": 2.0}) | CALIBRATORS
ADDED = {
    "none": (DEFAULT, ()),
    "two that are bad": (DEFAULT, ("own:flipped", "own:sharp")),
    "two of the gallery": (DEFAULT, ("own:skewed", "own:probit")),
    "one that helps": (ONE, ("learned:mixture-vector",)),
}
RULES = {"2": (2.0, False), "1": (1.0, False), "2, earned": (2.0, True), "1, earned": (1.0, True)}


def main() -> None:
    """Fit, weigh by each rule, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--fits", type=Path, default=Path("fits"), help="folder that keeps fits")
    parser.add_argument("--out", type=Path, default=Path("unproven.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    names = sorted({name for base, extra in ADDED.values() for name in (*base, *extra)})
    pairs, rows = load_pairs(), []
    for n in args.budgets:
        some = [pair for pair in pairs if n <= len(pair.reading.pool.labels)]
        members = [fit_members(pair, n, args.draws, names, args.fits) for pair in some]
        for what, (base, extra) in ADDED.items():
            for rule, (count, earned) in RULES.items():
                values = np.array([weigh(member, base, extra, count, earned) for member in members])
                loss, weight = values.mean(axis=0).tolist()
                rows.append({"n": n, "added": what, "count": rule, "loss": loss, "weight": weight})
                print(f"{n:4} {what:20} count {rule:10} {loss:.4f} nats, weight {weight:.2f}")
    args.out.write_text(json.dumps(rows, indent=1), "utf-8")


def weigh(
    members: dict[str, Said],
    base: dict[str, float],
    extra: tuple[str, ...],
    count: float,
    earned: bool,
) -> tuple[float, float]:
    """Mean log loss of a stack over the subsets, and the weight of its further members."""
    counts = base | dict.fromkeys(extra, count)
    added = np.array([name in extra for name in counts])
    held_out = np.stack([members[name].held_out for name in counts], axis=-1).astype(float)
    report = np.stack([members[name].report for name in counts], axis=-1)
    losses, weights = [], []
    for log_probs, probs in zip(held_out, report, strict=True):
        logs, prior = np.log(np.maximum(log_probs, FLOOR)), np.array(list(counts.values()))
        above = np.array([":" in name for name in counts]) * np.maximum(prior - 1, 0)
        kept = prior - above * share_of_proof(len(logs))
        kept = np.where(added, 0.0 if earned else prior, kept)
        prior = earned_counts(logs, prior, kept)
        stacked = stack_weights(logs, prior)
        losses.append(-np.log(np.maximum(probs @ stacked, FLOOR)).mean())
        weights.append(stacked[added].sum())
    return float(np.mean(losses)), float(np.mean(weights))


if __name__ == "__main__":
    main()
