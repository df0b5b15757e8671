"""How the package compiles: many programs of moderate size that run side by side.

XLA would split each program over all cores.  At these sizes that gains nothing, and a core that is
busy with something else then holds up every step.  Whole programs run in threads instead.
"""

import os
from collections.abc import Callable
from functools import lru_cache

import jax

OPTIONS: dict[str, bool | int | str] = {
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


@lru_cache(maxsize=1)
def known() -> dict[str, bool | int | str]:
    """The options that this version of XLA knows: it refuses to compile with others."""
    found = {}
    for name, value in OPTIONS.items():
        try:
            jax.jit(lambda: 0.0).lower().compile(compiler_options={name: value})
            found[name] = value
        except jax.errors.JaxRuntimeError:
            pass
    return found


def compiled[**P, R](function: Callable[P, R], **options: bool | int | str) -> Callable[P, R]:
    """Compile a function by XLA, to run on one core of a CPU.

    Args:
        function: a pure function of arrays.
        options: what XLA is told besides `OPTIONS`.
    """
    jitted = jax.jit(function, compiler_options={**known(), **options})
    return jitted


def workers(jobs: int) -> int:
    """Number of threads for a number of programs: one each, up to the cores it may run on.

    ``OMP_NUM_THREADS`` limits them further, as batch systems and Ray set it for their workers.
    """
    # Linux alone tells how many cores a container or a batch system has left to the process.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(jobs, cores, int(told) if told.isdigit() else cores))
