"""How readings were made: columns that say by which model, with which prompt, and how decoded."""

from collections.abc import Mapping, Sequence

from cordial_ppl.tables.frame import list_names

MADE = ("model", "prompt", "decoding", "date")
"""What may be known of a reading; columns `reader_model`, ..."""

LASTING = MADE[:-1]
"""What a calibrator remembers: readings made in another way may have other faults."""

Provenance = dict[str, list[str]]
"""By `LASTING`, the different values there are."""


def read_provenance(
    extras: Mapping[str, Sequence], rows: Sequence[int] | None = None
) -> Provenance:
    """Find out how the readings of a table were made.

    Args:
        extras: Its columns besides the readings.
        rows: The rows that count; by default all.

    Returns:
        The different values of `reader_model`, `reader_prompt` and `reader_decoding`, as far as
        the table has them.
    """
    found: Provenance = {}
    for name in LASTING:
        cells = extras.get(f"reader_{name}", ())
        chosen = (cells[row] for row in rows) if rows is not None and len(cells) else cells
        values = dict.fromkeys(str(cell) for cell in chosen if cell not in (None, ""))
        if values:
            found[name] = list(values)
    return found


def differences(known: Provenance, new: Provenance) -> list[str]:
    """List in what readings differ from those that a calibrator was fitted on.

    Args:
        known: How its readings were made.
        new: How the others were made.

    Returns:
        A phrase for each difference; none where either is not known.
    """
    phrases = []
    for name in LASTING:
        other = [value for value in new.get(name, []) if value not in known.get(name, [])]
        if name in known and other:
            was, shown = list_names(known[name], 3), list_names(other, 3)
            phrases.append(f"{name} {shown} where the calibrator knows {was}")
    return phrases
