"""Several readers of the same texts: each calibrated by itself, then weighed together."""

from collections.abc import Sequence
from pathlib import Path

from cordial_ppl.channel import Channel
from cordial_ppl.cordial.files import blaming
from cordial_ppl.fusion import files
from cordial_ppl.fusion.comparisons import ConcatenatedDirichlet, LogitFusion, average_reading
from cordial_ppl.fusion.fusion import Fusion

__all__ = ["ConcatenatedDirichlet", "Fusion", "LogitFusion", "average_reading", "load"]


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Fusion:
    """Read a fitted fusion.

    Args:
        path: a file that ``save`` wrote.
        channels: the channel files that it was fitted with, if any; their code is run.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
        InputError: a channel file that is needed is not given, or has other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    state = files.read(path, channels)
    with blaming(path):
        return Fusion.restore(state)
