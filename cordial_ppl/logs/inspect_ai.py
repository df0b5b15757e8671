"""Logs of Inspect: `.eval` archives, with a file for each sample, and `.json`.

With `logprobs=True, top_logprobs=20` in the generation's configuration, a sample's
`output.choices[].logprobs` are read, else its text. Epochs of a sample, and several choices, are
several answers to one prompt. The target is the label. What a scorer says of these answers can be
read in their place.
"""

import json
import lzma
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError, list_names
from cordial_ppl.logs.evidence import Answer
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.grades import Grade, has_calls, list_scores, read_grades
from cordial_ppl.logs.records import Record, as_text
from cordial_ppl.logs.responses import LONG, read_choice
from cordial_ppl.logs.rows import at, read_rows, say_fields

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

DAMAGES = (
    *(zlib.error, lzma.LZMAError, ZstdError),
    *(EOFError, OSError, RuntimeError, zipfile.BadZipFile),
)
"""What is raised for what is damaged, encrypted or packed in an unknown way."""

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest member that is unpacked: no log of one text comes near it."""

SAMPLE = re.compile(r"samples/(?P<item>.*)_epoch_\d+\.json", re.DOTALL)

HEADERS = ("header.json", "_journal/start.json")
"""What a log says of itself; one that is not finished has only the second."""

Object = Mapping[str, Any]


def of_scorer(form: Format, name: str) -> Format:
    """Read what a scorer says, in place of what the model answers.

    Args:
        form: The format of the log.
        name: The scorer, or one of its values: "rubric.style".

    Returns:
        The format that does so.

    Raises:
        InputError: The log is not of Inspect.
    """
    if form is not FORMAT:
        raise InputError(f"--score is for {FORMAT.words}; these are {form.words}.")
    return replace(form, records=partial(_read, score=name))


def logs_calls(path: Path, score: str) -> bool:
    """Whether a log has calls of models within a scorer, without which only its values are known.

    Args:
        path: The log.
        score: The scorer, or one of its values: "rubric.style".

    Returns:
        Whether any sample has one.
    """
    return any(has_calls(sample, score) for *_, epochs in _samples(path) for sample in epochs)


def _samples(path: Path) -> Iterator[tuple[Object, str, list[Object]]]:
    """What a log says of itself, and the epochs of each sample."""
    with path.open("rb") as file:
        packed = file.read(2) == b"PK"
    return _unpack(path) if packed else _list(path)


def _read(path: Path, score: str | None = None) -> Iterator[Record]:
    """Read a log: a record for each sample, or for each of its graders, its epochs together."""
    empty, graded = True, False
    names: dict[str, bool] = {}
    for log, item, epochs in _samples(path):
        place, empty = f"sample {item}", False
        with at(place):
            record = _record(log, place, epochs)
            names |= record.scored
            records = [record] if score is None else _grade(record, epochs, score)
        graded |= score is not None and records[0].failed is None
        yield from records
    if empty:
        raise FileError(f"{path} holds no samples.")
    if score is not None and not graded:
        raise FileError(f"{path} has no score {score!r}; it has {list_names(names)}.")


def _grade(record: Record, epochs: list[Object], score: str) -> list[Record]:
    """A record for each grader of a sample."""
    grades: dict[str, list[Grade]] = {}
    for sample in epochs:
        for grade in read_grades(sample, score):
            grades.setdefault(grade.reader, []).append(grade)
    date = {"date": record.made["date"]} if "date" in record.made else {}
    record = replace(record, label=None, scored={})
    if not grades:
        reason = (epochs[0].get("error") or {}).get("message") or f"no score {score!r}"
        return [replace(record, reader=None, evidence=None, failed=str(reason)[:LONG])]
    return [
        replace(
            record, reader=reader, evidence=[grade.answer for grade in of], made=date | of[0].made
        )
        for reader, of in grades.items()
    ]


def _unpack(path: Path) -> Iterator[tuple[Object, str, list[Object]]]:
    """What an archive says of itself, and the epochs of each sample."""
    with _damaged(f"{path} must be a zip archive; it is not, or was cut off"):
        archive = zipfile.ZipFile(path)
    with archive:
        # Of a member that was written twice, the last counts.
        names = list(dict.fromkeys(archive.namelist()))
        header = next((name for name in HEADERS if name in names), None)
        if header is None:
            raise FileError(f"{path} must be a log of Inspect; found no {HEADERS[0]} in it.")
        log = _member(archive, path, header).get("eval") or {}
        groups: dict[str, list[str]] = {}
        for name in names:
            if sample := SAMPLE.fullmatch(name):
                groups.setdefault(sample["item"], []).append(name)
        for item, members in groups.items():
            yield log, item, [_member(archive, path, name) for name in members]


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> dict[str, Any]:
    """Unpack a file of an archive."""
    with _damaged(f"{path}: {name} cannot be unpacked"), archive.open(name) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise FileError(f"{path}: {name} must unpack to at most {LARGEST >> 20} MB; it has more.")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: {name} is not JSON, or nested too deeply: {error}.") from error
    return value if isinstance(value, dict) else {}


@contextmanager
def _damaged(problem: str) -> Iterator[None]:
    try:
        yield
    except DAMAGES as error:
        raise FileError(f"{problem}: {error}.") from error


def _list(path: Path) -> Iterator[tuple[Object, str, list[Object]]]:
    """What a log in JSON says of itself, and the epochs of each sample."""
    row = next(read_rows(path))
    if not isinstance(row.value.get("eval"), dict):
        raise FileError(f"{path} must be a log of Inspect; found {say_fields(list(row.value))}.")
    groups: dict[str, list[Object]] = {}
    for sample in row.value.get("samples") or []:
        groups.setdefault(str(sample.get("id")), []).append(sample)
    for item, epochs in groups.items():
        yield row.value["eval"], item, epochs


def _record(log: Object, place: str, epochs: list[Object]) -> Record:
    target = epochs[0].get("target")
    # Several targets are several right answers, and no label.
    targets = target if isinstance(target, list) else [target]
    made = {"model": as_text(log.get("model")), "date": str(log.get("created") or "")[:10]}
    if config := log.get("model_generate_config"):
        made["decoding"] = json.dumps(config, sort_keys=True)
    answers: list[Answer] = []
    for sample in epochs:
        for choice in (sample.get("output") or {}).get("choices") or []:
            answer = read_choice(choice)
            # Long texts are kept apart.
            _, attached, name = answer.text.partition("attachment://")
            text = str((sample.get("attachments") or {}).get(name, ""))
            answers.append(answer._replace(text=text) if attached else answer)
    return Record(
        place,
        as_text(epochs[0].get("id")),
        answers,
        reader=made["model"],
        task=as_text(log.get("task")),
        label=as_text(targets[0]) if len(targets) == 1 else None,
        made={name: value for name, value in made.items() if value},
        scored={name: graded for sample in epochs for name, graded in list_scores(sample).items()},
    )


FORMAT = Format(
    "inspect",
    "Inspect's logs",
    _read,
    lambda first: isinstance(first.get("eval"), dict) and "plan" in first,
    ending=".eval",
    remedy="--logprobs --top-logprobs 20; of a grader, in its --model-role",
)
