"""Questions put to a model; every answer is kept in a file as it comes, from which a run resumes.

A line of the file is a response: the SHA-256 of the question, the day, and the response. It holds
neither prompts nor keys.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from cordial_ppl.errors import FileError, Refused, ServerError, warn
from cordial_ppl.logs.ask.chat import Chat
from cordial_ppl.logs.ask.local import LocalModel
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.logs.evidence import FAILED, Answer, Orders, Record, Scores
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.runtime.progress import doing

FIRST = 3
"""Questions without an answer that can be used, at first, after which no more are asked."""


def ask_texts(
    prompt: Prompt, texts: Mapping[str, Mapping[str, str]], model: Chat | LocalModel, path: Path
) -> list[Record]:
    """Ask all questions that have no answer yet, and make a record of every text, in their order.

    Args:
        prompt: The prompt.
        texts: The columns that the prompt uses, by the text's name.
        model: The model.
        path: The file of answers; it is made if it is not there.

    Returns:
        The records.

    Raises:
        InputError: The key, the model or the address is wrong.
        ServerError: A question got no answer, for a reason that may pass, and the answers that came
            are kept; or the first questions got none that can be used.
    """
    rows, lock = _read_answers(path), Lock()
    keys = {
        item: {_identify(model, question): question for question in prompt.fill(fields)}
        for item, fields in texts.items()
    }
    asked = {key: (item, question) for item, some in keys.items() for key, question in some.items()}
    waiting = [key for key in asked if key not in rows]
    if len(waiting) < len(asked):
        warn(f"{path} has {len(asked) - len(waiting)} of {len(asked)} answers, which are reused.")

    def ask(key: str) -> dict[str, Any]:
        """Ask a question; the row says what the answer is, or why no retry brings one."""
        item, question = asked[key]
        try:
            body = model.ask(question)
        except Refused as error:
            body = {"refused": str(error)}
        except ServerError as error:
            raise ServerError(f"no answer for {item!r} ({error}).") from error
        made = {
            "model": body.pop("model", None) or model.name,
            "decoding": body.pop("decoding", ""),
            "date": datetime.now(UTC).date().isoformat(),
        }
        return {"key": key, "made": made, "body": body}

    def keep(row: dict[str, Any]) -> None:
        """Write an answer to the file."""
        with lock, path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            rows[row["key"]] = row

    with (
        closing(model),
        doing("asking", len(waiting), "answers") as stage,
        ThreadPoolExecutor(model.concurrency) as pool,
    ):
        # A few, alone, show whether the key, the model and the address are right; they stand apart,
        # as texts side by side may all be refused.
        works, tried = any(_find_failure(rows[key]) is None for key in {*asked} & {*rows}), []
        probes = waiting[:: max(1, len(waiting) // FIRST)][:FIRST]
        try:
            while not works and len(tried) < len(probes):
                tried.append(ask(probes[len(tried)]))
                works = _find_failure(tried[-1]) is None
            if tried and not works:
                item, failure = asked[tried[0]["key"]][0], _find_failure(tried[0])
                raise ServerError(f"no usable answer for {item!r} ({failure}).")
            left = [key for key in waiting if key not in probes[: len(tried)]]
            rest = pool.map(lambda key: keep(ask(key)), left)
            for number, _ in enumerate(chain(map(keep, tried), rest), 1):
                stage.reach(number)
        except BaseException:
            # What is under way is paid for, and kept.
            pool.shutdown(cancel_futures=True)
            raise
    return [_record(item, [rows[key] for key in some], prompt) for item, some in keys.items()]


def _identify(model: Chat | LocalModel, question: str) -> str:
    """Identify a question to a model, whichever server is asked, by its SHA-256."""
    asked = json.dumps([model.name, question, model.settings], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _record(item: str, rows: Sequence[Mapping[str, Any]], prompt: Prompt) -> Record:
    """Make a record of a text by the answers about it, one for each order of the options."""
    evidence = Orders([*map(_read, rows)]) if len(rows) > 1 else _read(rows[0])
    made = rows[0]["made"] | {"prompt": prompt.digest}
    cells = {f"reader_{name}": text for name, text in made.items() if text}
    return Record(f"the answer about {item!r}", item, evidence, cells=cells)


def _read(row: Mapping[str, Any]) -> list[Answer] | Scores:
    """Read the scores of options, or the answers of a response, with or without their tokens."""
    body, scored = row["body"], "logprobs" in row["made"]["decoding"]
    if "scores" in body:
        return Scores("logprob", list(body["scores"].values()), list(body["scores"]))
    if (response := read_response(body)) is None:
        return [Answer(body.get("refused", ""), lost=FAILED)]
    answers: Any = next(iter(response[1].values()))
    if isinstance(answers, Scores):
        return answers
    if not scored:
        return [one._replace(positions=()) for one in answers]
    answer = answers[0]
    if all(len(one.top) < 2 for one in answer.positions) and answer.text and not answer.lost:
        answer = Answer("the answer has no log-probabilities; use --samples 20", lost=FAILED)
    return [answer]


def _find_failure(row: Mapping[str, Any]) -> str | None:
    """Say why an answer cannot be used; None if it can."""
    answer = _read(row)
    return answer[0].text if isinstance(answer, list) and answer[0].lost == FAILED else None


def _read_answers(path: Path) -> dict[str, dict[str, Any]]:
    """Read the answers of earlier runs, by the key of the question."""
    if not path.exists():
        return {}
    try:
        with path.open("r+b") as file:
            *lines, rest = file.read().split(b"\n")
            rows = {row["key"]: row for row in map(json.loads, lines)}
            if rest and not rows and not rest.startswith(b'{"key"'):
                raise ValueError
            # A run that was killed while it wrote leaves half a line.
            if rest:
                file.truncate(file.tell() - len(rest))
        return rows
    except OSError as error:
        raise FileError(f"cannot use {path}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a file of answers. Choose a different file.") from error
