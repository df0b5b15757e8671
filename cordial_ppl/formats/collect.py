"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from cordial_ppl.errors import InputError, naming, quote
from cordial_ppl.formats.answers import Finder
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.evidence import Scores
from cordial_ppl.formats.labels import Labels
from cordial_ppl.formats.matching import read_evidence
from cordial_ppl.formats.records import Record
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables import MADE

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without them",
    "logit": "logits",
    "p": "probabilities",
}


def collect(
    records: Iterable[Record],
    *,
    scale: Scale | None = None,
    spellings: Mapping[str, str] | None = None,
    before: re.Pattern[str] | None = None,
    guess: bool = False,
    reverse: bool = False,
    task: str | None = None,
    reader: str | None = None,
    explain: int = 0,
    labels: bool = True,
) -> Collected:
    """Read every record of a log.

    Args:
        records: What a format yields, taken one by one.
        scale: The options; by default those that the log itself names.
        spellings: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        guess: Whether prose may give the answer.
        reverse: Whether these options go from the last to the first.
        task: The task to take; by default all.
        reader: The reader to take; by default all.
        explain: How many texts to explain.
        labels: Whether to take labels; those that are no option are errors.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, a text occurs twice, records are of
            different kinds or options, or a label is no option.
        SettingNeeded: The log does not name the options.
    """
    chosen = (
        record
        for record in records
        if task in (None, record.task)
        # A request that failed may not know its reader.
        and (reader in (None, record.reader) or record.failed and record.reader is None)
    )
    # Requests that failed before the first answer have to wait for the options.
    failed: list[Record] = []
    for first in chosen:
        if first.failed is None:
            break
        failed.append(first)
    else:
        raise InputError(_nothing(failed, task, reader))
    scale = scale or _scale_of(first)
    given = () if scale is None else scale.options
    if scale is not None and reverse:
        scale = Scale(scale.options[::-1])
    finder = None if scale is None else Finder(Spellings(scale, spellings), before, guess)
    found = Collected(() if scale is None else scale.options)
    people = Labels(finder and finder.spellings, given)
    places: dict[tuple[str, str | None, str | None], str] = {}
    texts = 0
    for record in chain(failed, [first], chosen):
        if record.failed is not None:
            found.failed.append(f"{record.place} ({record.failed})")
            continue
        found.unnamed |= record.item_id is None
        item = str(texts) if record.item_id is None else record.item_id
        texts += 1
        with naming(record.place):
            if labels and record.label is not None:
                people.add(item, record.task, record.label, record.user)
        if (evidence := record.evidence) is None:
            continue
        found.scored |= record.scored
        key = item, record.reader, record.task
        if key in places:
            raise InputError(
                f"a text must occur once; {quote(item)} is in {places[key]} and in {record.place}."
            )
        places[key] = record.place
        if finder is None:
            raise InputError(f"{record.place} has a reading, and there are labels alone before it.")
        if isinstance(evidence, Scores) and evidence.options is None:
            # Numbers without names are in the order given, whichever end is the best.
            evidence = evidence._replace(options=given)
        with naming(record.place):
            reading = read_evidence(evidence, finder)
        if len(found.explained) < explain:
            found.explained.append(Explained(item, record.place, reading))
        elif reading is not None:
            # There may be many.
            reading.parts = []
        if reading is None:
            found.unread.append(record.place)
        elif found.values and reading.kind != found.values[0].kind:
            raise InputError(
                f"readings must all be of one kind; in {record.place} there are "
                f"{NOUNS[reading.kind]}, before it {NOUNS[found.values[0].kind]}."
            )
        else:
            found.values.append(reading)
            found.rows.append((*key, *map(record.made.get, MADE)))
            one = isinstance(evidence, list) and len(evidence) == 1
            found.hard &= one and reading.kind == "n"
    if places and finder is not None:
        found.answers = finder.counts
        if not found.values:
            raise InputError(
                f"none of its {len(places)} answers names an option ({', '.join(found.options)})."
                f"{_scores(found.scored)} "
                "Name the options as the model writes them, or say how it does: --spell 1=A. "
                "--after says what answers follow; --guess takes them from prose."
            )
    # A label without a reading would be refused beside these.
    found.labels = people.columns(found.readings["item_id"] if places else None)
    return found


def _nothing(failed: Sequence[Record], task: str | None, reader: str | None) -> str:
    """Why there is nothing to read."""
    if failed:
        return (
            f"there is no answer in it; all {len(failed)} of its requests failed, the first "
            f"({failed[0].place}) for: {failed[0].failed}."
        )
    wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
    if wanted:
        return f"there is no reading of {wanted} in it."
    return "there is neither a reading nor a label in it."


def _scores(names: Mapping[str, bool]) -> str:
    """How to read the scores that a log has too."""
    return f" It has scores too, read by --score {' or '.join(names)}." if names else ""


def _scale_of(record: Record) -> Scale | None:
    """The options that a record names; None if it needs none, for it holds labels alone."""
    with naming(record.place):
        match record.evidence:
            case None:
                return None
            case Scores(_, values, options):
                return Scale(tuple(options)) if options else Scale.default(len(values))
    raise SettingNeeded(
        f"the log does not say which answers were possible.{_scores(record.scored)}",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )
