"""From a name or a path to a channel: the paper's by name, anybody's from a file.

A channel file is a Python file with a function ``model(readings, labels=None)``.  Loading one by
its path RUNS THE CODE IN IT, as importing a module would: load only files you trust.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.errors import ChannelError, say_error


def load_channel(channel: str | Path | Channel) -> Channel:
    """Find a channel by its name, or load it from a file.

    Args:
        channel: a name in ``channels.CHANNELS`` such as "mixture" or "location", a path that
            ends in ``.py`` (its code is run), or a channel, which is returned as it is.

    Returns:
        The channel; one loaded from a file is named after the file and remembers its path and
        digest.

    Raises:
        ChannelError: no such name or file, or the file cannot be run or defines no ``model``.
    """
    if isinstance(channel, Channel):
        return channel
    if str(channel) in CHANNELS:
        return CHANNELS[str(channel)]
    if not str(channel).endswith(".py"):
        known = ", ".join(CHANNELS)
        raise ChannelError(
            f"no channel is called {str(channel)!r}; choose one of {known}, or give the path of a "
            "file that ends in .py."
        )
    try:
        path = Path(channel).expanduser().resolve()
        found = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # No home, or no name of any file.
        raise ChannelError(f"there is no channel file at {channel!r}: {error}.") from error
    if not found:
        raise ChannelError(f"there is no channel file at {channel}.")
    return _load_file(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _load_file(path: Path, _: int) -> Channel:
    """Run a file once for each time that it was changed, so that its model keeps its identity."""
    source = path.read_bytes()
    module = ModuleType(f"cordial_channel_{path.stem}")
    module.__file__ = str(path)
    try:
        # Not imported: bytecode kept beside the file may be of an older version.
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        problem = say_error(error, path)
        raise ChannelError(f"running the channel file {path} failed: {problem}") from error
    model = getattr(module, "model", None)
    if not callable(model):
        raise ChannelError(f"{path} defines no function model(readings, labels=None).")
    digest = hashlib.sha256(source).hexdigest()
    return Channel(path.stem, model, str(path), digest, _read_examples(module, path))


def _read_examples(module: ModuleType, path: Path) -> tuple[tuple[str, float, float], ...]:
    """The ranges that a file says its covariates have."""
    given = getattr(module, "EXAMPLES", {})
    try:
        ranges = tuple((str(name), float(low), float(high)) for name, (low, high) in given.items())
    except (AttributeError, TypeError, ValueError):
        ranges = (("", 1.0, 0.0),)
    if not all(low < high for _, low, high in ranges):
        raise ChannelError(
            f"EXAMPLES in {path} must name covariates with a range, as in {{'length': (20, 500)}}; "
            f"found {given!r}."
        )
    return ranges
