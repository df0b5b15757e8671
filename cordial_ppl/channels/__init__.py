"""The paper's channels as NumPyro models: its four, and the scalar ones it compares them with."""

from cordial_ppl.channel import Channel
from cordial_ppl.channels.location import location, location_vector
from cordial_ppl.channels.mixture import mixture, mixture_vector
from cordial_ppl.channels.scalar import scalar, scalar_vector

CHANNELS: dict[str, Channel] = {
    name: Channel(name, model)
    for name, model in (
        ("mixture", mixture),
        ("mixture-vector", mixture_vector),
        ("location", location),
        ("location-vector", location_vector),
        ("scalar", scalar),
        ("scalar-vector", scalar_vector),
    )
}

PAPER_CHANNELS: tuple[str, ...] = ("mixture", "mixture-vector", "location", "location-vector")
"""The paper's members, with its calibrators; what else is registered is a member of nothing."""

__all__ = ["CHANNELS", "PAPER_CHANNELS"]
