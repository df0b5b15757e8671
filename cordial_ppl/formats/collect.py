"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.collected import Collected
from cordial_ppl.formats.collector import Collector, Entry
from cordial_ppl.formats.evidence import Numbers, Record, Sequences
from cordial_ppl.formats.gaps import Failed, Unlabelled
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale, SettingNeeded


def collect(
    records: Iterable[Entry],
    *,
    scale: Scale | None = None,
    spellings: Mapping[str, str] | None = None,
    before: re.Pattern[str] | None = None,
    reverse: bool = False,
    task: str | None = None,
    reader: str | None = None,
    explain: int = 0,
    labels: bool = True,
) -> Collected:
    """Read every record of a log.

    Args:
        records: The records and what there is in place of some, which are taken one by one.
        scale: The options; by default those that the log itself names.
        spellings: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        reverse: Whether these options go from the last to the first.
        task: The task to take; by default all are kept.
        reader: The reader to take; by default all are kept.
        explain: How many texts to explain.
        labels: Whether to take labels; those of another kind than the options are errors.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, a text occurs twice, records are of
            different kinds or of different options, or a label is no option.
        SettingNeeded: The log does not name the options.
    """
    chosen = (entry for entry in records if _is_about(entry, task, reader))
    # What the log says before its first record may have to wait for the options.
    ahead: list[Entry] = []
    first = None
    for entry in chosen:
        ahead.append(entry)
        if isinstance(entry, Record):
            first = entry
            break
    if first is None:
        raise InputError(_nothing(ahead, task, reader))
    scale = scale or _own_scale(first)
    given = () if scale is None else scale.options
    if scale is not None and reverse:
        scale = Scale(scale.options[::-1])
    known = None if scale is None else Spellings(scale, spellings)
    collector = Collector(known, before, given, explain, labels)
    for entry in chain(ahead, chosen):
        collector.add(entry)
    return collector.collected()


def _is_about(entry: Entry, task: str | None, reader: str | None) -> bool:
    """Whether an entry is of the task and the reader chosen; a failure may not know its reader."""
    if isinstance(entry, Unlabelled):
        return True
    own = (reader, None) if isinstance(entry, Failed) else (reader,)
    return task in (None, entry.task) and (reader is None or entry.reader in own)


def _nothing(ahead: Sequence[Entry], task: str | None, reader: str | None) -> str:
    """Why there is nothing to read."""
    failed = [entry for entry in ahead if isinstance(entry, Failed)]
    if failed:
        return (
            f"there is no answer in it; all {len(failed)} of its requests failed, the first "
            f"({failed[0].place}) for: {failed[0].why}."
        )
    wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
    if wanted:
        return f"there is no reading of {wanted} in it."
    return "there is neither a reading nor a label in it."


def _own_scale(record: Record) -> Scale | None:
    """The options that a log names itself; None if it needs none, for it holds labels alone."""
    match record.evidence:
        case None:
            return None
        case Sequences(scores):
            with naming(record.place):
                return Scale(tuple(scores))
        case Numbers(_, values, options):
            with naming(record.place):
                return Scale(tuple(options)) if options else Scale.default(len(values))
    raise SettingNeeded(
        "the log does not say which answers were possible.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )
