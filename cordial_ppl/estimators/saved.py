"""`load`: read whatever was saved."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cordial_ppl.channels.channel import Channel
from cordial_ppl.runtime import storage


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Any:
    """Load a fitted stack, a fusion of several judges, or a fitted user shift.

    Args:
        path: a file that ``save`` wrote.
        channels: the channel files with which a stack was fitted, if any; their code is run.

    Returns:
        The saved object, ready to predict.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or has a different version.
        InputError: a channel file with which the stack was fitted is missing from ``channels`` or
            has changed.
        ChannelError: a file in ``channels`` does not define a channel.
    """
    kind = storage.find_kind(path)
    if kind == "users":
        from cordial_ppl.estimators import users as personal

        return personal.load(path)
    if kind == "fusion":
        from cordial_ppl.estimators import fusion

        return fusion.load(path, channels=channels)
    from cordial_ppl.estimators.named import NAMED, stack_of
    from cordial_ppl.estimators.stack_files import KIND, FitRecord

    record = FitRecord.load(path, KIND)
    fit = record.restore(path, channels)
    with storage.blaming(path):
        return stack_of(fit, NAMED[record.estimator])
