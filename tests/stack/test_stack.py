"""Stacks: the default's seven members, and how stacking weighs members."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_labels import LABELS, LOGITS, TEST, assert_probabilities
from golden import read_golden
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

import cordial_ppl as cp
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.posterior import warn_if_doubtful
from cordial_ppl.scores import log_loss
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.settings import Defaults
from cordial_ppl.stack.stacking import LEAST_ERROR, MIN_LABELS, earned_counts, stack_weights
from cordial_ppl.stack.weighing import shares_of, weigh

MEMBERS = ["mixture", "mixture-vector", "location", "bridge", "temperature", "vector", "odds"]


def test_the_stack_of_seven(judge):
    probs = judge.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert list(judge.weights_) == MEMBERS
    assert min(judge.weights_.values()) > 0
    assert list(judge.posteriors_) == MEMBERS[:4]
    assert all(p.diagnostics.trusted for p in judge.posteriors_.values())
    expected = judge.fit_.expected
    assert expected.labels == 20
    stated, out_of_fold = softmax(LOGITS, axis=1), judge.fit_.out_of_fold
    assert expected.raw == pytest.approx(log_loss(stated, LABELS))
    assert expected.cordial == pytest.approx(log_loss(out_of_fold, LABELS))
    parts = [
        judge.weights_[name] * judge.fit_.members[name].predict(TEST - TEST.mean(1)[:, None], {})[0]
        for name in MEMBERS
    ]
    np.testing.assert_allclose(probs, sum(parts), rtol=0, atol=1e-6)
    assert list(judge.fit_.losses) == MEMBERS
    for name in CALIBRATORS.keys() & MEMBERS:
        alone = Stack(calibrators=(name,)).fit(LOGITS, LABELS)
        assert alone.fit_.losses[name] == pytest.approx(alone.fit_.expected.cordial)
        assert alone.fit_.losses[name] == pytest.approx(judge.fit_.losses[name])
    assert not Stack(calibrators=("temperature",)).fit(LOGITS[:5], LABELS[:5]).fit_.losses


def test_the_paper_presets():
    """One pseudo-count a member, or none; of the stacks that ours is compared with, the same."""
    rivals = cp.LogitStack, cp.ScalarStack, cp.FullChannelStack
    for kind in (cp.Cordial, *rivals):
        counted, flat = kind.paper(), kind.paper(weights="flat")
        assert (flat.inference, counted.inference) == ("laplace", "laplace")
        assert counted.settings.weight_counts == dict.fromkeys(flat.settings.names, 1.0)
        assert flat.settings.weight_counts == dict.fromkeys(flat.settings.names, 0.0)
    for kind in rivals:
        assert kind().settings.weight_counts == kind.paper().settings.weight_counts
        assert kind(weight_counts=0).settings.weight_counts == flat_counts(kind)
    assert cp.Cordial.paper().settings.names == (*PAPER_CHANNELS, *MEMBERS[4:])
    with pytest.raises(cp.InputError, match="weights accepts only one-count, flat"):
        cp.Cordial.paper(weights="two")


def flat_counts(kind):
    return kind.paper(weights="flat").settings.weight_counts


def calibrators(stack, labels):
    return [part.name for part in stack.settings.members(labels) if part.name in CALIBRATORS]


def test_a_calibrator_that_waits_for_labels(tmp_path):
    late = {"vector": 20}
    stack = Stack()
    stack._defaults = Defaults(calibrators=("temperature", "vector"), min_labels=late)
    assert calibrators(stack, 19) == ["temperature"] and calibrators(stack, 20)[1] == "vector"
    few, many = stack.fit(LOGITS[:19], LABELS[:19]).weights_, stack.fit(LOGITS, LABELS).weights_
    assert list(few) == ["temperature"] and list(many) == ["temperature", "vector"]
    assert calibrators(cp.Cordial(), 199) == calibrators(cp.Cordial.paper(), 10**6)
    assert calibrators(cp.Cordial(), 200)[-1] == "dirichlet"
    # A calibrator that is named does not wait, nor one that comes from a file.
    named = cp.LogitStack(calibrators=("temperature", "dirichlet"))
    for own in (cp.Cordial(calibrators=["temperature", "dirichlet"]), named):
        assert calibrators(own, 8) == ["temperature", "dirichlet"]
    named.fit(LOGITS, LABELS).save(tmp_path / "named")
    assert calibrators(cp.load(tmp_path / "named"), 8) == ["temperature", "dirichlet"]
    cp.Cordial(inference="mode").fit(LOGITS, LABELS).save(tmp_path / "default")
    assert "dirichlet" not in calibrators(cp.load(tmp_path / "default"), 199)
    assert "dirichlet" in calibrators(cp.load(tmp_path / "default"), 200)
    doubtful = Stack(
        channels=(cp.channels.Channel("rugged", rugged),), calibrators=("temperature",)
    )
    # An ESS of 50 is trusted; here it is 1.2, sd .2 over 6 seeds.
    with pytest.warns(cp.CordialWarning, match="channel 'rugged' .* is not reliable.*nuts"):
        doubtful.fit(LOGITS, LABELS)
    posterior = doubtful.posteriors_["rugged"]
    assert not posterior.diagnostics.trusted
    for method, ends in ("mode", "'default'[.]$"), ("laplace", "'default', unless .* the paper's"):
        figures = posterior.diagnostics._replace(method=method)
        with pytest.warns(cp.CordialWarning, match=f"not reliable.* Use inference {ends}"):
            warn_if_doubtful(replace(posterior, diagnostics=figures))


def rugged(readings, labels=None):
    """A density that no number of particles can sample."""
    place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    slope = jnp.sum(1 + jnp.sin(1e5 * place))
    cp.observe(jax.nn.log_softmax(-slope * readings.logits, axis=1), labels)


REFERENCE = read_golden("stacking")


@st.composite
def ensembles(draw):
    """Probabilities of 40 labels under 5 members, alike or different, and prior counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.01, 0.5, 3.0]))
    log_probs = np.maximum(-rng.exponential(1.0, (40, 1)) - spread * rng.random((40, 5)), -9.0)
    return log_probs, np.full(5, draw(st.sampled_from([0.0, 0.1, 1.0])))


@given(ensembles())
def test_no_other_weights_are_likelier(drawn):
    log_probs, counts = drawn
    weights = stack_weights(log_probs, counts)
    assert np.all(weights >= 0.0) and weights.sum() == pytest.approx(1.0, abs=1e-12)
    probs = np.exp(log_probs)
    total = 40 + counts.sum()
    slopes = (1.0 / (probs @ weights)) @ probs
    slopes = slopes + np.divide(counts, weights, where=counts > 0.0, out=np.zeros(5))
    # The posterior is concave: its excess slope bounds what any other weights could gain.
    assert slopes.max() - total <= 1e-9 * total


@pytest.mark.float32
@pytest.mark.parametrize("count", [0.0, 1.0])
def test_texts_of_which_nothing_is_said_and_impossible_labels(count):
    rng = np.random.default_rng(13)
    log_probs = np.log(rng.uniform(0.1, 0.9, (24, 4)))
    mask = rng.random(24) < 0.6
    counts = np.full(4, count)
    alone = stack_weights(log_probs[mask], counts)
    silent = np.where(mask[:, None], log_probs, -np.inf)
    present = np.repeat(mask[:, None], 4, axis=1)
    np.testing.assert_allclose(stack_weights(silent, counts, present=present), alone, atol=1e-12)
    # A member that finds every label impossible keeps what its prior gives it.
    hopeless = np.hstack([log_probs, np.full((24, 1), -np.inf)])
    weights = stack_weights(hopeless, np.full(5, count))
    assert weights[-1] == pytest.approx(count / (24 + 5 * count), abs=2e-3)
    assert np.all(np.isfinite(weights))


def test_a_member_has_to_earn_its_count():
    rng = np.random.default_rng(0)
    base = np.log(rng.uniform(0.2, 0.8, (20, 2)))
    counts, others = np.array([3.0, 1.0, 2.0]), base @ [0.0, 1.0]
    mixed = np.log(np.exp(base) @ [0.75, 0.25])
    kept = np.array([3.0, 1.0, 0.0])

    def count(logs, **settings):
        found = earned_counts(np.column_stack([base, logs]), counts, kept, **settings)
        assert found[:2].tolist() == counts[:2].tolist()
        return float(found[2])

    assert count(mixed) == count(mixed + 0.1) == 2.0
    # Worse by the same for every label: the error is the least that there is.
    assert count(mixed - 3 * LEAST_ERROR) == pytest.approx(2 * np.exp(-4.5))
    noise = rng.standard_normal(20)
    noise -= noise.mean()
    error = np.sqrt(np.mean(noise**2) / 20) + LEAST_ERROR
    assert count(mixed - 2 * error + noise) == pytest.approx(2 * np.exp(-2))
    # A label that counts nothing says nothing; of others the scale does not matter.
    weights = np.where(np.arange(20) < 15, 1.0, 0.0)
    silent = np.where(weights > 0, others, -9.0)
    part = earned_counts(np.column_stack([base, others])[:15], counts, kept)
    assert count(silent, weights=3 * weights) == pytest.approx(part[2])
    # Five who say the same of a text are one.
    many = np.repeat(np.arange(20), 5)
    five = np.column_stack([base, mixed - 2 * error + noise])[many]
    shared = earned_counts(five, counts, kept, np.full(100, 0.2), many)
    assert shared[2] == pytest.approx(2 * np.exp(-2))
    assert earned_counts(five[:35], counts, kept, None, many[:35]).tolist() == counts.tolist()
    assert earned_counts(base[:7], counts[:2], kept[1:]).tolist() == counts[:2].tolist()
    assert earned_counts(base - 5, counts[:2], np.zeros(2)).tolist() == [3.0, 1.0]


def test_counts_that_are_chosen_stay():
    trained = cp.Cordial().settings.weight_counts["bridge"]
    chosen = cp.Cordial(weight_counts={"bridge": 200, "mixture-vector": 1.0})
    for stack in (chosen, *map(lambda w: cp.Cordial.paper(weights=w), ("flat", "one-count"))):
        prior, kept = stack.settings.weight_prior(stack.settings.names, 50)
        assert kept.tolist() == prior.tolist()
    # Also one that is the default's number, and those of the stacks that are the paper's.
    same = cp.Cordial(weight_counts={"bridge": trained}).settings
    assert same.weight_prior(same.names, 50)[1][same.names.index("bridge")] == trained
    channel = cp.channels.Channel("flipped", flipped)
    for kind in (cp.Cordial.paper, cp.LogitStack):
        settings = kind(channels=[channel]).settings
        assert settings.weight_prior(settings.names, 50)[1].tolist() == [1.0] * len(settings.names)
    logs = np.log(np.random.default_rng(2).uniform(0.2, 0.8, (20, 1))) + [0.0, 0.0, -2.0]
    counts, kept = np.array([0.5, 9.0, 9.0]), np.array([0.5, 1.0, 1.0])
    better, worse = earned_counts(logs, counts, kept)[1:]
    assert better == 9.0
    assert worse == pytest.approx(1.0, abs=1e-6)
    settings = cp.Cordial().settings
    row, odds = settings.names.index("bridge"), settings.names.index("odds")
    prior, whole = settings.weight_prior(settings.names, MIN_LABELS)
    assert whole.tolist() == prior.tolist()
    for texts, share in ((14, 0.5), (20, 1.0), (500, 1.0)):
        _, kept = settings.weight_prior(settings.names, texts)
        assert kept[row] == pytest.approx(prior[row] - share * (prior[row] - 1))
        assert kept[odds] == prior[odds]


def test_the_expected_loss_is_of_weights_with_the_proof_of_the_other_folds():
    rng = np.random.default_rng(4)
    labels, folds = rng.integers(0, 3, 24), np.arange(24) % 4
    held_out = rng.dirichlet(np.ones(3), (24, 2)).transpose(0, 2, 1)
    held_out[..., 1] = 0.8 * held_out[..., 1] + 0.2 * np.eye(3)[labels]
    counts, kept = np.array([9.0, 0.25]), np.array([1.0, 0.25])
    texts = Labelled(np.zeros((24, 3)), labels)
    losses, logs = np.empty(24), np.log(held_out[np.arange(24), labels])
    for fold in range(4):
        held = folds == fold
        weights = stack_weights(logs[~held], earned_counts(logs[~held], counts, kept))
        losses[held] = -np.log(np.exp(logs[held]) @ weights)
    mixture = weigh(texts, folds, held_out, counts, kept)
    assert mixture.expected.cordial == pytest.approx(losses.mean())
    # By .20, sd .06 over 20 seeds.
    assert mixture.expected.cordial < weigh(texts, folds, held_out, counts).expected.cordial - 0.01


@pytest.mark.nightly
def test_a_stack_leaves_channels_that_cannot_fit(monkeypatch):
    rng, options = np.random.default_rng(3), list(range(11))
    gains = []
    for _ in range(4):
        labels = rng.choice([0, 5, 8, 10], 440, p=[0.1, 0.2, 0.3, 0.4])
        stated = np.where(rng.random(440) < 0.5, labels, rng.permutation(labels))
        logits = cp.readings_from_ratings(stated, options=options)
        losses = []
        for least in (10_000, 20):
            monkeypatch.setattr("cordial_ppl.stack.settings.TEXTS_OF_PROOF", least)
            stack = cp.Cordial(options, inference="mode").fit(logits[:40], labels[:40])
            losses.append(log_loss(stack.predict_proba(logits[40:]), labels[40:]))
        gains.append(losses[0] - losses[1])
    # .048, sd .010 over 20 seeds; 0 without the proof.
    assert np.mean(gains) > 0.01


def flipped(readings, labels=None):
    t = numpyro.sample("temperature", dist.LogNormal(0.0, 0.5))
    cp.observe(jax.nn.log_softmax(readings.logits[:, ::-1] / t, axis=1), labels)


def test_a_bad_channel_of_ones_own_gets_little_weight():
    stack = Stack(
        channels=["mixture", cp.channels.Channel("flipped", flipped)], calibrators=["temperature"]
    )
    assert stack.settings.weight_counts == {"mixture": 2.0, "flipped": 1.0, "temperature": 0.25}
    stack.fit(LOGITS, LABELS)
    # At most 5e-6, and 1.83 nats worse, sd .19, over 20 seeds.
    assert stack.weights_["flipped"] < 0.1
    assert stack.fit_.losses["flipped"] > stack.fit_.losses["mixture"] + 1


def test_few_labels_are_not_believed():
    rng = np.random.default_rng(17)
    log_probs = np.log(rng.uniform(0.1, 0.9, (24, 4)))
    counts = np.zeros(4)
    for n in (0, 1, MIN_LABELS - 1):
        np.testing.assert_array_equal(stack_weights(log_probs[:n], counts), 0.25)
    # .82, sd .18 over 20 seeds.
    assert np.ptp(stack_weights(log_probs[:MIN_LABELS], counts)) > 0.01
    favoured = np.array([3.0, 1.0, 0.5, 0.5])
    few = stack_weights(log_probs[: MIN_LABELS - 1], favoured)
    np.testing.assert_allclose(few, favoured / 5.0, rtol=1e-12)


def test_an_independent_implementation_gives_the_same_weights():
    log_probs = np.log(REFERENCE["P"])
    for count, key in ((0.0, "w_alpha1"), (1.0, "w_alpha2")):
        weights = stack_weights(log_probs, np.full(7, count))
        np.testing.assert_allclose(weights, REFERENCE[key], atol=1e-8)


@pytest.mark.x64
def test_members_that_are_missing_are_left_out_of_their_texts():
    rng = np.random.default_rng(1)
    logs, count = np.log(rng.uniform(0.01, 1.0, (30, 4))), np.full(4, 0.5)
    present = rng.random((30, 4)) < 0.6

    def loss(free):
        weights = np.exp(free - free.max())
        weights /= weights.sum()
        some = present.any(axis=1)
        mixed = (present * np.exp(logs))[some] @ weights / (present[some] @ weights)
        return -np.log(mixed).sum() - count @ np.log(weights)

    weights = stack_weights(logs, count, present=present)
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert loss(np.log(weights)) <= best.fun + 1e-8
    everyone = stack_weights(logs, count, present=np.ones_like(present))
    np.testing.assert_allclose(everyone, stack_weights(logs, count), rtol=0, atol=1e-9)
    present[:, 2] = False
    absent = stack_weights(logs, np.zeros(4), present=present)
    assert absent[2] < 1e-12 and np.isclose(absent.sum(), 1)


@given(st.integers(0, 2**32 - 1), st.floats(0, 2))
def test_a_weight_is_so_many_labels_for_a_stack(seed, count):
    rng = np.random.default_rng(seed)
    logs, times = np.log(rng.dirichlet(np.ones(3), (30, 4))[..., 0]), rng.integers(1, 4, 30)
    rows, counts = np.repeat(np.arange(30), times), np.full(4, count)
    found = stack_weights(logs, counts, weights=times.astype(float))
    np.testing.assert_allclose(found, stack_weights(logs[rows], counts), rtol=0, atol=1e-7)
    np.testing.assert_array_equal(
        stack_weights(logs, counts, weights=np.ones(30)), stack_weights(logs, counts)
    )
    # Many labels of few texts are too few.
    few = stack_weights(logs, counts, texts=np.arange(30) % (MIN_LABELS - 1))
    np.testing.assert_array_equal(few, 0.25)


def test_weights_are_shared_by_the_members_that_predict_a_text():
    present = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
    found = shares_of(np.array([0.6, 0.4, 0.0]), present)
    np.testing.assert_allclose(found, [[0.6, 0.4, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]], rtol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
def test_scales_that_run_against_each_other_are_warned_of(turned, recwarn):
    rng = np.random.default_rng(5)
    truth = rng.choice(5, 40)
    rated = np.clip(truth + rng.choice([-1, 0, 0, 1], 40), 0, 4)
    readings = cp.readings_from_ratings(rated, range(5))
    cp.LogitStack().fit(readings, 4 - truth if turned else truth)
    found = [str(each.message) for each in recwarn if "rank correlation -" in str(each.message)]
    assert len(found) == turned
    # Two labels, or ratings that are all alike, say nothing of a direction.
    cp.LogitStack().fit(readings[:2], [4, 0] if rated[0] < rated[1] else [0, 4])
    cp.LogitStack().fit(np.zeros((20, 5)), truth[:20])
    assert len([each for each in recwarn if "rank correlation" in str(each.message)]) == turned


def test_labels_that_run_the_other_way_are_warned_of():
    """Of ten judges whose noise is a class, all at 20 labels; none whose labels run as theirs."""
    warned = {True: 0, False: 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 5, 20)
        ratings = np.clip(truth + rng.normal(0, 1, 20).round().astype(int), 0, 4)
        readings = cp.readings_from_ratings(ratings, range(5))
        for turned in warned:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                cp.LogitStack().fit(readings, 4 - truth if turned else truth)
            warned[turned] += any("labels fall" in str(each.message) for each in seen)
    assert warned[True] >= 9 and warned[False] == 0  # Of 200 seeds, 200 and 0.


REVERSED = {
    "a channel": (cp.ChannelCalibrator("location", inference="mode"), 1),
    "a calibrator": (cp.VectorScaling(), 1),
    "without labels": (cp.RawReading(), 0),
    "one of two judges": (cp.Fusion(inference="mode"), 1),
}


@pytest.mark.parametrize(("estimator", "count"), REVERSED.values(), ids=REVERSED)
def test_every_estimator_warns_of_labels_that_run_the_other_way(estimator, count, recwarn):
    truth = np.random.default_rng(0).integers(0, 5, 40)
    stated, turned = (cp.readings_from_ratings(z, range(5)) for z in (truth, 4 - truth))
    judges = {"a": stated, "b": turned}
    estimator.fit(judges if isinstance(estimator, cp.Fusion) else turned, truth)
    assert sum("rank correlation -" in str(each.message) for each in recwarn) == count
