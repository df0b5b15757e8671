"""`cordial sweep`: calibrators compared on many subsets of the labels."""

from typing import TYPE_CHECKING, Annotated, Literal

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    ADVANCED,
    MODEL,
    POSITIVE,
    Engine,
    Names,
    Seed,
    TableOut,
    names,
    option,
)
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import Tables
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    import polars as pl


def sweep(
    tables: Tables,
    *,
    output: TableOut,
    methods: Annotated[
        Names,
        names(MODEL, "Names, as raw, histogram, paper, cordial; or channel files, which are run."),
    ] = (),
    budgets: Annotated[
        Names, names(MODEL, "Numbers of labels, as 10,20,50; by default 5 to 100.", "N,...")
    ] = (),
    draws: Annotated[
        int, option(MODEL, "Random subsets of each number of labels.", "N", validator=POSITIVE)
    ] = 20,
    report: Annotated[
        int, option(MODEL, "Labelled texts to score on; others are drawn.", "N", validator=POSITIVE)
    ] = 1000,
    seed: Seed = 0,
    engine: Engine = "local",
    device: Annotated[
        Literal["auto", "host", "accelerator"],
        option(ADVANCED, "Where to fit; auto: on an accelerator if there is one.", "DEVICE"),
    ] = "auto",
) -> Result:
    """Compare calibrators on the same random subsets of the labels, for each judge.

    OUT has a row for each score of each fit. A folder beside it, named OUT.parts, keeps what is
    done: an interrupted sweep resumes, and methods, numbers of labels and judges can be added.
    """
    with doing("loading"), leaving_at_once():
        from cordial_ppl.evaluation.methods import NINE, make_methods
        from cordial_ppl.evaluation.sweeps import BUDGETS, run_sweep
        from cordial_ppl.evaluation.tasks import read_tasks
        from cordial_ppl.tables import write_table

        numbers = [_whole(text) for text in budgets or ()] or BUDGETS
        made = make_methods(methods or NINE)
        channels = [c for estimator in made.values() for c in estimator.settings.channels]
        texts = {"report": report, "channels": channels, "seed": seed}
        tasks = read_tasks(**vars(tables), **texts)
        parts = output.with_name(f"{output.name}.parts")
        where = {"parts": parts, "engine": engine, "device": device}
        scores = run_sweep(tasks, made, numbers, draws, **where)
        write_table(output, scores.lazy())
    failed = scores.filter(metric="failed")
    means = _mean_losses(scores)
    done = [f"wrote {output}: {count(len(scores), 'score')}"]
    if len(failed):
        done.append(f"{count(len(failed), 'fit')} failed: see the column reason of {output}")
    content = {"output": str(output), "failed_fits": len(failed), "mean_log_loss": means.to_dicts()}
    return Result(content, text=_show(means), done=done)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--budgets takes whole numbers, such as 10,20,50; got {text!r}.")
    return int(text)


def _mean_losses(scores: "pl.DataFrame") -> "pl.DataFrame":
    """Return the mean log loss of each method over the draws; null where all of its fits failed."""
    import polars as pl

    fits = scores.filter(pl.col("metric").is_in(["log_loss", "failed"]))
    by = "task", "reader", "n", "method"
    return fits.group_by(by, maintain_order=True).agg(log_loss=pl.col("value").mean())


def _show(means: "pl.DataFrame") -> str:
    """Set out the mean log losses, a table for each task and judge."""
    shown = []
    for (task, reader), part in means.group_by("task", "reader", maintain_order=True):
        table = part.pivot("n", index="method", values="log_loss")
        title = f"\n{task}, {reader}: mean log loss by number of labels"
        rows = [
            (method, *("failed" if loss is None else f"{loss:.3f}" for loss in losses))
            for method, *losses in table.rows()
        ]
        shown.append(as_table(title, ("", *table.columns[1:]), rows))
    return "\n".join(shown)
