"""When a full channel overtakes the affine one, on labels at a known distance from the latter.

For each gap delta and number of options K, readings of a made-up population go through a known
channel.  From n of its labels three channels are fitted: the affine one of four parameters and all
K (K - 1) probabilities by maximum likelihood, and the latter with cross-validated shrinkage toward
the affine fit.  Their losses are expectations over the population, which need no test labels.
Prints the effective numbers of parameters, d = 2 n times the mean excess loss, then the numbers of
labels at which the full channels overtake, over n* = (K (K - 1) - 4) / (2 delta); writes JSON.

    python benchmarks/gap.py
    python benchmarks/gap.py --quick
"""

import argparse
import json
from pathlib import Path

from cordial_ppl.sweep.gap import ExcessLosses, around_crossover

FITS = ("affine", "full", "shrunk")


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--deltas", type=float, nargs="+", default=[0.001, 0.01, 0.09])
    parser.add_argument("--options", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("gap.json"))
    args = parser.parse_args()
    if args.quick:
        args.deltas, args.options, args.draws = [0.03], [5], 5
    found = []
    header = f"{'K':>3s}{'delta':>8s}{'n':>8s}{'n / n*':>8s}"
    print(header + "".join(f"{'d ' + fit:>12s}" for fit in FITS))
    for options in args.options:
        for delta in args.deltas:
            losses = around_crossover(delta, options, args.draws, args.seed)
            found.append(losses)
            table = zip(losses.budgets, *map(losses.dimensions, FITS), strict=True)
            for n, *dimensions in table:
                line = f"{options:3d}{losses.delta:8.4f}{n:8d}{n / losses.crossover:8.2f}"
                print(line + "".join(f"{d:12.2f}" for d in dimensions), flush=True)
    report(found, args)


def report(found: list[ExcessLosses], args: argparse.Namespace) -> None:
    """Print where the full channels overtake, and write the JSON file."""
    rows = []
    columns = ("n*", "full", "full / n*", "shrunk", "shrunk / n*")
    print(f"\n{'K':>3s}{'delta':>8s}" + "".join(f"{name:>13s}" for name in columns))
    for losses in found:
        n_star = losses.crossover
        full, shrunk = losses.overtaking("full"), losses.overtaking("shrunk")
        values = (n_star, full, full / n_star, shrunk, shrunk / n_star)
        line = f"{losses.options:3d}{losses.delta:8.4f}{n_star:13.0f}{full:13.0f}"
        print(line + f"{full / n_star:13.2f}{shrunk:13.0f}{shrunk / n_star:13.2f}")
        row = {"options": losses.options, "delta": losses.delta, "budgets": losses.budgets.tolist()}
        row |= {f"d_{fit}": losses.dimensions(fit).tolist() for fit in FITS}
        rows.append(row | dict(zip(columns, values, strict=True)))
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}))


if __name__ == "__main__":
    main()
