"""What the package knows of its own channels' parameters is what tracing finds."""

import jax
import numpy as np
import pytest

from cordial_ppl.channels import CHANNELS, READER_CHANNELS
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import describe

CASES = [(channel, None) for channel in CHANNELS.values()]
CASES += [(channel, readers) for channel in READER_CHANNELS.values() for readers in (1, 2, 3)]


@pytest.mark.parametrize(("channel", "readers"), CASES)
@pytest.mark.parametrize("size", [2, 5])
def test_sites_are_as_traced(channel, readers, size):
    target = build_target(channel, size, (), readers)
    sites, loc, scale = describe(channel, size, (), readers)
    with jax.enable_x64(True):
        point = np.linspace(-1, 1, len(loc))
        for one, other in zip(target.sites, sites, strict=True):
            assert one._replace(transform=None) == other._replace(transform=None)
            assert one.kind == other.kind and one.transform == other.transform
            np.testing.assert_array_equal(one.value(point), other.value(point))
    np.testing.assert_allclose(target.prior.loc, loc, rtol=1e-15)
    np.testing.assert_array_equal(target.prior.scale, scale)
