"""Pauses of Python's search for garbage, while much is made that stays.

Importing JAX and tracing make very many objects, and nearly no garbage: looking for it again and
again takes time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Look for no garbage meanwhile; whoever has switched the search off finds it off."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()
