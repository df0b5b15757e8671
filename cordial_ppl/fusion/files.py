"""Fitted fusions on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from msgspec.structs import asdict, replace

from cordial_ppl import storage
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.files import PosteriorRecord, StackRecord, check_shares
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.errors import naming
from cordial_ppl.fusion.joint import JOINT
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.scale import Scale
from cordial_ppl.storage import Record, blaming

KIND = "fusion"


class State[S, P](Record):
    """A fitted fusion.

    Attributes:
        scale: the scale.
        settings: arguments of the fusion, in plain data.
        readers: names of the readers.
        spreads: spread of each reader's logits, nats.
        stacks: each stack by member; in a file, its record.
        joint: posterior of the channel over all readers; None for a single reader.
        weights: weight of each member by name.
        expected: out-of-fold log losses.
        covariates: names of the covariates that predictions need.
    """

    scale: Scale
    settings: dict[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " _R"]
    stacks: dict[str, S]
    joint: P | None
    weights: dict[str, float]
    expected: ExpectedLoss
    covariates: tuple[str, ...]


class Saved(State[StackRecord, PosteriorRecord]):
    """A fitted fusion as a file has it."""


def write(path: str | Path, state: State[Stack, Posterior]) -> None:
    """Write a fitted fusion to one file.

    Raises:
        FileError: the file cannot be written.
    """
    stacks = {name: StackRecord.of(stack) for name, stack in state.stacks.items()}
    joint = None if state.joint is None else PosteriorRecord.of(state.joint)
    storage.write(path, KIND, *storage.pack(replace(state, stacks=stacks, joint=joint)))


def read(
    path: str | Path, channels: Sequence[str | Path | Channel] = ()
) -> State[Stack, Posterior]:
    """Read a fitted fusion.

    Args:
        path: a file that ``write`` wrote.
        channels: the channel files that its stacks were fitted with, if any; their code is run.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of another version.
        InputError: a channel file that is needed is not given, or has other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        saved = storage.unpack(Saved, meta, arrays)
    stacks, readers, weights = {}, saved.readers, saved.weights
    for name, record in saved.stacks.items():
        with naming(name):
            contents = record.restore(path, channels)
            with blaming(path):
                stacks[name] = Stack.restore(contents)
    with blaming(path):
        joint = saved.joint and saved.joint.restore(JOINT, saved.scale.size, len(readers))
        check_shares("weights", np.array(list(weights.values())))
        if weights.keys() != stacks.keys() | ({JOINT.name} if joint else set()):
            raise ValueError("the weights are of other members")
        if tuple(stacks)[: len(readers)] != readers or len(saved.spreads) != len(readers):
            raise ValueError("the readers and their stacks do not fit together")
        if any(stack.scale_ != saved.scale for stack in stacks.values()):
            raise ValueError("its stacks are of other scales")
    return State(**asdict(saved) | {"stacks": stacks, "joint": joint})
