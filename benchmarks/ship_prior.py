"""The prior that comes with the package, learned and trained on public sets of readings.

Needs CORDIAL_DATA to name their folder.  Every affine channel is fitted to all labels of every task
and reader of the sets that real.py lists, outside the held-out texts; then the prior is trained on
these sets and on the further ones that real.py lists.  The file keeps each fit's mode, how often
each option is the label, how far the readings spread, and by how much training moved the
parameters: numbers, and the names of the task and the reader that they are of.  A prior trained
without it is written for each set, which `accuracy.py` tries on that set.

    CORDIAL_DATA=path python benchmarks/ship_prior.py --out shipped.cordial --apart fits
"""

import argparse
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from real import FOLDER, FURTHER, NEEDED, SOURCES, list_tasks, split_task
from training import train_prior

import cordial_ppl as cp
from cordial_ppl.runtime.progress import doing


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, train and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("shipped.cordial"))
    parser.add_argument("--apart", type=Path, default=Path("fits"), help="folder of the others")
    parser.add_argument("--draws", type=int, default=4, help="episodes of each task and number")
    parser.add_argument("--fitted", type=Path, help="a prior to train, in place of fits")
    args = parser.parse_args(arguments)
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    for folder in (args.out.parent, args.apart):
        folder.mkdir(parents=True, exist_ok=True)

    pools = {
        (f"{source} {task}", reader): split_task(source, task, reader).pool
        for source, task, reader in list_tasks([*SOURCES, *FURTHER])
    }
    names = [name for name, _ in pools]
    tasks = {
        key: (pool.logits, pool.labels)
        for key, pool in pools.items()
        if key[0].split()[0] in SOURCES
    }
    with warnings.catch_warnings(), doing("learning", plain=True):
        warnings.simplefilter("ignore", cp.CordialWarning)
        learned = cp.priors.LearnedPrior.load(args.fitted) if args.fitted else None
        prior = learned or cp.learn_prior(tasks, vector=False)
        training = train_prior(
            prior,
            [*zip(names, pools.values(), strict=True)],
            groups={name: name.split()[0] for name in names},
            draws=args.draws,
        )
    training.prior.save(args.out)
    for (source,), without in training.left_out.items():
        without.save(args.apart / f"without-{source}.cordial")
    gains = ", ".join(f"{gain:.4f} ({n})" for n, gain in training.gains.items())
    print(f"{len(prior.fits)} fits of {len(prior.tasks)} tasks: {args.out}")
    print(f"gain in nats, with so many labels, on the mean over sets left out: {gains}")


if __name__ == "__main__":
    main()
