"""Channels as NumPyro models: the paper's four, one between its two forms, and the scalar ones."""

from cordial_ppl.channels.channel import Channel as Channel
from cordial_ppl.channels.forms import (
    bridge,
    location,
    location_readers,
    location_vector,
    mixture,
    mixture_vector,
    scalar,
    scalar_vector,
)
from cordial_ppl.channels.user_effects import user_channel as user_channel

CHANNELS: dict[str, Channel] = {
    (name := model.__name__.replace("_", "-")): Channel(name, model)
    for model in (mixture, mixture_vector, location, location_vector, bridge, scalar, scalar_vector)
}

READER_CHANNELS: dict[str, Channel] = {
    "location-readers": Channel("location-readers", location_readers, several=True)
}
"""Channels of several readers, whose logits are ``[n, R, K]``; members of no stack."""

PAPER_CHANNELS: tuple[str, ...] = ("mixture", "mixture-vector", "location", "location-vector")
"""The paper's members, with its calibrators."""

DEFAULT_CHANNELS: tuple[str, ...] = ("mixture", "mixture-vector", "location", "bridge")
"""Members of the default; what else is registered is a member of nothing by itself."""

AFFINE_CHANNELS: tuple[str, ...] = (*PAPER_CHANNELS, "bridge")
"""Those with the affine map of the scale, whose priors are learned from other tasks."""


def is_ours(channel: Channel) -> bool:
    """Whether the sources of this package, with the options, say all of a channel."""
    return (CHANNELS | READER_CHANNELS).get(channel.name) == channel


def is_built_in(channel: Channel) -> bool:
    """Whether a channel comes with the package, and not from a file or a caller."""
    return CHANNELS.get(channel.name) == channel
