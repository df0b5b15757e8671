"""`cordial sweep`: calibrators compared on many subsets of the labels, and what that shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import ADVANCED, FILES, OUTPUT, Engine, Out, option
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.errors import FileError, InputError, count
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    import polars as pl


def sweep(
    plan: Annotated[Path, option(FILES, "What to compare, in TOML.")],
    *,
    output: Annotated[Path, Out, option(FILES, "Folder of the results.", "DIR")],
    analyse: Annotated[Sequence[str], option(OUTPUT, "Product to write.", "NAME")] = (),
    engine: Engine = "local",
    device: Annotated[
        Literal["auto", "host", "accelerator"], option(ADVANCED, "Where to fit.", "DEVICE")
    ] = "auto",
) -> Result:
    """Compare calibrators on the same subsets of the labels, task by task.

    DIR gets results.parquet, one row a score of a fit, subsets.parquet, which texts are labelled
    and scored, sweep.json with the configuration, and a file for each task, reader, number of
    labels and method.
    """
    from cordial_ppl.evaluation.products import PRODUCTS, write_product
    from cordial_ppl.evaluation.products.product import tabulate
    from cordial_ppl.evaluation.products.table import loss_records

    asked = tuple(dict.fromkeys(analyse))
    for name in asked:
        if name not in (*PRODUCTS, "all"):
            raise InputError(
                f"--analyse may be all, {', '.join(PRODUCTS)}; got {name!r}. The paper's others "
                "are made by benchmarks/paper/make.py of the repository."
            )
    with doing("loading"), leaving_at_once():
        from cordial_ppl.evaluation.sweep import read_config, run_sweep

        results = run_sweep(read_config(plan), output, ray=engine == "ray", device=device)
    written, left_out = [], {}
    for name in PRODUCTS if "all" in asked else asked:
        try:
            with doing(f"analysing: {name}"):
                written += write_product(PRODUCTS[name](results), output)
        except FileError:
            raise
        except InputError as error:
            left_out[name] = str(error)
    means = tabulate(row for key in results.cells for row in loss_records(results, key))
    means = means.select("task", "reader", "n", "method", "log_loss")
    failed = {
        (*key, method): sum(map(bool, outcome.reasons))
        for key, cell in results.cells.items()
        for method, outcome in cell.items()
    }
    done = [f"left out {name}: {why}" for name, why in left_out.items()]
    if lost := sum(failed.values()):
        done.append(f"{count(lost, 'fit')} failed: see the column reason of results.parquet")
    content = {
        "output": str(output),
        "cells": len(results.cells),
        "failed_fits": sum(failed.values()),
        "mean_log_loss": means.to_dicts(),
        "written": list(map(str, written)),
        "left_out": left_out,
    }
    files = "".join(f", {path.name}" for path in written)
    done.append(f"wrote {output}: {count(len(results.cells), 'cell')}{files}")
    # What was asked for by name and cannot be made is an error.
    failures = [InputError(f"--analyse {n}: {left_out[n]}") for n in asked if n in left_out]
    if failures:
        raise failures[0]
    return Result(content, text=_list_means(results, means, failed), done=done)


def _list_means(results: Any, means: "pl.DataFrame", failed: Mapping[tuple, int]) -> str:
    """Set out the mean log losses, a table for each task and reader."""
    from cordial_ppl.evaluation.products.product import number, spread

    def cell(row: dict[str, Any]) -> str:
        """Write a mean; without one, how many of the fits failed."""
        lost = failed[row["task"], row["reader"], row["n"], row["method"]]
        return f"{lost} failed" if row["log_loss"] is None and lost else number(row["log_loss"])

    names, tables = {method: method for method in results.methods}, []
    for task, reader in results.pairs:
        table = spread(means.filter(task=task, reader=reader), ("method",), ("n",), cell, names)
        title = f"\n{task}, {reader}: mean log loss by number of labels"
        tables.append(as_table(title, ("", *table.columns[1:]), table.rows()))
    return "\n".join(tables)
