"""Questions put to a model; every answer is kept in a file as it comes, from which a run resumes.

A line of the file is a response: the SHA-256 of the question, the day, and the response. It holds
neither prompts nor keys.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from cordial_ppl.errors import FileError, InputError, ServerError
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.logs.evidence import MUTE, Answer, Evidence, Record, Scores
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.runtime.progress import doing

PATIENCE = 10
"""Failures in a row that end the run."""

NAMED = 3
"""Failures that a message names."""


class Refused(ServerError):
    """The model does not answer this question, and would not if it were repeated."""


@runtime_checkable
class Model(Protocol):
    """A model that answers questions, on a server or on this machine.

    Attributes:
        name: Its name.
        settings: What tells its answers apart from others of this name.
        concurrency: Questions at once, at most.
    """

    name: str
    settings: dict[str, Any]
    concurrency: int

    def ask(self, question: str) -> dict[str, Any]:
        """Ask a question.

        Returns:
            The response: `choices`, as OpenAI has them, or `scores` by option; and `decoding`, a
            description of how it was made.

        Raises:
            InputError: No question can be answered: the key, the model or the address is wrong, or
                the model gives no log-probabilities.
            Refused: The model does not answer this one.
            ServerError: No answer came; the same question may get one later.
        """
        ...

    def close(self) -> None:
        """Close its connections."""
        ...


@dataclass
class Asking:
    """Questions about texts for a model.

    Attributes:
        prompt: The prompt.
        texts: The columns that the prompt uses, by the text's name.
        model: The model.
        path: The file of answers; it is made if it is not there.
        refused: Texts that the model does not answer about, and why.
        failed: Texts without an answer that the same command may get later, and why.
        asked: Requests that got an answer in this run.
    """

    prompt: Prompt
    texts: Mapping[str, Mapping[str, str]]
    model: Model
    path: Path
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def __post_init__(self) -> None:
        """Read the answers that there are."""
        self._responses, self._lock, self._in_a_row = read_responses(self.path), Lock(), 0
        self._questions = [
            (item, self.prompt.fill(fields, order))
            for item, fields in self.texts.items()
            for order in self.prompt.orders
        ]

    @property
    def progress(self) -> str:
        """Count the answers that there are: "12 of 20"."""
        done = sum(self._key(question) in self._responses for _, question in self._questions)
        return f"{done:,} of {len(self._questions):,}"

    def run(self) -> None:
        """Ask all questions that have no answer yet.

        The first are asked one at a time, until one is answered: that shows whether key, model and
        address are right, and which settings the server takes.

        Raises:
            InputError: No question can be answered.
            ServerError: Some questions got no answer, for a reason that may pass, or none got one;
                the answers that came are kept.
        """
        waiting = iter([one for one in self._questions if self._key(one[1]) not in self._responses])
        with closing(self.model), doing("asking", len(self._questions), "answers") as stage:
            while not self.asked and (pair := next(waiting, None)):
                self._work(pair)
            with ThreadPoolExecutor(self.model.concurrency) as pool:
                try:
                    for _ in pool.map(self._work, waiting):
                        stage.reach(len(self._responses))
                except BaseException:
                    # What is under way is paid for, and kept.
                    pool.shutdown(cancel_futures=True)
                    raise
        if self.failed or not self._responses:
            failures = name_failures(self.failed | self.refused)
            raise ServerError(f"{self.progress} questions got an answer; not {failures}.")

    def _work(self, pair: tuple[str, str]) -> None:
        """Ask a question, and keep the answer."""
        item, question = pair
        if self._in_a_row >= PATIENCE:
            self.failed.setdefault(item, "not asked")
            return
        try:
            body, date = self.model.ask(question), datetime.now(UTC).date().isoformat()
        except ServerError as error:
            refused = isinstance(error, Refused)
            (self.refused if refused else self.failed)[item] = str(error)
            # A model that answers others refuses this text.
            self._in_a_row += not (refused and self.asked)
            return
        row = {"key": self._key(question), "date": date, "body": body}
        with self._lock:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            except OSError as error:
                raise FileError(f"cannot write {self.path}: {error.strerror or error}.") from error
            self._responses[self._key(question)] = row
            self.asked, self._in_a_row = self.asked + 1, 0

    def records(self, reader: str, task: str | None = None) -> Iterator[Record]:
        """Make a record of every text whose questions are all answered, in the texts' order.

        Args:
            reader: What to call the reader.
            task: What to call the task, if anything.

        Yields:
            The records.
        """
        rows: dict[str, list[Mapping[str, Any] | None]] = {}
        for item, question in self._questions:
            rows.setdefault(item, []).append(self._responses.get(self._key(question)))
        for item, some in rows.items():
            # The bias of positions cancels only in the mean over all orders.
            for number, row in enumerate(some if all(some) else ()):
                body = row["body"] if row else {}
                made = {
                    "model": str(body.get("model") or self.model.name),
                    "prompt": self.prompt.digest,
                    "decoding": body["decoding"],
                    "date": row["date"] if row else "",
                }
                location, order = f"the answer about {item!r}", number if len(some) > 1 else None
                yield Record(
                    location, item, _read(body), reader=reader, task=task, made=made, order=order
                )

    def _key(self, question: str) -> str:
        """Identify a question, whichever server is asked."""
        text = json.dumps([self.model.name, question, self.model.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _read(body: Mapping[str, Any]) -> Evidence:
    """Read the scores of options, or the answers of a response."""
    if "scores" in body:
        return Scores("logprob", list(body["scores"].values()), list(body["scores"]))
    response = read_response(body)
    answers = response.answers if response else []
    if "logprobs" in body["decoding"]:
        return [one if one.positions and not one.lost else MUTE for one in answers[:1]]
    return [Answer("") if one.lost else one._replace(positions=()) for one in answers]


def read_responses(path: Path) -> dict[str, dict[str, Any]]:
    """Read the answers of earlier runs, by the key of the question.

    Raises:
        FileError: The file cannot be read, or is none of answers.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[-1].endswith(b"\n"):
            # A run was killed while it wrote.
            path.write_bytes(b"".join(lines := lines[:-1]))
        rows = [json.loads(line) for line in lines]
        return {row["key"]: {"date": row["date"], "body": row["body"]} for row in rows}
    except OSError as error:
        raise FileError(f"cannot use {path}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is no file of answers: write to another file.") from error


def load(module: str, extra: str) -> Any:
    """Import a package of an extra; an `InputError` says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f'asking a model this way needs {module}: pip install "cordial-ppl[{extra}]".'
        ) from error


def name_failures(failures: Mapping[str, str]) -> str:
    """Name the first texts without an answer: "'t5' (status 400: too long) and 7 more"."""
    named = [f"{item!r} ({why})" for item, why in list(failures.items())[:NAMED]]
    rest = len(failures) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
