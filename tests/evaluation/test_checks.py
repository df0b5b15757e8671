"""`check_channel`: every sound channel passes, every broken one fails in its own line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from broken_channels import write_channel
from scipy.stats import norm

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.checks import check_channel, density
from cordial_ppl.evaluation.checks.checking import NEEDED, PROMISES
from cordial_ppl.evaluation.checks.density import check_conflict
from cordial_ppl.evaluation.checks.exactness import (
    Ranks,
    check_diagnostics,
    check_simulation,
    simulate,
)
from cordial_ppl.evaluation.checks.trial import make_trial

GALLERY = sorted((Path(__file__).parents[2] / "models").glob("*.py"))


@pytest.fixture
def five(monkeypatch):
    """Try the contract with five options alone, which takes a quarter of the time."""
    monkeypatch.setattr(density, "SIZES", (5,))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Texts of a sound channel: what is compiled for them serves all tests."""
    return make_trial(load_channel(write_channel(tmp_path_factory.mktemp("new"), "sound")), 0)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("channel", "least"),
    [("location-readers", {"pass"}), (cp.channels.user_channel(4), {"pass", "warn"})],
)
def test_channels_of_readers_and_users_are_sound(channel, least):
    # Without NUTS, which tests of theirs compare with.
    report = check_channel(channel, checks=(*PROMISES, check_diagnostics, check_conflict))
    assert report.status in least, report.text


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*CHANNELS, *map(str, GALLERY)], ids=lambda name: Path(name).stem)
def test_every_channel_is_sound(name):
    report = check_channel(name, checks=PROMISES)
    assert report.status != "fail" and len(report.findings) == 4, report.text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_label", "has no likelihood"),
        ("not_finite", "at the centre of its prior"),
        ("slash", "must not contain a slash"),
        ("every_text", "depends on the number of texts"),
        ("factor", "numpyro.factor('more', ...)"),
        ("peeks", "with other texts, some of them labelled"),
        ("plate", "must index this plate. Add LEVELS = {'user': 3} to the file"),
    ],
)
def test_a_broken_contract_is_the_one_line(tmp_path, name, words):
    path = write_channel(tmp_path, name)
    report = check_channel(path)
    assert report.status == "fail" and len(report.findings) == 1
    assert report["contract"].status == "fail" and words in report["contract"].words
    if name in ("not_finite", "every_text"):
        with pytest.raises(cp.ChannelError, match=name):
            cp.ChannelCalibrator(path).fit(np.eye(5)[[0, 1, 2, 3, 4, 0]], [0, 1, 2, 3, 4, 1])


def test_indices_without_a_covariate_may_be_meant_so(tmp_path):
    report = check_channel(write_channel(tmp_path, "short"), checks=PROMISES)
    assert report["indices"].status == "warn" and "size 3" in report["indices"].words


def test_a_fit_refuses_negative_probabilities(tmp_path):
    texts = cp.synthetic.reviews(40)
    with pytest.raises(cp.ChannelError, match="'negative'"):
        cp.Cordial(channels=[write_channel(tmp_path, "negative")]).fit(texts.logits, texts.labels)
    # Rounding is none.
    near = -2.0 * (np.arange(5) - texts.labels[:, None] - 0.1) ** 2
    cp.Cordial(channels=[write_channel(tmp_path, "remainder")]).fit(near, texts.labels)


@pytest.mark.parametrize(("name", "uses"), [("undefined", "length"), ("sound", "no covariate")])
def test_examples_of_no_covariate_are_warned_of(tmp_path, five, name, uses):
    channel = load_channel(write_channel(tmp_path, name))
    known = [("length", 2, 9)] * (uses == "length")
    assert density.check_contract(channel._replace(examples=(*known,))).status == "pass"
    found = density.check_contract(channel._replace(examples=(*known, ("lenght", 2, 9))))
    assert found.status == "warn" and "'lenght'" in found.words and uses in found.words


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("backward", "order of saturated readings"),
        pytest.param("tails", "order of saturated readings", marks=pytest.mark.nightly),
        ("cut_gradient", "gradients"),
        ("beyond", "indices"),
    ],
)
def test_a_broken_promise_fails_in_its_line(tmp_path, five, name, line):
    report = check_channel(write_channel(tmp_path, name), checks=PROMISES)
    assert report[line].status == "fail"
    order = "order of saturated readings"
    others = {order, line}
    assert all(own.status == "pass" for own in report.findings if own.name not in others)
    if line == "gradients":  # Of one coordinate, at every point.
        assert report[line].figures["share_beyond"] > 0.9
    if name == "backward":
        assert "in 100 % of draws" in report[line].words
    if line == order:  # Readings are centred, each by itself.
        assert sum(report[line].figures["lower"]) == pytest.approx(0, abs=0.5)
    assert len(report.findings) == (2 if line == "indices" else 4)


def test_a_channel_for_two_options_is_checked_with_two():
    def platt(readings, labels=None):
        slope = numpyro.sample("slope", dist.LogNormal(0.0, 0.5))
        logits = slope * (readings.logits[:, 1] - readings.logits[:, 0])
        with numpyro.plate("texts", len(logits)):
            numpyro.sample("label", dist.Bernoulli(logits=logits), obs=labels)

    report = check_channel(cp.channels.Channel("platt", platt), checks=PROMISES)
    assert report["contract"].status == "warn" and report["contract"].figures["parameters"] == {
        2: 1
    }
    assert "3 options" in report["contract"].words
    assert {one.status for one in report.findings[1:]} == {"pass"}


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (-1.5, 0.05)])
def test_a_prior_that_fights_the_labels(tmp_path, five, loc, scale):
    # However narrow: where labels can hardly move it, the posterior says little of a conflict.
    path = write_channel(tmp_path, "sound", loc, scale)
    line = check_channel(path, checks=[check_conflict])["prior against labels"]
    if scale == 1.0:
        # log10 p: -.36, sd .30 over 20 seeds; it fails below -2.3.
        assert line.status != "fail"
    else:
        # p is the least that there is.
        assert line.status == "fail" and "offset" in line.words and line.figures["p"] < 0.005


@pytest.mark.nightly
def test_labels_of_the_prior_are_in_no_conflict_with_it(sound):
    draws, rng = sound.draw_prior(40, 1), np.random.default_rng(1)
    found = []
    for seed, labels in enumerate(sound.draw_labels(draws, rng)):
        made = replace(sound, labelled=replace(sound.labelled, labels=labels), seed=seed)
        found.append(check_conflict(made).figures["p"])
    # Uniform where the check is right: the mean has sd .046, the share .034.
    assert 0.3 < np.mean(found) < 0.7 and np.mean(np.array(found) < 0.05) <= 0.175


def test_a_covariate_is_padded_with_one_that_there_is(tmp_path):
    # log(length - 1), which a padding of zeros would break.
    texts = make_trial(load_channel(write_channel(tmp_path, "undefined")), 0)
    extra = {"length": np.random.default_rng(0).uniform(20, 500, len(texts.labelled.labels))}
    labelled = Labelled(texts.labelled.logits, texts.labelled.labels, extra)
    texts = replace(texts, labelled=labelled)
    lines = [line for check in (*NEEDED, PROMISES[0]) if (line := check(texts))]
    assert {line.status for line in lines} == {"pass"} and len(lines) == 2
    assert np.isfinite(texts.fit("laplace").draws).all()


@pytest.mark.parametrize(
    ("method", "right"),
    [pytest.param("default", True, marks=pytest.mark.nightly), ("mode", False)],
)
def test_ranks_are_uniform_where_the_posterior_is_right(sound, method, right):
    """Of the mode alone, the truth is below or above all."""
    ranks = simulate(sound, 60, method=method)
    assert ranks.values.shape == (60, 2) and ranks.names == ("offset", "log likelihood")
    # log10 p: -.34, sd .49 over 20 seeds; of the mode below -300.
    found = check_simulation(ranks)
    assert (found.status != "fail") == (found.figures["p"] > 1e-6) == right


@pytest.mark.parametrize("width", [0.75, 1.0, 1.35])
def test_ranks_find_a_posterior_of_another_width(width):
    truth = norm.ppf((np.arange(200) + 0.5) / 200)
    found = check_simulation(Ranks(("a",), norm.cdf(truth / width)[:, None]))
    assert found.status == ("pass" if width == 1.0 else "fail")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            (GALLERY[0].parent / "verbosity.py", np.eye(5), [0, 1]),
            "covariate 'length' is missing",
        ),
        (("location", np.eye(5)), "only one of logits and labels was passed"),
        (("location", np.eye(5), [0, 1, 2, 3, 4, 0]), "got 5 rows of logits but 6 labels"),
        (("location",), "needs 20 or more data sets; got 3"),
    ],
)
def test_bad_input(five, given, message):
    with pytest.raises(cp.InputError, match=message):
        check_channel(*given, simulations=0 if len(given) > 1 else 3)
