"""The program `cordial`, run in this process as from a shell."""

import contextlib
import io
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """What a command printed, apart and in order, and its exit status."""

    stdout: str
    stderr: str
    output: str
    status: int


class Copied(io.BytesIO):
    """Bytes that another stream gets, too."""

    def __init__(self, other: io.BytesIO):
        super().__init__()
        self.other = other

    def write(self, data: Any) -> int:
        """Write to both."""
        self.other.write(data)
        return super().write(data)


def run(*arguments: object) -> Ran:
    """Run the program with arguments; a bug passes through."""
    from cordial_ppl.cli.app import run

    both = io.BytesIO()
    out, err = Copied(both), Copied(both)
    streams = [io.TextIOWrapper(each, "utf-8", write_through=True) for each in (out, err)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        status = run([str(argument) for argument in arguments])
    texts = [each.getvalue().decode() for each in (out, err, both)]
    return Ran(texts[0], texts[1], texts[2], status)
