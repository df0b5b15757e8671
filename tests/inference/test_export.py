"""Posteriors reach ArviZ with their names, their draws, their data and what they are worth."""

import warnings
from dataclasses import replace
from typing import Any

import arviz as az
import jax
import numpy as np
import pytest
import xarray
from few_labels import LABELS, LOGITS
from scipy.special import logit
from scipy.stats import norm

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, label_histogram
from cordial_ppl.estimators.fusion.fusion_fit import JOINT
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.export import draw_options, join

pytestmark = pytest.mark.literal
NOTHING = float("nan")
NAMED = ["abcde"[z] for z in LABELS]
ALONE = {"posterior", "prior", "log_prior", "sample_stats"}
OF_TEXTS = {"log_likelihood", "posterior_predictive", "prior_predictive", "observed_data"}


@pytest.fixture(
    scope="module",
    params=[
        ("location", "mixture-vector"),
        pytest.param(PAPER_CHANNELS, marks=pytest.mark.nightly, id="all"),
    ],
)
def judge(request):
    stack = Stack(list("abcde"), channels=request.param, calibrators=(), inference="laplace")
    return stack.fit(LOGITS, [*map("abcde".__getitem__, LABELS)])


def test_a_weighted_posterior_becomes_equal_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 15))
    weights = np.exp(draws[:, 1])
    diagnostics = cp.Diagnostics("laplace", 0.4, 900.0, NOTHING, 0.0, 0, True)
    posterior = cp.Posterior(
        CHANNELS["location-vector"],
        np.full(5, 0.2),
        draws,
        weights / weights.sum(),
        diagnostics,
        Labelled(LOGITS, LABELS),
    )
    tree: Any = posterior.to_datatree()
    group: Any = tree["posterior"]
    assert set(tree.children) == ALONE | OF_TEXTS
    assert dict(group.sizes) == {"chain": 1, "draw": 4000, "option": 5}
    assert group["bias"].dims == ("chain", "draw", "option")
    assert set(group.data_vars) == set(posterior.parameters())
    # Each draw as often as its weight says, rounded up or down.
    copies = (np.ravel(group["offset"]) == posterior.parameters()["offset"][:, None]).sum(axis=1)
    assert np.abs(copies - 4000 * posterior.weights).max() < 1 + 1e-9
    assert group.attrs["khat"] == tree["sample_stats"].attrs["khat"] == 0.4
    assert group.attrs["channel"] == "location-vector"


def test_leaving_labels_out_by_weights_is_leaving_them_out():
    # Also of the histogram, which the channel falls back on.
    logits, labels = np.random.default_rng(0).normal(0, 3, (20, 5)), 1 + np.arange(20) % 3
    # Labels say little beside such a prior: weights are fine, and the histogram matters.
    prior = cp.priors.Prior(np.array([0.0, 0.0, 0.0, np.log(4), 0.0]), np.full(5, 0.05))
    posterior = cp.fit_laplace("location", logits, labels, prior=prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: Any = az.loo(posterior.to_datatree())
    expected = 0.0
    for row in range(20):
        others = np.delete(np.arange(20), row)
        left = cp.fit_laplace("location", logits[others], labels[others], prior=prior)
        expected += np.log(left.predict_proba(logits[[row]])[0, labels[row]])
    # The differences are -.03, sd .03 over 20 seeds, and 1.65, sd .17.
    assert found.elpd == pytest.approx(expected, abs=0.2)
    own = posterior.predict_proba(logits)[np.arange(20), labels]
    assert np.log(own).sum() > expected + 1.0
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(0, 3, (20, 5)), rng.integers(0, 5, 20)
    posterior = cp.fit_laplace("location", logits, labels)
    # Another histogram than that of the labels, so that no label is left out of it.
    fixed: Any = replace(posterior, histogram=np.full(5, 0.2))
    once, twice = (Labelled(logits, labels, {}, own) for own in (np.ones(20), np.full(20, 2.0)))
    one, two = (replace(fixed, data=data).to_datatree() for data in (once, twice))
    # The log density is of the labels that were fitted, whatever texts the likelihoods are of.
    np.testing.assert_array_equal(
        replace(fixed, data=once).to_datatree(data=once.take(np.arange(5)))["sample_stats"]["lp"],
        one["sample_stats"]["lp"],
    )
    known = one["log_likelihood"]["label"]
    np.testing.assert_allclose(two["log_likelihood"]["label"], 2 * known, rtol=1e-12)
    change = two["sample_stats"]["lp"] - one["sample_stats"]["lp"]
    np.testing.assert_allclose(change, known.sum("text"), rtol=1e-9)


def test_every_group_of_every_channel(judge, tmp_path):
    tree: Any = judge.to_datatree()
    assert set(tree.children) == {*judge.posteriors_, "posterior", "prior"}
    for name, own in ((name, tree[name]) for name in judge.posteriors_):
        assert set(own.children) == ALONE | OF_TEXTS, name
        sizes = own["log_likelihood"].sizes
        assert sizes["text"] == len(LABELS) and sizes["draw"] == 300
        predicted = own["posterior_predictive"]["label"].values
        assert predicted.min() >= 0 and predicted.max() <= 4
        np.testing.assert_array_equal(own["observed_data"]["label"], LABELS)
    bias: Any = tree["mixture-vector"]["posterior"]["bias"]
    assert bias.dims == ("chain", "draw", "option")
    assert list(bias.coords["option"].values) == list("abcde")
    whole: Any = az.summary(tree, round_to="none")
    for name in judge.posteriors_:
        own: Any = az.summary(tree[name], round_to="none")
        some = whole.loc[[f"{name}.{parameter}" for parameter in own.index]]
        np.testing.assert_array_equal(some["mean"], own["mean"])
    tree.to_netcdf(tmp_path / "judge.nc")
    with az.from_netcdf(tmp_path / "judge.nc") as kept:
        xarray.testing.assert_identical(kept.load(), tree)


def test_likelihood_prior_and_density_are_those_of_the_model(judge):
    posterior = judge.posteriors_["location"]
    tree: Any = posterior.to_datatree()
    named = {k: np.ravel(v) for k, v in tree["posterior"].data_vars.items()}
    logs = tree["log_likelihood"]["label"].values.reshape(-1, len(LABELS))
    terms = {k: np.ravel(v) for k, v in tree["log_prior"].data_vars.items()}
    prior = posterior.target.prior
    for name, values, k in (("offset", named["offset"], 1), ("gain", np.log(named["gain"]), 2)):
        expected = norm.logpdf(values, prior.loc[k], prior.scale[k])
        np.testing.assert_allclose(terms[name], expected, rtol=1e-9)
    logarithms = [np.log(named[name]) for name in ("temperature", "gain", "concentration")]
    flat = [logarithms[0], named["offset"], *logarithms[1:], logit(named["strength"])]
    # The mean probability is the predictive of these draws: of a text under the histogram of the
    # other labels.
    flat = np.column_stack(flat)
    own = replace(posterior, draws=flat, weights=np.full(len(flat), 1 / len(flat)))
    for row, label in enumerate(LABELS):
        others = np.asarray(label_histogram(np.delete(LABELS, row), 5))
        left = replace(own, histogram=others).predict_proba(LOGITS[[row]])[0, label]
        assert np.exp(logs[:, row]).mean() == pytest.approx(left, rel=1e-5)
    readings = Readings(LOGITS - LOGITS.mean(axis=1, keepdims=True), posterior.histogram)
    likely = jax.jit(jax.vmap(posterior.target.log_likelihood, (0, None, None)))(
        flat, readings, LABELS
    )
    total = sum(terms.values()) + np.asarray(likely)
    np.testing.assert_allclose(np.ravel(tree["sample_stats"]["lp"]), total, rtol=1e-7)


def test_a_replaced_prior_is_shown_and_arviz_works_on_all():
    judge = cp.ChannelCalibrator("location", prior={"offset": (3.0, 0.1)}, inference="laplace")
    tree: Any = judge.fit(LOGITS, LABELS).to_datatree()
    # The standard deviation of the mean of 1000 draws is .003.
    assert float(tree["prior"]["offset"].mean()) == pytest.approx(3.0, abs=0.02)
    offsets = tree["posterior"]["offset"].values
    expected = norm.logpdf(offsets, 3.0, 0.1)
    np.testing.assert_allclose(tree["log_prior"]["offset"].values, expected, rtol=1e-9)
    tree: Any = cp.fit_channel("location", LOGITS, LABELS).to_datatree()
    table = az.summary(tree, ci_prob=0.9)
    assert set(table.index) == {"temperature", "offset", "gain", "concentration", "strength"}
    az.plot_trace(tree)
    assert set(az.psense_summary(tree).index) == set(table.index)


@pytest.fixture(scope="module")
def posteriors():
    return {name: cp.fit_channel(name, LOGITS, LABELS) for name in ("mixture", "location")}


@pytest.mark.filterwarnings("ignore:.*Pareto", "ignore:.*elpd", "ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        *("rank", "ppc_rootogram"),
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in ("trace", "pair", "forest", "ppc_dist", "psense_dist")
        ),
    ],
)
def test_arviz_draws(posteriors, tmp_path, name):
    mixture = posteriors["mixture"]
    if name == "rank":
        # As of four chains, which a picture of ranks compares.
        figures = mixture.diagnostics._replace(method="nuts", chains=4)
        mixture = replace(mixture, diagnostics=figures)
    picture: Any = getattr(az, f"plot_{name}")(mixture.to_datatree())
    if name in ("trace", "rank"):
        assert set(picture.viz["title"].data_vars) == set(mixture.parameters())
    picture.savefig(tmp_path / f"{name}.png")
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


@pytest.mark.filterwarnings("ignore:.*Pareto", "ignore:.*elpd", "ignore::UserWarning")
def test_arviz_summarises_and_compares(posteriors):
    trees: Any = {name: each.to_datatree() for name, each in posteriors.items()}
    tree, names = trees["mixture"], set(posteriors["mixture"].parameters())
    assert set(az.summary(tree).index) == names == set(az.psense_summary(tree).index)
    compared: Any = az.compare(trees)
    losses: Any = az.loo
    alone = {name: losses(each).elpd for name, each in trees.items()}
    assert compared.index[0] == max(alone, key=lambda name: alone[name])
    assert set(az.psense(tree).data_vars) == names


def test_groups_of_all_channels_win_over_a_channel_of_their_name(posteriors):
    tree = posteriors["mixture"].to_datatree()
    joined: Any = join({"prior": tree, "mixture": tree})
    assert {"prior.offset", "mixture.offset"} <= {*joined["prior"].data_vars}
    assert {*az.summary(joined).index} >= {"prior.offset", "mixture.offset"}


def test_labels_of_one_text_are_left_out_together():
    thrice = np.repeat(LABELS[:, None], 3, axis=1)
    one, three = (cp.ChannelCalibrator("location").fit(LOGITS, z) for z in (LABELS, thrice))
    trees: Any = [each.to_datatree() for each in (one, three)]
    assert trees[1]["log_likelihood"].sizes == trees[0]["log_likelihood"].sizes
    assert trees[1]["observed_data"].sizes == {"row": thrice.size}
    names = zip(trees, ("label", "labels"), strict=True)
    few, many = (tree["log_likelihood"][name].mean("draw") for tree, name in names)
    assert abs(few - many).max() < 0.05 * abs(few).max()


def test_chains_and_readers_are_dimensions():
    draws = np.random.default_rng(0).normal(size=(80, 5))
    diagnostics = cp.Diagnostics("nuts", NOTHING, 70.0, 0.9, NOTHING, 0, True, chains=4)
    share = np.full(80, 1 / 80)
    figures = {"diverging": np.arange(80) == 30, "energy": np.arange(80.0)}
    posterior = cp.Posterior(
        CHANNELS["location"],
        np.full(5, 0.2),
        draws,
        share,
        diagnostics,
        Labelled(LOGITS, LABELS),
        transitions=figures,
    )
    tree: Any = posterior.to_datatree()
    assert dict(tree["posterior"].sizes) == {"chain": 4, "draw": 20}
    np.testing.assert_array_equal(np.argwhere(tree["sample_stats"]["diverging"].values), [[1, 10]])
    np.testing.assert_array_equal(np.ravel(tree["sample_stats"]["energy"]), np.arange(80.0))
    assert tree["sample_stats"].attrs["draws_are"] == "chains of NUTS"
    one: Any = replace(posterior, diagnostics=diagnostics._replace(chains=1)).to_datatree()
    assert one["sample_stats"].attrs["draws_are"] == "chains of NUTS"
    found = tree["posterior"]["offset"].values
    np.testing.assert_array_equal(found, posterior.parameters()["offset"].reshape(4, 20))
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(50, 9))
    diagnostics = cp.Diagnostics("default", 0.2, 50.0, 0.4, NOTHING, 0, True)
    posterior = cp.Posterior(
        JOINT,
        np.full(5, 0.2),
        draws,
        np.full(50, 0.02),
        diagnostics,
        Labelled(np.stack([LOGITS] * 3, axis=1), LABELS),
    )
    tree: Any = posterior.to_datatree(readers=("a", "b", "c"))
    temperature: Any = tree["posterior"]["temperature"]
    assert temperature.dims == ("chain", "draw", "reader")
    assert list(temperature.coords["reader"].values) == ["a", "b", "c"]


def test_texts_of_ones_own_are_those_of_the_fit(judge):
    tree: Any = judge.to_datatree(LOGITS, NAMED)
    expected = judge.to_datatree()["location"]["log_likelihood"]["label"].values
    np.testing.assert_array_equal(tree["location"]["log_likelihood"]["label"].values, expected)
    # In whatever order they come; others are not recognised by the counts of their labels.
    turned: Any = judge.to_datatree(LOGITS[::-1], NAMED[::-1])
    logs = turned["location"]["log_likelihood"]["label"].values
    np.testing.assert_allclose(logs[..., ::-1], expected, rtol=1e-6)
    rounded: Any = judge.to_datatree(LOGITS.round(5), NAMED)["location"]["log_likelihood"]
    np.testing.assert_allclose(rounded["label"], expected, rtol=1e-3)
    others = LOGITS + np.eye(5)[0]
    one: Any = judge.to_datatree(others, NAMED)
    few: Any = judge.to_datatree(others[:-1], NAMED[:-1])
    logs = one["location"]["log_likelihood"]["label"].values[..., :-1]
    np.testing.assert_allclose(few["location"]["log_likelihood"]["label"], logs, rtol=1e-6)
    with pytest.raises(cp.InputError, match="only one of logits and labels was passed"):
        judge.to_datatree(LOGITS)
    with pytest.raises(cp.NotFittedError):
        cp.Cordial().to_datatree()


def test_an_option_is_drawn_by_the_inverse_of_its_distribution():
    class Points(np.random.Generator):
        def random(self, size):  # pyright: ignore[reportIncompatibleMethodOverride]
            return np.array([0.0, 0.1, 0.3, 0.75, 1.0]).reshape(size)

    # The last point is the end of rounded sums, which belongs to the last option.
    probs = np.tile([0.2, 0.5, 0.3], (5, 1, 1))
    found = draw_options(probs, Points(np.random.PCG64()))
    np.testing.assert_array_equal(found, [[0], [0], [1], [2], [2]])
