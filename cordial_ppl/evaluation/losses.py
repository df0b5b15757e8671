"""Mean log losses of a sweep, as its command shows them."""

import polars as pl

from cordial_ppl.runtime.text_table import align


def mean_losses(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the mean log loss of each method over the draws; null where all of its fits failed."""
    fits = scores.filter(pl.col("metric").is_in(["log_loss", "failed"]))
    by = "task", "reader", "n", "method"
    return fits.group_by(by, maintain_order=True).agg(log_loss=pl.col("value").mean())


def show_losses(means: pl.DataFrame) -> str:
    """Set out the mean log losses, a table for each task and judge."""
    shown = []
    for (task, reader), part in means.group_by("task", "reader", maintain_order=True):
        table = part.pivot("n", index="method", values="log_loss")
        title = f"\n{task}, {reader}: mean log loss by number of labels"
        rows = [
            (method, *("failed" if loss is None else f"{loss:.3f}" for loss in losses))
            for method, *losses in table.rows()
        ]
        shown += [title, *align(("", *table.columns[1:]), *rows)]
    return "\n".join(shown)
