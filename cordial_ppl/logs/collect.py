"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming, quote
from cordial_ppl.logs.answers import Finder
from cordial_ppl.logs.collected import Collected, Explained
from cordial_ppl.logs.evidence import Answer, Evidence, Orders, Record, Scores
from cordial_ppl.logs.labels import Labels
from cordial_ppl.logs.matching import read_evidence
from cordial_ppl.logs.reading import Reading, average
from cordial_ppl.logs.spellings import Spellings
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
    reverse: bool = False,
    task: str | None = None,
    reader: str | None = None,
    explain: int = 0,
    labels: bool = True,
    round: str | None = None,
) -> Collected:
    """Read every record of a log.

    Args:
        records: What a format yields, taken one by one.
        scale: The options; by default those that the log itself names.
        spellings: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        reverse: Whether these options go from the last to the first.
        task: The task to take; by default all.
        reader: The reader to take; by default all.
        explain: How many texts to explain.
        labels: Whether to take labels; those that are no option are errors.
        round: What a number between two options counts for, as labels are rounded: "half-up",
            "nearest-even" or "split", 3.7 as .3 of 3 and .7 of 4; by default it is no answer.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, a text occurs twice, records are of
            different kinds or options, or a label is no option.
        SettingNeeded: The log does not name the options.
    """
    seen: dict[str, set[str]] = {"task": set(), "reader": set()}

    def choose() -> Iterator[Record]:
        for record in records:
            # A request that failed may not know its reader.
            unknown = record.failed is not None and record.reader is None
            if task in (None, record.task) and (unknown or reader in (None, record.reader)):
                yield record
            else:
                for noun, name in (("task", record.task), ("reader", record.reader)):
                    seen[noun] |= {name} if name else set()

    chosen = choose()
    # Requests that failed before the first answer have to wait for the options.
    failed: list[Record] = []
    for first in chosen:
        if first.failed is None:
            break
        failed.append(first)
    else:
        raise InputError(_nothing(failed, task, reader, seen))
    scale = scale or _scale_of(first)
    listed = () if scale is None else scale.options
    if scale is not None and reverse:
        scale = Scale(scale.options[::-1])
    finder = None if scale is None else Finder(Spellings(scale, spellings), before)
    table = Collected(() if scale is None else scale.options)
    people = Labels(finder and finder.spellings, listed)
    places: dict[tuple[str, str | None, str | None], str] = {}
    texts = 0
    for record in chain(failed, [first], chosen):
        if record.failed is not None:
            table.failed.append(f"{record.location} ({record.failed})")
            continue
        table.unnamed |= record.numbered or record.item_id is None
        item = str(texts) if record.item_id is None else record.item_id
        texts += 1
        with naming(record.location):
            if labels and record.label is not None:
                people.add(item, record.task, record.label, record.user)
        if (evidence := record.evidence) is None:
            continue
        table.scored |= record.scored
        key = item, record.reader, record.task
        if key in places:
            raise InputError(
                f"a text must occur once; {quote(item)} is in {places[key]} and in "
                f"{record.location}."
            )
        places[key] = record.location
        if finder is None:
            raise InputError(
                f"{record.location} has a reading, and there are labels alone before it."
            )
        if isinstance(evidence, Scores) and evidence.options is None:
            # Numbers without names are in the order given, whichever end is the best.
            evidence = evidence._replace(options=listed)
        with naming(record.location):
            reading = _read(record, evidence, finder, round)
        table.pooled += record.rows > 1
        if len(table.explained) < explain:
            beginning = _say(evidence)
            table.explained.append(Explained(item, record.location, reading, *key[1:], beginning))
        elif reading is not None:
            # There may be many.
            reading.parts = []
        if reading is None:
            table.beginning = table.beginning or _say(evidence)
            table.unread.append(record.location)
        elif table.values and reading.kind != table.values[0].kind:
            raise InputError(
                f"readings must all be of one kind; in {record.location} there are "
                f"{NOUNS[reading.kind]}, before it {NOUNS[table.values[0].kind]}."
            )
        else:
            table.values.append(reading)
            table.rows.append((*key, *map(record.made.get, MADE)))
            one = isinstance(evidence, list) and len(evidence) == 1
            table.hard &= one and reading.kind == "n"
    if places and finder is not None:
        table.answers = finder.counts
        if not table.values:
            raise InputError(
                f"none of its {len(places)} answers names an option ({', '.join(table.options)}); "
                f"the first says {table.beginning}.{_scores(table.scored)} "
                "Name the options as the model writes them, or say how it does: --spell 1=A. "
                "--after says what answers follow."
            )
    # A label without a reading would be refused beside these.
    table.labels = people.columns(table.readings["item_id"] if places else None)
    table.between = people.between
    return table


def _read(record: Record, evidence: Evidence, finder: Finder, round: str | None) -> Reading | None:
    """Make a reading of a record's evidence, or of its parts whose options run either way."""
    if isinstance(evidence, Orders) and evidence.swapped:
        parts = [_read(record, part, finder, round) for part in evidence.parts]
        pairs = zip(parts, evidence.swapped, strict=True)
        return average([part.turned() if part and turn else part for part, turn in pairs])
    if round is not None and isinstance(evidence, list):
        evidence = _round(evidence, finder.spellings.scale, round) or evidence
    return read_evidence(evidence, finder)


def _round(answers: Sequence[Answer], scale: Scale, how: str) -> Scores | None:
    """Count averages for the options beside them; None if they are no such numbers.

    Of two options an average is a probability; of more it says less.
    """
    if scale.numbers is None or any(answer.positions for answer in answers):
        return None
    try:
        positions = scale.locate([answer.text for answer in answers])
    except InputError:
        return None
    rounded = round_positions(positions, scale, how)
    counts = np.bincount(rounded.labels, rounded.weights, scale.size)
    if scale.size == 2 and how == "split":
        return Scores("p", (counts / len(answers)).tolist(), scale.options)
    return Scores("n", counts.tolist(), scale.options)


def _say(evidence: Evidence) -> str:
    """The beginning of an answer, for a message."""
    if isinstance(evidence, Orders):
        return _say(evidence.parts[0])
    if isinstance(evidence, Scores):
        names = evidence.options or range(len(evidence.values))
        scores = (f"{n}: {v:g}" for n, v in zip(names, evidence.values, strict=False))
        return quote(", ".join(scores))
    texts = [answer.text or "".join(p.token for p in answer.positions) for answer in evidence]
    return list_names(texts, 3)


def _nothing(
    failed: Sequence[Record], task: str | None, reader: str | None, seen: Mapping[str, set[str]]
) -> str:
    """Why there is nothing to read."""
    if failed:
        return (
            f"there is no answer in it; all {len(failed)} of its requests failed, the first "
            f"({failed[0].location}) for: {failed[0].failed}."
        )
    wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
    if wanted:
        others = "".join(
            f" Its {noun}s are {list_names(sorted(names))}."
            for noun, names in seen.items()
            if names
        )
        return f"there is no reading of {wanted} in it.{others}"
    return "there is neither a reading nor a label in it."


def _scores(names: Mapping[str, bool]) -> str:
    """How to read the scores that a log has too."""
    return f" It has scores too, read by --score {' or '.join(names)}." if names else ""


def _scale_of(record: Record) -> Scale | None:
    """The options that a record names; None if it needs none, for it holds labels alone."""
    with naming(record.location):
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
