"""A learning curve of a sweep: log loss against the number of labels."""

from collections.abc import Sequence

from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import Axes, drawing
from cordial_ppl.products.curves import draw_lines, loss_lines
from cordial_ppl.products.figure import literal
from cordial_ppl.sweep import Results


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
    unknown = [method for method in chosen if method not in results.methods]
    if unknown:
        raise InputError(
            f"the sweep has no method {unknown[0]!r}; it has {', '.join(results.methods)}."
        )
    with drawing(ax, height=2.6) as axis:
        draw_lines(axis, results, loss_lines(results, *pairs[0], chosen))
        axis.set_title(literal(", ".join(pairs[0])))
        axis.set_ylabel("log loss (nats)")
        axis.legend(ncols=2)
    return axis
