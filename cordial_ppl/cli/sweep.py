"""`cordial sweep`: calibrators compared on many subsets of the labels, and what that shows."""

from pathlib import Path
from typing import Annotated, Any

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import Engine, EngineName, Shown, argument, option, output
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.runtime.progress import doing

CONFIG = (
    "What is compared, in TOML: tasks, methods, budgets, draws, seed. Channel files that it names "
    "are run: use only files that you trust."
)
FOLDER = "Folder of the results; an interrupted run resumes."
ANALYSE = "Write a product of the results: table, curves or all; may be repeated."
MOVED = " Only the paper needs it: benchmarks/paper/make.py of the repository makes it."


def sweep(
    config: Annotated[Path, argument("CONFIG", CONFIG)],
    folder: Annotated[Path, output("DIR", FOLDER)],
    shown: Shown,
    analyse: Annotated[list[str] | None, option("NAME", ANALYSE)] = None,
    engine: EngineName = Engine.LOCAL,
) -> None:
    """Compare calibrators: every method on the same subsets of the labels, task by task.

    DIR gets results.parquet, one row a score of a fit, subsets.parquet, which texts are labelled
    and scored, sweep.json with the configuration, and a file for each task, reader, number of
    labels and method.
    """
    from cordial_ppl.cli.output import show_json, show_table
    from cordial_ppl.evaluation.products import PRODUCTS, write_product
    from cordial_ppl.evaluation.products.product import number, spread, tabulate
    from cordial_ppl.evaluation.products.table import loss_records

    for name in analyse or ():
        if name not in (*PRODUCTS, "all"):
            refusal = f"--analyse may be all, {', '.join(PRODUCTS)}; got {name!r}."
            raise InputError(refusal + MOVED * (name in ("reliability", "equivalents")))
    asked = tuple(dict.fromkeys(analyse or ()))
    wanted = tuple(PRODUCTS) if "all" in asked else asked
    with doing("loading"), leaving_at_once():
        from cordial_ppl.evaluation.sweep import read_config, run_sweep

        plan = read_config(config)
    with leaving_at_once():
        results = run_sweep(plan, folder, ray=engine is Engine.RAY)
    written, left_out = [], {}
    for name in wanted:
        try:
            with doing(f"analysing: {name}"):
                written += write_product(PRODUCTS[name](results), folder)
        except FileError:
            raise
        except InputError as error:
            left_out[name] = str(error)
    means = tabulate(row for key in results.cells for row in loss_records(results, key))
    means = means.select("task", "reader", "n", "method", "log_loss")
    failures = {
        (*key, method): sum(map(bool, outcome.reasons))
        for key, cell in results.cells.items()
        for method, outcome in cell.items()
    }
    failed = sum(failures.values())

    def cell(row: dict[str, Any]) -> str:
        """A mean; without one, how many of the fits failed."""
        lost = failures[row["task"], row["reader"], row["n"], row["method"]]
        return f"{lost} failed" if row["log_loss"] is None and lost else number(row["log_loss"])

    if shown.json:
        content = {"output": str(folder), "cells": len(results.cells), "failed_fits": failed}
        products = {"written": list(map(str, written)), "left_out": left_out}
        show_json(content | {"mean_log_loss": means.to_dicts()} | products)
    elif not shown.quiet:
        for task, reader in results.pairs:
            part, names = means.filter(task=task, reader=reader), {m: m for m in results.methods}
            table = spread(part, ("method",), ("n",), cell, names)
            title = f"\n{task}, {reader}: mean log loss by number of labels"
            show_table(title, ("", *table.columns[1:]), table.rows())
        for name, why in left_out.items():
            say(f"left out {name}: {why}")
        if failed:
            say(f"{count(failed, 'fit')} failed: see the column reason of results.parquet")
        files = "".join(f", {path.name}" for path in written)
        say(f"wrote {folder}: {count(len(results.cells), 'cell')}{files}")
    for name in asked:
        # What can be shown has been; what was asked for by name and cannot be is an error.
        if name in left_out:
            raise InputError(f"--analyse {name}: {left_out[name]}")
