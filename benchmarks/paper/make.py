"""Every table and figure of the paper again, and what else it says of the sweep behind them.

    python benchmarks/paper/make.py
    python benchmarks/paper/make.py --only known-gap averaging
    python benchmarks/paper/make.py --sweep benchmarks/paper/grid.toml -o grid

Runs the sweep of a file (``table.toml``: the embedded benchmark, each task's main reader) into a
folder, or goes on from what is there, and writes each product beside the results as CSV, Markdown
and, where there is a figure, PNG and PDF.  ``known-gap`` needs no sweep.  Exit status 1 if a
product could not be made.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from averaging import averaging_gain
from crossover_table import crossover_table
from differences_table import loss_differences
from equivalents import equivalent_labels
from further_scores import further_scores
from known_gap import gap_table
from loss_table import loss_table
from readers import reader_table
from reversals import reversal_shares
from stated_classes import stated_classes

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products import PRODUCTS, Product, write_product
from cordial_ppl.evaluation.sweep import read_config, run_sweep
from cordial_ppl.runtime.progress import watching

OF_A_SWEEP: Mapping[str, Callable[..., Product]] = {
    **PRODUCTS,
    "table": loss_table,
    "differences": loss_differences,
    "reliability": stated_classes,
    "equivalents": equivalent_labels,
    "scores": further_scores,
    "crossover": crossover_table,
    "reversals": reversal_shares,
    "averaging": averaging_gain,
    "readers": reader_table,
}
"""What each name makes of the results of a sweep: the package's products and the paper's.

The paper's Table 1 replaces the package's `table`."""

HERE = Path(__file__).parent
KNOWN_GAP = "known-gap"


def main(arguments: list[str] | None = None) -> int:
    """Run the sweep where it is needed, and write what was asked for."""
    names = (*OF_A_SWEEP, KNOWN_GAP)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--sweep", type=Path, default=HERE / "table.toml")
    parser.add_argument("-o", "--output", type=Path, default=Path("paper"))
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Product]] = {KNOWN_GAP: gap_table}
    if set(args.only) - {KNOWN_GAP}:
        with watching(_show):
            results = run_sweep(read_config(args.sweep), args.output)
        makers |= {name: lambda make=make: make(results) for name, make in OF_A_SWEEP.items()}
    missing = False
    for name in dict.fromkeys(args.only):
        try:
            written = write_product(makers[name](), args.output)
        except InputError as error:
            missing = True
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {', '.join(str(path) for path in written)}", flush=True)
    return int(missing)


def _show(done: float, label: str) -> None:
    print(f"{done:4.0%}  {label}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
