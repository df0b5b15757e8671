"""Progress of a call on stderr: nothing for two seconds, then a line that goes when the call ends.

On a terminal and in a notebook Rich redraws one line; where the stderr of the program is a file or
a pipe, each stage of over two seconds writes one.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from threading import Event, RLock, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

VARIABLE = "CORDIAL_PROGRESS"
"""Environment variable; 0 or empty, nothing is shown."""

DELAY = 2.0
"""Seconds before a stage is shown."""

_watchers: ContextVar[tuple[Callable[[float, str], None], ...]] = ContextVar("watchers", default=())


class Stderr(io.TextIOBase):
    """The stderr of now: that it is closed or full is no reason to fail."""

    def __init__(self) -> None:
        self.stream = sys.stderr

    def isatty(self) -> bool:
        """Return whether it is a terminal, or a notebook."""
        with suppress(AttributeError, ValueError):
            notebook = type(self.stream).__module__.startswith("ipykernel")
            return notebook or self.stream.isatty()
        return False

    def write(self, text: str) -> int:
        """Write a text, if that is possible."""
        with suppress(AttributeError, OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()
        return len(text)


class Stage:
    """Something that takes a while; see `doing` for the arguments."""

    def __init__(self, text: str, total: float, unit: str):
        self.text, self.total, self.unit, self.done = text, total, unit, 0.0
        self.begun, self.watchers, self.lock = monotonic(), _watchers.get(), RLock()

    def reach(self, done: float, text: str | None = None) -> None:
        """Note the parts that are done, from any thread; watchers are called one at a time."""
        with self.lock:
            self.done, self.text = done, text or self.text
            for watch in self.watchers if self.total else ():
                watch(done / self.total, self.text)


class Display(Thread):
    """A thread that shows the stages of the main one; `plain` lets it write lines in a pipe."""

    def __init__(self, plain: bool):
        super().__init__(daemon=True)
        self.plain, self.begun, self.over, self.lock = plain, monotonic(), Event(), RLock()
        self.stages: list[Stage] = []
        self.texts: set[str] = set()
        self.line: Any = None

    def run(self) -> None:
        """Look twenty times in the delay what is to be shown."""
        while not self.over.wait(DELAY / 20):
            with self.lock:
                if self.begun < monotonic() - DELAY and not self.over.is_set():
                    self._show(list(self.stages))

    def clear(self, for_good: bool = False) -> None:
        """Remove the line, for the delay or for good."""
        with self.lock:
            if for_good:
                self.over.set()
            if self.line is not None:
                self.line.stop()
            self.begun, self.line = monotonic(), None

    def _show(self, stages: list[Stage]) -> None:
        # It takes long to import, and most calls are quick.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        stream: Any = Stderr()  # Beside a line it is Rich itself, so the line's console stays.
        console = self.line.console if self.line else Console(file=stream, force_jupyter=False)
        if not console.is_terminal or console.is_dumb_terminal:
            late = [s.text for s in stages if s.begun < monotonic() - DELAY] if self.plain else []
            for text in dict.fromkeys(late):
                if text not in self.texts:
                    console.file.write(f"{text} ...\n")
            self.texts.update(late)
        elif stages:
            if self.line is None:
                words = TextColumn("{task.description}", markup=False)
                columns = words, BarColumn(), TextColumn("{task.fields[seconds]:.0f} s")
                self.line = Progress(*columns, console=console, auto_refresh=False, transient=True)
                self.line.add_task("", seconds=0.0)
            # The outermost stage whose parts are counted, or else the innermost.
            stage = next((each for each in stages if each.total), stages[-1])
            parts = f", {stage.done:,.0f} of {stage.total:,.0f} {stage.unit}"
            text = stage.text + parts * bool(stage.total and stage.unit)
            parts_done = {"total": stage.total or None, "completed": stage.done}
            self.line.update(0, description=text, seconds=monotonic() - stage.begun, **parts_done)
            self.line.start()
            self.line.refresh()


_display: Display | None = None


@contextmanager
def doing(
    text: str, total: float = 0, unit: str = "", *, plain: bool = False, quiet: bool = False
) -> Iterator[Stage]:
    """Show on stderr that something is being done, once it has taken a while.

    Stages may be nested; those of further threads and of workers are not shown.

    Args:
        text: The work, such as "fitting".
        total: The number of parts, which `Stage.reach` counts up to; 0 where it is not known.
        unit: What is counted, such as "members"; empty for a bar alone.
        plain: Whether stages are shown in a file or a pipe too; that of the outermost one counts.
        quiet: Whether none is shown; that of the outermost one counts.
    """
    global _display
    stage, first, main = Stage(text, total, unit), False, current_thread() is main_thread()
    if main and _display is None:
        _display, first = Display(plain), True
        # Workers share the terminal of the process that they work for, which has its own line.
        quiet |= os.environ.get(VARIABLE, "1") in ("", "0") or parent_process() is not None
        if not quiet:
            _display.start()
    display = _display if main else None
    if display:
        display.stages.append(stage)
    # Watchers hear of the outermost stage that counts.
    token = _watchers.set(() if total else stage.watchers)
    try:
        yield stage
    finally:
        _watchers.reset(token)
        if display:
            display.stages.remove(stage)
        if display and first:
            display.clear(for_good=True)
            _display = None


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
    if _display is not None:
        _display.clear(for_good)
