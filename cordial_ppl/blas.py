"""Products of small matrices run on one core: threads of BLAS that wait for each other cost more.

Beside other work on the same cores they make products of a few rows and columns up to a hundred
times slower.
"""

from collections.abc import Callable
from functools import cache, wraps

from threadpoolctl import ThreadpoolController


def on_one_core[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a function use one thread of BLAS, and give back what there were before."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return run


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
