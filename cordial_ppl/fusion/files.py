"""Fitted fusions on disk: the state of every member, as plain data in one file."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl import storage
from cordial_ppl.channel import Channel
from cordial_ppl.cordial import files
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.errors import naming
from cordial_ppl.fusion.joint import JOINT
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.scale import Scale

KIND = "fusion"
SPREADS = "spreads"


class State(NamedTuple):
    """All that a fitted fusion consists of.

    Attributes:
        scale: the scale.
        settings: what the fusion was made with, in plain data.
        readers: names of the readers.
        spreads: spread of each reader's logits, nats.
        stacks: each stack by member.
        joint: posterior of the channel over all readers; None for a single reader.
        weights: weight of each member by name.
        expected: out-of-fold log losses.
        covariates: names of the covariates that predictions need.
    """

    scale: Scale
    settings: dict[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " R"]
    stacks: dict[str, Stack]
    joint: Posterior | None
    weights: dict[str, float]
    expected: ExpectedLoss
    covariates: tuple[str, ...]


def write(path: str | Path, state: State) -> None:
    """Write the state of a fitted fusion to one file.

    Raises:
        FileError: the file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {SPREADS: state.spreads}
    stacks, joint = {}, None
    for number, (name, own) in enumerate(state.stacks.items()):
        stacks[name], found = files.pack(own)
        arrays |= files.under(f"{number}.", found)
    if state.joint is not None:
        joint, found = files.pack_posterior(state.joint)
        arrays |= files.under("joint.", found)
    meta = {
        "options": list(state.scale.options),
        "settings": state.settings,
        "readers": list(state.readers),
        "stacks": stacks,
        "joint": joint,
        "weights": state.weights,
        "expected": files.to_plain(state.expected._asdict()),
        "covariates": list(state.covariates),
    }
    storage.write(path, KIND, meta, arrays)


def read(path: str | Path, channels: Sequence[str | Path | Channel] = ()) -> State:
    """Read the state of a fitted fusion.

    Args:
        path: a file that ``write`` wrote.
        channels: the channel files that its stacks were fitted with, if any; their code is run.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
        InputError: a channel file that is needed is not given, or has other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    meta, arrays = storage.read(path, KIND)
    stacks = {}
    with files.blaming(path):
        entries = list(meta["stacks"].items())
        scale, readers = Scale(tuple(meta["options"])), tuple(meta["readers"])
    for number, (name, own) in enumerate(entries):
        found = files.take(arrays, f"{number}.")
        with naming(name):
            contents = files.unpack(path, own, found, channels)
            with files.blaming(path):
                stacks[name] = Stack.restore(contents)
    with files.blaming(path):
        joint, spreads = meta["joint"], arrays.pop(SPREADS)
        if joint is not None:
            found = files.take(arrays, "joint.")
            joint = files.unpack_posterior(JOINT, joint, found, scale.size, len(readers))
        members = [*stacks, *([JOINT.name] if joint is not None else [])]
        weights = {name: float(meta["weights"][name]) for name in members}
        if min(weights.values()) < 0 or not math.isclose(sum(weights.values()), 1, abs_tol=1e-6):
            raise ValueError("the weights do not sum to one")
        if list(stacks)[: len(readers)] != list(readers) or spreads.shape != (len(readers),):
            raise ValueError("the readers and their stacks do not fit together")
        if arrays or any(own.scale_ != scale for own in stacks.values()):
            raise ValueError(f"unexpected arrays {sorted(arrays)}, or stacks of another scale")
        return State(
            scale=scale,
            settings=dict(meta["settings"]),
            readers=readers,
            spreads=spreads,
            stacks=stacks,
            joint=joint,
            weights=weights,
            expected=files.as_figures(ExpectedLoss, meta["expected"]),
            covariates=tuple(map(str, meta["covariates"])),
        )
