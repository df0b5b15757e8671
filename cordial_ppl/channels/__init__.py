"""The paper's channels as NumPyro models, and the registry that names them."""

from cordial_ppl.channel import Channel
from cordial_ppl.channels.location import location, location_vector
from cordial_ppl.channels.mixture import mixture, mixture_vector

CHANNELS: dict[str, Channel] = {
    name: Channel(name, model)
    for name, model in (
        ("mixture", mixture),
        ("mixture-vector", mixture_vector),
        ("location", location),
        ("location-vector", location_vector),
    )
}

__all__ = ["CHANNELS"]
