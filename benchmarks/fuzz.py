"""Fuzzer: damaged input gives a result, or one error with a message; never anything else.

Every door of the package gets thousands of cases: valid input with bytes flipped, lines doubled,
cells replaced, types swapped, files cut off, and so on.  A case breaks the door if it raises what
is no `CordialError`, an error without words, a warning that is not the package's own, takes longer
than `--limit` seconds, leaves a file behind, ends the process, or gives a result that is not sound.

    python benchmarks/fuzz.py --cases 2000
    python benchmarks/fuzz.py --door "readings, CSV" --seed 1234 --cases 1

Case i has the seed `--seed` + i.  Each door runs in a process of its own with a limit on memory.
Prints a table, and keeps the files and the traceback of what broke in a folder.  A door that fails
by itself is reported, and the others go on.  Exit status 1 if anything broke.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from fuzzing.door import Door, check_message

from cordial_ppl.errors import CordialError, CordialWarning

ROOMS = ("tables", "logs", "archives", "saved", "sweeps", "arrays", "growth", "environments")
"""Modules of doors; settings, paths and commands are those of tests of bad input."""

OUTCOMES = ("accepted", "refused", "broke")
MEMORY = 4 << 30
"""Bytes that a door may ask for beyond what the process has when it begins."""

START = 120
"""Seconds that a process may take to begin."""


class TooLong(BaseException):
    """A case took too long; no door may catch it."""


def load_doors() -> dict[str, Door]:
    """Load every door; a room that cannot be loaded is a door that breaks."""
    doors: dict[str, Door] = {}
    for room in ROOMS:
        try:
            doors |= {door.name: door for door in import_module(f"fuzzing.{room}").DOORS}
        except Exception as error:

            def fail(*_: object, fault: Exception = error) -> None:
                raise fault

            doors[room] = Door(room, fail, fail)
    return doors


DOORS = load_doors()


def main() -> None:
    """Try every door, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="for each door")
    parser.add_argument("--door", action="append", choices=DOORS, help="by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a case")
    parser.add_argument("--jobs", type=int, default=1, help="doors at a time")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="where what broke is kept")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names, args.out = args.door or list(DOORS), args.out.resolve()
    if args.here:
        return try_here(DOORS[names[0]], args)
    print(f"{'door':34s}{'cases':>8s}{'accepted':>10s}{'refused':>10s}{'broke':>8s}{'s':>7s}")
    total: Counter[str] = Counter()
    waiting, running = list(names), {}
    while waiting or running:
        while waiting and len(running) < args.jobs:
            name = waiting.pop(0)
            running[name] = Trial(name, args)
        name = next((door for door, trial in running.items() if trial.ended()), None)
        if name is None:
            time.sleep(0.1)
            continue
        trial = running.pop(name)
        total.update(trial.counts)
        shown = "".join(f"{trial.counts[outcome]:10d}" for outcome in OUTCOMES[:2])
        broke, cases = trial.counts["broke"], trial.counts.total()
        seconds = time.perf_counter() - trial.begun
        print(f"{name:34s}{cases:8d}{shown}{broke:8d}{seconds:7.0f}", flush=True)
    shown = "".join(f"{total[outcome]:10d}" for outcome in OUTCOMES[:2])
    print(f"{'all':34s}{total.total():8d}{shown}{total['broke']:8d}")
    if total["broke"]:
        raise SystemExit(f"what broke is in {args.out}")


class Trial:
    """A door in its process, which is begun anew after the case that ended it."""

    def __init__(self, name: str, args: argparse.Namespace):
        self.name, self.args = name, args
        self.counts: Counter[str] = Counter()
        self.begun = time.perf_counter()
        self._start()

    def ended(self) -> bool:
        """Return whether all cases are done, or the door cannot be tried."""
        if self.process.poll() is None:
            size = os.fstat(self.journal.fileno()).st_size
            if size != self.size:
                self.size, self.moved = size, time.perf_counter()
            elif time.perf_counter() - self.moved > 2 * self.args.limit + START:
                self.process.kill()  # Compiled code hangs, which no signal handler interrupts.
            return False
        self.journal.seek(0)
        done = self.journal.read().split()
        self.counts.update(done)
        self.journal.close()
        if self.counts.total() >= self.args.cases:
            return True
        # The case that was under way ended the process: damaged input did, or the door is broken.
        seed = self.args.seed + self.counts.total()
        self.counts["broke"] += 1
        words = f"the process ended with status {self.process.returncode}\n"
        keep(self.args.out, DOORS[self.name], seed, words)
        if self.counts.total() >= self.args.cases or self.process.returncode > 0:
            return True
        self._start()
        return False

    def _start(self) -> None:
        done = self.counts.total()
        self.journal = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.size, self.moved = 0, time.perf_counter()
        command = [sys.executable, __file__, "--here", "--door", self.name]
        command += ["--seed", str(self.args.seed + done), "--cases", str(self.args.cases - done)]
        command += ["--limit", str(self.args.limit), "--out", str(self.args.out)]
        self.process = subprocess.Popen(command, stdout=self.journal)


def try_here(door: Door, args: argparse.Namespace) -> None:
    """Try a door in this process, and write the outcome of each case to stdout."""
    journal = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What a door prints is none of the outcomes.
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(args.seed, args.seed + args.cases):
            outcome, words = try_case(door, seed, args.limit)
            if words:
                keep(args.out, door, seed, words)
            print(outcome, file=journal, flush=True)


def try_case(door: Door, seed: int, limit: float = 60.0) -> tuple[str, str]:
    """Bring one case in.

    Args:
        door: The door.
        seed: Seed of the case.
        limit: Seconds that it may take.

    Returns:
        "accepted", "refused" or "broke", and what there is to say of what broke.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            case = make(door, seed, folder)
            before = sorted(folder.rglob("*"))
            with warnings.catch_warnings(), within(limit):
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", CordialWarning)
                try:
                    door.enter(case, folder)
                    outcome = "accepted"
                except CordialError as error:
                    check_message(error)
                    outcome = "refused"
            left = [path.name for path in sorted(folder.rglob("*")) if path not in before]
            assert not left, f"files are left: {left}"
        except (Exception, TooLong):
            return "broke", traceback.format_exc()
        return outcome, ""


def make(door: Door, seed: int, folder: Path) -> object:
    """Make the case of a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return door.make(random.Random(f"{door.name} {seed}"), folder)


def keep(out: Path, door: Door, seed: int, words: str) -> None:
    """Keep the files of a case, what it is, and what happened."""
    folder = out / f"{door.name.replace(' ', '-').replace(',', '')}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        words = f"{make(door, seed, folder)!r:.10000}\n\n{words}"
    except Exception as error:  # The door itself is broken, which the words say.
        words = f"no case: {error!r}\n\n{words}"
    (folder / "case.txt").write_text(words, "utf-8", "backslashreplace")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in what takes longer."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory() -> None:
    """Let allocations far beyond what is needed fail."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
