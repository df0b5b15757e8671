"""Priors: learned from other tasks, in units of the scale's length, or given by name."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_labels import LABELS, LOGITS, TEST
from golden import read_golden
from review_tables import fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.channels import AFFINE_CHANNELS, CHANNELS
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.priors import NamedPrior
from cordial_ppl.inference.priors.fits import (
    TYPICAL_SPREAD,
    LearnedChannel,
    Rule,
    TaskFit,
    reading_spread,
)
from cordial_ppl.inference.priors.sources import as_priors, resolve
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.runtime import storage

GOLDEN = read_golden("priors")
TASKS = {"ours": (LOGITS, LABELS), ("theirs", "a"): (LOGITS[::-1], LABELS)}


def drifting(readings, labels=None):
    """A channel with a parameter of unknown unit."""
    drift = numpyro.sample("drift", dist.Normal(0.0, 1.0))
    lean = drift * jnp.arange(readings.logits.shape[1], dtype=readings.logits.dtype)[None]
    cp.observe(jax.nn.log_softmax(readings.logits + lean), labels)


DRIFTING = cp.channels.Channel("drifting", drifting)


def target(channel: str | cp.channels.Channel = "mixture", size=5):
    with jax.enable_x64(True):
        return build_target(CHANNELS[channel] if isinstance(channel, str) else channel, size)


def fit(task, size, mode, channels=("mixture",)):
    """A fit from the flat vector of shared parameters; those of single options differ by task."""
    modes = {}
    for name in channels:
        sites = target(name, size).sites
        rest = np.linspace(-0.2, 0.1 * task, sites[-1].slice.stop - len(mode))
        flat = np.append(mode, rest).astype(float)
        modes[getattr(name, "name", name)] = {s.name: flat[s.slice].tolist() for s in sites}
    return TaskFit(f"task {task}", "", list(range(1, size + 1)), modes)


def prior_of(fits, channels=("mixture",), **rule):
    return cp.priors.LearnedPrior(
        tuple(fits), {name: LearnedChannel() for name in channels}, Rule(**rule)
    )


def table(channels=("mixture", "location"), **rule):
    """A prior from the reference's fits."""
    fits = [fit(i, size, mode, channels) for i, (mode, size) in enumerate(GOLDEN["fits"])]
    return prior_of(fits, channels, **{"name": "paper", **rule})


@pytest.fixture(scope="module")
def learned():
    return cp.learn_prior(TASKS, channels=[DRIFTING])


def test_the_papers_rule_is_the_references():
    found = table().of(target(size=GOLDEN["target_K"]))
    np.testing.assert_allclose(found, GOLDEN["mean_sd"], rtol=1e-12, atol=0)


def test_rules_units_and_spreads_by_hand():
    fits = [fit(i, size, [mode], [DRIFTING]) for i, (size, mode) in enumerate([(5, 0.4), (7, 0.9)])]
    prior = prior_of(fits, ["drifting"], name="paper", units={"drift": 1.0})
    found = prior.of(target(DRIFTING, 3)).loc[0]
    np.testing.assert_allclose(found, 2 * np.mean([0.4 / 4, 0.9 / 6]))
    # With two tasks and sigma_0 = 0.5, a variance of 1 / 6 weighs as much as the default.
    default = Prior(np.array([1.0]), np.array([0.5]))
    for variance, share in ((0.0, 1.0), (1 / 6, 1 / 8), (1e4, 0.0)):
        modes = 3 + np.sqrt(variance / 2) * np.array([[-1.0], [1.0]])
        found, paper = (Rule(name).combine(modes, 2, default) for name in ("cautious", "paper"))
        np.testing.assert_allclose(found.loc, 1 + 2 * share, atol=1e-9)
        np.testing.assert_array_equal(found.scale, paper.scale)
    assert reading_spread(np.array([[3.0, -3.0], [1.0, -1.0], [np.nan, np.nan]])) == 2
    assert reading_spread(np.full((1, 2), np.nan)) == TYPICAL_SPREAD == 3.3
    for size in (3, 5, 6, 10):  # Rounding is no spread.
        flat = np.log(np.full((4, size), 1 / size))
        assert reading_spread(flat - flat.mean(axis=1, keepdims=True)) == TYPICAL_SPREAD
    logits, times = np.random.default_rng(0).normal(size=(20, 5)), np.arange(1, 21)
    copies = reading_spread(np.repeat(logits, times, axis=0))
    assert reading_spread(logits, times.astype(float)) == pytest.approx(copies)


def test_single_options_learn_from_scales_of_their_length_alone():
    both = table(("mixture-vector",), vector=True)
    found, default = both.of(target("mixture-vector")), target("mixture-vector").prior
    vectors = target("mixture-vector").sites[5:]
    each = [[own.modes["mixture-vector"][s.name] for s in vectors] for own in both.fits[:2]]
    np.testing.assert_allclose(found.loc[5:], np.array(each).reshape(2, -1).mean(axis=0))
    without = both.with_rule(vector=False).of(target("mixture-vector"))
    np.testing.assert_array_equal(without.loc[5:], default.loc[5:])
    np.testing.assert_array_equal(without.loc[:5], found.loc[:5])
    alone = both.of(target("mixture-vector", 7))  # one task of seven options says too little
    np.testing.assert_array_equal(alone.scale[5:], target("mixture-vector", 7).prior.scale[5:])
    # Only where the temperature's prior is in units of the readings' spread.
    prior = cp.priors.shipped_prior()
    for given, same in ((prior, True), (None, False), (prior.with_rule(name="paper"), False)):
        found = []
        for factor in (0.1, 1):
            stack = Stack(channels=("location",), calibrators=(), inference="mode", prior=given)
            found.append(stack.fit(factor * LOGITS, LABELS).predict_proba(factor * TEST))
        assert (np.abs(found[0] - found[1]).max() < 1e-5) == same


def test_fits_are_the_modes(learned):
    for own, (logits, labels) in zip(learned.fits, TASKS.values(), strict=True):
        alone = cp.fit_channel(DRIFTING, logits, labels, method="mode")
        mode = own.modes["drifting"]["drift"]
        np.testing.assert_allclose(mode, alone.draws[0], rtol=0, atol=1e-8)
        assert own.counts == np.bincount(LABELS, minlength=5).tolist()
        assert own.spread == reading_spread(as_logits(logits))
    assert [own.name for own in learned.fits] == ["ours", "theirs, a"]
    whole = table()
    less = whole.leave_out(["task 1"])
    assert less.tasks == ("task 0", "task 2") and whole.tasks[1] == "task 1"
    direct = np.mean([fit[0][0] for fit in GOLDEN["fits"][::2]])
    np.testing.assert_allclose(less.of(target()).loc[0], direct)
    both = learned.join(cp.learn_prior([TASKS["ours"]] * 2, channels=[DRIFTING], seed=1))
    assert list(both.channels) == ["drifting"] and len(both.fits) == 4
    for change, message in {
        lambda: whole.join(whole): "two priors contain fit 'task 0'",
        lambda: table(("location",)).join(learned): "no channel in common",
        lambda: whole.leave_out(["task 9"]): r"'task 9'. The tasks .* leave_out=\('task 0',\)",
        lambda: whole.leave_out("task 0"): "got 'task 0'",
        lambda: whole.leave_out(["task 0", "task 1"]): "at least 2 tasks or judges",
    }.items():
        with pytest.raises(cp.InputError, match=message):
            change()


def stack(prior=None):
    return Stack(channels=(DRIFTING,), calibrators=("temperature",), inference="mode", prior=prior)


def test_a_stack_takes_it_as_the_gaussians_that_it_is(learned, tmp_path):
    path = tmp_path / "prior.cordial"
    learned.save(path)
    given = {"drifting": learned.of(target(DRIFTING))}
    expected = stack(given).fit(LOGITS, LABELS).predict_proba(TEST)
    assert np.abs(expected - stack().fit(LOGITS, LABELS).predict_proba(TEST)).max() > 1e-4
    for prior in (learned, path, str(path)):
        found = stack(prior).fit(LOGITS, LABELS)
        np.testing.assert_array_equal(found.predict_proba(TEST), expected)
    prior = table(("mixture", "location-vector"), vector=True, units={"drift": 1.0})
    prior.save(tmp_path / "a.cordial")
    found = cp.priors.LearnedPrior.load(tmp_path / "a.cordial")
    assert (found.fits, found.rule, found.channels) == (prior.fits, prior.rule, prior.channels)
    found.save(tmp_path / "b.cordial")
    assert (tmp_path / "a.cordial").read_bytes() == (tmp_path / "b.cordial").read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda meta: meta["fits"][0].pop("counts"), "missing required field `counts`"),
        (lambda meta: meta["fits"][1].update(counts=[1.5, 2]), "Expected `int`, got `float`"),
        (lambda meta: meta["fits"][1].update(spread=0.0), "`float` > "),
        (lambda meta: meta["fits"][1]["modes"]["mixture"].update(gain=[1e10]), "`float` <= "),
        (lambda meta: meta["rule"].update(name="odd"), "rule must be one of cautious"),
        (lambda meta: meta.update(fits=[]), "at least .*; got none"),
    ],
)
def test_files_that_are_no_priors(damage, message, tmp_path):
    path = tmp_path / "prior.cordial"
    table().save(path)
    meta, arrays = storage.read(path, "prior")
    damage(meta)
    storage.write(path, "prior", meta, arrays)
    with pytest.raises(cp.FileError, match=f"damaged or was changed: .*{message}"):
        cp.priors.LearnedPrior.load(path)


def test_fits_of_another_channel_are_refused(learned, tmp_path):
    path = tmp_path / "saved.cordial"
    storage.write(path, "calibrator", {}, {})
    mine = cp.channels.Channel("mixture", CHANNELS["mixture"].model, "mixture.py", "0123")
    vector, scalar = (
        cp.channels.Channel("mixture", CHANNELS[name].model)
        for name in ("mixture-vector", "scalar")
    )
    names = ["mixture"]
    for refused, message in {
        lambda: as_priors(path, names): "'calibrator'; expected a 'prior'",
        lambda: as_priors("nowhere.cordial", names): "cannot read",
        lambda: as_priors(learned, names): "learned for drifting",
        lambda: as_priors(3, names): "a learned prior",
        lambda: as_priors(Prior(np.zeros(5), np.ones(5)), [*names, "other"]): "a learned prior",
        lambda: learned.of(target("location")): "for drifting, not for channel 'location'",
        lambda: table().of(target(mine)): "mixture.py differs",
        lambda: table().of(target(vector)): "but channel 'mixture' has ",
        lambda: table().of(target(scalar)): "has the parameters temperature, strength_log_odds",
    }.items():
        with pytest.raises(cp.InputError, match=message):
            refused()


@pytest.mark.parametrize(
    ("tasks", "settings", "message"),
    [
        ({}, {}, "at least 2 tasks or judges"),
        ("ours", {}, "tasks must be"),
        (
            TASKS,
            {"leave_out": ["mine"]},
            "no task is called 'mine'. The tasks are 'ours', 'theirs'",
        ),
        (TASKS, {"rule": "odd"}, "rule must be one of"),
        (TASKS, {"channels": []}, "channels must list one or more"),
        ({**TASKS, ("ours", ""): TASKS["ours"]}, {}, "the same task and reader"),
        ([TASKS["ours"], 3], {}, r"task 1: .* \(logits, labels\)"),
        ({"task": 3, **TASKS}, {}, "^task: "),
        ([TASKS["ours"], (LOGITS, LABELS + 1)], {}, "task 1: labels must be"),
        ([TASKS["ours"], (LOGITS[:, :4], LABELS % 4)], {"channels": [DRIFTING]}, "'drift': 0"),
    ],
)
def test_tasks_that_nothing_can_be_learned_from(tasks, settings, message):
    with pytest.raises(cp.InputError, match=message):
        cp.learn_prior(tasks, **{"channels": ["mixture"], **settings})


def test_the_default_has_the_prior_that_is_shipped_and_a_name_is_for_every_channel():
    prior = cp.priors.shipped_prior()
    bare = cp.Cordial(inference="mode").fit(LOGITS, LABELS).predict_proba(TEST)
    for given, same in (prior, True), ("own", False):
        found = cp.Cordial(inference="mode", prior=given).fit(LOGITS, LABELS).predict_proba(TEST)
        assert np.array_equal(found, bare) == same
    less = prior.leave_out([task for task in prior.tasks if task.startswith("wmt23")])
    assert len(prior.fits) == 44 and len(less.fits) == 34
    assert len(prior.join(table(AFFINE_CHANNELS)).fits) == 47
    prior = {"location": {"offset": (1.0, 1e-3)}, "offset": (0.0, 1e-3), "bias": (0.0, 1e-3)}
    fitted = cp.Cordial(prior=prior, inference="mode").fit(LOGITS, LABELS)
    for name, posterior in fitted.posteriors_.items():
        assert posterior.mean()["offset"] == pytest.approx(float(name == "location"), abs=0.01)


@pytest.mark.parametrize(
    "size", [2, *(pytest.param(size, marks=pytest.mark.nightly) for size in (11, 101))]
)
def test_the_default_prior_serves_scales_of_any_length(size):
    """On long scales offsets are shares of the length, and predictions are as useful."""
    prior, here = cp.priors.shipped_prior(), target("bridge", size)
    found, default = prior.of(here), here.prior
    np.testing.assert_array_equal(found.loc[7:], default.loc[7:])
    assert (found.loc[:7] != default.loc[:7]).all()
    seven = prior.of(target("bridge", 7))
    if size > 7:
        np.testing.assert_allclose(found.loc[1] / (size - 1), seven.loc[1] / 6)
        np.testing.assert_allclose(found.scale[1] / (size - 1), seven.scale[1] / 6)
        texts = reviews(120, seed=1, options=size)
        fitted = cp.ChannelCalibrator("location", prior=prior, inference="mode")
        fitted.fit(texts.logits[:20], texts.labels[:20])
        mean = fitted.predict_mean(texts.logits[20:])
        error = np.sqrt(np.mean((mean - texts.labels[20:]) ** 2))
        # The ratio is .45 and .42, sd .13 over 20 seeds.
        assert error < 0.9 * texts.labels[20:].std()


@pytest.mark.parametrize("channel", AFFINE_CHANNELS)
def test_the_shipped_prior_is_that_of_its_fits(channel):
    """Golden values, of all parameters that are shared by scales of any length."""
    for size in range(3, 8):
        found = np.stack(
            cp.priors.shipped_prior().with_rule(name="cautious").of(target(channel, size))
        )
        expected = np.array(GOLDEN["shipped"][channel][str(size)])
        np.testing.assert_allclose(found[:, : expected.shape[1]], expected, rtol=0, atol=1e-12)


def test_what_is_named_stands_beside_what_is_shipped():
    given = {"offset": (0.5, 0.1), "bridge": {"gain": (0.1, 0.2)}}
    priors = as_priors(given, ["location", "bridge"], cp.priors.shipped_prior())
    learned = cp.priors.shipped_prior().of(target("location"), 2.0)
    named = resolve(priors.of("location"), target("location"), 2.0)
    assert named is not None and (named.loc[1], named.scale[1]) == (0.5, 0.1)
    np.testing.assert_array_equal(np.delete(named.loc, 1), np.delete(learned.loc, 1))
    bridge = resolve(priors.of("bridge"), target("bridge"), 2.0)
    assert bridge is not None and bridge.loc[2] == 0.1
    assert bridge.loc[3] == cp.priors.shipped_prior().of(target("bridge")).loc[3]
    # A parameter of every channel is one of this channel too, whose own comes first.
    (offset,) = (site.slice for site in target("bridge").sites if site.name == "offset")
    assert (*bridge.loc[offset], *bridge.scale[offset]) == (0.5, 0.1)
    both = as_priors(given | {"bridge": {"offset": (0.7, 0.2)}}, ["location", "bridge"])
    own = resolve(both.of("bridge"), target("bridge"), 2.0)
    assert own is not None and (*own.loc[offset], *own.scale[offset]) == (0.7, 0.2)
    alone = as_priors({"offset": (0.5, 0.1)}, ["location"]).of("location")
    found = resolve(alone, target("location"), 2.0)
    assert found is not None
    np.testing.assert_array_equal(found.loc[2:], [0, np.log(4), np.log(19)])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("offset", (0.5, 0.2), (0.5, 0.2)),
        ("offset", dist.Normal(0.5, 0.2), (0.5, 0.2)),
        ("gain", dist.LogNormal(0.1, 0.3), (0.1, 0.3)),
        ("strength_log_odds", dist.Normal(2.0, 1.0), (2.0, 1.0)),
        ("bias", ([0, 1, 2, 3, 4], 0.1), ([0, 1, 2, 3, 4], 0.1)),
    ],
)
def test_one_parameter_is_replaced_and_the_others_are_not(name, value, expected):
    vector = target("location-vector")
    (site,) = (site for site in vector.sites if site.name == name)
    found = NamedPrior({name: value}).of(vector)
    for part, default, wanted in zip(found, vector.prior, expected, strict=True):
        default = np.array(default)
        default[site.slice] = wanted
        np.testing.assert_array_equal(part, default)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"magic": (0.0, 1.0)}, "unknown parameter 'magic' in prior. The parameters are"),
        ({"mixture": {"bias": (0.0, 1.0)}}, "unknown parameter 'bias'"),
        ({"offset": 0.5}, "a NumPyro distribution; got 0.5"),
        ({"offset": (0.0, -1.0)}, "a positive scale, .* got "),
        ({"strength": (0, 1), "strength_log_odds": (0, 1)}, "are the same parameter"),
        ({"offset": ([0.0, 1.0], 1.0)}, "one location and one scale"),
        (lambda: {"gain": dist.Normal(1.0, 0.1)}, "must be Gaussian on the unconstrained scale"),
        (lambda: {"offset": dist.StudentT(3.0)}, "in the channel file"),
        ({"magic": {"offset": (0.0, 1.0)}}, "may name only the channels mixture"),
    ],
)
def test_bad_priors(prior, message):
    prior = prior() if callable(prior) else prior
    with pytest.raises(cp.InputError, match=message):
        cp.Cordial(prior=prior, inference="mode").fit(LOGITS, LABELS)


def test_the_program_takes_them(cordial, tmp_path):
    calibrate = fast("calibrate", *write_tables(tmp_path))
    cordial(*calibrate, "-o", "o.csv", "--prior-of", "offset=0,0.001")
    cordial(*calibrate, "-o", "p.csv")
    found, plain = (np.array(read(f"{name}.csv")["mean"], float) for name in "op")
    assert np.abs(found - plain).max() > 1e-3
