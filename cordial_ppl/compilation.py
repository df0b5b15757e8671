"""How the package compiles: many programs of moderate size that run side by side.

XLA would split each program over all cores.  At these sizes that gains nothing, and a core that is
busy with something else then holds up every step.  Whole programs run in threads instead.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakSet

import jax
import numpy as np

from cordial_ppl import executables
from cordial_ppl.garbage import paused
from cordial_ppl.progress import compiling

TRACING = RLock()
"""Tracing is work for Python, which threads that do it at once only keep from one another."""

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

UNKNOWN: set[str] = set()
"""Options that this version of XLA was found not to know: it refuses to compile with them."""

MAPPINGS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
"""What the process has mapped into its memory, and how much of it the kernel allows."""

CROWDED = 0.6
"""Share of the allowed mappings from which programs are forgotten."""


class Program[**P, R]:
    """A function that is compiled once for every form of its arguments; see `compiled`."""

    everyone: WeakSet = WeakSet()

    def __init__(self, function: Callable[P, R], options: Mapping[str, bool | int | str]):
        """Compile nothing yet."""
        update_wrapper(self, function, updated=())
        self.jitted = jax.jit(function)
        self.options = {**OPTIONS, **options}
        self.ready: dict[Hashable, Callable[P, R]] = {}
        self.compiling = RLock()
        self.everyone.add(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function, compiled now or earlier."""
        if jax.config.jax_disable_jit:
            return self.jitted(*args, **kwargs)
        leaves, structure = jax.tree.flatten((args, kwargs))
        config = jax.config  # Each thread may have its own settings.
        settings = config.jax_enable_x64, config.jax_default_matmul_precision
        form = structure, settings, config.jax_default_device, *map(_kind, leaves)
        program = self.ready.get(form)
        if program is None:
            # A second thread waits rather than compile the same program again.
            with self.compiling:
                program = self.ready.get(form)
                if program is None:
                    return self._begin(form, leaves, *args, **kwargs)
        return program(*args, **kwargs)

    def _begin(self, form: Hashable, leaves: list[Any], *args: P.args, **kwargs: P.kwargs) -> R:
        """Load the program or compile it, and run it."""
        with compiling():
            with TRACING, paused():
                _make_room()
                lowered = self.jitted.lower(*args, **kwargs)
            path = executables.find(lowered, leaves, self.options)
            # What can be loaded may yet fail to run: it is compiled then.
            with suppress(Exception):
                if path and (program := executables.load(path, lowered)):
                    result = jax.block_until_ready(program(*args, **kwargs))
                    self.ready[form] = program
                    return result
        with compiling("compiling, for this run and later ones" if path else "compiling"):
            program = self.ready[form] = _compile(lowered, self.options)
        if path:
            executables.keep(path, program)
        return program(*args, **kwargs)


def compiled[**P, R](function: Callable[P, R], **options: bool | int | str) -> Callable[P, R]:
    """Compile a function by XLA, to run on one core of a CPU; no difference elsewhere.

    Threads trace one after the other; what they compile and run of different functions, they do
    side by side.  What is compiled is kept on disk for the next process; see `executables`.

    Args:
        function: a pure function of arrays; not to be called within another program.
        options: what XLA is told besides `OPTIONS`, such as ``xla_backend_optimization_level=1``.
    """
    return Program(function, options)


def _kind(leaf: Any) -> Hashable:
    """What of an argument a program depends on."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.shape, leaf.dtype
    if isinstance(leaf, jax.Array):
        return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False), leaf.sharding
    return type(leaf)


def _compile(lowered: Any, options: Mapping[str, bool | int | str]) -> Any:
    """Compile with the options that this version of XLA knows."""
    while True:
        known = {name: value for name, value in options.items() if name not in UNKNOWN}
        try:
            return lowered.compile(compiler_options=known)
        except jax.errors.JaxRuntimeError as error:
            unknown = {name for name in known if name in str(error)}
            if not unknown:
                raise
            UNKNOWN.update(unknown)


def _make_room() -> None:
    """Forget all programs before the process has as many mappings as the kernel allows.

    One more would be a segmentation fault.  Programs are compiled again, or read, when needed.
    """
    try:
        mapped, allowed = (path.read_bytes() for path in MAPPINGS)
    except OSError:
        return
    if mapped.count(b"\n") > CROWDED * int(allowed):
        for program in list(Program.everyone):
            program.ready.clear()
        jax.clear_caches()


def workers(jobs: int) -> int:
    """Number of threads for a number of programs: one each, up to the cores it may run on.

    ``OMP_NUM_THREADS`` limits them further, as batch systems and Ray set it for their workers.
    """
    # Linux alone tells how many cores a container or a batch system has left to the process.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(jobs, cores, int(told) if told.isdigit() else cores))
