"""JAX's platform: it starts before anything else is blamed, and not in a process forked later."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

EXHAUSTED = "RESOURCE_EXHAUSTED", "out of memory", "OUT_OF_MEMORY", "Cannot allocate memory"
"""What XLA, CUDA and the system say where memory ran out."""

_forked = False
"""Whether this process was forked after JAX had started."""


def start_jax() -> None:
    """Start JAX, unless it runs.

    Raises:
        CordialError: the platform that the environment names does not start, programs are not
            compiled (``JAX_DISABLE_JIT``), or this process was forked from one in which JAX ran.
    """
    import jax

    from cordial_ppl.errors import CordialError

    if _forked:
        # Computations would wait for ever for threads that only the parent has.
        raise CordialError(
            "JAX ran in the parent process, so JAX cannot run in this forked process. Start "
            "workers with multiprocessing.get_context('spawn'), or load, fit and predict only "
            "after the fork (gunicorn without --preload)."
        )
    if jax.config.jax_disable_jit:
        raise CordialError(
            "JAX_DISABLE_JIT is set, but this package needs compiled programs. Unset the variable, "
            "or exit jax.disable_jit() before you call the package."
        )
    _start()


def on_host() -> AbstractContextManager[None]:
    """Compute on this machine's CPU, also where JAX finds an accelerator.

    A single fit has too little to compute for an accelerator.
    """
    import jax

    device = find_host()
    return nullcontext() if device is None else jax.default_device(device)


@cache
def find_host() -> Any:
    """Return this machine's CPU as JAX's device; None where JAX knows an accelerator alone."""
    import jax

    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS names an accelerator alone.
        return None


@cache
def _start() -> None:
    import jax

    from cordial_ppl.errors import CordialError

    try:
        jax.devices()
    except Exception as error:  # Plugins raise what they like, such as an AssertionError.
        former = os.environ.get("JAX_PLATFORM_NAME")  # JAX prefers it.
        named = former or jax.config.jax_platforms
        platform = f" on the platform {named!r}" if named else ""
        words = " ".join(str(error).split()) or "no device or plugin found"
        advice = "Unset JAX_PLATFORM_NAME" if former else "Set JAX_PLATFORMS=cpu, or unset it"
        raise CordialError(f"JAX cannot start{platform}: {words.rstrip('.')}. {advice}.") from error


@contextmanager
def counting_memory() -> Iterator[None]:
    """Tell a lack of memory from every other fault.

    Raises:
        CordialError: memory ran out, of this machine or of an accelerator.
    """
    from cordial_ppl.errors import CordialError

    try:
        yield
    except Exception as error:
        words = str(error)
        if not isinstance(error, MemoryError) and not any(sign in words for sign in EXHAUSTED):
            raise
        where = sys.modules["jax"].default_backend() if "RESOURCE" in words else "this machine"
        reason = " ".join(words.split())[:200].rstrip(".")
        raise CordialError(
            f"out of memory on {where}: {reason or type(error).__name__}. Free memory, allow the "
            "process more memory, or, if an accelerator ran out of memory, set JAX_PLATFORMS=cpu."
        ) from error


def _note_fork() -> None:
    """Note in a child whether JAX ran in its parent."""
    global _forked
    # Also what the user's own program has started.
    _forked = _forked or bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
