"""A learning curve of a sweep: log loss against the number of labels."""

from collections.abc import Sequence

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.curves import curve_table, draw_lines
from cordial_ppl.evaluation.products.figure import literal, styles
from cordial_ppl.evaluation.products.table import need_methods
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.plots.axis import Axes, drawing


def learning_curve(
    results: Results,
    task: str | None = None,
    reader: str | None = None,
    *,
    methods: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean log loss of methods on one task and reader, a line each.

    Bands are plus and minus one standard error over the draws of labels.

    Args:
        results: a sweep, ``Results.load(folder)``.
        task: the task; may be left out where there is one.
        reader: the reader; may be left out where the task has one.
        methods: the methods to draw; by default all.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the sweep has no such task, reader or method, several of what was left out, or
            matplotlib is not installed.
    """
    pairs = [(t, r) for t, r in results.pairs if task in (None, t) and reader in (None, r)]
    if len(pairs) != 1:
        known = "; ".join(f"{t}, {r}" for t, r in results.pairs)
        raise InputError(
            f"name one task and reader of the sweep; {len(pairs)} fit what was given. "
            f"It has: {known}."
        )
    chosen = tuple(methods or results.methods)
    need_methods(results, *chosen)
    table = curve_table(results, pairs, chosen)
    with drawing(ax, height=3.2) as axis:
        draw_lines(axis, table, styles(results.methods))
        axis.set_xlabel("number of labels")
        axis.set_title(literal(", ".join(pairs[0])))
        axis.set_ylabel("log loss (nats)")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return axis
