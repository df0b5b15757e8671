"""Settings of an estimator: what means nothing is refused when it is given."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.cordial.settings import check_seed
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError
from cordial_ppl.inference.target import Prior


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"calibrators": ("foo",)}, "calibrators may name one of temperature, vector, odds"),
        (
            {"prior": {"location": Prior(np.zeros(5), np.ones(5))}},
            "channels mixture; got 'location'",
        ),
        ({"weight_counts": {"odd": 1.0}}, "one of mixture, temperature, vector, odds; got 'odd'"),
        ({"weight_counts": {"odds": -1}}, "0 or more; got -1 for 'odds'"),
        ({"weight_counts": {"odds": np.nan}}, "0 or more; got nan for 'odds'"),
        ({"seed": -1}, r"whole number 0\.\.4294967295; got -1"),
        ({"effort": cp.Effort(particles=1)}, "effort.particles must be .* 64 or more; got 1"),
        ({"effort": cp.Effort(proposals=0)}, "effort.proposals must be .* 1 or more; got 0"),
        (
            {"effort": cp.Effort()._replace(moves=1.5)},
            "effort.moves must be a whole number .* got 1.5",
        ),
        ({"effort": cp.Effort(least_ess=np.nan)}, "effort.least_ess must be .* got nan"),
    ],
)
def test_settings_that_mean_nothing(settings, message):
    with pytest.raises(InputError, match=message):
        Stack(channels=("mixture",), **settings)
    if "seed" in settings:
        for make in (lambda **s: cp.ChannelCalibrator("mixture", **s), cp.LogitStack):
            with pytest.raises(InputError, match=message):
                make(**settings)


@pytest.mark.parametrize("seed", [0.5, "1", None, 2**32])
def test_seeds_that_are_none(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        check_seed(seed)
    assert check_seed(np.int64(3)) == 3
