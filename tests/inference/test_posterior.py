"""What a fit leaves behind: named parameters, predictions, and a verdict."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.errors import InputError
from cordial_ppl.inference.diagnostics import Diagnostics, diagnose
from cordial_ppl.inference.posterior import Posterior, check_probs

NAN = float("nan")
RNG = np.random.default_rng(0)
DRAWS = RNG.normal(size=(6, 11))
WEIGHTS = RNG.dirichlet(np.ones(6))
HISTOGRAM = np.array([0.2, 0.5, 0.3])
POSTERIOR = Posterior(
    CHANNELS["mixture-vector"],
    HISTOGRAM,
    DRAWS,
    WEIGHTS,
    Diagnostics("default", 0.1, 500.0, 0.4, NAN, 0, True),
    Labelled(np.zeros((1, 3)), np.zeros(1, int)),
)
LOGITS = as_logits(RNG.normal(size=(20, 3)) * 3)


@pytest.mark.float32
@pytest.mark.parametrize(
    ("method", "figures", "trusted"),
    [
        ("default", {}, True),
        ("default", {"khat": 0.69}, True),
        ("default", {"khat": 0.71}, False),
        ("laplace", {"khat": 0.59, "weighed": 300}, True),
        ("laplace", {"khat": 0.61, "weighed": 300}, False),
        ("default", {"ess": 49.0}, False),
        ("default", {"ess": NAN}, False),
        ("default", {"acceptance": 0.01}, False),
        ("default", {"repairs": 3}, True),
        ("laplace", {"acceptance": NAN, "gradient_norm": 1e-9}, True),
        ("laplace", {"acceptance": NAN, "gradient_norm": 1e-3}, False),
        ("mode", {"khat": NAN, "ess": 1.0, "acceptance": NAN, "gradient_norm": 1e-9}, True),
        ("mode", {"khat": NAN, "ess": 1.0, "acceptance": NAN, "gradient_norm": 1e-3}, False),
        ("nuts", {"khat": NAN, "ess": 400.0}, True),
        ("nuts", {"khat": NAN, "ess": 0.0}, False),
        ("nuts", {"khat": NAN, "divergences": 1}, False),
        ("nuts", {"khat": NAN, "fold_khat": 1.0}, True),
    ],
)
def test_the_verdict(method, figures, trusted):
    known = {"khat": 0.3, "ess": 200.0, "acceptance": 0.4, "weighed": 4000}
    found = diagnose(method, np.zeros((4000, 1)), **known | figures)
    assert found.trusted is trusted
    assert found.method == method
    assert found.repairs == figures.get("repairs", 0)
    assert found.divergences == figures.get("divergences", 0)


def test_a_posterior_is_shown_in_one_line():
    shown = repr(POSTERIOR)
    assert "\n" not in shown and len(shown) < 120
    assert repr(POSTERIOR.channel.name) in shown and "ESS" in shown and "trusted" in shown


def test_parameters_in_their_own_units():
    found = POSTERIOR.parameters()
    names = ["temperature", "offset", "gain", "concentration", "strength", "log_scale", "bias"]
    assert list(found) == names
    np.testing.assert_allclose(found["temperature"], np.exp(DRAWS[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(found["offset"], DRAWS[:, 1], rtol=1e-12)
    np.testing.assert_allclose(found["strength"], 1 / (1 + np.exp(-DRAWS[:, 4])), rtol=1e-12)
    np.testing.assert_allclose(found["log_scale"], DRAWS[:, 5:8], rtol=1e-12)
    np.testing.assert_allclose(found["bias"], DRAWS[:, 8:], rtol=1e-12)
    means = POSTERIOR.mean()
    np.testing.assert_allclose(means["bias"], WEIGHTS @ DRAWS[:, 8:], rtol=1e-12)
    assert means["gain"] == pytest.approx(WEIGHTS @ np.exp(DRAWS[:, 2]))


@given(st.floats(0.01, 0.99))
def test_quantiles_are_weighted(level):
    found = POSTERIOR.quantile(level)
    offset = DRAWS[:, 1]
    assert WEIGHTS[offset <= found["offset"]].sum() >= level - 1e-12
    assert WEIGHTS[offset < found["offset"]].sum() <= level + 1e-12
    assert found["bias"].shape == (3,)


@pytest.mark.parametrize("level", [1.5, -0.1, NAN])
def test_a_level_of_no_quantile_is_refused(level):
    assert POSTERIOR.quantile(0)["offset"] == DRAWS[:, 1].min()
    with pytest.raises(InputError, match="level must be a number from 0 to 1; got"):
        POSTERIOR.quantile(level)


def test_predictions_average_the_draws():
    readings = Readings(jnp.asarray(LOGITS), jnp.asarray(HISTOGRAM))
    each = jax.jit(jax.vmap(partial(POSTERIOR.target.probs, readings=readings)))
    probs = each(jnp.asarray(DRAWS))
    found = POSTERIOR.predict_proba(LOGITS)
    expected = np.tensordot(WEIGHTS, probs, axes=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert found.dtype == np.float64
    with pytest.raises(InputError, match="3"):
        POSTERIOR.predict_proba(np.zeros((4, 5)))
    probs = np.full((5, 3), 1 / 3)
    assert check_probs(probs) is probs
    probs[3, 0], probs[4, 1] = NAN, -0.1
    with pytest.raises(InputError, match="rows 3 and 4"):
        check_probs(probs)
