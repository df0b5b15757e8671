"""What averaging over the posterior is worth: a form of ours that does not, minus ours."""

from differences_table import difference_panels, draw_differences, show_differences
from ranking import base_of

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.product import Product, tabulate
from cordial_ppl.evaluation.products.table import (
    count_failures,
    difference_record,
    note_few_draws,
    our_method,
)
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.evaluation.sweep.methods import label


def averaging_gain(results: Results, *, ours: str | None = None, other: str = "mode") -> Product:
    """Return another method's log loss minus ours by number of labels, with paired intervals.

    Args:
        results: the sweep.
        ours: the method that is subtracted; by default the one that the other is a variant of.
        other: the other method.

    Returns:
        The product `averaging`.

    Raises:
        InputError: the sweep lacks one of the two; the message says what to add to its file.
    """
    if other not in results.methods:
        raise InputError(
            f"this needs a variant of ours that does not average, {other!r}: add to the sweep's "
            f'file [method.{other}] with base = "paper" and inference = "mode".'
        )
    base = base_of(results, other)
    ours = our_method(results, ours or (base if base != other else None))
    if ours == other:
        raise InputError(f"this compares two methods; got {ours!r} for both.")
    table = tabulate(difference_record(results, key, other, ours) for key in results.cells)
    panels = difference_panels(results, table, (other,))
    return Product(
        name="averaging",
        title="What averaging over the posterior is worth",
        caption=f"Log loss of {label(other)} minus that of {label(ours)} (nats; above zero: "
        f"{label(ours)} is better) by number of labels, with paired 95 % bootstrap intervals over "
        "report texts and label subsets; bold: the interval excludes zero.",
        table=table,
        shown=show_differences(table),
        notes=(
            *note_few_draws(results, results.cells, (other,), ours),
            count_failures(results.cells.values(), (ours, other)),
        ),
        draw=lambda: draw_differences(results, panels, ours),
    )
