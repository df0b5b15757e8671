"""How the package compiles: many programs of moderate size that run side by side.

XLA would split each program over all cores.  At these sizes that gains nothing, and a core that is
busy with something else then holds up every step.  Whole programs run in threads instead.
"""

import os
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from threading import RLock

import jax

TRACING = RLock()
"""Tracing is work for Python, which threads that do it at once only keep from one another."""

OPTIONS = {
    "xla_cpu_multi_thread_eigen": False,
    # Half the width of AVX-512 is what XLA uses left to itself: sums over draws and texts take 0.6
    # times as long at full width.  A CPU without it ignores the wish.
    "xla_cpu_prefer_vector_width": 512,
    # No fusions by YNNPACK, which return wrong numbers for some shapes: of two programs that differ
    # in the number of options, the second took what belongs to the first (jaxlib 0.12.0; see also
    # github.com/jax-ml/jax/issues/39103).
    "xla_cpu_experimental_ynn_fusion_type": "",
}
"""What XLA is told, where this version of it knows the option."""

MAPPINGS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
"""What the process has mapped into its memory, and how much of it the kernel allows."""

CROWDED = 0.6
"""Share of the allowed mappings from which programs are forgotten."""

FORGOTTEN = [0]
"""How often all programs were forgotten."""


def compiled[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with ``jax.jit``, to run on one core of a CPU; no difference elsewhere.

    Threads trace one after the other; what they compile and run of different functions, they do
    side by side.

    Args:
        function: a pure function of arrays; not to be called within another program.
    """
    known, compiling = set(), RLock()

    @cache
    def program() -> Callable[P, R]:
        return jax.jit(function, compiler_options=_accepted())

    @wraps(function, updated=())
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves = jax.tree.leaves((args, kwargs))
        shapes = tuple(
            (getattr(leaf, "shape", ()), getattr(leaf, "dtype", None)) for leaf in leaves
        )
        if (FORGOTTEN[0], shapes) in known:
            return program()(*args, **kwargs)
        # Whoever comes second waits rather than compile the same program again.
        with compiling:
            if (FORGOTTEN[0], shapes) not in known:
                with TRACING:
                    _make_room()
                    # JAX remembers what it has lowered: the call below only compiles it.
                    program().lower(*args, **kwargs)
            result = program()(*args, **kwargs)
            known.add((FORGOTTEN[0], shapes))
        return result

    return run


def _make_room() -> None:
    """Forget all programs before the process has as many mappings as the kernel allows.

    A fit's programs take three thousand of 65,530, and whoever asks for one too many is ended by a
    segmentation fault.  What is needed again is compiled again, or read from the cache on disk.
    """
    try:
        mapped, allowed = (path.read_bytes() for path in MAPPINGS)
    except OSError:
        return
    if mapped.count(b"\n") > CROWDED * int(allowed):
        FORGOTTEN[0] += 1
        jax.clear_caches()


@cache
def _accepted() -> dict[str, bool | int | str]:
    """The options that this version of XLA knows: it refuses to compile with others."""

    def known(option: str) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options={option: OPTIONS[option]}).lower().compile()
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return {option: value for option, value in OPTIONS.items() if known(option)}


def workers(jobs: int) -> int:
    """Number of threads for a number of programs: one each, up to the cores it may run on."""
    # Linux alone tells how many cores a container or a batch system has left to the process.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(jobs, cores))
