"""Every table and figure of the paper again, and what else its text reports, on embedded data.

    python benchmarks/paper/make.py                  # hours: 20 draws of labels, as in the paper
    python benchmarks/paper/make.py --quick          # minutes: two tasks, 3 draws, fewer budgets
    python benchmarks/paper/make.py --only known-gap averaging
    python benchmarks/paper/make.py --sweep FILE -o folder

Runs two sweeps into a folder, or goes on from what is there: ``table.toml`` (main reader, up to
2,000 labels) and ``grid.toml`` (four readers, up to 100), which share their fits; ``--sweep``
takes one file for both.  Writes each product beside the results as CSV, Markdown and, where there
is a figure, PNG and PDF; README.md says what each is.  Ours is the literal CORDIAL where the sweep
has it.  ``known-gap``, ``fusion`` and ``users`` need no sweep.  Exit status 1 if a product could
not be made.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))  # Programs that compare users, fusions and priors.

from averaging import averaging_gain  # noqa: E402
from crossover_table import crossover_table  # noqa: E402
from differences_table import loss_differences  # noqa: E402
from equivalents import equivalent_labels  # noqa: E402
from further_scores import further_scores  # noqa: E402
from fused_readers import fusion_gains  # noqa: E402
from in_context import in_context  # noqa: E402
from known_gap import gap_table  # noqa: E402
from learned_prior import prior_gains  # noqa: E402
from loss_table import loss_table  # noqa: E402
from readers import reader_table  # noqa: E402
from reversals import reversal_shares  # noqa: E402
from stated_classes import stated_classes  # noqa: E402
from user_gains import user_gains  # noqa: E402

from cordial_ppl.errors import InputError  # noqa: E402
from cordial_ppl.evaluation.products import PRODUCTS, Product, write_product  # noqa: E402
from cordial_ppl.evaluation.sweep import Results, SweepConfig, read_config, run_sweep  # noqa: E402
from cordial_ppl.runtime.progress import watching  # noqa: E402

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
}
"""What each name makes of the results of a sweep: the package's products and the paper's.

The paper's Table 1 replaces the package's `table`."""

OURS = "paper"
QUICK_DRAWS, QUICK_BUDGETS = 3, (5, 20, 100, 200, 500, 2000)
QUICK_TASKS = ("music", "mosei")
"""A task of five options and the one of seven."""


def main(arguments: list[str] | None = None) -> int:
    """Run the sweeps where they are needed, and write what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    makers = list_makers(Path(), None, False)
    parser.add_argument("--only", nargs="+", choices=makers, default=[*makers], metavar="NAME")
    parser.add_argument("--sweep", type=Path, help="one file in place of table.toml and grid.toml")
    parser.add_argument("--quick", action="store_true", help="all of it within ten minutes")
    parser.add_argument("-o", "--output", type=Path, default=Path("paper"))
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    makers, missing = list_makers(args.output, args.sweep, args.quick), False
    for name in dict.fromkeys(args.only):
        try:
            written = write_product(makers[name](), args.output)
        except InputError as error:
            missing = True
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {', '.join(str(path) for path in written)}", flush=True)
    return int(missing)


def list_makers(folder: Path, file: Path | None, quick: bool) -> dict[str, Callable[[], Product]]:
    """List what makes each product; a sweep runs when the first that needs it is made."""

    @cache
    def config(name: str) -> SweepConfig:
        plan = read_config(file or HERE / name)
        if not quick:
            return plan
        tasks = {k: v for k, v in plan.tasks.items() if k in QUICK_TASKS} or plan.tasks
        fewer = tuple(n for n in plan.budgets if n in QUICK_BUDGETS) or plan.budgets[:1]
        return msgspec.structs.replace(plan, tasks=tasks, budgets=fewer, draws=QUICK_DRAWS)

    @cache
    def run(name: str) -> Results:
        with watching(_show):
            return run_sweep(config(name), folder)

    def of_sweep(make: Callable[..., Product], name: str = "table.toml", *more: Any) -> Product:
        results = run(name)
        known = "ours" in signature(make).parameters and OURS in results.methods
        return make(results, *more, **({"ours": OURS} if known else {}))

    few: dict[str, Any] = {"tasks": QUICK_TASKS, "draws": QUICK_DRAWS} if quick else {}
    fused: dict[str, Any] = few | ({"budgets": QUICK_BUDGETS[:3]} if quick else {})
    gap: dict[str, Any] = {"sizes": (3, 5), "draws": 10} if quick else {}
    return {
        **{name: partial(of_sweep, make) for name, make in OF_A_SWEEP.items()},
        "readers": partial(of_sweep, reader_table, "grid.toml"),
        "in-context": lambda: of_sweep(in_context, "table.toml", config("table.toml")),
        "learned-prior": lambda: prior_gains(config("grid.toml"), folder),
        "fusion": lambda: fusion_gains(**fused),
        "users": lambda: user_gains(**few),
        "known-gap": lambda: gap_table(**gap),
    }


def _show(done: float, label: str) -> None:
    print(f"{done:4.0%}  {label}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
