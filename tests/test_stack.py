"""Stacks: the default's seven members, their weights, and what they leave alone."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_labels import (
    LABELS,
    LOGITS,
    STARS,
    TEST,
    assert_probabilities,
)

import cordial_ppl as cp
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import CordialWarning, InputError

MEMBERS = [
    "mixture",
    "mixture-vector",
    "location",
    "bridge",
    "temperature",
    "vector",
    "odds",
]


def test_the_stack_of_seven(judge):
    probs = judge.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert list(judge.weights_) == MEMBERS
    assert sum(judge.weights_.values()) == pytest.approx(1.0, abs=1e-9)
    assert min(judge.weights_.values()) > 0
    assert list(judge.posteriors_) == MEMBERS[:4]
    assert all(p.diagnostics.trusted for p in judge.posteriors_.values())
    assert judge.scale_.options == STARS
    expected = judge.expected_
    assert expected.labels == 20 and 0 < expected.cordial < expected.raw
    assert "mixture" in judge.summary()


def test_predictions_are_the_weighted_members(judge):
    parts = [
        judge.weights_[name] * judge.fits_[name].predict_centred(TEST - TEST.mean(1)[:, None], {})
        for name in MEMBERS
    ]
    np.testing.assert_allclose(judge.predict_proba(TEST), sum(parts), rtol=0, atol=1e-6)


def test_options_and_means_in_the_users_terms(judge, stack):
    probs = judge.predict_proba(TEST)
    assert list(judge.predict(TEST)) == [STARS[k] for k in probs.argmax(axis=1)]
    np.testing.assert_allclose(judge.predict_mean(TEST), probs @ np.arange(1.0, 6.0), rtol=1e-12)
    probs = stack.predict_proba(TEST)
    np.testing.assert_array_equal(stack.predict(TEST), probs.argmax(axis=1))
    np.testing.assert_allclose(stack.predict_mean(TEST), probs @ np.arange(5.0), rtol=1e-12)


def test_losses_of_the_members_by_themselves(judge):
    assert list(judge.losses_) == MEMBERS
    assert judge.expected_.cordial < max(judge.losses_.values())
    alone = Stack(calibrators=("temperature",)).fit(LOGITS, LABELS)
    assert alone.losses_["temperature"] == pytest.approx(alone.expected_.cordial)
    assert not Stack(calibrators=("temperature",)).fit(LOGITS[:5], LABELS[:5]).losses_


def test_the_paper_presets():
    flat, counted = cp.Cordial.paper(), cp.Cordial.paper(weights="one-count")
    assert (flat.inference, counted.inference) == ("laplace", "laplace")
    assert set(flat.settings.weight_counts.values()) == {0.0}
    assert counted.settings.weight_counts == dict.fromkeys(flat.members, 1.0)
    assert flat.members == (*PAPER_CHANNELS, *MEMBERS[4:])
    with pytest.raises(InputError, match="weights may name one of flat, one-count"):
        cp.Cordial.paper(weights="two")


def calibrators(stack, labels):
    return [part.name for part in stack.parts(labels) if part.name in CALIBRATORS]


def test_a_calibrator_that_waits_for_labels(tmp_path):
    late = {"vector": 20}
    stack = Stack(calibrators=("temperature", "vector"))
    stack.min_labels = late
    assert calibrators(stack, 19) == ["temperature"] and calibrators(stack, 20)[1] == "vector"
    few, many = stack.fit(LOGITS[:19], LABELS[:19]).weights_, stack.fit(LOGITS, LABELS).weights_
    assert list(few) == ["temperature"] and list(many) == ["temperature", "vector"]
    assert calibrators(cp.Cordial(), 199) == calibrators(cp.Cordial.paper(), 10**6)
    assert calibrators(cp.Cordial(), 200)[-1] == "dirichlet"


def rugged(readings, labels=None):
    """A density that no number of particles can sample."""
    place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    depth = 5.0 * jnp.sum(1 + jnp.sin(1e5 * place))
    observe(jnp.zeros_like(readings.logits) - depth, labels)


def test_a_posterior_that_is_not_reliable_is_warned_of():
    doubtful = Stack(channels=(Channel("rugged", rugged),), calibrators=("temperature",))
    with pytest.warns(CordialWarning, match="channel 'rugged' is not reliable.*nuts"):
        doubtful.fit(LOGITS, LABELS)
    assert not doubtful.posteriors_["rugged"].diagnostics.trusted
