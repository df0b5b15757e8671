"""Whether the number of labels that `--require` names decides as often as it says.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.  Of
each task and reader some texts are a corpus, and a random sample of them is labelled.  A bound is
put at some shares of the half width of the interval of the mean, on either side of it, so that the
answer is open.  The sample is then continued, at random, to each of the three numbers that the
answer names: where the median is named half of the cases should be decided, and a tenth and nine
tenths where the ends of the range are.  Numbers above ``--most`` are not tried.

    CORDIAL_DATA=path python benchmarks/enough.py --draws 0 2
"""

import argparse
import os
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from real import FOLDER, NEEDED, SOURCES, load

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.requirement import OPEN, parse
from cordial_ppl.errors import CordialWarning

TEXTS, FIRST = 600, 30
SHARES = 0.2, 0.6
ENDS = {"low": 0.1, "value": 0.5, "high": 0.9}


def main() -> None:
    """Label, ask, label as many as the answer says, ask again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, nargs=2, default=(0, 2), metavar=("FIRST", "END"))
    parser.add_argument("--most", type=int, default=300, help="labels at most")
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    decided: dict[str, list[bool]] = defaultdict(list)
    for source, found in SOURCES.items():
        for task in found.tasks:
            for draw in range(*args.draws):
                reader = found.readers[draw % 2]
                for end, cases in follow(source, task, reader, draw, args.most).items():
                    decided[end] += cases
            print(Path(source) / task, report(decided), flush=True)


def follow(source: str, task: str, reader: str, draw: int, most: int) -> dict[str, list[bool]]:
    """Follow a sample: whether each number of labels that is named decides."""
    logits, labels = load(source, task, reader)
    rng, options = np.random.default_rng(draw), [*map(str, range(logits.shape[1]))]
    order = rng.permutation(len(labels))[:TEXTS]
    logits, labels = logits[order], labels[order]
    made: dict[int, cp.Estimate] = {}

    def ask(count: int, text: str) -> str:
        if count not in made:
            fit = cp.Cordial(options, seed=draw).fit(logits[:count], labels[:count])
            made[count] = fit.estimate(logits, np.arange(count))
        return parse(text).answer(made[count]).answer

    ask(FIRST, "mean > 0")
    mean, lower, upper = made[FIRST].overall.mean
    result: dict[str, list[bool]] = defaultdict(list)
    for share in SHARES:
        text = f"mean >= {mean + rng.choice([-1, 1]) * share * (upper - lower) / 2}"
        needed = parse(text).answer(made[FIRST]).needed
        for end, count in needed._asdict().items() if needed else ():
            if count <= min(most, len(labels)):
                result[end].append(ask(int(count), text) != OPEN)
    return result


def report(decided: dict[str, list[bool]]) -> str:
    """Write the share that was decided at each number, and what it should be."""
    return "; ".join(
        f"{end}: {np.mean(decided[end]):.2f} of {len(decided[end])} (should be {share})"
        for end, share in ENDS.items()
        if decided[end]
    )


if __name__ == "__main__":
    main()
