"""From a name or a path to a channel: the paper's by name, anybody's from a file.

A channel file is a Python file with a function ``model(readings, labels=None)``; it may say what
its parameters mean (``PARAMETERS``), what its covariates are like (``EXAMPLES``, ``LEVELS``) and
that it takes several readers (``SEVERAL``).
Loading one by its path RUNS THE CODE IN IT, as importing a module would: load only files you trust.
"""

import copyreg
import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import msgspec

from cordial_ppl.channels import CHANNELS, READER_CHANNELS
from cordial_ppl.channels.channel import Channel
from cordial_ppl.errors import ChannelError, say_error

SETTINGS = {
    "PARAMETERS": (
        dict[str, Annotated[str, msgspec.Meta(pattern=r"\S")]],
        "map each parameter to its description, as in {'skew': 'log ratio of ...'}",
    ),
    "EXAMPLES": (
        dict[str, tuple[float, float]],
        "map each covariate to its range, as in {'length': (20, 500)}",
    ),
    "LEVELS": (
        dict[str, Annotated[int, msgspec.Meta(gt=0)]],
        "map each covariate to its number of levels, as in {'user': 12}",
    ),
}
"""What a file may say of its parameters and covariates, and how a message puts it."""


def load_channel(channel: str | Path | Channel) -> Channel:
    """Find a channel by its name, or load it from a file.

    Args:
        channel: a name such as "mixture", "location" or "location-readers", a path that ends in
            ``.py`` (its code is run), or a channel, which is returned as it is.

    Returns:
        The channel; one loaded from a file is named after the file and remembers its path and
        digest.

    Raises:
        ChannelError: no such name or file, or the file cannot be run or defines no ``model``.
    """
    if isinstance(channel, Channel):
        return channel
    named = CHANNELS | READER_CHANNELS
    if str(channel) in named:
        return named[str(channel)]
    if not str(channel).endswith(".py"):
        raise ChannelError(
            f"unknown channel {str(channel)!r}. Choose one of {', '.join(named)}, or pass the path "
            "of a .py file or, in Python, Channel(name, model)."
        )
    try:
        path = Path(channel).expanduser().resolve()
        exists = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # No home, or no name of any file.
        raise ChannelError(f"cannot find a channel file at {channel!r}: {error}.") from error
    if not exists:
        raise ChannelError(f"cannot find a channel file at {channel}.")
    return _load_file(path, path.stat().st_mtime_ns)


def unpickle_channel(source: str, digest: str) -> Channel:
    """Load a pickled channel of a file again: a model of no module is known by its file.

    Raises:
        ChannelError: the file is not there any more, or has other contents.
    """
    channel = load_channel(source)
    if channel.digest != digest:
        raise ChannelError(f"{source} has changed since its channel was pickled.")
    return channel


def _pickle(channel: Channel) -> tuple[Callable[..., Channel], tuple]:
    if channel.source:
        return unpickle_channel, (channel.source, channel.digest)
    return Channel, tuple(channel)


copyreg.pickle(Channel, _pickle)


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
        raise ChannelError(f"the channel file {path} raised an error: {problem}") from error
    model = getattr(module, "model", None)
    if not callable(model):
        raise ChannelError(f"{path} does not define a function model(readings, labels=None).")
    return Channel(
        name=path.stem,
        model=model,
        source=str(path),
        digest=hashlib.sha256(source).hexdigest(),
        examples=tuple((name, *ends) for name, ends in _read_settings(module, "EXAMPLES").items()),
        several=bool(getattr(module, "SEVERAL", False)),
        levels=tuple(_read_settings(module, "LEVELS").items()),
        parameters=tuple(
            (name, " ".join(words.split()))
            for name, words in _read_settings(module, "PARAMETERS").items()
        ),
    )


def _read_settings(module: ModuleType, name: str) -> dict[str, Any]:
    """What a file says of its parameters or covariates."""
    kind, expected = SETTINGS[name]
    value = getattr(module, name, {})
    with suppress(msgspec.ValidationError):
        texts = msgspec.convert(value, kind)
        if name != "EXAMPLES" or all(low < high for low, high in texts.values()):
            return texts
    raise ChannelError(f"{name} in {module.__file__} must {expected}; got {value!r}.")
