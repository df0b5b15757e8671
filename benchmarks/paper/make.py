"""Every table and figure of the paper again, and what else its text reports, on embedded data.

    python benchmarks/paper/make.py                  # hours: 20 draws of labels, as in the paper
    python benchmarks/paper/make.py --quick          # minutes: two tasks, 3 draws, fewer budgets
    python benchmarks/paper/make.py --only known-gap averaging

Runs two sweeps, or goes on from what is there: of the main reader, up to 2,000 labels, and of the
four readers, up to 100; they share their fits.  Writes each product as CSV, Markdown and, where
there is a figure, PNG and PDF; README.md says what each is.  Ours is the literal CORDIAL.
``known-gap``, ``fusion`` and ``users`` need no sweep.  Exit status 1 if a product could not be
made.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # Programs that compare users, fusions and priors.

from averaging import averaging_gain  # noqa: E402
from comparison import Results, read_results  # noqa: E402
from crossover_table import crossover_table  # noqa: E402
from differences_table import loss_differences  # noqa: E402
from embedded import TASKS, load_tasks  # noqa: E402
from equivalents import equivalent_labels  # noqa: E402
from further_scores import further_scores  # noqa: E402
from fused_readers import fusion_gains  # noqa: E402
from in_context import in_context  # noqa: E402
from known_gap import gap_table  # noqa: E402
from learned_prior import prior_gains  # noqa: E402
from loss_table import loss_table  # noqa: E402
from product import Product  # noqa: E402
from readers import reader_table  # noqa: E402
from reversals import reversal_shares  # noqa: E402
from stated_classes import stated_classes  # noqa: E402
from styles import MODE  # noqa: E402
from user_gains import user_gains  # noqa: E402

import cordial_ppl as cp  # noqa: E402
from cordial_ppl.errors import InputError  # noqa: E402
from cordial_ppl.evaluation.methods import METHODS, NINE, make_methods  # noqa: E402
from cordial_ppl.evaluation.sweeps import make_parts  # noqa: E402
from cordial_ppl.runtime.progress import doing  # noqa: E402

OF_A_SWEEP: Mapping[str, Callable[[Results], Product]] = {
    "table": loss_table,
    "differences": loss_differences,
    "reliability": stated_classes,
    "equivalents": equivalent_labels,
    "scores": further_scores,
    "crossover": crossover_table,
    "reversals": reversal_shares,
    "averaging": averaging_gain,
    "in-context": in_context,
}
"""What each name makes of the sweep of the main reader."""


class Size(NamedTuple):
    """How much of the paper's experiments is run.

    Attributes:
        tasks: tasks of the embedded benchmark.
        draws: draws of labels.
        budgets: numbers of labels for the main reader.
        few: those for all readers.
    """

    tasks: tuple[str, ...] = tuple(TASKS)
    draws: int = 20
    budgets: tuple[int, ...] = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    few: tuple[int, ...] = (5, 10, 20, 50, 100)


# A task of five options and the one of seven.
QUICK = Size(("music", "mosei"), 3, (5, 20, 100, 200, 500, 2000), (5, 20, 100))


def main(arguments: list[str] | None = None) -> int:
    """Run the sweeps where they are needed, and write what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = list_makers(Path(), Size())
    parser.add_argument("--only", nargs="+", choices=names, default=[*names], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="all of it within ten minutes")
    parser.add_argument("-o", "--output", type=Path, default=Path("paper"))
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    makers, missing = list_makers(args.output, QUICK if args.quick else Size()), False
    for name in dict.fromkeys(args.only):
        try:
            written = makers[name]().write(args.output)
        except InputError as error:
            missing = True
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {', '.join(str(path) for path in written)}", flush=True)
    return int(missing)


def list_makers(folder: Path, size: Size) -> dict[str, Callable[[], Product]]:
    """List what makes each product; a sweep runs when the first that needs it is made."""
    parts = folder / "parts"

    @cache
    def run_main() -> Results:
        methods = make_methods([*METHODS]) | {MODE: cp.Cordial.paper(inference="mode")}
        return _run(load_tasks(size.tasks, ["main"]), methods, size.budgets)

    @cache
    def run_all() -> Results:
        return _run(load_tasks(size.tasks), make_methods(NINE), size.few)

    def _run(tasks: list[Any], methods: Mapping[str, Any], budgets: tuple[int, ...]) -> Results:
        with doing("the sweep", plain=True):
            return read_results(
                tasks, make_parts(tasks, methods, budgets, size.draws, folder=parts)
            )

    quick = size is QUICK
    gap: dict[str, Any] = {"sizes": (3, 5), "draws": 10} if quick else {}
    fused: dict[str, Any] = {"budgets": size.few} if quick else {}
    few = {"tasks": size.tasks, "draws": size.draws}
    return {
        **{name: lambda make=make: make(run_main()) for name, make in OF_A_SWEEP.items()},
        "readers": lambda: reader_table(run_all()),
        "learned-prior": lambda: prior_gains(size.tasks, size.few, size.draws, parts),
        "fusion": lambda: fusion_gains(**few, **fused),
        "users": lambda: user_gains(**few),
        "known-gap": partial(gap_table, **gap),
    }


if __name__ == "__main__":
    sys.exit(main())
