"""Training a prior: the stack's weights, and a planted move."""

import descent
import jax
import numpy as np
import pytest
import training
from episodes import Draws, Episode
from few_labels import LABELS, LOGITS

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS, DEFAULT_CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.target import build_target
from cordial_ppl.stack.settings import PAPER_CALIBRATORS
from cordial_ppl.stack.stacking import stack_weights

RNG = np.random.default_rng(0)
MEMBERS = sorted({*DEFAULT_CHANNELS, *PAPER_CALIBRATORS})
COUNTS = np.array([*descent.default_counts(MEMBERS).values()], np.float32)


def draws_of(values, probs):
    """Draws of members with one site of one value."""
    moments = np.stack([values, values**2], -1)[..., None, :]
    return Draws(np.float32(moments), np.float32(probs))


def episodes(n, number=3, shift=0.0):
    """Episodes in which every member has one site; higher values predict better by `shift`."""
    values = {m: RNG.normal(size=(number, 64)) for m in MEMBERS}
    folds = np.tile(np.arange(n) % 4, (number, 1)).astype(np.int32)
    noise = {m: RNG.uniform(0.2, 0.8, (number, 1, n)) for m in MEMBERS}

    def say(value, base):
        return 1 / (1 + np.exp(-np.log(base / (1 - base)) - shift * value[..., None]))

    report = {m: draws_of(v, say(v, noise[m][..., :4])) for m, v in values.items()}
    held_out = {
        m: Draws(np.repeat(report[m].moments[:, None], 4, 1), np.float32(say(v, noise[m])))
        for m, v in values.items()
    }
    sizes = {m: np.ones((number, 1, 2), np.float32) for m in MEMBERS}
    group, weight = np.arange(number, dtype=np.int32), np.ones(number, np.float32)
    return Episode(group, weight, folds, sizes, report, held_out)


def test_the_loss_is_that_of_the_stack():
    batch = episodes(40)
    zero = {m: np.zeros((1, 2), np.float32) for m in MEMBERS}
    found = jax.jit(descent.stack_losses)(zero, zero, batch, COUNTS)
    for row, loss in enumerate(np.asarray(found)):
        said = np.stack([batch.held_out[m].probs[row].mean(0) for m in MEMBERS], -1)
        weights = stack_weights(np.log(said), COUNTS)
        probs = np.stack([batch.report[m].probs[row].mean(0) for m in MEMBERS], -1)
        np.testing.assert_allclose(loss, -np.log(probs @ weights).mean(), rtol=1e-3)
    with pytest.raises(cp.InputError, match="needs 3 tasks at least; got 2"):
        texts = Labelled(LOGITS, LABELS)
        training.train_prior(cp.priors.shipped_prior(), [("a", texts), ("b", texts)])


@pytest.mark.nightly
def test_moves_go_where_the_loss_falls(monkeypatch):
    """Where higher values predict better the location goes up; where nothing helps it stays."""
    monkeypatch.setattr(descent, "STEPS", 20)
    zero = {m: np.zeros((1, 2), np.float32) for m in MEMBERS}
    moved, apart, gains = descent.descend({5: episodes(5, shift=0.5)}, zero, 3)
    assert gains[5] > 0.02 and len(apart) == 3
    assert all(moved.moves[m][0, 0] > 0.2 for m in ("bridge", "mixture-vector"))
    same = episodes(5)
    same = same._replace(report={m: same.report[MEMBERS[0]] for m in MEMBERS})
    _, _, gains = descent.descend({5: same}, zero, 3)
    assert gains[5] < 1e-5


def test_a_trained_prior_moves_the_cautious_one():
    """By shift and factor in units of its scale; what training knows of a task left out goes."""
    shipped = cp.priors.shipped_prior()
    moves, cautious = shipped.rule.adjustments["bridge"], shipped.with_rule(name="cautious")
    with jax.enable_x64(True):
        target = build_target(CHANNELS["bridge"], 5)
    (loc, scale), (loc0, scale0) = (prior.of(target) for prior in (shipped, cautious))
    for site in target.sites:
        shift, log_factor = moves.get(site.name, (0.0, 0.0))
        at = site.slice
        np.testing.assert_allclose(loc[at], loc0[at] + shift * scale0[at])
        np.testing.assert_allclose(scale[at], np.exp(log_factor) * scale0[at])
    assert {"strength_log_odds", "tilt_log_odds"} < {*moves} and shipped.rule.counts["bridge"] > 4
    without = shipped.leave_out(shipped.tasks[:1])
    assert without.rule == cautious.rule and not without.rule.counts
    counts = [cp.Cordial(prior=p).settings.weight_counts["bridge"] for p in (None, without, "own")]
    assert counts == [shipped.rule.counts["bridge"], 4.0, 4.0]
    assert cp.LogitStack(prior=shipped).settings.weight_counts["odds"] == 1


@pytest.mark.nightly
def test_a_prior_is_trained_on_tasks_of_ones_own(monkeypatch, tmp_path):
    monkeypatch.setattr(descent, "STEPS", 10)
    monkeypatch.setattr(training, "BUDGETS", (5, 10))
    tasks = {}
    for seed in range(3):
        task = reviews(120, seed=seed)
        tasks[f"task {seed}"] = task.logits, task.labels
    cautious = cp.learn_prior(tasks, channels=DEFAULT_CHANNELS, vector=False)
    texts = [(name, Labelled(*task)) for name, task in tasks.items()]
    prior = training.train_prior(cautious, texts).prior
    assert {*prior.rule.adjustments} == {*DEFAULT_CHANNELS}
    prior.save(tmp_path / "prior.cordial")
    assert cp.priors.LearnedPrior.load(tmp_path / "prior.cordial").rule == prior.rule
    cp.Cordial(prior=prior).fit(LOGITS, LABELS)
