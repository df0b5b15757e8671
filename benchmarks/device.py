"""Fits a second on this machine's accelerator, or on its CPU by the same programs.

A fit is one channel ("mixture", 20 labels) with its four folds; four channels make a stack.  Label
subsets are fitted by the default and by the paper's literal method, many at a time: fits a second
once compiled, seconds of compiling, problems that a call takes (a fit is five), memory, and by how
much predictive probabilities differ from the host's (root mean square over the first subsets),
beside what another seed changes there.  A GPU takes eight minutes at most.
"""

import re
import resource
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from time import perf_counter

import jax
import numpy as np
from jax import monitoring
from jax.sharding import Mesh
from measurement import Key, Line, Timed, list_records

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.subsets import make_cases
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference import accelerator, lanes
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.effort import DEFAULT_EFFORT
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.state import PRECISION
from cordial_ppl.inference.target import Target, build_target

LABELS, REPORT, POOL = 20, 40, 2000
HOST = 16
"""Subsets that the host fits too."""

METHODS = {"default": "default", "paper": "laplace"}
TEXTS = reviews(POOL + REPORT, seed=4)
UNSEEN = as_logits(TEXTS.logits[POOL:])

compiling: list[float] = []
"""Seconds that XLA compiled."""


def draw_cases(count: int, seed: int) -> list[Case]:
    """Draw label subsets, the first of them the same whatever their number."""
    each = [np.random.default_rng([1, i]).permutation(POOL)[:LABELS] for i in range(count)]
    pool = Labelled(as_logits(TEXTS.logits[:POOL]), TEXTS.labels[:POOL])
    cases = make_cases(pool, np.stack(each), range(count))
    return [case._replace(seed=(seed, *case.seed)) for case in cases]


def rms(one: np.ndarray, other: np.ndarray) -> float:
    """Root mean square difference."""
    return float(np.sqrt(np.mean((one - other) ** 2)))


@cache
def build() -> Target:
    """Build the channel, and listen to how long compiling takes."""

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if "backend_compile" in event:
            compiling.append(duration_secs)

    monitoring.register_event_duration_secs_listener(listen)
    return build_target(CHANNELS["mixture"], 5)


def describe_device() -> str:
    """Name the device."""
    first = jax.devices()[0]
    if first.platform != "cpu":
        return f"{len(jax.devices())} x {first.device_kind}"
    names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return f"CPU, {len(names)} cores, {(names or ['of another kind'])[0]}"


@cache
def fit_on_host(method: str, seed: int) -> tuple[np.ndarray, float]:
    """Predict by the host's fits to the first subsets; return fits a second too."""
    target, cases = build(), draw_cases(HOST, seed)
    fit_cases(target, cases[:1], method=method)
    start = perf_counter()
    fits = fit_cases(target, cases, method=method)
    rate = HOST / (perf_counter() - start)
    return np.stack([fit.fitted.predict(UNSEEN, {})[0] for fit in fits]), rate


def run(draw: int, device: str, method: str, count: int) -> Line:
    """Fit so many subsets at once, and again where much of the time was compiling."""
    target, cases, default = build(), draw_cases(count, 0), method == "default"
    probs, seconds, compiled = np.zeros(0), [], []
    jax.config.update("jax_enable_compilation_cache", False)  # Compiling is timed.
    while len(seconds) < 2:
        compiling.clear()
        start = perf_counter()
        texts = without_labels(UNSEEN, {})
        _, probs = accelerator.fit_batch(target, cases, texts, method=METHODS[method])
        seconds.append(perf_counter() - start)
        compiled.append(sum(compiling))
        if compiled[-1] < 0.05 * seconds[-1]:
            break
    points, precision = (DEFAULT_EFFORT.particles, PRECISION) if default else (12, np.float64)
    mesh = Mesh(np.array(jax.devices()), (lanes.AXIS,))
    problems = min(count, 256) if default else 5 * min(count, accelerator.CASES)
    (host, rate), other = (fit_on_host(METHODS[method], seed) for seed in (0, 1))
    some = min(count, HOST)
    # Of the device, or of a CPU's process.
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", usage)
    return {
        "fits a second": count / seconds[-1],
        "seconds": seconds[-1],
        "compiling": compiled[0],
        "at a time": int(lanes.count_lanes(mesh, problems, points, target, precision, 32)),
        "memory GiB": memory / 2**30,
        "from the host": rms(probs[:some], host[:some]),
        "between seeds": rms(host, other[0]),
        "host's fits a second": rate,
    }


def list_cells(draw: int, sizes: tuple[int, ...], platforms: tuple[str, ...]) -> Iterator[Key]:
    """List methods and sizes; none on other devices."""
    if jax.devices()[0].platform in platforms:
        yield from ((describe_device(), method, size) for method in METHODS for size in sizes)


MEASUREMENTS = tuple(
    Timed(
        name,
        partial(list_cells, sizes=sizes, platforms=platforms),
        run,
        partial(list_records, names="device method subsets"),
        1,
    )
    for name, sizes, platforms in (
        ("device-cpu", (1, 64), ("cpu",)),
        ("device-gpu", (1, 64, 1024, 8192), ("gpu", "tpu")),
    )
)
