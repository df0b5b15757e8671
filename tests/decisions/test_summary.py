"""The summary: known posteriors are put into the right words."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.summary import Fault, describe
from cordial_ppl.inference.posterior import Diagnostics, Posterior

FINE = Diagnostics("default", 0.3, 280.0, 0.5, 1e-9, 0, True)
POOR = Diagnostics("laplace", 1.2, 9.4, np.nan, 1e-9, 0, False)
STARS = Scale(tuple("12345"))


class Losses(NamedTuple):
    cordial: float = 0.62
    histogram: float = 1.1
    raw: float = 1.48
    labels: int = 20


def posterior(name="mixture", spread=0.01, diagnostics=FINE, **known):
    """Draws around given values, Gaussian in the unconstrained space."""
    values = {"temperature": 1.0, "offset": 0.0, "gain": 1.0, "concentration": 2.0}
    values = {**values, "strength": 0.9, **known}
    values["strength"] /= 1 - values["strength"]  # The odds.
    centre = [value if name == "offset" else np.log(value) for name, value in values.items()]
    centre += [0.0] * (10 if "vector" in name else 0)
    draws = centre + spread * np.random.default_rng(0).normal(size=(400, len(centre)))
    weights = np.full(400, 1 / 400)
    return Posterior(CHANNELS[name], np.full(5, 0.2), draws, weights, diagnostics)


def fault(summary, name):
    (found,) = [fault for fault in summary.faults if fault.name == name]
    return found


def say(name, *, scale=STARS, **known):
    return fault(describe({"mixture": posterior(**known)}, {}, None, scale), name)


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("temperature", {"temperature": 6.1}, "over-confident"),
        ("temperature", {"temperature": 0.4}, "under-confident"),
        ("temperature", {"spread": 0.5}, "no clear fault in its sharpness"),
        ("temperature", {"temperature": 1.6, "spread": 0.4}, "probably over-confident"),
        ("offset", {"offset": 0.7}, "rates 0.7 too low at the low end"),
        ("offset", {"spread": 0.5}, "no clear offset"),
        ("gain", {"gain": 0.8}, "exaggerates the scale"),
        ("gain", {"gain": 1.3}, "compresses the scale"),
        ("strength", {"strength": 0.97}, "the reading is believed 97 %"),
        # A standard deviation of half a class: kappa = 1 / (2 * 0.5^2).
        (
            "concentration",
            {"concentration": 2.0},
            "labels spread about ±0.5 classes around the corrected reading",
        ),
        # c(y) = 0.8 y + 0.7: 0.7 above y at the lowest class, 0.3 in the middle, 0.1 below atop.
        ("bias at '1'", {"offset": 0.7, "gain": 0.8}, "rates 0.7 too low"),
        ("bias in the middle", {"offset": 0.7, "gain": 0.8}, "rates 0.3 too low"),
        ("bias at '5'", {"offset": 0.7, "gain": 0.8, "spread": 1e-4}, "rates 0.1 too high"),
        # Labels stay on the scale: nobody is right to give more than the highest option.
        ("bias at '5'", {"offset": 0.7}, "no bias: the scale ends there"),
        ("bias at '1'", {"offset": -0.7}, "no bias: the scale ends there"),
    ],
)
def test_what_a_parameter_means(name, known, words):
    found = say(name, **known)
    assert found.words == words
    # What is fixed has no interval.
    assert (found.low is None) == (found.high is None) == ("ends there" in words)


def test_a_sentence():
    assert str(Fault("temperature", 6.123, 3.18, 11.2, "x")) == "temperature 6.1 (3.2 to 11): x"
    assert str(Fault("offset", 0.7, 0.3, 1.1, "x")) == "offset +0.7 (0.3 to 1.1): x"
    assert str(Fault("offset", -0.7, -1.1, 0.3, "")) == "offset -0.7 (-1.1 to 0.3)"
    assert str(Fault("concentration", 120.4, 1e-5, 0.062, "")) == "concentration 120 (0 to 0.062)"
    assert str(Fault("strength", 0.999, 0.97, 1.0, "")) == "strength 1 (0.97 to 1)"
    assert str(Fault("bias at '5'", 0.4, 0.4, 0.4, "x")) == "bias at '5' +0.4: x"


@given(
    arrays(np.float64, (50, 5), elements=st.floats(-3, 3)),
    arrays(np.float64, 50, elements=st.floats(0.01, 1)),
)
def test_medians_lie_within_their_intervals_and_are_those_of_the_posterior(draws, weights):
    weights = weights / weights.sum()
    found = Posterior(CHANNELS["location"], np.full(5, 0.2), draws, weights, FINE)
    medians = found.quantile(0.5)
    for one in describe({"location": found}, {"location": 0.3}, None, STARS).faults:
        if one.low is not None and one.high is not None:
            assert one.low <= one.median <= one.high and one.low < one.high
        else:
            assert one.low is one.high is None
        assert one.median == medians.get(one.name, one.median)


def test_plain_channels_are_pooled_by_weight():
    found = {
        "mixture": posterior("mixture", temperature=2.0),
        "location": posterior("location", temperature=8.0),
        "mixture-vector": posterior("mixture-vector", temperature=30.0),
    }

    def temperature(**weights):
        summary = describe(found, weights, None, STARS)
        assert summary.channels == ("mixture", "location")
        return fault(summary, "temperature")

    mostly = temperature(mixture=0.6, location=0.2, **{"mixture-vector": 0.2})
    assert (mostly.median, mostly.high) == pytest.approx((2, 8), rel=0.05)
    assert temperature(mixture=0.97, location=0.03).high == pytest.approx(2, rel=0.05)
    assert temperature(location=0.5).low == pytest.approx(8, rel=0.05)
    # Without a weight each of them counts the same.
    assert temperature(odds=1.0).high == pytest.approx(8, rel=0.05)


def test_the_whole_text():
    found = {"mixture": posterior(temperature=6.1), "location": posterior("location")}
    summary = describe(found, {"odds": 0.25, "mixture": 0.75}, Losses(), STARS)
    lines = summary.text.splitlines()
    assert lines[0] == "The reader (median and 90 % interval, from mixture and location)"
    assert lines.index("   0.75  mixture") < lines.index("   0.25  odds")
    assert "  mixture: 400 draws, k-hat 0.30, ESS 280" in lines
    assert "  calibrated 0.62, label histogram 1.10, raw reading 1.48" in lines
    assert "Warning" not in summary.text
    assert summary.sentences[-1].startswith("expected log loss: calibrated 0.62")


def test_a_reader_that_adds_nothing():
    (warning,) = describe({}, {}, Losses(cordial=1.12), STARS).warnings
    assert "adds nothing" in warning and "1.12 against 1.10" in warning
    assert describe({}, {}, Losses(cordial=1.1), STARS).warnings
    assert not describe({}, {}, Losses(cordial=1.0999), STARS).warnings


def mode(name, **known):
    found = posterior(name, spread=0.0, **known)
    known = Diagnostics("mode", np.nan, 1.0, np.nan, 1e-9, 0, True)
    return Posterior(CHANNELS[name], found.histogram, found.draws[:1], np.ones(1), known)


def test_a_mode_has_no_interval():
    """Two channels are two points, and no interval lies between them."""
    found = {"mixture": mode("mixture", temperature=6.1), "location": mode("location", offset=0.7)}
    summary = describe(found, {"mixture": 0.6, "location": 0.4}, Losses(), STARS)
    assert all(fault.low is None and fault.high is None for fault in summary.faults)
    lines = summary.text.splitlines()
    assert lines[0] == "The reader (at the mode, without intervals, from mixture and location)"
    assert lines[1] == "  temperature 6.1: over-confident"
    assert "  mixture: the mode" in lines
    assert "interval" not in "".join(lines[1:-1]) and "the mode has no intervals" in lines[-1]
    assert fault(summary, "bias at '5'").words == "no clear bias"


def test_everything_can_be_expressed_in_json():
    found = {"mixture": posterior(diagnostics=POOR), "location": mode("location")}
    losses = Losses(np.nan, np.nan, 1.2, 3)
    content = describe(found, {"mixture": np.float64(1.0)}, losses, STARS).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == json.loads(json.dumps(content))
    assert content["expected"] == {"cordial": None, "histogram": None, "raw": 1.2, "labels": 3}
    assert content["diagnostics"]["mixture"]["trusted"] is False
    assert "log loss: raw reading, on the 3 labels, 1.20" in content["sentences"]
    assert "not to be trusted (mixture: 400 draws, k-hat 1.20" in content["sentences"][-1]
