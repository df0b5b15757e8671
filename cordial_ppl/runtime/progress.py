"""Progress of a call on stderr: nothing for two seconds, then a line that goes when the call ends.

On a terminal and in a notebook one line is written anew; where the stderr of the program is a file
or a pipe, each stage of over two seconds writes one.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import parent_process
from shutil import get_terminal_size
from threading import Event, RLock, Thread, current_thread, main_thread
from time import monotonic

from cordial_ppl.errors import escape

VARIABLE = "CORDIAL_PROGRESS"
"""Environment variable; 0 or empty, nothing is shown."""

DELAY = 2.0
"""Seconds before a stage is shown."""

ERASE = "\r\x1b[2K"
"""What erases the line of a terminal."""


@dataclass(eq=False)
class Stage:
    """Something that takes a while; see `doing` for the arguments."""

    text: str
    total: float
    unit: str
    done: float = 0.0
    begun: float = field(default_factory=monotonic)

    def reach(self, done: float, text: str | None = None) -> None:
        """Note the parts that are done, from any thread."""
        self.done, self.text = done, text or self.text


class Display(Thread):
    """A thread that shows the stages of the main one; `plain` lets it write lines in a pipe."""

    def __init__(self, plain: bool):
        super().__init__(daemon=True)
        self.plain, self.begun, self.over, self.lock = plain, monotonic(), Event(), RLock()
        self.stages: list[Stage] = []
        self.texts: set[str] = set()
        self.shown = False

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
            if self.shown:
                _write(ERASE)
            self.begun, self.shown = monotonic(), False

    def _show(self, stages: list[Stage]) -> None:
        now = monotonic()
        if not _is_terminal():
            for each in stages if self.plain else ():
                if each.begun < now - DELAY and each.text not in self.texts:
                    self.texts.add(each.text)
                    _write(f"{escape(each.text)} ...\n")
        elif stages:
            # The outermost stage whose parts are counted, or else the innermost.
            stage = next((each for each in stages if each.total), stages[-1])
            parts = f", {stage.done:,.0f} of {stage.total:,.0f} {stage.unit}"
            if not (stage.total and stage.unit):
                parts = f", {stage.done / stage.total:.0%}" if stage.total else ""
            line = f"{escape(stage.text)}{parts}, {now - stage.begun:.0f} s"
            _write(ERASE + line[: get_terminal_size().columns - 1])
            self.shown = True


def _is_terminal() -> bool:
    """Return whether stderr is a terminal that can erase a line, or a notebook."""
    with suppress(AttributeError, ValueError):  # It may be closed.
        notebook = type(sys.stderr).__module__.startswith("ipykernel")
        return notebook or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    return False


def _write(text: str) -> None:
    """Write on stderr; that it is closed or full is no reason to fail."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


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
        unit: What is counted, such as "members"; empty for a share in per cent.
        plain: Whether stages are shown in a file or a pipe too; that of the outermost one counts.
        quiet: Whether none is shown; that of the outermost one counts.
    """
    global _display
    stage, main = Stage(text, total, unit), current_thread() is main_thread()
    if main and _display is None:
        _display = Display(plain)
        # Workers share the terminal of the process that they work for, which has its own line.
        quiet |= os.environ.get(VARIABLE, "1") in ("", "0") or parent_process() is not None
        if not quiet:
            _display.start()
    if display := _display if main else None:
        display.stages.append(stage)
    try:
        yield stage
    finally:
        if display:
            display.stages.remove(stage)
            if not display.stages:
                display.clear(for_good=True)
                _display = None


def clear() -> None:
    """Remove the line for two seconds, so that something else can be written."""
    if _display is not None:
        _display.clear()
