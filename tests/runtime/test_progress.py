"""Progress as a user sees it: a line on a terminal, lines in a pipe, or nothing."""

import io
import sys
import threading
import time

import pytest

from cordial_ppl.runtime import progress
from cordial_ppl.runtime.progress import doing


class Terminal(io.StringIO):
    """A stderr that tells when it was written to."""

    def __init__(self, terminal=True, error=None):
        super().__init__()
        self.terminal, self.error, self.written = terminal, error, threading.Event()

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.written.set()
        if self.error:
            raise self.error
        return super().write(text)


@pytest.fixture
def stderr(monkeypatch):
    """Replace stderr, and let every stage be shown after a hundredth of a second."""
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setenv(progress.VARIABLE, "1")
    monkeypatch.setenv("TERM", "xterm")

    def replace(**settings):
        stream = Terminal(**settings)
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


def wait_for(stream, text, start=0):
    """Wait until a text was written; fail after a minute."""
    end = time.monotonic() + 60
    while text not in stream.getvalue()[start:]:
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.01)


def test_a_line_shows_the_outermost_stage_that_counts_and_goes_at_the_end(stderr):
    stream = stderr()
    with doing("loading"), doing("fitting", 7, "members") as stage, doing("inside", 3, "parts"):
        wait_for(stream, "fitting, 0 of 7 members")
        stage.reach(2)
        wait_for(stream, "fitting, 2 of 7 members")
        progress.clear()
        wait_for(stream, "members", start=len(stream.getvalue()))
    assert "inside" not in stream.getvalue() and stream.getvalue().endswith("\x1b[2K")


def test_a_pipe_gets_one_line_a_stage_of_the_program(stderr):
    stream = stderr(terminal=False)
    with doing("reading", plain=True):
        wait_for(stream, "reading")
        with doing("fitting", 5, "parts"):
            wait_for(stream, "fitting")
        with doing("fitting", 5, "parts"):
            time.sleep(0.1)
    assert stream.getvalue() == "reading ...\nfitting ...\n"


@pytest.mark.parametrize(
    ("terminal", "delay", "value", "quiet"),
    [
        (True, 1000.0, "1", False),
        (False, 0.01, "1", False),
        (True, 0.01, "1", True),
        (True, 0.01, "0", False),
        (True, 0.01, "", False),
    ],
    ids=["a short stage", "a pipe of Python", "quiet", "turned off", "emptied"],
)
def test_nothing_is_shown(stderr, monkeypatch, terminal, delay, value, quiet):
    stream = stderr(terminal=terminal)
    monkeypatch.setattr(progress, "DELAY", delay)
    monkeypatch.setenv(progress.VARIABLE, value)
    with doing("fitting", plain=terminal, quiet=quiet), doing("reading"):
        assert not stream.written.wait(0.1)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "error", [BrokenPipeError(), ValueError("closed"), UnicodeEncodeError("ascii", "é", 0, 1, "")]
)
def test_a_stderr_that_fails_is_no_reason_to_fail(stderr, terminal, error):
    stream = stderr(terminal=terminal, error=error)
    with doing("fitting", plain=True):
        assert stream.written.wait(60)
