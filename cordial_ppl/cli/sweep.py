"""`cordial sweep`: calibrators compared on many subsets of the labels, and what that shows."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cordial_ppl.cli.messages import count, leaving_at_once, progressing, say, working
from cordial_ppl.cli.options import Shown, argument, option, output
from cordial_ppl.errors import FileError, InputError

if TYPE_CHECKING:
    from cordial_ppl.sweep import Results
    from cordial_ppl.sweep.cell import Cell

CONFIG = (
    "What is compared, in TOML: tasks, methods, budgets, draws, seed. Channel files that it names "
    "are run: use only files that you trust."
)
FOLDER = "Folder of the results; an interrupted run resumes."
ANALYSE = "Write a table and figure of the results: all, or one of them; may be repeated."


def sweep(
    config: Annotated[Path, argument("CONFIG", CONFIG)],
    folder: Annotated[Path, output("DIR", FOLDER)],
    shown: Shown,
    analyse: Annotated[list[str] | None, option("NAME", ANALYSE)] = None,
) -> None:
    """Compare calibrators: every method on the same subsets of the labels, task by task.

    DIR gets results.parquet, one row a score of a fit, subsets.parquet, which texts are labelled
    and scored, sweep.json with the configuration, and a file for each task, reader and number of
    labels.
    """
    from cordial_ppl.cli.output import show_json
    from cordial_ppl.products import PRODUCTS, write_product

    unknown = [name for name in analyse or () if name not in (*PRODUCTS, "all")]
    if unknown:
        raise InputError(f"--analyse may be all, {', '.join(PRODUCTS)}; got {unknown[0]!r}.")
    asked = tuple(dict.fromkeys(analyse or ()))
    wanted = tuple(PRODUCTS) if "all" in asked else asked
    with working("loading", shown.quiet), leaving_at_once():
        from cordial_ppl.sweep import read_config, run_sweep

        plan = read_config(config)
    with leaving_at_once(), progressing(shown.quiet) as show:
        results = run_sweep(plan, folder, lambda progress: show(progress.done, progress.label))
    written, left_out, missing = [], {}, []
    for name in wanted:
        try:
            with working(f"analysing: {name}", shown.quiet):
                written += write_product(PRODUCTS[name](results), folder)
        except FileError:
            raise
        except InputError as error:
            left_out[name] = str(error)
            missing += [name] if name in asked else []
    failed = sum(len(cell.failures) for cell in results.cells.values())
    if shown.json:
        content = {"output": str(folder), "cells": len(results.cells), "failed_fits": failed}
        losses = [
            {"task": t, "reader": r, "n": n, "method": m, "log_loss": loss}
            for t, r, n, m, loss in _losses(results)
        ]
        products = {"written": list(map(str, written)), "left_out": left_out}
        show_json(content | {"mean_log_loss": losses} | products)
    elif not shown.quiet:
        _summarise(results, folder, written, left_out, failed)
    if missing:
        # What can be shown has been; what was asked for by name and cannot be is an error.
        raise InputError(f"--analyse {missing[0]}: {left_out[missing[0]]}")


def _summarise(
    results: "Results", folder: Path, written: list[Path], left_out: dict[str, str], failed: int
) -> None:
    from cordial_ppl.cli.output import show_table

    losses = {(t, r, n, m): loss for t, r, n, m, loss in _losses(results)}
    for task, reader in results.pairs:
        budgets = results.budgets(task, reader)
        cells = [results.cells[task, reader, n] for n in budgets]
        rows = [
            (m, *(_shown(losses[task, reader, cell.n, m], cell, m) for cell in cells))
            for m in results.methods
        ]
        title = f"\n{task}, {reader}: mean log loss by number of labels"
        show_table(title, ("", *map(str, budgets)), rows)
    for name, why in left_out.items():
        say(f"left out {name}: {why}")
    if failed:
        say(f"{count(failed, 'fit')} failed: see the column reason of results.parquet")
    say(
        f"wrote {folder}: {count(len(results.cells), 'cell')}"
        + "".join(f", {path.name}" for path in written)
    )


def _losses(results: "Results") -> Iterator[tuple[str, str, int, str, float | None]]:
    """Mean log loss of each method over the draws that all share, as the products have it."""
    from cordial_ppl.products.means import mean_scores

    for (task, reader, n), cell in results.cells.items():
        for method, found in mean_scores(cell, cell.methods).items():
            yield task, reader, n, method, found.mean if found.draws else None


def _shown(loss: float | None, cell: "Cell", method: str) -> str:
    """A mean; without one, how many of the method's fits failed."""
    if loss is not None:
        return f"{loss:.3f}"
    failed = sum(name == method for name, *_ in cell.failures)
    return f"{failed} failed" if failed else "-"
