"""The end of the program at once, while it may be importing anything."""

import os
import sys


def leave(status: int, words: str = "") -> None:
    """End the program at once, as a signal asks; unfinished files are removed.

    Args:
        status: The exit status.
        words: What is written on stderr first.
    """
    # Nothing can be imported while the program may be importing it.
    for module, name in (("progress", "clear"), ("outputs", "discard_unfinished")):
        getattr(sys.modules.get(f"cordial_ppl.runtime.{module}"), name, lambda: None)()
    os.write(2, words.encode())
    os._exit(status)
