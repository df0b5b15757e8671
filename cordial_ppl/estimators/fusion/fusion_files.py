"""Fitted fusions on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float, Float64, Int64

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import naming
from cordial_ppl.estimators.fusion.fusion_fit import FusionFit
from cordial_ppl.estimators.fusion.joint import JOINT
from cordial_ppl.estimators.stack_files import FitRecord, PosteriorRecord, check_shares
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.storage import Record, blaming
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.weighing import ExpectedLoss

KIND = "fusion"

VALUES = (
    *("settings", "scale", "readers", "spreads", "trust", "weights", "expected", "covariates"),
    *("labels", "sample_weight", "texts", "out_of_fold"),
)
"""Values of a fit that a file has as they are."""


class FusionRecord(Record):
    """A fitted fusion.

    Attributes:
        scale: the scale.
        settings: arguments of the fusion, in plain data.
        readers: names of the readers.
        spreads: spread of each reader's logits, nats.
        stacks: fit of each stack by member.
        joint: posterior of the channel over all readers; None for a single reader.
        weights: weight of each member by name.
        expected: out-of-fold log losses.
        covariates: names of the covariates that predictions need.
        labels: labels of the fit.
        sample_weight: what each counts.
        texts: which text each is of.
        out_of_fold: probabilities of the labelled texts.
        trust: weight of each reader in their average; None in older files, 1 for all.
    """

    scale: Scale
    settings: dict[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " _R"]
    stacks: dict[str, FitRecord]
    joint: PosteriorRecord | None
    weights: dict[str, float]
    expected: ExpectedLoss
    covariates: tuple[str, ...]
    labels: Int64[np.ndarray, " _n"]
    sample_weight: Float64[np.ndarray, " _n"]
    texts: Int64[np.ndarray, " _n"]
    out_of_fold: Float64[np.ndarray, "_n _K"] | None = None
    trust: Float[np.ndarray, " _R"] | None = None


def save(fit: FusionFit, path: str | Path) -> None:
    """Write a fit to one file.

    Raises:
        FileError: the file cannot be written.
    """
    joint = fit.members.get(JOINT.name)
    record = FusionRecord(
        stacks={
            name: FitRecord.of(member, "Cordial")
            for name, member in fit.members.items()
            if isinstance(member, Fit)
        },
        joint=PosteriorRecord.of(joint) if isinstance(joint, Posterior) else None,
        **{name: getattr(fit, name) for name in VALUES},
    )
    storage.write(path, KIND, *storage.pack(record))


def read(path: str | Path, channels: Sequence[str | Path | Channel]) -> FusionFit:
    """Read a fit; arguments and errors are those of ``cp.load``."""
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        saved = storage.unpack(FusionRecord, meta, arrays)
    members: dict[str, Fit | Posterior] = {}
    for name, record in saved.stacks.items():
        with naming(name):
            members[name] = record.restore(path, channels)
    with blaming(path):
        if any(record.scale != saved.scale for record in saved.stacks.values()):
            raise ValueError("its stacks are of other scales")
        readers, weights = saved.readers, saved.weights
        if tuple(members)[: len(readers)] != readers or len(saved.spreads) != len(readers):
            raise ValueError("the readers and their stacks do not fit together")
        if saved.trust is None:
            saved = msgspec.structs.replace(saved, trust=np.ones(len(readers)))
        elif not ((saved.trust > 0) & (saved.trust <= 1)).all():
            raise ValueError("the average does not weigh its readers")
        if saved.joint is not None:
            members[JOINT.name] = saved.joint.restore(JOINT, saved.scale.size, len(readers))
        check_shares("weights", np.array(list(weights.values())))
        if weights.keys() != members.keys():
            raise ValueError("the weights are of other members")
        labels, probs = saved.labels, saved.out_of_fold
        if not ((labels >= 0) & (labels < saved.scale.size)).all():
            raise ValueError("the labels are no options of the scale")
        if saved.sample_weight.min(initial=1) <= 0:
            raise ValueError("the weights of the labels are not positive")
        if probs is not None:
            if probs.shape != (len(labels), saved.scale.size):
                raise ValueError("the out-of-fold probabilities are of other labels")
            for row in probs:
                check_shares("out-of-fold probabilities", row)
        values = {name: getattr(saved, name) for name in VALUES}
        return FusionFit(members=members, **values)
