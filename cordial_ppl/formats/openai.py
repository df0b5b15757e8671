"""Responses of servers that speak OpenAI's protocols, and results of their batch interface.

One response an object: chat completions (`choices[0].logprobs.content[].top_logprobs`), Responses
(`output[].content[].logprobs`), legacy completions (`choices[0].logprobs.top_logprobs`), as vLLM,
SGLang and llama.cpp serve them too.  The object may be a line of batch results (`custom_id` and
`response.body`), or wrap a response together with an `item_id`.  Without log-probabilities the
answers' texts are read, several choices as several samples.
"""

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Evidence, Position, Record, Tokens
from cordial_ppl.formats.rows import Row, json_rows

NAMES = ("item_id", "custom_id", "doc_id")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output")
"""Fields that a response may be wrapped in."""


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a response."""
    del path
    return first is not None and (_body(first) is not None or "custom_id" in first)


def read(path: Path) -> Iterator[Record]:
    """Read a file of responses.

    Args:
        path: JSON Lines, or a JSON list.

    Yields:
        A record a response.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no response, or a request failed.
    """
    for row in json_rows(path):
        yield as_record(row)


def as_record(row: Row) -> Record:
    """Read one response."""
    body = _body(row.value)
    if body is None:
        failed = row.value.get("error") or (row.value.get("response") or {}).get("error")
        raise InputError(
            f"{row.place} must hold a response with `choices` or `output`; found "
            + (
                f"an error: {_message(failed)}."
                if failed
                else f"{', '.join(row.value) or 'nothing'}."
            )
        )
    item = next((row.value[name] for name in NAMES if row.value.get(name) is not None), None)
    if item is None and body is not row.value:
        item = row.value.get("id")
    made = {"model": str(body["model"])} if body.get("model") else {}
    seconds = body.get("created", body.get("created_at"))
    if isinstance(seconds, int | float):
        day = datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
        made["date"] = day.isoformat()
    label = row.value.get("label")
    return Record(
        item_id=None if item is None else str(item),
        evidence=_evidence(body, row.place),
        place=row.place,
        reader=made.get("model"),
        task=_text(row.value.get("task")),
        label=_text(label),
        made=made,
    )


def _body(value: Any, depth: int = 3) -> Mapping[str, Any] | None:
    """The response in an object, which may be wrapped."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("choices"), list) or (
        isinstance(value.get("output"), list) and value.get("object") in (None, "response")
    ):
        return value
    inner = (_body(value.get(name), depth - 1) for name in WRAPPED) if depth else ()
    return next((body for body in inner if body is not None), None)


def _evidence(body: Mapping[str, Any], place: str) -> Evidence:
    if "choices" not in body:
        return _from_responses(body, place)
    choices = body["choices"]
    if not choices:
        raise InputError(f"{place}: expected at least one choice; found none.")
    if len(choices) == 1:
        logprobs = choices[0].get("logprobs") or {}
        if logprobs.get("content"):
            return Tokens([_position(entry, place) for entry in logprobs["content"]])
        if logprobs.get("tokens"):
            return _from_completions(logprobs)
    return Answers([_said(choice) for choice in choices])


def _from_completions(logprobs: Mapping[str, Any]) -> Tokens:
    tops = logprobs.get("top_logprobs") or [None] * len(logprobs["tokens"])
    chosen = logprobs.get("token_logprobs") or [None] * len(logprobs["tokens"])
    positions = []
    for token, top, own in zip(logprobs["tokens"], tops, chosen, strict=True):
        known = {text: float(score) for text, score in (top or {}).items() if score is not None}
        if own is not None:
            known.setdefault(token, float(own))
        positions.append(Position(token, known))
    return Tokens(positions)


def _from_responses(body: Mapping[str, Any], place: str) -> Evidence:
    parts = [
        part
        for item in body["output"]
        if isinstance(item, Mapping) and item.get("type", "message") == "message"
        for part in item.get("content") or []
    ]
    if not parts:
        raise InputError(f"{place}: expected a message in `output`; found none.")
    entries = [entry for part in parts for entry in part.get("logprobs") or []]
    if entries:
        return Tokens([_position(entry, place) for entry in entries])
    return Answers(["".join(str(part.get("text") or part.get("refusal") or "") for part in parts)])


def _position(entry: Mapping[str, Any], place: str) -> Position:
    try:
        top = {own["token"]: float(own["logprob"]) for own in entry.get("top_logprobs") or []}
        top.setdefault(entry["token"], float(entry["logprob"]))
        return Position(entry["token"], top)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{place}: log-probabilities must be `token`, `logprob` and `top_logprobs`; "
            f"found {sorted(entry)}."
        ) from error


def _said(choice: Mapping[str, Any]) -> str:
    message = choice.get("message") or {}
    return str(message.get("content") or choice.get("text") or message.get("refusal") or "")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _message(failed: Any) -> str:
    return str(failed.get("message") or failed) if isinstance(failed, Mapping) else str(failed)
