"""Soak: what a process of many fits keeps, and what a killed command leaves.

    python benchmarks/soak.py --fits 2000 --kills 200

Prints resident memory, mappings, descriptors and threads every tenth of the fits, which are of
mixed size, number of options, method and channel; then how many fits of sixteen threads on one
estimator are those of one thread; then what stands beside the output of commands that were killed,
a third of them while it was being written.  Exit status 1 if a figure grows on, or a file is left.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table

PROGRAM = "from cordial_ppl.cli import main; main()"
SIZES, OPTIONS = (1, 5, 12, 20, 60, 140), (2, 3, 5, 7)
CHANNELS = "mixture", "location", "bridge", "mixture-vector"
METHODS = "mode", "default"
ROWS = 20_000
LEVEL = 1.15
"""Largest memory of the second half of the fits over that of the first."""


def main() -> None:
    """Run all three."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    args = parser.parse_args()
    faults = [*check_fits(args.fits), *check_threads(), *check_kills(args.kills)]
    raise SystemExit("; ".join(faults) or None)


def count_resources() -> dict[str, float]:
    """Count what the process holds: MB, mappings, descriptors and threads."""
    held = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
    folders = {"descriptors": "fd", "threads": "task"}
    counts = {name: len(os.listdir(f"/proc/self/{folder}")) for name, folder in folders.items()}
    return {"MB": held, "mappings": Path("/proc/self/maps").read_text().count("\n"), **counts}


def fit_one(rng: random.Random) -> None:
    """Fit an estimator of a kind to labels of a kind, and predict."""
    n, size = rng.choice(SIZES), rng.choice(OPTIONS)
    texts = np.random.default_rng(rng.randrange(1 << 30))
    logits, labels = texts.normal(size=(n, size)), texts.integers(0, size, n)
    estimator = rng.choice(
        [
            cp.LogitStack(),
            cp.TemperatureScaling(),
            cp.ChannelCalibrator(rng.choice(CHANNELS), inference=rng.choice(METHODS)),
            cp.ScalarStack(inference="mode"),
            cp.Cordial(inference="mode"),
        ]
    )
    assert np.isfinite(estimator.fit(logits, labels).predict_proba(logits)).all()


def check_fits(fits: int) -> Iterator[str]:
    """Fit again and again; a fault is what does not level off."""
    rng, rows = random.Random(0), []
    warnings.simplefilter("ignore")
    for done in range(1, fits + 1):
        fit_one(rng)
        if done % max(fits // 10, 1) == 0:
            rows.append(count_resources())
            words = ", ".join(f"{value:,.0f} {name}" for name, value in rows[-1].items())
            print(f"{done} fits: {words}", flush=True)
    half = len(rows) // 2
    for name in rows[0] if rows else ():
        before, after = (max(row[name] for row in part) for part in (rows[:half], rows[half:]))
        if after > before * (LEVEL if name in ("MB", "mappings") else 1) + 2:
            yield f"{name} went from {before:,.0f} to {after:,.0f}"


def check_threads(count: int = 16) -> Iterator[str]:
    """Predict with, and fit copies of, one estimator in several threads."""
    texts = reviews(80, seed=1)
    judge = cp.Cordial(inference="mode").fit(texts.logits[:20], texts.labels[:20])
    expected = judge.predict_proba(texts.logits)

    def work(_: int) -> bool:
        judge.fit(texts.logits[:20], texts.labels[:20])
        return np.array_equal(judge.predict_proba(texts.logits), expected)

    with ThreadPoolExecutor(count) as pool:
        equal = sum(pool.map(work, range(count)))
    print(f"{count} threads: {equal} predict the same")
    if equal < count:
        yield f"{count - equal} threads predict something else"


def check_kills(kills: int) -> Iterator[str]:
    """Kill commands, two at a time; a fault is a file neither old nor new, or one beside it."""
    texts = reviews(60, seed=3)
    judge = cp.ScalarStack(range(1, 6), inference="mode").fit(texts.logits, texts.labels + 1)
    many = np.random.default_rng(0).normal(size=(ROWS, 5))
    table = {"item_id": [f"t{i}" for i in range(ROWS)]}
    table |= {f"logit_{k + 1}": many[:, k] for k in range(5)}
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folders = Path(name, "0"), Path(name, "1")
        for folder in folders:
            folder.mkdir()
            judge.save(folder / "c.cordial")
            write_table(folder / "r.parquet", table)
        command = [sys.executable, "-c", PROGRAM, "predict", "c.cordial", "r.parquet"]
        command += ["-o", "out.csv", "--quiet"]
        run = partial(subprocess.run, command, check=True, stderr=subprocess.DEVNULL)
        run(cwd=folders[0])  # Compiles.
        begun = time.monotonic()
        list(pool.map(lambda folder: run(cwd=folder), folders))
        whole = time.monotonic() - begun
        new = (folders[0] / "out.csv").read_bytes()
        for done in range(2, kills + 2, 2):
            for counts in pool.map(
                partial(kill_one, command, whole, new), folders, (done - 2, done - 1)
            ):
                seen.update(counts)
            if done % 10 == 0:
                print(f"{done} killed: {dict(seen)}", flush=True)
    yield from (f"{seen[name]} {name}" for name in ("neither", "left") if seen[name])


def kill_one(
    command: list[str], whole: float, new: bytes, folder: Path, number: int
) -> Counter[str]:
    """Kill a command of a duration in a folder, every third while it writes; count what is left."""
    rng, inputs = random.Random(number), {*os.listdir(folder), "out.csv"}
    (folder / "out.csv").write_bytes(b"old")
    running, seen = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL), Counter()
    # What is written has no name: a descriptor of the process says that it is.
    if number % 3 == 0:
        while running.poll() is None and not _is_writing(running.pid, folder):
            time.sleep(0.002)
        seen["while writing"] += running.poll() is None
        time.sleep(rng.uniform(0, 0.05))
    else:
        time.sleep(rng.uniform(0, whole))
    running.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
    running.wait()
    content = (folder / "out.csv").read_bytes()
    seen["old" if content == b"old" else "new" if content == new else "neither"] += 1
    seen["left"] += {*os.listdir(folder)} != inputs
    return seen


def _is_writing(process: int, folder: Path) -> bool:
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        return False
    return any(link.startswith(f"{folder}/") and "(deleted)" in link for link in links)


if __name__ == "__main__":
    main()
