"""What averaging over the posterior is worth: a form of ours that does not, minus ours."""

from comparison import Results, count_failures, difference_record, need_methods, note_few_draws
from differences_table import difference_panels, draw_differences, show_differences
from product import Product, tabulate
from styles import MODE, OURS, label


def averaging_gain(results: Results) -> Product:
    """Return the log loss of ours by its mode minus that of ours, by number of labels.

    Args:
        results: the sweep.

    Returns:
        The product `averaging`.

    Raises:
        InputError: the sweep lacks one of the two.
    """
    need_methods(results, OURS, MODE)
    table = tabulate(difference_record(results, key, MODE, OURS) for key in results.cells)
    panels = difference_panels(results, table, (MODE,))
    return Product(
        name="averaging",
        title="What averaging over the posterior is worth",
        caption=f"Log loss of {label(MODE)} minus that of {label(OURS)} (nats; above zero: "
        f"{label(OURS)} is better) by number of labels, ± standard errors over label subsets; "
        "bold: a paired 95 % bootstrap interval over report texts and subsets excludes zero.",
        table=table,
        shown=show_differences(table),
        notes=(
            *note_few_draws(results, results.cells, (MODE,), OURS),
            count_failures(results.cells.values(), (OURS, MODE)),
        ),
        draw=lambda: draw_differences(results, panels, OURS),
    )
