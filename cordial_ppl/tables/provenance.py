"""Provenance: how readings and labels were made, which a calibrator keeps."""

import json
import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Int64

from cordial_ppl.data.ratings import Ends, check_ends
from cordial_ppl.errors import InputError, list_names, warn
from cordial_ppl.tables.columns import is_reading, named
from cordial_ppl.tables.label_table import LabelledReadings, LabelTable
from cordial_ppl.tables.reading_table import ReadingTable

MADE = ("model", "prompt", "decoding", "date")
"""Columns of a reading's provenance, `reader_model`, ...; the judge is `reader`."""

COLUMNS = {"judge": "reader", **{name: f"reader_{name}" for name in MADE}}
"""What a calibrator keeps, and the columns that say it; all but the last are compared."""

MODELS = re.compile(
    r"(?<![a-z])(?:llms?(?![a-z])|(?:chat-?)?gpt(?![a-z])|claude[-_ ](?:v?\d|opus|sonnet|haiku)|"
    r"(?:gemini|grok|llama|qwen|mistral|mixtral|deepseek)[-_: ]?(?:[a-z]+[-_: ])*v?\d)"
)
"""Names in small letters that no person has, for a name such as Claude may be anybody's."""

PEOPLE, UNKNOWN = "people", "unknown"

KINDS = {
    "annotator_kind": {"human": PEOPLE, "llm": "LLM", "code": "code"},
    "source_type": {"llm_judge": "LLM", "ai_judge": "LLM"},
}
"""What OpenInference's and MLflow's columns call who gave a label.

MLflow's HUMAN could also be who wrote a text."""

TEXTS = ("system", "messages", "contents", "content", "parts", "text")
"""Fields of messages, and of what holds them, that have texts."""

Provenance = dict[str, list[str]]
"""The different values of each of `COLUMNS`, the first and the last "date", the "direction" of the
scale, and who gave "labels": people, models by name, or unknown."""


def digest(text: str) -> str:
    """Identify a prompt or a rubric by 12 digits of the SHA-256 of its words, a space between."""
    return sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def name_prompt(prompt: Any) -> str:
    """Take the name of a prompt, a word; of its text, or those of its messages, the digest."""
    text = _join_texts(prompt)
    return text if text.split() in ([], [text[:64]]) else digest(text)


def _join_texts(prompt: Any) -> str:
    """Join the texts of messages or of their parts; of another object its JSON."""
    if isinstance(prompt, Mapping):
        texts = [_join_texts(prompt[name]) for name in TEXTS if prompt.get(name)]
        return "\n".join(texts) or json.dumps(prompt, sort_keys=True)
    return "\n".join(map(_join_texts, prompt)) if isinstance(prompt, list) else str(prompt)


def read_provenance(table: ReadingTable, rows: Int64[np.ndarray, " n"] | None = None) -> Provenance:
    """Read how the readings of a table were made, as far as it says so.

    Args:
        table: The readings; of several judges, each may have columns of its own.
        rows: The rows that count; by default all.
    """
    columns, made = table.columns, {"judge": [*table.readers]}
    made["direction"] = [name_direction(columns.reverse, columns.rating_range)]
    for name, start in COLUMNS.items():
        starts = (f"{start}_",) if table.readers and name in MADE else ()
        for column in columns.free:
            if column == start or column.startswith(starts):
                cell = named(column) if rows is None else named(column).gather(rows)
                cells = columns.collect(cell.unique()).to_series()
                made.setdefault(name, []).extend(filter(None, cells))
    # No file holds a prompt: what is no name of one is digested.
    made["prompt"] = [*map(name_prompt, made.get("prompt", ()))]
    if dates := made.get("date"):
        made["date"] = [min(dates), max(dates)]
    return {name: sorted({*values}) for name, values in made.items() if values}


def name_direction(reverse: bool = False, ends: Ends = None) -> str:
    """Say which way a judge's scale runs, and from where to where if it is another scale."""
    span = "" if ends is None else ", ratings {:g} to {:g}".format(*check_ends(ends))
    return ("reversed" if reverse else "as stated") + span


def differences(fitted: Provenance, new: Provenance) -> list[str]:
    """List in phrases how readings differ from others; not where either is not known."""
    phrases = {}
    for name in ("direction", *[*COLUMNS][:-1]):
        before = fitted.get(name, [])
        if before and (now := [value for value in new.get(name, []) if value not in before]):
            # A judge that is called like its model is named once.
            phrases[f"{list_names(now, 3)} instead of {list_names(before, 3)}"] = name
    return [f"{name} {values}" for values, name in phrases.items()]


def read_makers(labels: LabelTable, readings: Provenance) -> list[str]:
    """Read who gave each label: `PEOPLE` or a model, where that is certain, else `UNKNOWN`.

    Args:
        labels: The labels.
        readings: The provenance of the readings: the judge is no person.
    """
    columns, told = labels.columns, [UNKNOWN] * len(labels.labels)
    # In a sheet to fill in, or beside readings, it is no label that a model made.
    others = {"probability", "decision", *filter(is_reading, columns.schema)}
    if "reader_model" in columns.schema and not others & columns.schema.keys():
        told = columns.collect(named("reader_model")).to_series().replace("", UNKNOWN).to_list()
    for column, kinds in KINDS.items():
        if column in columns.schema:
            cells = columns.collect(named(column)).to_series().str.to_lowercase()
            told = [kinds.get(cell, kind) for cell, kind in zip(cells, told, strict=True)]
    judges = {name.casefold() for key in ("judge", "model") for name in readings.get(key, ())}
    for row, name in enumerate(labels.annotators or ()):
        named_so = name.casefold() in judges or MODELS.search(name.casefold())
        told[row] = name if named_so and told[row] != PEOPLE else told[row]
    return told


def warn_of_models(labels: LabelTable, readings: Provenance) -> None:
    """Warn of labels that models gave; arguments are those of `read_makers`."""
    models = [name for name in read_makers(labels, readings) if name not in (PEOPLE, UNKNOWN)]
    if models:
        warn(
            f"{labels.columns.path}: {len(models)} of {len(labels.labels)} labels come from a "
            f"model or code ({list_names(dict.fromkeys(models), 3)}). A calibrator fitted to such "
            "labels does not predict how people label."
        )


def identify(
    read: LabelledReadings,
    stated: Mapping[str, tuple[str, Collection[str]]],
    required: bool = False,
) -> Provenance:
    """Collect what a calibrator is for, and warn where not all readings are like the labelled ones.

    Args:
        read: The readings of all texts, and the labels.
        stated: What the user says of "judge" and "prompt": in words, and as a table may write it.
        required: Whether the table has to say it, too.

    Raises:
        InputError: The table says otherwise, or nothing where it has to.
    """
    table, labels, rows = read
    every, made, path = read_provenance(table), read_provenance(table, rows), table.columns.path
    for name, (words, values) in stated.items():
        keys = (name, "model") if name == "judge" else (name,)
        told = [every[key] for key in keys if key in every]
        if any({*part} <= {*values} for part in told):
            continue
        if told or required:
            names, key = list_names(sorted({*sum(told, [])})), COLUMNS[name]
            raise InputError(f"{path}: column {key!r} must name the {name} {words}; found {names}.")
        made[name] = [next(iter(values))]
    if others := differences(made, every):
        warn(
            f"{path}: some unlabelled texts have readings from a different setup ("
            f"{'; '.join(others)}), so their bias may differ. Label such texts, or remove them."
        )
    return made | {"labels": sorted({*read_makers(labels, every)})}
