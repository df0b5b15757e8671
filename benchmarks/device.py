"""Fits a second on this machine's accelerator, or on its CPU by the same programs.

A fit is one channel ("mixture", 20 labels) with its four folds; four channels make a stack.  Label
subsets are fitted by the default and by the paper's literal method, 1, 64, 1,024 and 8,192 at a
time.  Prints a row for each: fits a second once compiled, seconds of compiling, problems that a
call takes (a fit is five), memory, and by how much predictive probabilities differ from the host's
(root mean square over the first subsets), beside what another seed changes there.

    python benchmarks/device.py                       # one GPU: eight minutes at most
    python benchmarks/device.py --subsets 1 64        # a CPU
    python benchmarks/device.py --write               # and into device.csv and docs/sweeps.md

Sizes that would not be done in ``--limit`` seconds are left out, and said to be.
"""

import argparse
import csv
import platform
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import monitoring
from jax.sharding import Mesh

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.subsets import make_cases
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference import accelerator, lanes
from cordial_ppl.inference.fitting import Case, fit_cases
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, PRECISION
from cordial_ppl.inference.target import build_target

LABELS, REPORT, POOL = 20, 40, 2000
HOST = 16
"""Subsets that the host fits too."""

METHODS = {"default": "default", "paper": "laplace"}
FIELDS = (
    *("device", "method", "subsets", "fits a second", "seconds", "compiling", "at a time"),
    *("memory GiB", "from the host", "between seeds", "host's fits a second"),
)
FILE = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs" / "sweeps.md"
MARKS = "<!-- benchmarks/device.py -->\n", "<!-- end -->\n"
TEXTS = reviews(POOL + REPORT, seed=4)
UNSEEN = as_logits(TEXTS.logits[POOL:])

compiling: list[float] = []
"""Seconds that XLA compiled."""


def listen(event: str, duration_secs: float, **_: str | int) -> None:
    """Note what compiling takes."""
    if "backend_compile" in event:
        compiling.append(duration_secs)


def subsets(count: int) -> list[Case]:
    """Draw label subsets, the first of them the same whatever their number."""
    rows = np.stack(
        [np.random.default_rng([1, i]).permutation(POOL)[:LABELS] for i in range(count)]
    )
    pool = Labelled(as_logits(TEXTS.logits[:POOL]), TEXTS.labels[:POOL])
    return make_cases(pool, rows, range(count))


def rms(one: np.ndarray, other: np.ndarray) -> float:
    """Root mean square difference."""
    return float(np.sqrt(np.mean((one - other) ** 2)))


def describe() -> str:
    """Name the device."""
    first = jax.devices()[0]
    if first.platform != "cpu":
        return f"{len(jax.devices())} x {first.device_kind}"
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"CPU, {len(names)} cores, {names[0]}" if names else f"CPU, {platform.machine()}"


def memory() -> float:
    """Return the most that was in use, GiB: of the device, or of a CPU's process."""
    stats = jax.devices()[0].memory_stats() or {}
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return stats.get("peak_bytes_in_use", usage) / 2**30


def by_host(target: Any, method: str, seed: int) -> tuple[np.ndarray, float]:
    """Predict by the host's fits to the first subsets; return fits a second too."""
    cases = [case._replace(seed=(seed, *case.seed)) for case in subsets(HOST)]
    fit_cases(target, cases[:1], method=method)
    start = time.perf_counter()
    fits = fit_cases(target, cases, method=method)
    rate = HOST / (time.perf_counter() - start)
    return np.stack([fit.fitted.predict(UNSEEN, {})[0] for fit in fits]), rate


def measure(target: Any, method: str, count: int) -> tuple[np.ndarray, dict[str, float]]:
    """Fit so many subsets at once, and again where much of the time was compiling."""
    cases = [case._replace(seed=(0, *case.seed)) for case in subsets(count)]
    seconds, compiled = [], []
    while len(seconds) < 2:
        compiling.clear()
        start = time.perf_counter()
        texts = without_labels(UNSEEN, {})
        _, probs = accelerator.fit_batch(target, cases, texts, method=METHODS[method])
        seconds.append(time.perf_counter() - start)
        compiled.append(sum(compiling))
        if compiled[-1] < 0.05 * seconds[-1]:
            break
    points, precision = (
        (DEFAULT_EFFORT.particles, PRECISION) if method == "default" else (12, np.float64)
    )
    mesh = Mesh(np.array(jax.devices()), (lanes.AXIS,))
    problems = 5 * min(count, accelerator.CASES) if method == "paper" else min(count, 256)
    width = lanes.count_lanes(mesh, problems, points, target, precision, 32)
    row = {"fits a second": count / seconds[-1], "seconds": seconds[-1], "compiling": compiled[0]}
    return probs, row | {"at a time": width, "memory GiB": memory()}


def write(rows: list[dict[str, str]]) -> None:
    """Keep the rows beside those of other devices, and put the table into the page."""
    kept = list(csv.DictReader(FILE.open())) if FILE.exists() else []
    devices = {row["device"] for row in rows}
    rows = [row for row in kept if row["device"] not in devices] + rows
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    PAGE.write_text(before + MARKS[0] + table(rows) + MARKS[1] + rest.partition(MARKS[1])[2])


def table(rows: list[dict[str, str]]) -> str:
    """Return the rows as Markdown."""
    lines = [FIELDS, ["---"] * len(FIELDS), *([row[field] for field in FIELDS] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subsets", type=int, nargs="+", default=[1, 64, 1024, 8192])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--limit", type=float, default=480.0, help="seconds in all, about")
    parser.add_argument("--write", action="store_true", help="into device.csv and the page")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    monitoring.register_event_duration_secs_listener(listen)
    begin, name, rows = time.perf_counter(), describe(), []
    target = build_target(CHANNELS["mixture"], 5)
    for number, method in enumerate(args.methods, 1):
        host, rate = by_host(target, METHODS[method], 0)
        noise, until = rms(host, by_host(target, METHODS[method], 1)[0]), args.limit
        # Each method has its share of the time.
        until *= number / len(args.methods)
        pace = compiled = 0.0
        for count in args.subsets:
            row = {"device": name, "method": method, "subsets": f"{count:,}"}
            left = until - (time.perf_counter() - begin)
            if left < count * pace + compiled:
                print(f"{method}, {count:,} subsets: left out, for want of time", flush=True)
                continue
            probs, figures = measure(target, method, count)
            pace, compiled = figures["seconds"] / count, figures["compiling"]
            some = min(count, HOST)
            row |= {key: f"{value:,.3g}" for key, value in figures.items()}
            row["from the host"] = f"{rms(probs[:some], host[:some]):.1g}"
            row |= {"between seeds": f"{noise:.1g}", "host's fits a second": f"{rate:.3g}"}
            rows.append(row)
            print("; ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    print("\n" + table(rows))
    if args.write:
        write(rows)


if __name__ == "__main__":
    main()
