"""Products of small matrices run on one core: BLAS threads that wait for each other cost more."""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, get_cached_controller

LOCK = Lock()
INSIDE: list[Any] = []
"""The limit that is in force, once for each function that runs: it holds for the whole process."""


def on_one_core[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a function use one thread of BLAS, and give back what there were before.

    Of several functions that run at once, the first one to start sets the limit and the last one to
    end gives the threads back.  They can be of different threads, of which threadpoolctl obeys one
    alone, the first to set a limit, as long as it lives: after each call that thread gives way.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with LOCK:
            controller = get_cached_controller()
            INSIDE.append(INSIDE[0] if INSIDE else controller.limit(limits=1, user_api="blas"))
            OpenBLASController.clear_controlling_thread()
        try:
            return function(*args, **kwargs)
        finally:
            with LOCK:
                limit = INSIDE.pop()
                if not INSIDE:
                    limit.restore_original_limits()
                    OpenBLASController.clear_controlling_thread()

    return run
