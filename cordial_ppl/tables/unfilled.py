"""Tables that people fill in, which nothing may replace once they hold labels."""

from collections import Counter
from pathlib import Path

from cordial_ppl.data.numerals import is_missing
from cordial_ppl.errors import InputError, count
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.frame import as_list
from cordial_ppl.tables.label_table import LabelTable
from cordial_ppl.tables.reading_table import ReadingTable


def check_unfilled(
    output: Path,
    advice: str,
    table: ReadingTable | None = None,
    labels: LabelTable | None = None,
) -> None:
    """Refuse to replace a table in which somebody has filled in labels, but those that were read.

    Args:
        output: The table that would be replaced.
        advice: What to do instead.
        table: The readings, if labels were read.
        labels: The labels that were read.

    Raises:
        InputError: There is such a table.
    """
    try:
        columns = read_columns(output)
    except InputError:
        return  # Whatever it is, it is no table of labels.
    names = [name for name in ("item_id", "label") if name in columns.schema]
    if "label" not in names:
        return
    cells = zip(*(as_list(columns.collect(name).to_series()) for name in names), strict=True)
    filled = Counter(tuple(map(str, each)) for each in cells if not is_missing(each[-1]))
    kept, another = Counter[tuple[str, ...]](), "a new plan"
    if table is not None and labels is not None:
        options, another = table.scale.options, "another"
        codes = zip(labels.item_ids, labels.labels, strict=True)
        kept = Counter((item, options[label]) for item, label in codes)
    if filled - kept:
        raise InputError(
            f"{output} already holds {count(filled.total(), 'label')}, which {another} would "
            f"overwrite. Name another output, {advice}."
        )
