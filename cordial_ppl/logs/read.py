"""From a file of judgments to readings and labels."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError, as_path, warn
from cordial_ppl.errors import naming as placing
from cordial_ppl.logs.answers import as_pattern
from cordial_ppl.logs.collect import collect
from cordial_ppl.logs.collected import Collected
from cordial_ppl.logs.inspect_logs import of_scorer
from cordial_ppl.logs.naming import Naming
from cordial_ppl.logs.registry import find_format
from cordial_ppl.logs.resolving import has_field

Names = str | Sequence[str] | None


def read(
    path: str | Path,
    *,
    item: Names = None,
    answer: Names = None,
    reader: str | None = None,
    task: str | None = None,
    label: Names = None,
    annotator: str | None = None,
    where: Names = None,
    swapped: Names = None,
    form: str = "auto",
    options: Sequence | None = None,
    spell: Mapping[str, str] | None = None,
    after: str | None = None,
    reverse: bool = False,
    round: str | None = None,
    score: str | None = None,
    explain: int = 0,
    labels: bool = True,
) -> Collected:
    """Read the readings and labels of a file: judgments, a tool's log, or any rows by their fields.

    Fields are paths, `scores.0.value`; `*` stands for every element of a list or key of an object.

    Args:
        path: JSON, JSON Lines, CSV or Parquet; or the log of a tool.
        item: The field that names the text, or several that do together: a list, or one text with
            commas, "question_id,turn".
        answer: The field of the answer: a text, a number, a list of them, or log-probabilities;
            several are tasks of their own. Where none is named, the format tells.
        reader: The field that names the reader; or the reader to take; or "field=name" for both.
        task: The same of the task.
        label: The field of a person's label, or several.
        annotator: The field that names that person.
        where: Conditions "field=value" or "field!=value" on the rows to take.
        swapped: Answers whose options run the other way, as the texts were shown in the other
            order; or flags that say so.
        form: The format, by name; "auto" to tell by the file.
        options: The options in the scale's order; by default those that the file itself names.
        spell: Further ways to write an option: {"A": "1"}.
        after: What answers follow in a text, a regular expression.
        reverse: Whether these options go from the best to the worst.
        round: What a number between two options, such as an average, counts for: "half-up",
            "nearest-even", or "split" for both.
        score: A scorer of an Inspect log to read, or one of its values, "rubric.style".
        explain: How many texts to explain.
        labels: Whether to take labels.

    Returns:
        Tables of readings and labels as columns by name, `logits` [n, K], and `labelled`, what
        `fit` takes.

    Raises:
        FileError: The file cannot be read, or is of no known form; with the fields that it has.
        InputError: A field is in no row, or what it holds cannot be read; with the row.
        SettingNeeded: The file does not name the options, or does not say whose a label is.
    """
    path = as_path(path)
    roles = {"item": item, "answer": answer, "label": label, "swapped": swapped}
    fields = {role: _names(value) for role, value in roles.items()}
    fields["annotator"] = (annotator,) if annotator else ()
    fields["where"] = (where,) if isinstance(where, str) else tuple(where or ())
    fields = {role: value for role, value in fields.items() if value}
    names = None if options is None else tuple(map(str, _names(options)))
    source = find_format(path, form, fields)
    chosen = {"reader": reader, "task": task}
    if source.namings:
        for role, text in chosen.items():
            field, chosen[role] = _choose(path, text, source.namings[0])
            fields |= {role: (field,)} if field else {}
        source = find_format(path, form, fields)
    if score is not None:
        source = of_scorer(source, score)
    try:
        collected = collect(
            source.read(path),
            scale=None if names is None else Scale(names),
            spellings=spell,
            before=as_pattern(after),
            reverse=reverse,
            round=round or source.round,
            explain=explain,
            labels=labels,
            **chosen,
        )
    except FileError:
        raise
    except InputError:
        with placing(path):
            raise
    collected.form = source
    for words in collected.doubts:
        warn(words)
    return collected


def _names(names: str | Sequence | None) -> tuple:
    """Split names such as "question_id,turn", one with a comma in quotes; or take several."""
    if not isinstance(names, str):
        return tuple(names or ())
    try:
        (parts,) = csv.reader([names], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"fields must be names separated by commas; found {names!r}.") from error
    return tuple(part for part in parts if part)


def _choose(path: Path, text: str | None, naming: Naming) -> tuple[str | None, str | None]:
    """Split "judge", "judge=gpt-4" or "gpt-4" into the field and the name to take."""
    field, equals, name = (text or "").partition("=")
    if text and has_field(path, text, naming):
        return text, None
    return (field, name) if equals and has_field(path, field, naming) else (None, text or None)
