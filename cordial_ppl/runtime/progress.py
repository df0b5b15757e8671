"""Progress of a call on stderr: nothing for two seconds, then a line that goes when the call ends.

On a terminal and in a notebook Rich redraws one line; where the stderr of the program is a file or
a pipe, each stage of over two seconds writes one.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from threading import RLock, Timer, current_thread, main_thread
from typing import Any

VARIABLE = "CORDIAL_PROGRESS"
"""Environment variable; 0 or empty, nothing is shown."""

DELAY = 2.0
"""Seconds before a stage is shown."""

_watchers: ContextVar[tuple[Callable[[float, str], None], ...]] = ContextVar("watchers", default=())


class Stderr(io.TextIOBase):
    """The stderr of now: that it is closed or full is no reason to fail."""

    def __init__(self) -> None:
        self.stream, self.redraw = sys.stderr, type(sys.stderr).__module__.startswith("ipykernel")
        with suppress(AttributeError, OSError, ValueError):
            self.redraw |= self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def write(self, text: str) -> int:
        """Write a text, if that is possible."""
        with suppress(AttributeError, OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()
        return len(text)


class Stage:
    """Something that takes a while; see `doing` for the arguments."""

    def __init__(self, text: str, total: float, unit: str, display: "Display"):
        self.text, self.total, self.unit, self.done = text, total, unit, 0.0
        self.display, self.watchers, self.lock = display, _watchers.get(), RLock()

    def reach(self, done: float, text: str | None = None) -> None:
        """Note the parts that are done, from any thread; watchers are called one at a time."""
        with self.lock:
            self.done, self.text = done, text or self.text
            for watch in self.watchers if self.total else ():
                watch(done / self.total, self.text)
        self.display.refresh()


class Display:
    """The stages of one thread, and the line about them; without a stream there is none."""

    def __init__(self, stream: Stderr | None):
        self.stream, self.owner, self.lock = stream, current_thread(), RLock()
        self.stages: list[Stage] = []
        self.texts: set[str] = set()
        self.line: Any = None
        self.shown: Stage | None = None

    def enter(self, stage: Stage) -> Timer:
        """Begin a stage, and start the timer that shows it."""
        with self.lock:
            self.stages += [stage] * (stage not in self.stages)
            self.refresh()
        timer = Timer(DELAY, self.show, [stage])
        timer.daemon = True
        timer.start()
        return timer

    def leave(self, stage: Stage) -> None:
        """End a stage, and the line with the last."""
        with self.lock:
            self.stages.remove(stage)
            self.refresh() if self.stages else self.clear()

    def show(self, stage: Stage) -> None:
        """Begin the line, or write one in a pipe, if the stage still lasts."""
        with self.lock:
            if self.stream and self.stream.redraw and self.line is None and stage in self.stages:
                self.line, self.shown = _make_line(self.stream), None
                self.refresh()
                self.line.start()
            elif self.stream and not self.stream.redraw and stage in self.stages:
                if stage.text not in self.texts:
                    self.stream.write(f"{stage.text} ...\n")
                self.texts.add(stage.text)

    def refresh(self) -> None:
        """Describe the outermost stage whose parts are counted, or else the innermost."""
        with self.lock:
            if self.line is not None and self.stages:
                stage = next((s for s in self.stages if s.total), self.stages[-1])
                if stage is not self.shown:
                    self.line.reset(0)
                self.shown, self.line.tasks[0].total = stage, stage.total or None
                parts = f", {stage.done:,.0f} of {stage.total:,.0f} {stage.unit}"
                text = stage.text + parts * bool(stage.total and stage.unit)
                self.line.update(0, description=text, completed=stage.done)

    def clear(self) -> None:
        """Remove the line."""
        with self.lock:
            if self.line is not None:
                self.line.stop()
                self.line = None


_display: Display | None = None


@contextmanager
def doing(text: str, total: float = 0, unit: str = "") -> Iterator[Stage]:
    """Show on stderr that something is being done, once it has taken a while.

    Python shows it on a terminal and in a notebook only.  Stages may be nested; those of further
    threads and of workers are not shown.

    Args:
        text: The work, such as "fitting".
        total: The number of parts, which `Stage.reach` counts up to; 0 where it is not known.
        unit: What is counted, such as "members"; empty for a bar alone.
    """
    first = _display is None and current_thread() is main_thread()
    with showing(plain=False) if first else nullcontext():
        display = _display or Display(None)
        stage = Stage(text, total, unit, display)
        # Watchers hear of the outermost stage that counts.
        token = _watchers.set(() if total else stage.watchers)
        shown = bool(display.stream) and display.owner is current_thread()
        timer = display.enter(stage) if shown else None
        try:
            yield stage
        finally:
            _watchers.reset(token)
            if timer:
                timer.cancel()
                display.leave(stage)


@contextmanager
def showing(*, quiet: bool = False, plain: bool = True) -> Iterator[None]:
    """Show the stages of a command; `plain` writes lines where stderr is a file or a pipe."""
    global _display
    # Workers share the terminal of the process that they work for, which has a line of its own.
    quiet |= sys.stderr is None or parent_process() is not None
    quiet |= os.environ.get(VARIABLE, "1") in ("", "0") or current_thread() is not main_thread()
    stream = None if quiet else Stderr()
    before, _display = _display, Display(stream if stream and (stream.redraw or plain) else None)
    try:
        yield
    finally:
        _display = before


@contextmanager
def watching(watch: Callable[[float, str], None]) -> Iterator[None]:
    """Tell a function the share that is done, and the text, of each counted stage begun inside."""
    token = _watchers.set((*_watchers.get(), watch))
    try:
        yield
    finally:
        _watchers.reset(token)


def clear(for_good: bool = False) -> None:
    """Remove the line, for two seconds or for good, so that something else can be written."""
    if (display := _display) is not None and display.line is not None:
        display.clear()
        display.stream = None if for_good else display.stream
        for stage in display.stages[-1:]:
            display.enter(stage)


def _make_line(stream: Any) -> Any:
    # It takes long to import, and most calls are quick.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    console = Console(file=stream, force_terminal=True, force_jupyter=False)
    line = Progress(*columns, console=console, transient=True, redirect_stdout=False)
    line.add_task("")
    return line
