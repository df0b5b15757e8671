"""Fitted fusions on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels.channel import Channel
from cordial_ppl.errors import naming
from cordial_ppl.estimators.fusion.fusion_fit import JOINT, FusionFit
from cordial_ppl.estimators.stack_files import (
    AnyFitRecord,
    FitRecord,
    LabelledRecord,
    PosteriorRecord,
)
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.runtime.storage import blaming, require
from cordial_ppl.stack.fit import Fit

KIND = "fusion"


class FusionRecord(AnyFitRecord):
    """A fitted fusion; names are those of ``FusionFit``.

    Attributes:
        stacks: fit of each stack by member.
        joint: posterior of the channel over all readers; None for a single reader.
    """

    settings: dict[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " _R"]
    trust: Float[np.ndarray, " _R"]
    options: tuple[str, ...] | None
    stacks: dict[str, FitRecord]
    joint: PosteriorRecord | None
    provenance: dict[str, list[str]] = {}


def save(fit: FusionFit, path: str | Path) -> None:
    """Write a fit to one file.

    Raises:
        FileError: the file cannot be written.
    """
    joint = fit.members.get(JOINT.name)
    FusionRecord.take(
        fit,
        labelled=LabelledRecord.of(fit.entered),
        stacks={
            name: FitRecord.of(member, "Cordial")
            for name, member in fit.members.items()
            if isinstance(member, Fit)
        },
        joint=PosteriorRecord.of(joint) if isinstance(joint, Posterior) else None,
    ).save(path, KIND)


def read(path: str | Path, channels: Sequence[str | Path | Channel]) -> FusionFit:
    """Read a fit; arguments and errors are those of ``cp.load``."""
    saved = FusionRecord.load(path, KIND)
    members: dict[str, Fit | Posterior] = {}
    for name, record in saved.stacks.items():
        with naming(name):
            members[name] = record.restore(path, channels)
    with blaming(path):
        readers, texts = saved.readers, saved.labelled.restore(saved.scale.size)
        read, number = texts.read, len(readers)
        scales = {record.scale for record in saved.stacks.values()}
        require(scales == {saved.scale}, "the stacks have different scales")
        require(texts.logits.shape[1:-1] == (number,), "the labelled texts do not match the judges")
        require((*members,)[:number] == readers, "the judges do not match their stacks")
        require(len(saved.spreads) == number, "the spreads do not match the judges")
        shares = ((saved.trust > 0) & (saved.trust <= 1)).all()
        require(shares, "the weights of the average are not in (0, 1]")
        if saved.joint is not None:
            members[JOINT.name] = saved.joint.restore(JOINT, read)
        saved.check(members, len(read.labels))
        return saved.give(FusionFit, members=members, entered=texts)
