"""Cache of answers that were paid for: an SQLite file, from which an interrupted run resumes.

A row is a response: the SHA-256 of the question, the settings that were sent, the response, and the
day it came. The file holds neither prompts nor keys.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError, as_path
from cordial_ppl.logs.ask.prompt import Messages

Body = Mapping[str, Any]
"""A response, as it is kept; `usage` counts its tokens, as OpenAI does."""

TABLE = "CREATE TABLE IF NOT EXISTS responses (key TEXT, settings TEXT, body TEXT, date TEXT)"
INDEX = "CREATE INDEX IF NOT EXISTS keys ON responses (key)"


class Response(NamedTuple):
    """A response in the cache.

    Attributes:
        settings: The settings of its decoding.
        body: The response.
        date: The day it came, as "2025-12-31".
    """

    settings: Mapping[str, Any]
    body: Body
    date: str


def key_of(model: str, messages: Messages, settings: Mapping[str, Any]) -> str:
    """Identify a question, whichever server is asked, by its SHA-256 in hexadecimal digits."""
    text = json.dumps([model, messages, settings], ensure_ascii=False, sort_keys=True)
    # A table may hold half a surrogate pair, which UTF-8 cannot encode.
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


class Cache:
    """A file of responses; each is on disk before the next question.

    Args:
        connection: The open file.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def __len__(self) -> int:
        """Count the responses."""
        return self._connection.execute("SELECT count(*) FROM responses").fetchone()[0]

    def get(self, key: str) -> list[Response]:
        """Find the responses to a question, in the order in which they came."""
        query = "SELECT settings, body, date FROM responses WHERE key = ? ORDER BY rowid"
        rows = self._connection.execute(query, (key,))
        return [Response(json.loads(sent), json.loads(body), date) for sent, body, date in rows]

    def put(self, key: str, response: Response) -> None:
        """Write a response to disk.

        Raises:
            FileError: The disk is full, or another program locks the file.
        """
        row = key, json.dumps(response.settings), json.dumps(response.body), response.date
        try:
            with self._connection:
                self._connection.execute("INSERT INTO responses VALUES (?, ?, ?, ?)", row)
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
        with closing(sqlite3.connect(as_path(path, "write"), timeout=1.0)) as connection:
            # Two runs would pay for the same answers. The lock ends with the process.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(TABLE)
                connection.execute(INDEX)
            # A killed process loses nothing; a power cut may lose the last answers.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield Cache(connection)
    except sqlite3.Error as error:
        busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        reason = "another run uses it" if busy else str(error)
        raise FileError(
            f"{path} cannot be used as a cache of answers: {reason}. Write to another file."
        ) from error
