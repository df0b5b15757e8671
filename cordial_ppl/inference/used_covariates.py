"""Which covariates of the texts a fit uses."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels import is_ours
from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import count, list_names, warn

TRIED = 2
"""Texts that models are run with."""


def keep_used(
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    channels: Sequence[Channel],
    logits: Float[np.ndarray, "n *readers K"],
) -> dict[str, Float[np.ndarray, " n"]]:
    """Keep covariates that a channel looks up, and warn of others, such as misspelt ones.

    Args:
        covariates: of the texts, by name; of a vector one an entry, "embedding[0]" and so on.
        channels: the channels that are fitted.
        logits: the texts' readings.

    Returns:
        Those that are used; all where a channel's model fails, of which the fit says more.
    """
    columns, used = dict(covariates), set[str]()
    # Those of this package use none.
    for channel in [each for each in channels if columns and not is_ours(each)]:
        from cordial_ppl.inference.tracing import find_used

        some = {name: column[:TRIED] for name, column in columns.items()}
        histogram = np.full(logits.shape[-1], 1 / logits.shape[-1])
        seen = logits if channel.several or logits.ndim == 2 else logits[:, 0]
        names = find_used(channel, Readings(np.zeros_like(seen[:TRIED]), histogram, some))
        if names is None:
            return columns
        used |= names
    kept = {name: column for name, column in columns.items() if {name, _whole(name)} & used}
    if unused := {_whole(name): None for name in columns if name not in kept}:
        looked_up = list_names(dict.fromkeys(map(_whole, kept)))
        rest = f"The channels use only {looked_up}" if kept else "No channel uses covariates"
        warn(f"ignored {count(len(unused), 'covariate')}: {list_names(unused)}. {rest}.")
    return kept


def _whole(name: str) -> str:
    """Return the name of the vector that an entry is of."""
    return name.partition("[")[0]
