"""Provenance: how readings and labels were made, which a calibrator keeps."""

import re
from collections.abc import Collection, Mapping
from hashlib import sha256

import numpy as np
import polars as pl
from jaxtyping import Int64

from cordial_ppl.errors import InputError, list_names, warn
from cordial_ppl.tables.columns import named
from cordial_ppl.tables.label_table import LabelTable
from cordial_ppl.tables.reading_table import ReadingTable

MADE = ("model", "prompt", "decoding", "date")
"""Columns of a reading's provenance, `reader_model`, ...; the judge is `reader`."""

COMPARED = ("judge", *MADE[:-1])
"""What makes readings those of another judge, whose faults may differ."""

WANTED = {"judge": "`reader` or `reader_model`", "prompt": "`reader_prompt`"}
"""Columns that say what may be required of readings."""

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

Provenance = dict[str, list[str]]
"""The different values of each of `COMPARED`, the first and the last "date", and who gave "labels":
people, models by name, or unknown."""


def digest(text: str) -> str:
    """Identify a prompt or a rubric by 12 digits of the SHA-256 of its text."""
    return sha256(text.strip().encode()).hexdigest()[:12]


def read_provenance(table: ReadingTable, rows: Int64[np.ndarray, " n"] | None = None) -> Provenance:
    """Read how the readings of a table were made, as far as it says so.

    Args:
        table: The readings; of several judges, each may have columns of its own.
        rows: The rows that count; by default all.
    """
    columns, made = table.columns, Provenance()
    if table.readers:
        made["judge"] = [*table.readers]
    for name in (*COMPARED, "date"):
        start = "reader" if name == "judge" else f"reader_{name}"
        several = bool(table.readers) and name != "judge"
        for column in columns.schema:
            of_one = several and column.startswith(f"{start}_")
            if column not in columns.apart and (column == start or of_one):
                cell = named(column) if rows is None else named(column).gather(rows)
                cells = columns.collect(cell.unique(maintain_order=True)).to_series()
                made.setdefault(name, []).extend(filter(None, cells))
    # No file holds a prompt: what is no name of one is digested.
    made["prompt"] = [text if len(text) <= 64 else digest(text) for text in made.get("prompt", ())]
    if dates := made.get("date"):
        made["date"] = [min(dates), max(dates)]
    return {name: [*dict.fromkeys(values)] for name, values in made.items() if values}


def differences(fitted: Provenance, new: Provenance) -> list[str]:
    """List in phrases how readings differ from others; not where either is not known."""
    phrases = []
    for name in COMPARED:
        before = fitted.get(name, [])
        if before and (now := [value for value in new.get(name, []) if value not in before]):
            phrases.append(f"{name} {list_names(now, 3)} instead of {list_names(before, 3)}")
    return phrases


def read_makers(labels: LabelTable, readings: Provenance) -> list[str]:
    """Read who gave each label: `PEOPLE` or a model, where that is certain, else `UNKNOWN`.

    Args:
        labels: The labels.
        readings: The provenance of the readings: the judge is no person.
    """
    columns, told = labels.columns, [UNKNOWN] * len(labels.labels)
    for column, kinds in KINDS.items():
        if column in columns.schema:
            cells = columns.collect(named(column)).to_series().str.to_lowercase()
            told = [kinds.get(cell, kind) for cell, kind in zip(cells, told, strict=True)]
    judges = {name.casefold() for key in ("judge", "model") for name in readings.get(key, ())}
    for row, name in enumerate(labels.annotators or ()):
        named_so = name.casefold() in judges or MODELS.search(name.casefold())
        told[row] = name if named_so and told[row] != PEOPLE else told[row]
    return told


def _are_predictions(labels: LabelTable) -> bool:
    """Tell labels that are the most probable options in a table that `cordial predict` wrote."""
    names = [name for name in labels.columns.schema if name.startswith("p_")]
    ends = {"mean_low", "label_low"}
    if not ends <= {*labels.columns.schema} or len(names) <= labels.labels.max(initial=0):
        return False
    probs = labels.columns.collect(*names).cast(pl.Float64, strict=False).to_numpy()
    return bool((probs[np.arange(len(probs)), labels.labels] == probs.max(axis=1)).all())


def warn_of_models(labels: LabelTable, readings: Provenance) -> None:
    """Warn of labels that models gave; arguments are those of `read_makers`."""
    models = [name for name in read_makers(labels, readings) if name not in (PEOPLE, UNKNOWN)]
    if models:
        some = "" if len(models) == len(labels.labels) else f" of {len(labels.labels)}"
        warn(
            f"{labels.columns.path}: {len(models)}{some} labels are by a model, "
            f"{list_names(dict.fromkeys(models), 3)}. What is fitted to them predicts that model, "
            "not people."
        )
    if _are_predictions(labels):
        warn(
            f"{labels.columns.path} has calibrated probabilities, and every label is the most "
            "probable option: unless people confirmed them, these are predictions, no labels."
        )


def identify(
    table: ReadingTable,
    labels: LabelTable,
    rows: Int64[np.ndarray, " n"],
    stated: Mapping[str, tuple[str, Collection[str]]],
    required: bool = False,
) -> Provenance:
    """Collect what a calibrator is for, and warn where not all readings are like the labelled ones.

    Args:
        table: The readings of all texts.
        labels: The labels.
        rows: The rows of the labelled texts, one per label.
        stated: What the user says of "judge" and "prompt": in words, and as a table may write it.
        required: Whether the table has to say it, too.

    Raises:
        InputError: The table says otherwise, or nothing where it has to.
    """
    every, made, path = read_provenance(table), read_provenance(table, rows), table.columns.path
    for name, (words, values) in stated.items():
        keys = (name, "model") if name == "judge" else (name,)
        told = [every[key] for key in keys if key in every]
        if not any({*part} <= {*values} for part in told):
            if told:
                names = list_names(dict.fromkeys(sum(told, [])))
                raise InputError(f"{path}: the {name} is {names}, not {words}. Give its readings.")
            if required:
                raise InputError(f"{path}: nothing says the {name}. Add a column {WANTED[name]}.")
            made[name] = [next(iter(values))]
    if others := differences(made, every):
        warn(
            f"{path}: some readings are of another kind than those with labels: "
            f"{'; '.join(others)}. Their faults may differ: label some, or leave them out."
        )
    return made | {"labels": sorted({*read_makers(labels, every)})}
