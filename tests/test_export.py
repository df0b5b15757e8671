"""Posteriors reach ArviZ with their names, their draws and what they are worth."""

from typing import Any

import numpy as np
import pytest

from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.export import to_datatree
from cordial_ppl.inference.posterior import Diagnostics, Posterior

NOTHING = float("nan")


def test_a_weighted_posterior_becomes_equal_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 15))
    weights = np.exp(draws[:, 1])
    diagnostics = Diagnostics("laplace", 0.4, 900.0, NOTHING, 0.0, 0, True)
    posterior = Posterior(
        CHANNELS["location-vector"], np.full(5, 0.2), draws, weights / weights.sum(), diagnostics
    )
    tree = to_datatree(posterior)
    group: Any = tree["posterior"]
    assert dict(group.sizes) == {"chain": 1, "draw": 4000, "option": 5}
    assert group["bias"].dims == ("chain", "draw", "option")
    assert set(group.data_vars) == set(posterior.parameters())
    assert float(group["offset"].mean()) == pytest.approx(posterior.mean()["offset"], abs=0.02)
    assert group.attrs["khat"] == 0.4
    assert group.attrs["channel"] == "location-vector"


def test_arviz_summarises_it():
    arviz_stats = pytest.importorskip("arviz_stats")
    draws = np.random.default_rng(1).normal(size=(500, 5))
    diagnostics = Diagnostics("default", 0.2, 400.0, 0.4, NOTHING, 0, True)
    posterior = Posterior(
        CHANNELS["mixture"], np.full(3, 1 / 3), draws, np.full(500, 0.002), diagnostics
    )
    table = arviz_stats.summary(to_datatree(posterior), ci_prob=0.9)
    assert set(table.index) == {"temperature", "offset", "gain", "concentration", "strength"}
