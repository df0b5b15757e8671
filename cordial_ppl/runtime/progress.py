"""What a call is doing, on stderr: nothing for two seconds, then one line that goes when it ends.

A function that may take long says so with `doing`, wherever it is called from.  On a terminal and
in a notebook one line is redrawn.  The program shows it after half a second; where its stderr is a
file or a pipe, it writes a plain line there for each new stage, and of a long one at times that lie
ever farther apart.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from typing import Any

VARIABLE = "CORDIAL_PROGRESS"
"""Environment variable; 0 or empty, nothing is shown."""

DELAY, SOON, PERIOD = 2.0, 0.5, 0.5
"""Seconds before a call shows anything and before a command does, and between two drawings."""

PATIENCE = 1.0
"""Seconds that a new stage has to last for a plain line of its own."""

SHORTEST, LONGEST = 8.0, 60.0
"""Seconds between two plain lines about a stage at least and at most; between, twice its time."""

ENOUGH = 0.05
"""Share of the parts from which they tell how long the others take."""

COLUMNS = 80
"""Width of a line where none is known."""

_watchers: ContextVar[tuple[Callable[[float, str], None], ...]] = ContextVar("watchers", default=())


class Stage:
    """Something that takes a while.

    Args:
        what: What is being done.
        total: How much there is to do; 0 where that is not known.
        of: What is counted; where it is empty, a percentage is shown.
        alike: Whether each part takes as long as another, so that the time left can be told.
        usual: Seconds that it usually takes; 0 where that is not known.
        then: What it is after a stage inside it; as before where it is empty.
    """

    def __init__(self, what: str, total: float, of: str, alike: bool, usual: float, then: str):
        self.what, self.total, self.of, self.alike, self.usual = what, total, of, alike, usual
        self.name, self.watchers, self.done, self.free = what, _watchers.get(), 0.0, 0.0
        self.then = then or what
        # When it began, and how long compiling had taken by then, s.
        self.begun = self.idle = 0.0

    def reach(self, done: float, what: str | None = None, free: float = 0.0) -> None:
        """Take note of what is done by now, of which some took no time; from any thread."""
        self.done, self.what, self.free = done, what or self.what, free
        if self.alike and self.total:
            for see in self.watchers:
                see(done / self.total, self.what)

    def resume(self, now: float) -> None:
        """Go on after a stage inside."""
        self.what = self.name = self.then
        self.begun, self.usual = now, 0.0

    def part(self, note: str) -> str:
        """Say what is done, how much of it, and what is being compiled."""
        words = self.what
        if self.total and self.of:
            words += f", {math.floor(self.done):,} of {self.total:,.0f} {self.of}"
        elif self.total:
            words += f", {self.done / self.total:.0%}"
        return f"{words}; {note}" if note else words

    def text(self, now: float, idle: float, note: str, plain: bool = False) -> str:
        """Say so, and for how long, and how long the rest will take."""
        words, took = self.part(note), now - self.begun
        worked, spent = self.done - self.free, took - (idle - self.idle)
        young = plain and took < 2 * PATIENCE
        words += "" if young else f", {_seconds(took)}"
        # The first parts may be quick ones.
        enough = spent >= 2 * PATIENCE and worked >= ENOUGH * (self.total - self.free)
        if self.alike and worked > 0 and enough and not note:
            words += f", about {_seconds(spent * (self.total - self.done) / worked)} left"
        elif took < self.usual:
            words += f"{', about' if young else ' of about'} {_seconds(self.usual)}"
        return words


class Line:
    """One line about the stages of a call, and the thread that draws it.

    Args:
        stream: Where it is shown; None for nowhere.
        redraw: Whether the line is drawn again and again; else each stage gets a line.
        clock: Tells the time, s.
    """

    def __init__(
        self,
        stream: Any,
        redraw: bool,
        clock: Callable[[], float] = time.monotonic,
        delay: float = DELAY,
    ):
        self.stream: Any = stream
        self.redraw, self.clock, self.owner = redraw, clock, threading.get_ident()
        self.lock, self.width, self.begun = threading.RLock(), 0, clock()
        self.first = self.begun + delay
        self.stages: list[Stage] = []
        # Of plain lines: what was told, what is going on since when, when it is told again.
        self.told: set[str] = set()
        self.news: set[str] = set()
        self.heard = self.again = 0.0
        # What is being compiled, since when anything is, and how long it took before.
        self.notes: list[str] = []
        self.since = self.idle = 0.0

    def enter(self, stage: Stage) -> bool:
        """Begin a stage; return whether it is shown, as those of the line's own thread are."""
        with self.lock:
            stage.begun = self.clock()
            stage.idle = self._idle(stage.begun)
            if self.stages and self.stages[-1].name == stage.name:
                stage.begun, stage.usual = self.stages[-1].begun, self.stages[-1].usual
            if self.stream is None or threading.get_ident() != self.owner:
                return False
            if not self.stages:
                self.stop = threading.Event()
                self.thread = threading.Thread(target=self._run, name="progress", daemon=True)
                self.thread.start()
            self.stages.append(stage)
            return True

    def leave(self, stage: Stage) -> None:
        """End a stage that is shown; after the last one nothing is drawn."""
        with self.lock:
            self.stages.remove(stage)
            if self.stages and not self.stages[-1].total:
                self.stages[-1].resume(self.clock())
            last, stop, thread = not self.stages, self.stop, self.thread
        if last:
            stop.set()
            thread.join()
            self.clear()

    def tick(self) -> None:
        """Draw the line, if it is time to."""
        with self.lock:
            now = self.clock()
            if not self.stages or now < self.first:
                return
            # The outermost whose end can be told, or else the innermost.
            stage = next((s for s in self.stages if s.total and s.alike), self.stages[-1])
            note = next(filter(None, reversed(self.notes)), "")
            text = stage.text(now, self._idle(now), note, not self.redraw)
            if self.redraw:
                self._draw(text)
            elif self._has_news({stage.name, note} - {""}, now):
                self.again = now + min(max(SHORTEST, 2 * (now - stage.begun)), LONGEST)
                self._write(f"{text} ...\n")

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

    def _has_news(self, said: set[str], now: float) -> bool:
        """Whether there is something to tell in plain lines, which is told then."""
        news = said - self.told
        if news != self.news:
            self.news, self.heard = news, now
        if news and self.told and now < self.heard + PATIENCE:
            return False
        self.told |= news
        return bool(news) or now >= self.again

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


@contextmanager
def doing(
    what: str,
    total: float = 0,
    of: str = "",
    *,
    alike: bool = True,
    usual: float = 0,
    then: str = "",
) -> Iterator[Stage]:
    """Show on stderr that something is being done, once the call has taken a while.

    Outside the program a line is shown only where stderr is a terminal or a notebook, and of the
    main thread.  Stages may be nested; those of further threads and of workers are not shown.

    Args:
        what: What is being done, such as "fitting".
        total: How much there is to do, which `Stage.reach` counts up to; 0 where it is not known.
        of: What is counted, such as "members"; where it is empty, a percentage is shown.
        alike: Whether each part takes as long as another, so that the time left can be told.
        usual: Seconds that it usually takes, where nothing is counted; 0 where that is not known.
        then: What is done once a stage inside has ended, where that is something else.
    """
    global _line
    stage = Stage(what, total, of, alike, usual, then)
    with _lock:
        line, first = _line, False
        if line is None and threading.current_thread() is threading.main_thread():
            line, first = Line(*_find_stream(plain=False), delay=DELAY), True
            _line = line
    shown = line is not None and line.enter(stage)
    try:
        yield stage
    finally:
        if line is not None and shown:
            line.leave(stage)
        if first:
            with _lock:
                _line = None if _line is line else _line


@contextmanager
def showing(*, quiet: bool = False, plain: bool = True) -> Iterator[None]:
    """Show the stages of a command, those of this thread; the half second begins here.

    Args:
        quiet: Whether nothing is shown.
        plain: Whether plain lines are written where stderr is neither terminal nor notebook.
    """
    global _line
    stream, redraw = (None, False) if quiet else _find_stream(plain)
    with _lock:
        before, _line = _line, Line(stream, redraw, delay=SOON)
    try:
        yield
    finally:
        with _lock:
            _line = before


@contextmanager
def watching(see: Callable[[float, str], None]) -> Iterator[None]:
    """Tell a function, too, the share of a stage that is done by now, and what is being done.

    Args:
        see: Called whenever a stage that was begun inside, and whose parts are alike, has got on,
            from any thread.
    """
    before = _watchers.set((*_watchers.get(), see))
    try:
        yield
    finally:
        _watchers.reset(before)


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
    # Workers share the terminal of the process that they work for, which has a line of its own.
    if stream is None or parent_process() or os.environ.get(VARIABLE, "1") in ("", "0"):
        return None, False
    terminal = False
    with suppress(AttributeError, OSError, ValueError):  # Closed, or with nothing but `write`.
        terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    redraw = terminal or type(stream).__module__.startswith("ipykernel")
    return (stream if redraw or plain else None), redraw


def _seconds(number: float) -> str:
    """Write a time: "8 s", "3 min"."""
    return f"{number:.0f} s" if number < 100 else f"{number / 60:.0f} min"
