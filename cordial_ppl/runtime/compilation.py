"""How the package compiles: many programs of moderate size that run side by side.

XLA would split each program over all cores.  At these sizes that gains nothing, and a core that is
busy with something else then holds up every step.  Whole programs run in threads instead.
"""

import ctypes
import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import lru_cache, wraps
from pathlib import Path
from threading import RLock, local
from typing import Any

import jax

from cordial_ppl.runtime.executables import LOADED, run_kept
from cordial_ppl.runtime.garbage import paused
from cordial_ppl.runtime.platform import on_host, start_jax

OPTIONS: dict[str, bool | int | str] = {
    "xla_cpu_multi_thread_eigen": False,
    # Half the width of AVX-512 is what XLA uses left to itself: sums over draws and texts run
    # faster at full width.  A CPU without it ignores the wish.
    "xla_cpu_prefer_vector_width": 512,
    # No fusions by YNNPACK, which return wrong numbers for some shapes: of two programs that differ
    # in the number of options, the second took what belongs to the first (jaxlib 0.12.0; see also
    # github.com/jax-ml/jax/issues/39103).
    "xla_cpu_experimental_ynn_fusion_type": "",
}
"""What XLA is told, where this version of it has the option."""

ONCE: dict[str, Any] = {"xla_backend_optimization_level": 0}
"""What it is told besides of a program that runs once: it compiles faster."""

MAPPINGS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
"""What the process has mapped into its memory, and how much of it the kernel allows."""

CROWDED = 0.6
"""Share of the allowed mappings from which programs are forgotten."""

BUILDING = RLock()
"""Threads that ask for a program at once get the same."""

TRACED = local()
"""Has an attribute ``programs`` in a thread that traced since memory was last looked at."""


@lru_cache(maxsize=64)
def is_option(name: str, value: bool | int | str) -> bool:
    """Return whether this version of XLA has an option: it refuses to compile with others."""
    try:
        jax.jit(lambda: 0.0).lower().compile(compiler_options={name: value})
    except jax.errors.JaxRuntimeError:
        return False
    return True


def compiled[**P, R](
    function: Callable[P, R], *, name: str = "", spread: bool = False, **options: bool | int | str
) -> Callable[P, R]:
    """Compile a function by XLA, to run on one core of a CPU.

    Args:
        function: a pure function of arrays.
        name: what it follows from beside the sources of this package; the executable of a function
            with a name, which returns a flat tuple of arrays, is kept on disk.
        spread: whether the function says itself on which devices it runs.
        options: what XLA is told besides `OPTIONS`, where it has the option.
    """

    @wraps(function)
    def trace(*args: P.args, **kwargs: P.kwargs) -> R:
        TRACED.programs = True
        with paused():
            return function(*args, **kwargs)

    @lru_cache
    def build() -> Callable[P, R]:
        asked = (OPTIONS | options).items()
        chosen = {name: value for name, value in asked if is_option(name, value)}
        return jax.jit(trace, compiler_options=chosen)

    lower = jax.jit(trace, keep_unused=True).lower

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        start_jax()
        with nullcontext() if spread else on_host():
            results: Any = run_kept(name, args, lower, OPTIONS | options) if name else None
            if results is None:
                with BUILDING:
                    jitted = build()
                results = jitted(*args, **kwargs)
        if vars(TRACED):
            vars(TRACED).clear()
            _make_room()
        return results

    return run


def _make_room() -> None:
    """Return memory that compiling took, and forget programs that the kernel has no room for.

    Part of a first fit's resident memory are pages that LLVM freed and the C library kept.  Beyond
    the mappings that the kernel allows, one more would be a segmentation fault: all programs are
    forgotten before, and compiled again, or read, when needed.
    """
    try:
        mapped, allowed = (path.read_bytes() for path in MAPPINGS)
    except OSError:
        return
    if mapped.count(b"\n") > CROWDED * int(allowed):
        jax.clear_caches()
        LOADED.clear()
    with suppress(AttributeError):  # Not every C library of Linux can.
        ctypes.CDLL(None).malloc_trim(0)


def workers(jobs: int) -> int:
    """Return the number of threads for a number of programs: one each, up to the process's cores.

    ``OMP_NUM_THREADS`` limits them further, as batch systems and Ray set it for their workers.
    """
    # Linux alone tells how many cores a container or a batch system has left to the process.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(jobs, cores, int(limit) if limit.isdigit() else cores))
