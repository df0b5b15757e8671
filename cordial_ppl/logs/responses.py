"""Logs of responses of servers, one in each object of a file, wrapped or not."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Record, as_day, as_text
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.paths import list_cells
from cordial_ppl.logs.protocols import Body, protocol_of, read_answers
from cordial_ppl.logs.rows import Row, at, read_rows, say_fields

NAMES = ("item_id", "custom_id", "doc_id", "key", "recordId")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output", "modelOutput")
"""Fields that may hold a response."""

USED = (*NAMES, *WRAPPED, "reader", "task", "label", "request", "modelInput")
"""Fields of a row that are not passed on as columns."""

DEPTH = 3
"""How many wrappings are looked into."""

LONG = 200
"""Characters of an error that are quoted."""


def _unwrap(value: Any, depth: int = DEPTH) -> Iterator[Body]:
    """List an object and those that it wraps."""
    if isinstance(value, Mapping):
        yield value
        for name in WRAPPED if depth else ():
            yield from _unwrap(value.get(name), depth - 1)


def _find_error(value: Body) -> str | None:
    """Find what is said of a request that failed: batch results say it in several places."""
    for inner in _unwrap(value):
        if error := inner.get("error"):
            return str((error.get("message") if isinstance(error, Mapping) else None) or error)
    codes = [inner.get("status_code") for inner in _unwrap(value)]
    return next((f"status {code}" for code in codes if isinstance(code, int) and code >= 400), None)


def _format(name: str, words: str, expected: str, remedy: str) -> Format:
    """Make the format of a protocol."""

    def find(value: Body) -> Body | None:
        return next((body for body in _unwrap(value) if protocol_of(body) == name), None)

    def read(path: Path) -> Iterator[Record]:
        for row in read_rows(path):
            with at(row.location, words):
                yield read_row(row)

    def read_row(row: Row) -> Record:
        value, body = row.value, find(row.value)
        failed = None if body else _find_error(value)
        if body is None and failed is None:
            fields = say_fields(dict.fromkeys(value, ()))
            raise InputError(f"expected a response with {expected}; found {fields}.")
        body = body or {}
        answers = read_answers(body) if failed is None else None
        if answers == []:
            reason = (body.get("incomplete_details") or {}).get("reason") or body.get("status")
            failed = "no answer" + (f": {reason}" if reason else "")
        model, date = as_text(body.get("model")), body.get("created", body.get("created_at"))
        made = {"model": model, "date": as_day(date)}
        names = NAMES if body is value else (*NAMES, "id")
        others = {"metadata": body.get("metadata")}
        if body is not value:
            others |= {name: cell for name, cell in value.items() if name not in USED}
        return Record(
            location=row.location,
            item_id=as_text(next((value[n] for n in names if value.get(n) is not None), None)),
            evidence=answers,
            reader=as_text(value.get("reader")) or model,
            task=as_text(value.get("task")),
            label=as_text(value.get("label")),
            made={name: text for name, text in made.items() if text},
            failed=failed and failed[:LONG].rstrip("."),
            extras=dict(list_cells(others)),
        )

    def knows(first: Body) -> bool:
        # Results of batches have a `custom_id`, which those that failed are known by.
        return find(first) is not None or name == "openai" and "custom_id" in first

    return Format(name, words, read, knows, remedy=remedy)


OPENAI = "responses in OpenAI's protocols"
FORMATS = (
    _format("openai", OPENAI, "`choices` or `output`", "logprobs=True, top_logprobs=20"),
    _format("vllm", "vLLM's offline outputs", "`outputs`", "SamplingParams(logprobs=20)"),
    _format("llama-cpp", "llama.cpp's native completions", "`content`", '"n_probs": 20'),
)
