"""How the package compiles: many programs of moderate size that run side by side.

XLA would split each program over all cores.  At these sizes that gains nothing, and a core that is
busy with something else then holds up every step.  Whole programs run in threads instead.
"""

import os
from collections.abc import Callable

import jax

OPTIONS = {"xla_cpu_multi_thread_eigen": False}


def compiled[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with ``jax.jit``, to run on one core of a CPU; no difference elsewhere.

    Args:
        function: a pure function of arrays.
    """
    return jax.jit(function, compiler_options=OPTIONS)


def workers(jobs: int) -> int:
    """Number of threads for a number of programs: one each, up to the cores it may run on."""
    # Linux alone tells how many cores a container or a batch system has left to the process.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(jobs, cores))
