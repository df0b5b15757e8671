"""The program `cordial`, run in this process as from a shell."""

import contextlib
import io
from typing import NamedTuple


class Ran(NamedTuple):
    """What a command printed, and its exit status."""

    stdout: str
    stderr: str
    status: int

    @property
    def output(self) -> str:
        """All that was printed."""
        return self.stdout + self.stderr


def run(*arguments: object) -> Ran:
    """Run the program with arguments; a bug passes through."""
    from cordial_ppl.cli.app import run

    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        status = run([str(argument) for argument in arguments])
    out, err = (stream.buffer.getvalue().decode() for stream in streams)  # pyright: ignore
    return Ran(out, err, status)
