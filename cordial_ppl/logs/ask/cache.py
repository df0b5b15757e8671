"""Cache of answers that were paid for: an SQLite file, from which an interrupted run resumes.

A row is an answer: the SHA-256 of the question, the settings that were sent, and the response. The
file holds neither prompts nor keys.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError
from cordial_ppl.logs.ask.prompt import Messages

Body = Mapping[str, Any]
"""A response, as it is kept; `usage` counts its tokens, as OpenAI does."""

MARK = 0x434F5244
"""SQLite's `application_id`, which tells our files from those of other programs."""

TABLE = """
CREATE TABLE answers
(key TEXT PRIMARY KEY, settings TEXT NOT NULL, body TEXT NOT NULL, date TEXT NOT NULL)
WITHOUT ROWID
"""


class Answer(NamedTuple):
    """An answer in the cache.

    Attributes:
        settings: The settings of its decoding.
        body: The response.
        date: The day it came, as "2025-12-31".
    """

    settings: Mapping[str, Any]
    body: Body
    date: str


def key_of(model: str, messages: Messages, settings: Mapping[str, Any], sample: int = 0) -> str:
    """Identify a question, whichever server is asked.

    Args:
        model: The model's name.
        messages: The conversation.
        settings: The settings of decoding.
        sample: Number of samples of the same question that were taken before.

    Returns:
        The SHA-256, in hexadecimal digits.
    """
    text = json.dumps([model, messages, settings, sample], ensure_ascii=False, sort_keys=True)
    # A table may hold half a surrogate pair, which UTF-8 cannot encode.
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


class Cache:
    """A file of answers; each is on disk before the next question.

    Args:
        connection: The open file.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def __len__(self) -> int:
        """The number of answers."""
        return self._connection.execute("SELECT count(*) FROM answers").fetchone()[0]

    def get(self, key: str) -> Answer | None:
        """Find an answer; None if there is none, or it is damaged."""
        query = "SELECT settings, body, date FROM answers WHERE key = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        try:
            settings, body = json.loads(row[0]), json.loads(row[1])
            return Answer(dict(settings), dict(body), str(row[2]))
        except (ValueError, TypeError, RecursionError):
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Write an answer to disk.

        Raises:
            FileError: The disk is full, or another program locks the file.
        """
        row = key, json.dumps(answer.settings), json.dumps(answer.body), answer.date
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise FileError(f"cannot write an answer to the cache: {error}.") from error


@contextmanager
def open_cache(path: str | Path) -> Iterator[Cache]:
    """Open or create a cache, for this process alone.

    Args:
        path: The file.

    Yields:
        The cache.

    Raises:
        FileError: The file cannot be written, is not a cache, or another run uses it.
    """
    try:
        with closing(sqlite3.connect(path, timeout=1.0)) as connection:
            # Bytes that are not UTF-8 make an answer damaged, not the run fail.
            connection.text_factory = lambda text: text.decode(errors="replace")
            # Two runs would pay for the same answers. The lock ends with the process.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    connection.execute(f"PRAGMA application_id = {MARK}")
                    connection.execute(TABLE)
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
            if mark != MARK:
                raise FileError(f"{path} is a file of another program: write to another file.")
            # A killed process loses nothing; a power cut may lose the last answers.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield Cache(connection)
    # The schema of a damaged file may not be UTF-8.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise FileError(
                f"another run uses the cache {path}: wait until it ends, or write to another file."
            ) from error
        raise FileError(f"{path} cannot be used as a cache of answers: {error}.") from error
