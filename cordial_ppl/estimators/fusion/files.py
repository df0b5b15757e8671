"""Fitted fusions on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import naming
from cordial_ppl.estimators.files import PosteriorRecord, StackRecord, check_shares
from cordial_ppl.estimators.fusion.fusion import Fusion
from cordial_ppl.estimators.fusion.joint import JOINT
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.storage import Record, blaming
from cordial_ppl.stack.settings import check_counts
from cordial_ppl.stack.weighing import ExpectedLoss

KIND = "fusion"
LEARNED = (
    *("scale", "readers", "weights", "expected", "covariates"),
    *("labels", "sample_weight", "texts", "out_of_fold"),
)
"""Fields of a file that are attributes of the fit, whose names end in "_"."""


class FusionRecord(Record):
    """A fitted fusion; see ``Fusion`` for what `LEARNED` names.

    Attributes:
        settings: arguments of the fusion, in plain data.
        spreads: spread of each reader's logits, nats.
        stacks: each stack by member.
        joint: posterior of the channel over all readers; None for a single reader.
    """

    scale: Scale
    settings: dict[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " _R"]
    stacks: dict[str, StackRecord]
    joint: PosteriorRecord | None
    weights: dict[str, float]
    expected: ExpectedLoss
    covariates: tuple[str, ...]
    labels: Int64[np.ndarray, " _n"]
    sample_weight: Float64[np.ndarray, " _n"]
    texts: Int64[np.ndarray, " _n"]
    out_of_fold: Float64[np.ndarray, "_n _K"] | None = None


def save(fusion: Fusion, path: str | Path) -> None:
    """Write a fitted fusion."""
    settings = {
        "average": bool(fusion.average),
        "inference": fusion.inference,
        "weight_counts": check_counts(fusion.weight_counts, tuple(fusion.fits_)),
        "seed": int(fusion.seed),
        "named": fusion.options is not None,
        "effort": fusion.effort._asdict(),
    }
    joint = fusion.fits_.get(JOINT.name)
    record = FusionRecord(
        settings=settings,
        spreads=fusion._spreads,
        stacks={k: StackRecord.of(v) for k, v in fusion.fits_.items() if isinstance(v, Stack)},
        joint=PosteriorRecord.of(joint) if isinstance(joint, Posterior) else None,
        **{name: getattr(fusion, f"{name}_") for name in LEARNED},
    )
    storage.write(path, KIND, *storage.pack(record))


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Fusion:
    """Read a fitted fusion; arguments and errors are those of ``cp.load``."""
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        saved = storage.unpack(FusionRecord, meta, arrays)
        settings = dict(saved.settings)
        options = saved.scale.options if settings.pop("named") else None
        effort = Effort(**settings.pop("effort"))
        fusion = Fusion(options, readers=saved.readers, effort=effort, **settings)
    fits: dict[str, Stack | Posterior] = {}
    for name, record in saved.stacks.items():
        with naming(name):
            fits[name] = record.restore(path, channels, Stack.NAMED)
    with blaming(path):
        readers, size = saved.readers, saved.scale.size
        if any(record.scale_ != saved.scale for record in saved.stacks.values()):
            raise ValueError("its stacks are of other scales")
        if tuple(fits)[: len(readers)] != readers or len(saved.spreads) != len(readers):
            raise ValueError("the readers and their stacks do not fit together")
        if saved.joint is not None:
            fits[JOINT.name] = saved.joint.restore(JOINT, size, len(readers))
        check_shares("weights", np.array(list(saved.weights.values())))
        if saved.weights.keys() != fits.keys():
            raise ValueError("the weights are of other members")
        labels, probs = saved.labels, saved.out_of_fold
        if not ((labels >= 0) & (labels < size)).all() or saved.sample_weight.min(initial=1) <= 0:
            raise ValueError("the labels, or their weights, are none")
        if probs is not None and probs.shape != (len(labels), size):
            raise ValueError("the out-of-fold probabilities are of other labels")
        for row in () if probs is None else probs:
            check_shares("out-of-fold probabilities", row)
    fusion.fits_, fusion._spreads = fits, saved.spreads
    vars(fusion).update({f"{name}_": getattr(saved, name) for name in LEARNED})
    return fusion
