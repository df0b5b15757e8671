"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cordial_ppl.data.ratings import PSEUDO_COUNT, scale_of_ratings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming, quote
from cordial_ppl.logs.answers import Finder
from cordial_ppl.logs.collected import PLURAL, Collected, Explained
from cordial_ppl.logs.evidence import Evidence, Orders, Record, Scores
from cordial_ppl.logs.labels import collect_labels
from cordial_ppl.logs.matching import read_evidence
from cordial_ppl.logs.reading import Reading
from cordial_ppl.logs.spellings import Spellings
from cordial_ppl.tables import MADE

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without log-probabilities",
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
    table = Collected()
    finder: Finder | None = None
    labelled: list[Record] = []
    others: dict[str, set[str]] = {"task": set(), "reader": set()}
    locations: dict[tuple[str, str | None, str | None], str] = {}
    texts = 0
    records = iter(records)
    for record in records:
        # A request that failed may not know its reader.
        unknown = record.failed is not None and record.reader is None
        if task not in (None, record.task) or not (unknown or reader in (None, record.reader)):
            others["task"] |= {record.task} if record.task else set()
            others["reader"] |= {record.reader} if record.reader else set()
            continue
        if record.failed is not None:
            table.failed.append(f"{record.location} ({record.failed})")
            continue
        table.unnamed |= record.numbered or record.item_id is None
        item = str(texts) if record.item_id is None else record.item_id
        texts += 1
        if labels and record.label is not None:
            labelled.append(replace(record, item_id=item))
        if record.evidence is None:
            continue
        key = item, record.reader, record.task
        if key in locations:
            raise InputError(
                f"a text must occur once; {quote(item)} is in {locations[key]} and in "
                f"{record.location}."
            )
        locations[key] = record.location
        with naming(record.location):
            scale = scale or _scale_of(record, records)
            finder = finder or _finder(scale, reverse, spellings, before)
            evidence = record.evidence
            if isinstance(evidence, Scores) and evidence.options is None:
                # Numbers without names are in the order given, whichever end is the best.
                evidence = evidence._replace(options=scale.options)
            reading = read_evidence(evidence, finder, round)
        _keep(table, key, record, reading, explain)
    if any(reading.kind == "n" and (reading.values % 1).any() for reading in table.values):
        for reading in table.values:
            # Parts of a count are no counts: shares, with half a count for each option.
            shares = reading.values + PSEUDO_COUNT
            reading.kind, reading.values = "p", shares / shares.sum()
    if not texts:
        raise InputError(_nothing(table.failed, task, reader, others))
    if scale is not None:
        finder = finder or _finder(scale, reverse, spellings, before)
        table.options, table.answers = finder.spellings.scale.options, finder.counts
    if locations and not table.values:
        raise InputError(
            f"none of its {len(locations)} answers names an option ({', '.join(table.options)}); "
            f"the first says {table.beginning}.{_scores(table.scored)} "
            "Name the options as the model writes them, or say how it does: --spell 1=A. "
            f"--after says what answers follow.{_field(table.beginning)}"
        )
    # A label without a reading would be refused beside these.
    items = {str(row[0]) for row in table.rows} if locations else None
    listed = () if scale is None else scale.options
    spelled = finder and finder.spellings
    table.labels, table.between = collect_labels(labelled, items, spelled, listed)
    return table


def _finder(
    scale: Scale, reverse: bool, extra: Mapping[str, str] | None, before: re.Pattern[str] | None
) -> Finder:
    scale = Scale(scale.options[::-1]) if reverse else scale
    return Finder(Spellings(scale, extra), before)


def _keep(
    table: Collected,
    key: tuple[str, str | None, str | None],
    record: Record,
    reading: Reading | None,
    explain: int,
) -> None:
    """Put a reading into the table, and what is to be said of it."""
    table.scored |= record.scored
    table.people[record.person] += record.person is not None
    table.pooled += record.rows > 1
    if len(table.explained) < explain:
        beginning = _say(record.evidence)
        table.explained.append(Explained(key[0], record.location, reading, *key[1:], beginning))
    elif reading is not None:
        # There may be many.
        reading.parts = []
    if reading is None:
        table.beginning = table.beginning or _say(record.evidence)
        table.unread.append(record.location)
        return
    if table.values and reading.kind != table.values[0].kind:
        raise InputError(
            f"readings must all be of one kind; {record.location} has {NOUNS[reading.kind]}, those "
            f"before it have {NOUNS[table.values[0].kind]}."
        )
    table.values.append(reading)
    table.rows.append((*key, *map(record.made.get, MADE)))
    table.cells.append(record.extras)
    one = isinstance(record.evidence, list) and len(record.evidence) == 1
    table.hard &= one and reading.kind == "n"


def _say(evidence: Evidence | None) -> str:
    """Quote the beginning of an answer, for a message."""
    match evidence:
        case Orders(parts):
            return _say(parts[0])
        case Scores(_, values, options):
            names = options or range(len(values))
            scores = (f"{name}: {value:g}" for name, value in zip(names, values, strict=False))
            return quote(", ".join(scores))
    texts = [a.text or "".join(p.token for p in a.positions) for a in evidence or ()]
    return list_names(texts, 3)


def _nothing(
    failed: Sequence[str], task: str | None, reader: str | None, others: Mapping[str, set[str]]
) -> str:
    """Say why there is nothing to read."""
    if failed:
        return f"it holds no answers: all {len(failed)} requests failed. The first: {failed[0]}."
    wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
    if not wanted:
        return "it holds neither readings nor labels."
    listed = (
        f" Its {PLURAL[role]} are {list_names(sorted(names))}."
        for role, names in others.items()
        if names
    )
    return f"it holds no readings of {wanted}.{''.join(listed)}"


def _field(beginning: str) -> str:
    """Say how to read one field of answers that are objects."""
    tool = "response.choices.0.message.tool_calls.0.function.arguments.FIELD"
    return (
        " If the answer is an object, name its field: --answer FIELD; in OpenAI's protocol such as "
        f"{tool}, in Anthropic's response.content.0.input.FIELD."
    ) * ("{" in beginning)


def _scores(names: Mapping[str, bool]) -> str:
    """Say how to read the scores that a log has too."""
    return f" It also has scores: read them by --score {' or '.join(names)}." if names else ""


def _scale_of(record: Record, further: Iterable[Record]) -> Scale:
    """Return the options that a record names; else its answers and further ones are proposed."""
    if isinstance(record.evidence, Scores):
        _, values, options = record.evidence
        return Scale(tuple(options)) if options else Scale.default(len(values))
    problem = f"the log does not say which answers were possible.{_scores(record.scored)}"
    alike = (r for r in (record, *further) if r.task == record.task)
    answers = [one.text for r in alike if isinstance(r.evidence, list) for one in r.evidence]
    try:
        return scale_of_ratings(answers)
    except SettingNeeded as error:
        raise SettingNeeded(problem, error.advice, "options", error.value) from error
