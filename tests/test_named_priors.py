"""Priors that are replaced by the name of a parameter."""

import numpy as np
import numpyro.distributions as dist
import pytest
from few_labels import LABELS, LOGITS
from review_tables import fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors import NamedPrior

VECTOR = build_target(CHANNELS["location-vector"], 5)


def changed(target, **values):
    """The channel's own prior with some coordinates replaced, by site."""
    loc, scale = (np.array(part) for part in target.prior)
    for site in target.sites:
        if site.name in values:
            loc[site.slice], scale[site.slice] = values[site.name]
    return loc, scale


@pytest.mark.parametrize(
    ("name", "value", "site", "expected"),
    [
        ("offset", (0.5, 0.2), "offset", (0.5, 0.2)),
        ("offset", dist.Normal(0.5, 0.2), "offset", (0.5, 0.2)),
        ("gain", dist.LogNormal(0.1, 0.3), "gain", (0.1, 0.3)),
        ("strength_log_odds", dist.Normal(2.0, 1.0), "strength_log_odds", (2.0, 1.0)),
        ("bias", ([0, 1, 2, 3, 4], 0.1), "bias", ([0, 1, 2, 3, 4], 0.1)),
    ],
)
def test_one_parameter_is_replaced_and_the_others_are_not(name, value, site, expected):
    found = NamedPrior({name: value}).of(VECTOR)
    for part, wanted in zip(found, changed(VECTOR, **{site: expected}), strict=True):
        np.testing.assert_array_equal(part, wanted)


def test_a_name_is_for_every_channel_that_has_it():
    prior = {"location": {"offset": (1.0, 1e-3)}, "offset": (0.0, 1e-3), "bias": (0.0, 1e-3)}
    fitted = cp.Cordial(prior=prior, inference="mode").fit(LOGITS, LABELS)
    for name, posterior in fitted.posteriors_.items():
        assert posterior.mean()["offset"] == pytest.approx(float(name == "location"), abs=0.01)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"magic": (0.0, 1.0)}, "'magic', which is no parameter here; the parameters are"),
        ({"mixture": {"bias": (0.0, 1.0)}}, "'bias', which is no parameter here"),
        ({"offset": 0.5}, "a location and a scale, or a NumPyro distribution; got 0.5"),
        ({"offset": (0.0, -1.0)}, "got .* a scale above 0"),
        ({"strength": (0, 1), "strength_log_odds": (0, 1)}, "are one parameter"),
        ({"offset": ([0.0, 1.0], 1.0)}, "one location and scale"),
        ({"gain": dist.Normal(1.0, 0.1)}, "must be Gaussian on the unconstrained scale"),
        ({"offset": dist.StudentT(3.0)}, "belongs in the channel's file"),
        ({"magic": {"offset": (0.0, 1.0)}}, "may name the channels mixture"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(cp.InputError, match=message):
        cp.Cordial(prior=prior, inference="mode").fit(LOGITS, LABELS)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("--prior-of offset", "must be NAME=LOC,SCALE, such as offset=0,0.5"),
        ("--prior-of magic=0,1", "'magic', which is no parameter here"),
        ("--prior-of gain=0,1 --prior l.csv", "cannot be given together"),
        ("--prior-of offset=0,0.001", None),
    ],
)
def test_the_program_takes_them(cordial, tmp_path, extra, message):
    arguments = fast("calibrate", *write_tables(tmp_path))
    result = cordial(*arguments, "-o", "o.csv", *extra.split(), status=2 if message else 0)
    if message:
        assert message in result.stderr and not (tmp_path / "o.csv").exists()
    else:
        cordial(*arguments, "-o", "p.csv")
        found, plain = (np.array(read(f"{name}.csv")["mean"], float) for name in "op")
        assert np.abs(found - plain).max() > 1e-3
