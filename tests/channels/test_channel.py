"""The seam: the likelihood that `observe` states, and what it leaves out."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import strategies as st
from jax.scipy.special import expit
from numpyro import handlers

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import (
    LABEL_SITE,
    Channel,
    count_levels,
    observe,
    sample_log_odds,
)
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.channels.ordinal import Ordinal
from cordial_ppl.errors import ChannelError, InputError

SEEDS = st.integers(0, 2**32 - 1)


def random_probs(seed, rows=6, size=4):
    return np.random.default_rng(seed).dirichlet(np.ones(size), rows)


@pytest.mark.float32
def test_an_option_has_its_probability_and_minus_one_counts_nothing():
    probs = jnp.asarray([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]])
    labels = jnp.asarray([1, -1, 2])
    for ordinal in (Ordinal(probs=probs), Ordinal(jnp.log(probs))):
        found = np.asarray(ordinal.log_prob(labels))
        np.testing.assert_allclose(found, [np.log(0.3), 0.0, np.log(0.1)], rtol=0, atol=1e-6)


@pytest.mark.parametrize("wrong", [3, -2])
def test_a_label_that_is_no_option_is_refused(wrong):
    probs = jnp.asarray([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    for ordinal in (Ordinal(probs=probs), Ordinal(jnp.log(probs))):
        with pytest.raises(InputError, match=f"options 0..2, or -1.* got {wrong} in row 1"):
            ordinal.log_prob(jnp.asarray([0, wrong]))
        found = jax.jit(ordinal.log_prob)(jnp.asarray([0, wrong]))
        np.testing.assert_allclose(found, [np.log(0.5), -np.inf])


def test_a_zero_probability_has_a_finite_gradient():
    def loss(log_odds):
        probs = jnp.stack([jax.nn.sigmoid(log_odds), jax.nn.sigmoid(-log_odds)])
        return jnp.sum(Ordinal(probs=probs[None]).log_prob(jnp.asarray([0])))

    slopes = jax.jit(jax.value_and_grad(loss))
    for log_odds in (-1e4, -800.0, 0.0, 800.0):
        value, slope = slopes(log_odds)
        assert np.isfinite(value) and np.isfinite(slope)
    ordinal = Ordinal(probs=jnp.asarray([[0.6, 0.3, 0.1], [0.0, 0.5, 0.5]]))
    draws = np.asarray(ordinal.sample(jax.random.key(0), (4000,)))
    assert draws.shape == (4000, 2)
    shares = (draws[:, :, None] == np.arange(3)).mean(axis=0)
    # The largest error is .010, sd .0045 over 20 seeds.
    np.testing.assert_allclose(shares, ordinal.probs, rtol=0, atol=0.04)
    assert ordinal.support.is_discrete
    with pytest.raises(ChannelError, match="exactly one of log_probs and probs"):
        Ordinal()
    probs = jnp.asarray([0.5, 0.5])
    with pytest.raises(ChannelError, match="exactly one of log_probs and probs"):
        Ordinal(jnp.log(probs), probs)


def test_what_observe_and_log_odds_sample():
    probs, labels = jnp.asarray(random_probs(1)), jnp.asarray([0, 1, -1, 3, 2, -1])
    trace = handlers.trace(observe).get_trace(None, labels, probs=probs)
    site = trace[LABEL_SITE]
    assert site["is_observed"]
    assert [frame.name for frame in site["cond_indep_stack"]] == ["texts"]
    drawn = handlers.trace(handlers.seed(observe, 0)).get_trace(jnp.log(probs), None)
    assert not drawn[LABEL_SITE]["is_observed"]
    assert set(np.asarray(drawn[LABEL_SITE]["value"])) <= {0, 1, 2, 3}

    def model():
        return sample_log_odds("strength", 3.0, 2.0)

    trace = handlers.trace(handlers.seed(model, 0)).get_trace()
    site = trace["strength_log_odds"]
    assert isinstance(site["fn"], dist.Normal)
    assert (site["fn"].loc, site["fn"].scale) == (3.0, 2.0)
    np.testing.assert_allclose(trace["strength"]["value"], expit(site["value"]))


def test_names_and_channels_are_found():
    for name, channel in CHANNELS.items():
        assert load_channel(name) is channel
        assert load_channel(channel) is channel
        assert channel.name == name and channel.source == ""
    with pytest.raises(ChannelError, match="'mixtures'.*mixture, mixture-vector, location"):
        load_channel("mixtures")


def test_a_file_is_named_after_itself_and_keeps_its_identity(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("def model(readings, labels=None):\n    return 1\n")
    first = load_channel(path)
    assert isinstance(first, Channel)
    assert (first.name, first.source, first.model(None)) == ("mine", str(path), 1)
    assert load_channel(str(path)) == first
    path.write_text("def model(readings, labels=None):\n    return 2\n")
    os.utime(path, ns=(1, 1))
    assert load_channel(path).model(None) == 2
    with pytest.raises(ChannelError, match="cannot find a channel file at .*none.py"):
        load_channel(tmp_path / "none.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ChannelError, match="cannot find a channel file at .*folder.py"):
        load_channel(tmp_path / "folder.py")
    # Bytecode that Python keeps beside a file is told from it by whole seconds and its size.
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for number in (1, 2):
        path.write_text(f"def model(readings, labels=None):\n    return {number}\n")
        os.utime(path, ns=(10**18 + number, 10**18 + number))
        assert load_channel(path).model(None) == number
    assert not list(tmp_path.glob("__pycache__"))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\n", r"does not define a function model\(readings, labels=None\)"),
        ("x = 1\ndef model(readings:\n", r"SyntaxError: .* \(line 2\)"),
        ("x = 1\nraise SystemExit(3)\n", r"raised an error: SystemExit: 3 \(line 2\)"),
        ("\n\nimport nothing_of_that_name\n", r"No module named .* \(line 3\)"),
        ("EXAMPLES = {'length': (5, 2)}\n", "must map each covariate to its range"),
        ("LEVELS = {'user': 0}\n", "each covariate to its number of levels"),
        ("PARAMETERS = {'skew': 3}\n", "PARAMETERS"),
        ("PARAMETERS = {'skew': ' '}\n", "PARAMETERS"),
        ("PARAMETERS = 'skew'\n", "PARAMETERS"),
    ],
)
def test_a_file_that_is_no_channel(tmp_path, code, message):
    path = tmp_path / "bad.py"
    path.write_text(code + "def model(readings, labels=None): ...\n" * ("S = " in code))
    with pytest.raises(ChannelError, match=message):
        load_channel(path)


def test_covariates_may_have_examples_and_levels_and_readers_may_be_several(tmp_path, monkeypatch):
    settings = "EXAMPLES = {'length': (20, 500)}\nLEVELS = {'user': 12}\nSEVERAL = True\n"
    (tmp_path / "mine.py").write_text(settings + "def model(readings, labels=None): ...\n")
    monkeypatch.chdir(tmp_path)
    found = load_channel("mine.py")
    assert found.source == str(tmp_path / "mine.py") and found.several
    assert found.examples == (("length", 20.0, 500.0),) and found.levels == (("user", 12),)
    for more in (9, 15):
        other = found._replace(levels=(("user", more), ("topic", 3)))
        assert count_levels(found, other) == {"user": min(more, 12), "topic": 3}
