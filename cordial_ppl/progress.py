"""What a call is doing, on stderr: nothing for two seconds, then one line that goes when it ends.

A function that may take long says so with `doing`, wherever it is called from.  On a terminal and
in a notebook one line is redrawn; the program, whose stderr may be a file or a pipe, writes a plain
line there for each stage that takes two seconds.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

VARIABLE = "CORDIAL_PROGRESS"
"""Environment variable; 0 or empty, nothing is shown."""

DELAY, PERIOD = 2.0, 0.5
"""Seconds before anything is shown, and between two drawings of the line."""

COLUMNS = 80
"""Width of a line where none is known."""


class Stage:
    """Something that takes a while.

    Args:
        what: What is being done.
        total: How much there is to do; 0 where that is not known.
        of: What is counted; where it is empty, a percentage is shown.
        alike: Whether each part takes as long as another, so that the time left can be told.
        now: When it begins, s.
        idle: Seconds that were spent to compile before.
    """

    def __init__(self, what: str, total: float, of: str, alike: bool, now: float, idle: float):
        self.what, self.total, self.of, self.alike = what, total, of, alike
        self.begun, self.idle, self.done, self.free = now, idle, 0.0, 0.0

    def reach(self, done: float, what: str | None = None, free: float = 0.0) -> None:
        """Take note of what is done by now, of which some took no time; from any thread."""
        self.done, self.what, self.free = done, what or self.what, free
        if self.alike and self.total:
            for see in _watchers:
                see(done / self.total, self.what)

    def part(self, note: str) -> str:
        """Say what is done, how much of it, and what is being compiled."""
        words = self.what
        if self.total and self.of:
            words += f", {self.done:,.0f} of {self.total:,.0f} {self.of}"
        elif self.total:
            words += f", {self.done / self.total:.0%}"
        return f"{words}; {note}" if note else words

    def text(self, now: float, idle: float, note: str) -> str:
        """Say so, and for how long, and how long the rest will take."""
        words, took = self.part(note), now - self.begun
        words += f", {_seconds(took)}"
        worked = self.done - self.free
        if self.alike and worked > 0 and not note:
            left = (took - (idle - self.idle)) * (self.total - self.done) / worked
            words += f", about {_seconds(left)} left"
        return words


class Line:
    """One line about the stages of a call, and the thread that draws it.

    Args:
        stream: Where it is shown; None for nowhere.
        redraw: Whether the line is drawn again and again; else each stage gets a line.
        clock: Tells the time, s.
    """

    def __init__(self, stream: Any, redraw: bool, clock: Callable[[], float] = time.monotonic):
        self.stream: Any = stream
        self.redraw, self.clock = redraw, clock
        self.lock, self.width, self.begun = threading.RLock(), 0, clock()
        self.stages: list[Stage] = []
        self.told: set[Stage | str] = set()
        # What is being compiled, since when anything is, and how long it took before.
        self.notes: list[str] = []
        self.since = self.idle = 0.0

    def enter(self, what: str, total: float, of: str, alike: bool) -> tuple[Stage, bool]:
        """Begin a stage; it is shown if the thread is the one that began the first."""
        with self.lock:
            now = self.clock()
            stage = Stage(what, total, of, alike, now, self._idle(now))
            if self.stream is None:
                return stage, False
            if not self.stages:
                self.owner, self.stop = threading.get_ident(), threading.Event()
                self.thread = threading.Thread(target=self._run, name="progress", daemon=True)
                self.thread.start()
            shown = threading.get_ident() == self.owner
            self.stages += [stage] * shown
            return stage, shown

    def leave(self, stage: Stage) -> None:
        """End a stage that is shown; after the last one nothing is drawn."""
        with self.lock:
            self.stages.remove(stage)
            last, stop, thread = not self.stages, self.stop, self.thread
        if last:
            stop.set()
            thread.join()
            self.clear()

    def tick(self) -> None:
        """Draw the line, if it is time to."""
        with self.lock:
            now = self.clock()
            if not self.stages or now < self.begun + DELAY:
                return
            # The outermost whose end can be told, or else the innermost.
            stage = next((s for s in self.stages if s.total and s.alike), self.stages[-1])
            note = next(filter(None, reversed(self.notes)), "")
            if self.redraw:
                self._draw(stage.text(now, self._idle(now), note))
            elif now >= stage.begun + DELAY and self.told.isdisjoint((stage, stage.what)):
                self.told |= {stage, stage.what}
                self._write(f"{stage.part(note)} ...\n")

    def clear(self) -> None:
        """Remove the line until it is drawn again."""
        with self.lock:
            if self.width:
                self._draw("")
                self.width = 0

    def close(self) -> None:
        """Remove the line for good."""
        with self.lock:
            self.clear()
            self.stream = None

    @contextmanager
    def noting(self, note: str) -> Iterator[None]:
        """Say what is being compiled; such time does not tell how long the rest will take."""
        with self.lock:
            if not self.notes:
                self.since = self.clock()
            self.notes.append(note)
        try:
            yield
        finally:
            with self.lock:
                self.notes.remove(note)
                if not self.notes:
                    self.idle += self.clock() - self.since

    def _idle(self, now: float) -> float:
        return self.idle + (now - self.since if self.notes else 0.0)

    def _run(self) -> None:
        while not self.stop.wait(PERIOD):
            self.tick()

    def _draw(self, text: str) -> None:
        """Write over the last line, and go back to its start: what else is written replaces it."""
        columns = COLUMNS
        with suppress(OSError, ValueError, AttributeError):
            columns = os.get_terminal_size(self.stream.fileno()).columns or COLUMNS
        text = " ".join(text.split())[: columns - 1]
        self._write(text.ljust(min(self.width, columns - 1)) + "\r")
        self.width = len(text)

    def _write(self, text: str) -> None:
        # A closed or full stderr, or one that cannot write a letter, is no reason to fail.
        with suppress(AttributeError, OSError, ValueError):
            if self.stream is not None:
                self.stream.write(text)
                self.stream.flush()


_lock = threading.Lock()
_line: Line | None = None
_watchers: list[Callable[[float, str], None]] = []


@contextmanager
def doing(what: str, total: float = 0, of: str = "", *, alike: bool = True) -> Iterator[Stage]:
    """Show on stderr that something is being done, once the call has taken two seconds.

    Outside the program a line is shown only where stderr is a terminal or a notebook.  Stages may
    be nested; those of further threads are not shown.

    Args:
        what: What is being done, such as "fitting".
        total: How much there is to do, which `Stage.reach` counts up to; 0 where it is not known.
        of: What is counted, such as "members"; where it is empty, a percentage is shown.
        alike: Whether each part takes as long as another, so that the time left can be told.
    """
    global _line
    with _lock:
        line, first = _line, _line is None
        if line is None:
            line = _line = Line(*_find_stream(plain=False))
    try:
        stage, shown = line.enter(what, total, of, alike)
        try:
            yield stage
        finally:
            if shown:
                line.leave(stage)
    finally:
        with _lock:
            # Another thread may have begun a stage of the same line.
            if first and _line is line and not line.stages:
                _line = None


@contextmanager
def showing(*, quiet: bool = False, plain: bool = True) -> Iterator[None]:
    """Show the stages of a command; the two seconds begin here.

    Args:
        quiet: Whether nothing is shown.
        plain: Whether plain lines are written where stderr is neither terminal nor notebook.
    """
    global _line
    before = _line
    _line = Line(None, False) if quiet else Line(*_find_stream(plain))
    try:
        yield
    finally:
        _line = before


@contextmanager
def watching(see: Callable[[float, str], None]) -> Iterator[None]:
    """Tell a function, too, the share of a stage that is done by now, and what is being done.

    Args:
        see: Called whenever a stage whose parts are alike has got on, from any thread.
    """
    _watchers.append(see)
    try:
        yield
    finally:
        _watchers.remove(see)


@contextmanager
def compiling(note: str = "") -> Iterator[None]:
    """Say that a program is compiled, or take note of the time that making it ready takes."""
    line = _line
    if line is None:
        yield
    else:
        with line.noting(note):
            yield


def clear(for_good: bool = False) -> None:
    """Remove the line, so that something else can be written."""
    line = _line
    if line is not None:
        line.close() if for_good else line.clear()


def _find_stream(plain: bool) -> tuple[Any, bool]:
    """Where progress is shown, and whether one line can be drawn again and again."""
    stream = sys.stderr
    if stream is None or os.environ.get(VARIABLE, "1") in ("", "0"):
        return None, False
    terminal = False
    with suppress(AttributeError, OSError, ValueError):  # Closed, or with nothing but `write`.
        terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    redraw = terminal or type(stream).__module__.startswith("ipykernel")
    return (stream if redraw or plain else None), redraw


def _seconds(number: float) -> str:
    """Write a time: "8 s", "3 min"."""
    return f"{number:.0f} s" if number < 100 else f"{number / 60:.0f} min"
