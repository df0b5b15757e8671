"""Every table and figure of the paper again, and what else its text reports, on embedded data.

    python benchmarks/paper/make.py                  # hours: 20 draws of labels, as in the paper
    python benchmarks/paper/make.py --quick          # minutes: two tasks, 3 draws, fewer budgets
    python benchmarks/paper/make.py --only known-gap averaging

Goes on from what is finished: `results` beside this program has it, small enough to be committed
(with --quick, a folder of the output); what is in progress is in the output's folder `parts`.
Killed at any moment, it loses one labelled subset, or one batch on an accelerator.  Writes each
product as CSV, Markdown and, where there is a figure, PNG and PDF; README.md says what each is.
Last comes the page that sets the paper's figures beside ours.
Ours is the literal CORDIAL.  Exit status 1 if a product could not be made.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # Programs that compare users, fusions and priors.

from comparison import Results  # noqa: E402
from crossover_table import crossover_table  # noqa: E402
from differences_table import averaging_gain, loss_differences  # noqa: E402
from embedded import TASKS, load_tasks  # noqa: E402
from equivalents import equivalent_labels  # noqa: E402
from further_scores import further_scores  # noqa: E402
from fused_readers import fusion_gains  # noqa: E402
from in_context import in_context  # noqa: E402
from known_gap import gap_table  # noqa: E402
from learned_prior import prior_gains  # noqa: E402
from ledger import Ledger  # noqa: E402
from loss_table import loss_table  # noqa: E402
from paper_page import write_page  # noqa: E402
from product import Product  # noqa: E402
from readers import reader_table  # noqa: E402
from reversals import reversal_shares  # noqa: E402
from stated_classes import stated_classes  # noqa: E402
from styles import MODE  # noqa: E402
from task_table import task_table  # noqa: E402
from timings import timings  # noqa: E402
from user_gains import user_gains  # noqa: E402

import cordial_ppl as cp  # noqa: E402
from cordial_ppl.errors import InputError  # noqa: E402
from cordial_ppl.evaluation.methods import METHODS, make_methods  # noqa: E402

GRID = Path(__file__).with_name("grid.toml")
FEW = 100

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
    """How much of the paper's experiments is run: the methods are those for all readers."""

    methods: tuple[str, ...]
    budgets: tuple[int, ...]
    draws: int
    tasks: tuple[str, ...] = tuple(TASKS)

    @property
    def few(self) -> tuple[int, ...]:
        """Return the numbers of labels that the paper calls few."""
        return tuple(n for n in self.budgets if n <= FEW)


def read_grid(path: Path, quick: bool) -> Size:
    """Read the settings of `cordial sweep` from a file; quick: as far as ten minutes go."""
    content = tomllib.loads(path.read_text("utf-8"))["sweep"]
    size = Size(tuple(content["methods"]), tuple(content["budgets"]), content["draws"])
    # A task of five options and the one of seven.
    less = Size(size.methods, (5, 20, 100, 200, 500, 2000), 3, ("music", "mosei"))
    return less if quick else size


def main(arguments: list[str] | None = None) -> int:
    """Run the sweeps where they are needed, and write what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = list_makers(Ledger(Path(), Path()), read_grid(GRID, quick=True))
    parser.add_argument("--only", nargs="+", choices=names, default=[*names], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="all of it within ten minutes")
    parser.add_argument("--config", type=Path, default=GRID, help="methods, budgets and draws")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--device", choices=("auto", "host", "accelerator"), default="auto")
    parser.add_argument("--results", type=Path, help="folder of what is finished")
    parser.add_argument("--page", type=Path, help="the paper's figures and ours (paper.md)")
    parser.add_argument("-o", "--output", type=Path, default=Path("paper"))
    args = parser.parse_args(arguments)
    finished = args.output / "results" if args.quick else Path(__file__).with_name("results")
    ledger = Ledger(args.results or finished, args.output / "parts", args.engine, args.device)
    for folder in (args.output, ledger.results):
        folder.mkdir(parents=True, exist_ok=True)
    size = read_grid(args.config, args.quick)
    makers, missing = list_makers(ledger, size), False
    for name in dict.fromkeys(args.only):
        try:
            written = makers[name]().write(args.output)
        except InputError as error:
            missing = True
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {', '.join(str(path) for path in written)}", flush=True)
    write_page(args.output, ledger, size.draws, args.page or args.output / "paper.md")
    return int(missing)


def list_makers(ledger: Ledger, size: Size) -> dict[str, Callable[[], Product]]:
    """List what makes each product; a sweep runs when the first that needs it is made."""
    quick = size.tasks != tuple(TASKS)

    @cache
    def run_main() -> Results:
        methods = make_methods([*METHODS]) | {MODE: cp.Cordial.paper(inference="mode")}
        return ledger.sweep(load_tasks(size.tasks, ["main"]), methods, size.budgets, size.draws)

    @cache
    def run_all() -> Results:
        budgets = size.few if quick else size.budgets
        return ledger.sweep(load_tasks(size.tasks), make_methods(size.methods), budgets, size.draws)

    gap = {"sizes": (3, 5), "draws": 10} if quick else {}
    fused = {"budgets": size.few} if quick else {}
    return {
        **{name: lambda make=make: make(run_main()) for name, make in OF_A_SWEEP.items()},
        "readers": lambda: reader_table(run_all()),
        "learned-prior": lambda: prior_gains(size.tasks, size.few, size.draws, ledger),
        "fusion": lambda: fusion_gains(ledger, size.tasks, draws=size.draws, **fused),
        "users": lambda: user_gains(ledger, size.tasks, size.draws),
        "known-gap": partial(gap_table, ledger, **gap),
        "tasks": lambda: task_table(load_tasks(size.tasks)),
        "timings": lambda: timings(ledger, size.tasks, size.budgets),
    }


if __name__ == "__main__":
    sys.exit(main())
