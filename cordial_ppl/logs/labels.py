"""Labels that a log holds, a row each."""

from collections.abc import Collection, Iterable
from typing import Any

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, naming, quote
from cordial_ppl.logs.evidence import Record
from cordial_ppl.logs.spellings import Spellings

FIELD = "FIELD"
"""What stands for a field in a message until one is found."""


def collect_labels(
    records: Iterable[Record],
    items: Collection[str] | None,
    spellings: Spellings | None,
    listed: tuple[str, ...],
) -> tuple[dict[str, list[Any]], int]:
    """Make the columns of a table of labels.

    Args:
        records: What holds a label: a spelling of an option, its position among those listed if no
            option is a number, or an error, as nobody can tell what the label is.
        items: The texts to keep; None for all.
        spellings: How options are written; None to take labels as they are.
        listed: The options in the order in which a log counts them.

    Returns:
        `item_id`, `task` if it is known, who said it if that is known of all (`annotator` if
        several people labelled a text, else `user`), and `label`; and the number of labels between
        two options, such as averages, which are kept.

    Raises:
        InputError: A label is no option, or the same person said otherwise before.
        SettingNeeded: Nobody is named, and another label was said before.
    """
    labels: dict[tuple[str, str | None, str | None], str] = {}
    between = 0
    for record in records:
        with naming(record.location):
            if isinstance(record.label, InputError):
                raise record.label
            label = str(record.label).strip()
            if spellings is not None:
                label, lies_between = _name(label, spellings, Scale(listed))
                between += lies_between
            key = str(record.item_id), record.task, record.user
            previous = labels.setdefault(key, label)
            if previous != label:
                raise _contradiction(record, previous, label)
    rows = [(*key, label) for key, label in labels.items() if items is None or key[0] in items]
    names, tasks, people, texts = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
    columns: dict[str, list[Any]] = {"item_id": names}
    if any(task is not None for task in tasks):
        columns["task"] = tasks
    if people and None not in people:
        alone = len(set(zip(names, tasks, strict=True))) == len(rows)
        columns["user" if alone else "annotator"] = people
    return columns | {"label": texts}, between


def _name(text: str, spellings: Spellings, listed: Scale) -> tuple[str, bool]:
    """Name the option that a label is, itself if it is a number between two; and say which."""
    option = spellings.match(text)
    if option is not None:
        return spellings.scale.options[option], False
    try:
        position = float(listed.locate([text])[0])
    except InputError:
        names = ", ".join(listed.options)
        raise InputError(f"a label must be one of {names}; found {text!r}.") from None
    whole = position.is_integer()
    return listed.options[int(position)] if whole else text, not whole


def _contradiction(record: Record, previous: str, label: str) -> InputError:
    by = "" if record.user is None else f" by {quote(record.user)}"
    item = quote(record.item_id)
    problem = f"a text must have one label{by}; {item} has {quote(previous)} and {quote(label)}."
    if record.user is not None:
        return InputError(problem)
    return SettingNeeded(problem, "Name the field of the annotator", "annotator", FIELD)
