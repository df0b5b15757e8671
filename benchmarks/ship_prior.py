"""The prior that comes with the package, learned from the sets of readings that real.py lists.

Needs CORDIAL_DATA to name their folder.  Every affine channel is fitted to all labels of
every task and reader outside the held-out texts; the file keeps each fit's mode and spread, how
often each option is the label, and how far the readings spread: numbers, and the names of the task
and the reader that they are of.

    CORDIAL_DATA=path python benchmarks/ship_prior.py --out cordial_ppl/priors/shipped.cordial
"""

import argparse
import os
import time
import warnings
from pathlib import Path

from real import FOLDER, NEEDED, load_pairs

import cordial_ppl as cp
from cordial_ppl.runtime.progress import watching


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("shipped.cordial"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    start = time.perf_counter()

    def show(share: float, label: str) -> None:
        print(f"{share:5.0%} {label} ({time.perf_counter() - start:.0f} s)", flush=True)

    tasks = {
        (f"{pair.source} {pair.reading.task}", pair.reading.reader): (
            pair.reading.pool.logits,
            pair.reading.pool_labels,
        )
        for pair in load_pairs()
    }
    with warnings.catch_warnings(), watching(show):
        warnings.simplefilter("ignore", cp.CordialWarning)
        prior = cp.learn_prior(tasks, vector=False)
    prior.save(args.out)
    print(f"{len(prior.fits)} fits of {len(prior.tasks)} tasks: {args.out}")


if __name__ == "__main__":
    main()
