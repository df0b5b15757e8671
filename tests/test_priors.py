"""Learned priors: the paper's figures, units of the scale's length, files, and every door."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import numpyro.infer.util
import pytest
from few_labels import LABELS, LOGITS, TEST
from scipy.stats import halfnorm, norm

import cordial_ppl as cp
from cordial_ppl import storage
from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import AFFINE_CHANNELS, CHANNELS
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.subsets import BatchFit, Texts, fit_subsets
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.inference import tracing
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.priors.fits import ModeFit, TaskFit
from cordial_ppl.priors.hierarchy import hierarchy, predict_new
from cordial_ppl.priors.histogram import pseudo_counts
from cordial_ppl.priors.learned import Learned, LearnedPrior, Rule
from cordial_ppl.priors.rules import Evidence, cautious, paper
from cordial_ppl.priors.shipped import shipped_prior
from cordial_ppl.priors.sources import as_priors, resolve
from cordial_ppl.priors.table import learned_rows
from cordial_ppl.priors.units import TYPICAL_SPREAD, reading_spread
from cordial_ppl.readings import as_logits

GOLDEN = json.loads((Path(__file__).parent / "reference" / "priors.json").read_text())
TASKS = {"ours": (LOGITS, LABELS), ("theirs", "a"): (LOGITS[::-1], LABELS)}


def drifting(readings, labels=None):
    """A channel with a parameter of unknown unit."""
    drift = numpyro.sample("drift", dist.Normal(0.0, 1.0))
    lean = drift * jnp.arange(readings.logits.shape[1], dtype=readings.logits.dtype)[None]
    observe(jax.nn.log_softmax(readings.logits + lean), labels)


DRIFTING = Channel("drifting", drifting)


def target(channel: str | Channel = "mixture", size=5):
    with jax.enable_x64(True):
        return build_target(CHANNELS[channel] if isinstance(channel, str) else channel, size)


def split(channel: str | Channel, size, mode, spread=0.1):
    """The fit of each parameter, from the flat vector of all."""
    mode = np.asarray(mode, float)
    sites = target(channel, size).sites
    return {s.name: ModeFit(mode[s.slice], np.full(s.shape, spread).ravel()) for s in sites}


def table(channels=("mixture", "location"), spread=0.1, **rule):
    """The reference's fits; parameters of single options, where there are any, differ too."""
    fits = []
    for place, (mode, size) in enumerate(GOLDEN["fits"]):
        modes = {}
        for name in channels:
            rest = np.linspace(-0.2, 0.1 * place, target(name, size).size - 5)
            modes[name] = split(name, size, np.append(mode, rest), spread)
        fits.append(TaskFit(f"task {place}", "", np.arange(1, size + 1), modes))
    return LearnedPrior(
        tuple(fits), dict.fromkeys(channels, Learned("", ())), Rule(**{"name": "paper", **rule})
    )


@pytest.fixture(scope="module")
def learned():
    return cp.learn_prior(TASKS, channels=[DRIFTING])


def test_the_papers_rule_is_the_references():
    found = table().of(target(size=GOLDEN["target_K"]))
    np.testing.assert_allclose(found, GOLDEN["mean_sd"], rtol=1e-12, atol=0)


@pytest.mark.parametrize(("variance", "share"), [(0.0, 1.0), (1 / 6, 1 / 8), (1e4, 0.0)])
def test_the_cautious_rule_trusts_the_mean_as_far_as_tasks_agree(variance, share):
    """With two tasks and sigma_0 = 0.5, variances of 1 / 6 weigh as much as the channel's own."""
    gap = np.sqrt(variance / 2)
    evidence = Evidence(np.array([[3 - gap], [3 + gap]]), np.full((2, 1), 0.1), np.arange(2))
    own = Prior(np.array([1.0]), np.array([0.5]))
    found = cautious(evidence, own)
    np.testing.assert_allclose(found.loc, 1 + 2 * share, atol=1e-9)
    np.testing.assert_array_equal(found.scale, paper(evidence, own).scale)


def test_scales_of_any_length_share_a_prior():
    """In units of K - 1 the means are one; the channel's own spread is one in classes."""
    five, nine = (table().of(target(size=size)) for size in (5, 9))
    same = [0, 2, 4]
    np.testing.assert_allclose(five.loc[same], nine.loc[same])
    np.testing.assert_allclose(five.loc[1] / 4, nine.loc[1] / 8)
    np.testing.assert_allclose(five.loc[3] + 2 * np.log(4), nine.loc[3] + 2 * np.log(8))
    assert nine.scale[1] > five.scale[1] and (nine.scale <= target().prior.scale).all()


def test_single_options_learn_from_scales_of_their_length_alone():
    both = table(("mixture-vector",), vector=True)
    found, own = both.of(target("mixture-vector")), target("mixture-vector").prior
    vectors = target("mixture-vector").sites[5:]
    each = [[fit.modes["mixture-vector"][s.name].mode for s in vectors] for fit in both.fits[:2]]
    modes = np.array(each).reshape(2, -1)
    np.testing.assert_allclose(found.loc[5:], modes.mean(axis=0))
    without = both.with_rule(vector=False).of(target("mixture-vector"))
    np.testing.assert_array_equal(without.loc[5:], own.loc[5:])
    np.testing.assert_array_equal(without.loc[:5], found.loc[:5])
    alone = both.of(target("mixture-vector", 7))  # one task of seven options says too little
    np.testing.assert_array_equal(alone.scale[5:], target("mixture-vector", 7).prior.scale[5:])


def test_the_grid_is_the_models_evidence():
    """Against sums over the same grid with the covariances written out."""
    rng = np.random.default_rng(0)
    tasks = np.array([0, 0, 1, 2, 2, 2])
    modes, spreads = rng.normal(0.3, 0.6, (6, 2)), rng.uniform(0.05, 0.4, (6, 2))
    loc, scale = np.array([0.1, -0.2]), np.array([0.5, 1.5])
    found = np.stack(predict_new(modes, spreads, tasks, loc, scale))
    grid = (np.arange(40) + 0.5) * 3 / 40
    same = (tasks[:, None] == tasks[None]).astype(float)
    for p in range(2):
        total = np.zeros(3)
        for omega, eta in np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2) * scale[p]:
            between = scale[p] ** 2 + omega**2 * same
            cov = between + np.diag(eta**2 + spreads[:, p] ** 2)
            gap = modes[:, p] - loc[p]
            solved = np.linalg.solve(cov, np.stack([gap, np.ones(6)], 1))
            mean = loc[p] + scale[p] ** 2 * solved[:, 0].sum()
            width = scale[p] ** 2 - scale[p] ** 4 * solved[:, 1].sum() + omega**2 + eta**2
            log = -0.5 * (gap @ solved[:, 0] + np.linalg.slogdet(cov)[1])
            weight = np.exp(log - 0.5 * (omega**2 + eta**2) / scale[p] ** 2)
            total += weight * np.array([1, mean, width + mean**2])
        mean, square = total[1:] / total[0]
        np.testing.assert_allclose(found[:, p], [mean, np.sqrt(square - mean**2)], rtol=1e-9)


def test_the_numpyro_model_is_the_one_on_the_grid():
    """With omega, eta and mu given, its density is that of independent Gaussians."""
    rng = np.random.default_rng(1)
    tasks = np.repeat(np.arange(3), 2)
    modes, spreads = rng.normal(0.5, 0.7, (6, 1)), np.full((6, 1), 0.2)
    mu, omega, eta, new = (np.array([x]) for x in (0.4, 0.6, 0.3, 0.9))
    own = rng.normal(size=(3, 1))
    given = {"mu": mu, "omega": omega, "eta": eta, "own": own, "new": new}
    known = modes, spreads, tasks, np.array([0.1]), np.array([0.8])
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        found, _ = numpyro.infer.util.log_density(hierarchy, known, {}, given)
    places = mu + omega * own[tasks]
    expected = norm.logpdf(mu, 0.1, 0.8) + norm.logpdf(own).sum()
    expected += halfnorm.logpdf(omega, 0, 0.8) + halfnorm.logpdf(eta, 0, 0.8)
    expected += norm.logpdf(modes, places, np.hypot(eta, spreads)).sum()
    expected += norm.logpdf(new, mu, np.hypot(omega, eta))
    np.testing.assert_allclose(found, expected[0], rtol=1e-12)


def test_without_a_second_reader_there_is_no_eta():
    """The grid's predictive is the NumPyro model's, by importance sampling of mu and omega."""
    tasks, rng = np.arange(4), np.random.default_rng(2)
    modes, spreads = rng.normal(0.5, 0.7, (4, 1)), np.full((4, 1), 0.2)
    known = modes, spreads, tasks, np.zeros(1), np.ones(1)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        trace = numpyro.handlers.trace(numpyro.handlers.seed(hierarchy, 0)).get_trace(*known)
    assert "eta" not in trace and "omega" in trace
    mu, omega = rng.normal(size=400_000), np.abs(rng.normal(size=400_000))
    # Beyond three prior deviations the grid has no points.
    keep = omega < 3
    mu, omega = mu[keep, None], omega[keep, None]
    logs = norm.logpdf(modes[:, 0][None], mu, np.hypot(omega, 0.2)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ mu[:, 0]
    spread = np.sqrt(weights @ (omega[:, 0] ** 2 + mu[:, 0] ** 2) - mean**2)
    found = [own[0] for own in predict_new(*known)]
    np.testing.assert_allclose(found, [mean, spread], atol=0.01)


def test_hierarchical_spreads_are_those_of_tasks_however_many_readers():
    """Ten readers of two tasks are no twenty tasks."""
    modes = np.repeat([[0.0], [1.0]], 10, axis=0)
    given = modes, np.full((20, 1), 0.05)
    prior = np.zeros(1), np.ones(1)
    _, few = predict_new(*given, np.repeat([0, 1], 10), *prior)
    _, many = predict_new(*given, np.arange(20), *prior)
    assert few[0] > 1.2 * many[0]


def test_pseudo_counts_are_those_that_tasks_were_drawn_with():
    alpha = np.array([0.5, 1.0, 4.0])
    rng = np.random.default_rng(2)
    counts = rng.multinomial(1000, rng.dirichlet(alpha, 300))
    np.testing.assert_allclose(pseudo_counts(counts), alpha, rtol=0.2)


def test_fits_are_the_modes(learned):
    for own, (logits, labels) in zip(learned.fits, TASKS.values(), strict=True):
        alone = cp.fit_channel(DRIFTING, logits, labels, method="mode")
        fit = own.modes["drifting"]["drift"]
        np.testing.assert_allclose(fit.mode, alone.draws[0], rtol=0, atol=1e-8)
        assert (fit.spread > 0).all() and (fit.spread < 1).all()
        np.testing.assert_array_equal(own.counts, np.bincount(LABELS, minlength=5))
    assert [own.name for own in learned.fits] == ["ours", "theirs, a"]


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


def test_common_labels_enter_the_histogram(learned):
    counted = learned.with_rule(histogram=True)
    alpha = counted.pseudo_counts(5)
    shares = (np.bincount(LABELS, minlength=5) + alpha) / (20 + alpha.sum())
    found = stack(counted).fit(LOGITS, LABELS)
    np.testing.assert_allclose(found.posteriors_["drifting"].histogram, shares)
    assert found.expected_.histogram == stack(learned).fit(LOGITS, LABELS).expected_.histogram
    assert learned.pseudo_counts(5) is None and counted.pseudo_counts(7) is None


def test_a_saved_judge_keeps_what_it_was_fitted_with(tmp_path):
    judge = cp.Cordial(prior=table()).fit(LOGITS, LABELS)
    judge.save(tmp_path / "judge.cordial")
    found = cp.load(tmp_path / "judge.cordial")
    np.testing.assert_array_equal(found.predict_proba(TEST), judge.predict_proba(TEST))
    assert list(found.prior.given) == ["mixture", "location"] and found.prior.learned is None
    np.testing.assert_array_equal(found.prior.given["mixture"], table().of(target()))


def test_fits_of_many_subsets_use_it_too(learned):
    counted = learned.with_rule(histogram=True)
    rows, texts = np.array([np.arange(20), np.arange(20)[::-1]]), Texts(as_logits(TEST))
    pool = Texts(as_logits(LOGITS))
    found = fit_subsets({"x": stack(counted)}, pool, LABELS, rows, (0, 1), texts)["x"]
    assert isinstance(found, BatchFit)
    alone = stack(counted).fit(LOGITS, LABELS).predict_proba(TEST)
    np.testing.assert_allclose(found.probs[0], alone, rtol=0, atol=1e-5)
    one, other = stack(counted), stack(counted)
    assert one.parts(20)[0].key == other.parts(20)[0].key != stack(learned).parts(20)[0].key


def test_leaving_out_and_joining(learned):
    whole = table()
    less = whole.leave_out(["task 1"])
    assert less.tasks == ("task 0", "task 2") and whole.tasks[1] == "task 1"
    direct = np.mean([fit[0][0] for fit in GOLDEN["fits"][::2]])
    np.testing.assert_allclose(less.of(target()).loc[0], direct)
    both = learned.join(cp.learn_prior([TASKS["ours"]] * 2, channels=[DRIFTING], seed=1))
    assert list(both.channels) == ["drifting"] and len(both.fits) == 4
    with pytest.raises(InputError, match="'task 0' is in two of the priors"):
        whole.join(whole)
    with pytest.raises(InputError, match="no channel in common"):
        table(("location",)).join(learned)
    with pytest.raises(InputError, match="may name the tasks task 0, .*; got 'task 9'"):
        whole.leave_out(["task 9"])
    with pytest.raises(InputError, match="of 2 tasks or readers at least; there is task 2"):
        whole.leave_out(["task 0", "task 1"])


def test_a_file_comes_back(tmp_path):
    prior = table(("mixture", "location-vector"), vector=True, units={"drift": 1.0})
    prior.save(tmp_path / "a.cordial")
    found = LearnedPrior.load(tmp_path / "a.cordial")
    assert found.rule == prior.rule and found.channels == prior.channels
    for name in prior.channels:
        np.testing.assert_array_equal(found.of(target(name)), prior.of(target(name)))
    found.save(tmp_path / "b.cordial")
    assert (tmp_path / "a.cordial").read_bytes() == (tmp_path / "b.cordial").read_bytes()
    assert (tmp_path / "a.cordial").stat().st_size < 10_000


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda meta, arrays: arrays.pop("fit.0.mixture"), "KeyError"),
        (lambda meta, arrays: arrays.update({"fit.1.mixture": np.ones(5)}), "no mode"),
        (lambda meta, arrays: arrays.update({"fit.1.counts": np.ones(5)}), "no counts"),
        (lambda meta, arrays: arrays.update({"fit.1.mixture": np.ones((2, 6))}), "6 numbers of 5"),
        (lambda meta, arrays: meta.pop("layouts"), "written by an earlier version"),
        (lambda meta, arrays: meta["layouts"]["mixture"].pop("7"), "KeyError"),
        (lambda meta, arrays: arrays.update(more=np.ones(1)), "unexpected arrays"),
        (lambda meta, arrays: meta["rule"].update(name="odd"), "rule must be one of cautious"),
        (lambda meta, arrays: meta["rule"].update(odd=1), "TypeError"),
        (lambda meta, arrays: meta.update(fits=[]), "unexpected arrays"),
        (lambda meta, arrays: meta["fits"][0].pop("spread"), "KeyError"),
        (lambda meta, arrays: meta["fits"][1].update(spread=0.0), "fit 1 has a spread of 0.0"),
    ],
)
def test_files_that_are_no_priors(damage, message, tmp_path):
    path = tmp_path / "prior.cordial"
    table().save(path)
    meta, arrays = storage.read(path, "prior")
    damage(meta, arrays)
    storage.write(path, "prior", meta, arrays)
    with pytest.raises(FileError, match=f"damaged or was changed: .*{message}"):
        LearnedPrior.load(path)


def test_fits_of_another_channel_are_refused(learned, tmp_path):
    path = tmp_path / "judge.cordial"
    storage.write(path, "judge", {}, {})
    with pytest.raises(FileError, match="holds a 'judge'; a 'prior' is needed"):
        cp.Cordial(prior=path)
    with pytest.raises(FileError, match="cannot read"):
        cp.Cordial(prior=tmp_path / "nowhere.cordial")
    with pytest.raises(InputError, match="learned for drifting; none of these is among"):
        cp.ChannelCalibrator("location", prior=learned)
    with pytest.raises(InputError, match="learned for drifting, not for channel 'location'"):
        learned.of(target("location"))
    for prior in (3, Prior(np.zeros(5), np.ones(5))):
        with pytest.raises(InputError, match="a parameter, a learned prior, the path"):
            as_priors(prior, ["mixture"])
    mine = Channel("mixture", CHANNELS["mixture"].model, "mixture.py", "0123")
    with pytest.raises(InputError, match="learned with another mixture.py"):
        cp.ChannelCalibrator(mine, prior=table()).check(LOGITS, {})
    vector = Channel("mixture", CHANNELS["mixture-vector"].model)
    with pytest.raises(
        InputError, match=r"of channel 'mixture', which has .*, bias\[5\]: learn it"
    ):
        table().of(target(vector))


@pytest.mark.parametrize(
    ("tasks", "settings", "message"),
    [
        ({}, {}, "2 tasks or readers at least; there is none"),
        ({"a": TASKS["ours"]}, {}, "at least; there is a"),
        (TASKS, {"leave_out": ["ours"]}, "at least; there is theirs, a"),
        (TASKS, {"leave_out": ["mine"]}, "leave_out names 'mine'; the tasks are ours, theirs"),
        (TASKS, {"rule": "odd"}, "rule must be one of"),
        (TASKS, {"channels": []}, "channels must be one or several"),
        (TASKS, {"channels": ["mixture", "mixture"]}, "channels must be one or several"),
        ({**TASKS, ("ours", ""): TASKS["ours"]}, {}, "a task and reader comes twice"),
        ({**TASKS, 3: TASKS["ours"]}, {}, "named by a task or by .*; got 3"),
        ([TASKS["ours"], 3], {}, r"task 1: a task must be \(logits, labels\)"),
        ([TASKS["ours"], (LOGITS, LABELS[:3])], {}, "task 1: 20 rows of logits .* 3 labels"),
        ([TASKS["ours"], (LOGITS, LABELS + 1)], {}, "task 1: labels must be"),
        ([TASKS["ours"], (*TASKS["ours"], {"x": LABELS * 1.0})], {}, "the same covariates"),
        (
            [TASKS["ours"], (LOGITS[:, :4], LABELS % 4)],
            {"channels": [DRIFTING]},
            r"have 4 and 5 options, .* parameter 'drift' .* units=\{'drift': 0\}",
        ),
    ],
)
def test_tasks_that_nothing_can_be_learned_from(tasks, settings, message):
    with pytest.raises(InputError, match=message):
        cp.learn_prior(tasks, **{"channels": ["mixture"], **settings})


def test_a_unit_makes_any_parameter_comparable():
    fits = tuple(
        TaskFit(str(size), "", np.ones(size, int), {"drifting": split(DRIFTING, size, [mode])})
        for size, mode in ((5, 0.4), (7, 0.9))
    )
    prior = LearnedPrior(fits, {"drifting": Learned("", ())}, Rule("paper", units={"drift": 1.0}))
    found = prior.of(target(DRIFTING, 3)).loc[0]
    np.testing.assert_allclose(found, 2 * np.mean([0.4 / 4, 0.9 / 6]))


def scaled(factor, **settings):
    """A stack of channels on logits with a factor, and its predictions."""
    settings = {"calibrators": (), "inference": "mode", **settings}
    judge = Stack(channels=("mixture", "location-vector"), **settings)
    return judge.fit(factor * LOGITS, LABELS).predict_proba(factor * TEST)


def test_a_factor_on_the_logits_changes_nothing():
    """Only where the temperature's prior is in units of the readings' spread."""
    prior = cp.shipped_prior()
    np.testing.assert_allclose(scaled(0.1, prior=prior), scaled(1, prior=prior), atol=1e-5)
    assert np.abs(scaled(0.1) - scaled(1)).max() > 0.01
    literal = prior.with_rule(name="paper")
    assert np.abs(scaled(0.1, prior=literal) - scaled(1, prior=literal)).max() > 0.01


def test_each_subset_has_the_prior_of_its_own_readings():
    """Flat readings and steep ones, fitted together as each would be alone."""
    steep = np.concatenate([LOGITS, 8 * LOGITS])
    pool, texts = Texts(as_logits(steep)), Texts(as_logits(TEST))
    rows = np.arange(40).reshape(2, 20)
    judge = Stack(channels=("mixture",), calibrators=(), prior=cp.shipped_prior())
    labels = np.concatenate([LABELS, LABELS])
    judge.inference = "mode"
    found = fit_subsets({"x": judge}, pool, labels, rows, (0, 1), texts)["x"]
    assert isinstance(found, BatchFit)
    for draw, own in enumerate(rows):
        judge.seed = draw
        alone = judge.fit(steep[own], labels[own]).predict_proba(TEST)
        np.testing.assert_allclose(found.probs[draw], alone, rtol=0, atol=1e-5)


def test_the_spread_is_that_of_readings():
    assert reading_spread(np.array([[3.0, -3.0], [1.0, -1.0], [np.nan, np.nan]])) == 2
    assert reading_spread(np.zeros((4, 3))) == reading_spread(np.full((1, 2), np.nan)) == 3.3


def test_on_a_long_scale_the_channels_own_is_in_units_of_its_length():
    """Without evidence, a rule that learns nothing: an offset of two classes of nine as of five."""
    modes = [{"mixture": split("mixture", 5, [0, x, 0, x, x])} for x in (-99.0, 99.0)]
    fits = tuple(TaskFit(str(k), "", np.ones(5, int), own) for k, own in enumerate(modes))
    prior = LearnedPrior(fits, {"mixture": Learned("", ())})
    five, nine, three = (prior.of(target(size=size)) for size in (5, 9, 3))
    np.testing.assert_allclose(nine.scale[[1, 3]], five.scale[[1, 3]] * [2, 1])
    np.testing.assert_allclose(nine.loc[3] + 2 * np.log(8), five.loc[3] + 2 * np.log(4), atol=1e-3)
    np.testing.assert_allclose(three.loc[3], target(size=3).prior.loc[3], atol=1e-3)
    assert three.scale[1] == 1


def test_the_default_has_the_prior_that_is_shipped():
    prior = cp.shipped_prior()
    assert cp.Cordial().prior.learned is prior and len(prior.fits) == 44
    assert cp.Cordial(prior="own").prior.learned is cp.Cordial.paper().prior.learned is None
    for size in (2, 5, 10):
        found, own = prior.of(target("bridge", size)), target("bridge", size).prior
        np.testing.assert_array_equal(found.loc[6:], own.loc[6:])
        assert (found.loc[:6] != own.loc[:6]).all()
    less = prior.leave_out([task for task in prior.tasks if task.startswith("wmt23")])
    assert len(less.fits) == 34 and len(prior.join(table(AFFINE_CHANNELS)).fits) == 47


@pytest.mark.parametrize("channel", AFFINE_CHANNELS)
@pytest.mark.parametrize("size", range(3, 8))
def test_the_shipped_prior_is_that_of_its_fits(channel, size):
    """Golden values, of all parameters that are shared by scales of any length."""
    found = np.stack(cp.shipped_prior().of(target(channel, size)))
    expected = np.array(GOLDEN["shipped"][channel][str(size)])
    np.testing.assert_allclose(found[:, : expected.shape[1]], expected, rtol=0, atol=1e-12)


def test_a_learned_prior_traces_no_channel_for_another_scale(monkeypatch):
    """Names and lengths of the parameters that fits are of are in the file."""
    own = target("location", 6)
    shipped_prior.cache_clear()
    monkeypatch.setattr(tracing, "run_model", None)
    assert (cp.shipped_prior().of(own).loc[:4] != own.prior.loc[:4]).all()


def test_what_is_named_stands_beside_what_is_shipped():
    judge = cp.Cordial(prior={"offset": (0.5, 0.1), "bridge": {"gain": (0.1, 0.2)}})
    learned = cp.shipped_prior().of(target("location"), 2.0)
    named = resolve(judge.prior.of("location"), target("location"), 2.0)
    assert named is not None
    assert (named.loc[1], named.scale[1]) == (0.5, 0.1)
    np.testing.assert_array_equal(np.delete(named.loc, 1), np.delete(learned.loc, 1))
    bridge = resolve(judge.prior.of("bridge"), target("bridge"), 2.0)
    assert (
        bridge is not None
        and bridge.loc[2] == 0.1
        and bridge.loc[3] == cp.shipped_prior().of(target("bridge")).loc[3]
    )
    alone = Stack(channels=("location",), prior={"offset": (0.5, 0.1)}).prior.of("location")
    found = resolve(alone, target("location"), 2.0)
    assert found is not None
    np.testing.assert_array_equal(found.loc[2:], [0, np.log(4), np.log(19)])


def test_a_literal_judge_stays_literal_when_it_is_loaded(tmp_path):
    judge = cp.Cordial.paper().fit(LOGITS, LABELS)
    judge.save(tmp_path / "judge.cordial")
    found = cp.load(tmp_path / "judge.cordial")
    assert found.prior.learned is None and not found.prior.given
    np.testing.assert_array_equal(
        found.fit(LOGITS, LABELS).predict_proba(TEST), judge.predict_proba(TEST)
    )


def test_the_table_shows_both_in_units_of_the_length():
    rows = {row.parameter: row for row in learned_rows(table(), [CHANNELS["mixture"]], 5)}
    names = ["log temperature", "offset", "log gain", "log concentration", "logit strength"]
    assert list(rows) == names
    (mean, spread), own = np.array(GOLDEN["mean_sd"])[:, 1] / 4, rows["offset"]
    np.testing.assert_allclose((own.mean, own.spread), (mean, spread))
    assert (own.own_mean, own.own_spread) == (0, 0.25)
    np.testing.assert_allclose(rows["log concentration"].own_mean, np.log(4) + 2 * np.log(4))


@pytest.mark.parametrize("size", [3, 5, 6, 10])
def test_rounding_is_no_spread(size):
    flat = np.log(np.full((4, size), 1 / size))
    assert reading_spread(flat - flat.mean(axis=1, keepdims=True)) == TYPICAL_SPREAD
