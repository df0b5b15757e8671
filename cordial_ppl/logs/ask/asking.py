"""Questions put to a model; every answer is kept in a file as it comes, from which a run resumes.

A line of the file is a response: the SHA-256 of the question, the day, and the response. It holds
neither prompts nor keys.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from cordial_ppl.errors import FileError, Refused, ServerError
from cordial_ppl.logs.ask.chat import Chat
from cordial_ppl.logs.ask.local import LocalModel
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.logs.evidence import FAILED, Answer, Orders, Record, Scores
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.runtime.progress import doing


@dataclass
class Asking:
    """Questions about texts for a model.

    Attributes:
        prompt: The prompt.
        texts: The columns that the prompt uses, by the text's name.
        model: The model.
        path: The file of answers; it is made if it is not there.
    """

    prompt: Prompt
    texts: Mapping[str, Mapping[str, str]]
    model: Chat | LocalModel
    path: Path

    def __post_init__(self) -> None:
        """Read the answers that there are."""
        self._rows, self._lock = _read_answers(self.path), Lock()
        self._keys: dict[str, list[str]] = {}
        self._waiting: dict[str, tuple[str, str]] = {}
        for item, fields in self.texts.items():
            for question in self.prompt.fill(fields):
                # Whichever server is asked.
                asked = json.dumps([self.model.name, question, self.model.settings], sort_keys=True)
                key = hashlib.sha256(asked.encode()).hexdigest()
                self._keys.setdefault(item, []).append(key)
                if key not in self._rows:
                    self._waiting[key] = item, question

    def run(self) -> None:
        """Ask all questions that have no answer yet.

        Raises:
            InputError: The key, the model or the address is wrong.
            ServerError: A question got no answer, for a reason that may pass, or the first one was
                refused; the answers that came are kept.
        """
        alone = len(self._waiting) == sum(map(len, self._keys.values()))
        with (
            closing(self.model),
            doing("asking", len(self._waiting), "answers") as stage,
            ThreadPoolExecutor(self.model.concurrency) as pool,
        ):
            try:
                # The first one alone shows whether the key, the model and the address are right.
                for key in [*self._waiting][:alone]:
                    self._ask(key)
                    answer = _read(self._rows[key])
                    if isinstance(answer, list) and answer[0].lost == FAILED:
                        item, _ = self._waiting[key]
                        raise ServerError(f"{item!r} was refused ({answer[0].text}).")
                rest = [*self._waiting][alone:]
                for number, _ in enumerate(pool.map(self._ask, rest), 1):
                    stage.reach(number)
            except BaseException:
                # What is under way is paid for, and kept.
                pool.shutdown(cancel_futures=True)
                raise

    def _ask(self, key: str) -> None:
        """Ask a question, and keep the answer; or why there is none, which no retry helps."""
        item, question = self._waiting[key]
        try:
            body = self.model.ask(question)
        except Refused as error:
            body = {"refused": str(error)}
        except ServerError as error:
            raise ServerError(f"{item!r} got no answer ({error}).") from error
        made = {
            "model": body.pop("model", None) or self.model.name,
            "decoding": body.pop("decoding", ""),
            "date": datetime.now(UTC).date().isoformat(),
        }
        row = {"key": key, "made": made, "body": body}
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            self._rows[key] = row

    def records(self, reader: str, task: str | None = None) -> Iterator[Record]:
        """Make a record of every text, in the texts' order, by a reader and of a task so called."""
        for item, keys in self._keys.items():
            rows = [self._rows[key] for key in keys]
            evidence = Orders([*map(_read, rows)]) if len(rows) > 1 else _read(rows[0])
            made = {name: text for name, text in rows[0]["made"].items() if text}
            made["prompt"] = self.prompt.digest
            location = f"the answer about {item!r}"
            yield Record(location, item, evidence, reader=reader, task=task, made=made)


def _read(row: Mapping[str, Any]) -> list[Answer] | Scores:
    """Read the scores of options, or the answers of a response, with or without their tokens."""
    body, scored = row["body"], "logprobs" in row["made"]["decoding"]
    if "scores" in body:
        return Scores("logprob", list(body["scores"].values()), list(body["scores"]))
    response = read_response(body)
    if response is None:
        return [Answer(body.get("refused", ""), lost=FAILED)]
    if not scored:
        return [one._replace(positions=()) for one in response.answers[""]]
    answer = response.answers[""][0]
    alone = all(len(one.top) < 2 for one in answer.positions)
    if alone and answer.text and not answer.lost:
        why = "its answer has no logprobs: sample answers instead, --samples 20"
        answer = Answer(why, lost=FAILED)
    return [answer]


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
            file.truncate(file.tell() - len(rest))
        return rows
    except OSError as error:
        raise FileError(f"cannot use {path}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is no file of answers: write to another file.") from error
