"""Answers that were paid for: one SQLite file, from which an interrupted run goes on.

A row is an answer: the SHA-256 of what was asked, the settings that were sent, and the response.
Prompts are not stored, and neither is who asked which server with which key.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError
from cordial_ppl.live.prompt import Messages

MARK = 0x434F5244
"""Number in the head of the file (`application_id`) that says whose it is."""

VERSION = 1


class Answer(NamedTuple):
    """What is known of an answer.

    Attributes:
        settings: How it was decoded.
        body: The response.
        date: The day on which it came, as "2025-12-31".
    """

    settings: Mapping[str, Any]
    body: Mapping[str, Any]
    date: str


def key_of(model: str, messages: Messages, settings: Mapping[str, Any], sample: int = 0) -> str:
    """Name what is asked, whichever server is asked.

    Args:
        model: The model's name.
        messages: The conversation.
        settings: How the answer is to be decoded.
        sample: Samples of the same that were taken before.

    Returns:
        The SHA-256, in hexadecimal digits.
    """
    text = json.dumps([model, messages, settings, sample], ensure_ascii=False, sort_keys=True)
    # Half a surrogate pair, as a table may hold, is no text that has bytes.
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


class Cache:
    """A file of answers; each is on disk before the next is asked for.

    Args:
        connection: The open file.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def __len__(self) -> int:
        """The number of answers."""
        return self._connection.execute("SELECT count(*) FROM answers").fetchone()[0]

    def get(self, key: str) -> Answer | None:
        """Find an answer.

        Args:
            key: What was asked.

        Returns:
            The answer; None if there is none, or it is damaged.
        """
        row = self._connection.execute(
            "SELECT settings, body, date FROM answers WHERE key = ?", (key,)
        ).fetchone()
        try:
            found = row and Answer(json.loads(row[0]), json.loads(row[1]), str(row[2]))
        except (ValueError, TypeError, RecursionError):
            return None
        whole = found and isinstance(found.settings, dict) and isinstance(found.body, dict)
        return found if whole else None

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer, on disk.

        Args:
            key: What was asked.
            answer: The answer.

        Raises:
            FileError: The disk is full, or another program keeps the file.
        """
        row = key, json.dumps(answer.settings), json.dumps(answer.body), answer.date
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise FileError(f"an answer cannot be kept in the cache: {error}.") from error


@contextmanager
def open_cache(path: str | Path) -> Iterator[Cache]:
    """Open a cache, or begin one; until it is closed nobody else can.

    Args:
        path: The file.

    Yields:
        The cache.

    Raises:
        FileError: The file cannot be written, is something else, or another run uses it.
    """
    try:
        connection = sqlite3.connect(path, timeout=1.0)
        try:
            # Bytes that are no text are a damaged answer.
            connection.text_factory = lambda text: text.decode(errors="replace")
            # Two runs would pay for the same answers; a program that is killed locks nothing.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            _check(connection, path)
            # A program that is killed loses nothing; only after a power cut may the last be gone.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield Cache(connection)
        finally:
            connection.close()
    # SQLite's schema of a damaged file may be no text.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise FileError(
                f"another run uses the cache {path}: wait for its end, or name another --cache."
            ) from error
        raise FileError(f"{path} cannot be used as a cache of answers: {error}.") from error


def _check(connection: sqlite3.Connection, path: str | Path) -> None:
    """Make the table in an empty file; take no file of another program for a cache."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.execute(f"PRAGMA application_id = {MARK}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute(
                "CREATE TABLE answers (key TEXT PRIMARY KEY, settings TEXT NOT NULL, "
                "body TEXT NOT NULL, date TEXT NOT NULL) WITHOUT ROWID"
            )
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if mark != MARK:
        raise FileError(f"{path} is a database of another program: name another --cache.")
    if version != VERSION:
        raise FileError(f"{path} is a cache of another version of cordial: name another --cache.")
