"""`check_channel`: every sound channel passes, every broken one fails in its own line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from broken_channels import write_channel
from scipy.stats import norm

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.evaluation.checks import (
    check_channel,
    check_simulation,
    comparison,
    posteriors,
    simulate,
)
from cordial_ppl.evaluation.checks.density import check_contract, check_density
from cordial_ppl.evaluation.checks.order import check_order
from cordial_ppl.evaluation.checks.posteriors import fit
from cordial_ppl.evaluation.checks.prior import (
    check_conflict,
    check_prior_predictive,
    check_sensitivity,
)
from cordial_ppl.evaluation.checks.simulation import Ranks
from cordial_ppl.evaluation.checks.texts import as_texts, make_texts
from cordial_ppl.inference.target import Prior

GALLERY = sorted((Path(__file__).parents[2] / "models").glob("*.py"))
OFTEN = ("location", "bent")
EVERY = [
    pytest.param(name, marks=() if Path(name).stem in OFTEN else pytest.mark.nightly)
    for name in (*CHANNELS, *map(str, GALLERY))
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Texts of a sound channel, and its posterior: what is compiled for them serves all tests."""
    channel = load_channel(write_channel(tmp_path_factory.mktemp("channels"), "sound"))
    texts = make_texts(channel, 0)
    return texts, fit(texts, "default")


def cheap(channel):
    """The lines that need no posterior, by name."""
    texts, rng = make_texts(channel, 0), np.random.default_rng(0)
    lines = [check_contract(channel), *check_density(texts, rng)]
    if lines[-1].status != "fail":
        lines += [check_prior_predictive(texts, 0), *check_order(texts, rng)]
    return {line.name: line for line in lines}


@pytest.mark.parametrize("name", EVERY, ids=lambda name: Path(name).stem)
def test_every_channel_is_sound(name):
    lines = cheap(load_channel(name))
    failed = [line for line in lines.values() if line.status == "fail"]
    assert not failed and len(lines) == 7
    ordered = "vector" not in name and name != "bridge"
    assert (lines["order of unsaturated readings"].status == "pass") == ordered


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_label", "states no likelihood"),
        ("two_labels", "a second observed site 'more'"),
        ("not_finite", "where its prior is centred"),
        ("slash", "must have no slash"),
        ("every_text", "depends on the number of texts"),
        ("factor", "numpyro.factor('more', ...)"),
        ("not_normalised", "must be positive and sum to one"),
        ("discrete", "a discrete site 'kind'"),
        ("branch", "branches on"),
        ("shape", "must give log_probs of shape"),
        ("plate", "must number its places: write LEVELS = {'user': 3} into the file"),
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


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("backward", "order of saturated readings"),
        pytest.param("tails", "order of saturated readings", marks=pytest.mark.nightly),
        pytest.param("neighbours", "single texts", marks=pytest.mark.nightly),
        ("peeks", "single texts"),
        ("cut_gradient", "gradients"),
        ("beyond", "indices"),
    ],
)
def test_a_broken_promise_fails_in_its_line(tmp_path, name, line):
    lines = cheap(load_channel(write_channel(tmp_path, name)))
    assert lines[line].status == "fail"
    orders = {f"order of {kind} readings" for kind in ("saturated", "unsaturated")}
    others = {*orders, "prior predictive", line}
    assert all(own.status == "pass" for other, own in lines.items() if other not in others)


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (-1.5, 0.01)])
def test_a_prior_that_fights_the_labels(sound, loc, scale):
    # However narrow: where labels cannot move it at all, the posterior says nothing of a conflict.
    texts, _ = sound
    prior = Prior(np.array([loc]), np.array([scale]))
    posterior = cp.fit_channel(
        texts.target.channel, texts.labelled.logits, texts.labelled.labels, prior=prior
    )
    line = check_conflict(texts, posterior, 0)
    sensitivity = check_sensitivity(posterior, line, 0)
    if scale == 1.0:
        assert line.status == sensitivity.status == "pass" and line.figures["p"] > 0.1
    else:
        assert line.status == "fail" and "offset" in line.words and line.figures["p"] < 0.005
        assert sensitivity.status == "warn"


@pytest.mark.nightly
def test_labels_of_the_prior_are_in_no_conflict_with_it(sound):
    texts, posterior = sound
    draws, rng = texts.draw_prior(40, 1), np.random.default_rng(1)
    found = []
    for seed, labels in enumerate(texts.draw_labels(draws, rng)):
        made = texts._replace(labelled=replace(texts.labelled, labels=labels))
        found.append(check_conflict(made, posterior, seed).figures["p"])
    assert 0.3 < np.mean(found) < 0.7 and np.mean(np.array(found) < 0.05) <= 0.125


def test_a_covariate_is_padded_with_one_that_there_is(tmp_path):
    # log(length - 1), which a padding of zeros would break.
    channel = load_channel(write_channel(tmp_path, "undefined"))
    texts, rng = make_texts(channel, 0), np.random.default_rng(0)
    extra = {"length": rng.uniform(20, 500, len(texts.labelled.labels))}
    labelled = Labelled(texts.labelled.logits, texts.labelled.labels, extra)
    texts = texts._replace(labelled=labelled)
    assert {line.status for line in check_density(texts, rng)} == {"pass"}
    assert np.isfinite(fit(texts, "laplace").draws).all()


@pytest.mark.parametrize(
    ("rms", "means", "trusted", "status"),
    [
        (0.01, 0.1, True, "pass"),
        (0.01, 0.6, True, "warn"),
        (0.03, 0.1, True, "fail"),
        (0.03, 0.1, False, "warn"),
    ],
)
def test_a_posterior_is_judged_by_nuts(monkeypatch, sound, rms, means, trusted, status):
    texts, default = sound
    default = replace(default, diagnostics=default.diagnostics._replace(trusted=trusted, ess=900.0))
    monkeypatch.setattr(posteriors, "fit", lambda *_: default)
    monkeypatch.setattr(posteriors, "compare", lambda *_: (means, rms, 0.1, "offset"))
    lines = {line.name: line for line in posteriors.check_posteriors(texts, default, 0)}
    assert lines["default against NUTS"].status == status
    assert lines["laplace against NUTS"].status == "pass"


@pytest.mark.nightly
def test_readings_that_say_nothing_are_not_better_than_the_histogram(monkeypatch):
    monkeypatch.setattr(comparison, "PAPER_CHANNELS", ("location", "mixture"))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        logits = as_logits(rng.normal(0, 3, (20, 5)))
        labels = rng.choice(5, 20, p=[0.05, 0.1, 0.2, 0.3, 0.35])
        texts = as_texts(load_channel("location"), logits, labels, {})
        left, beside = comparison.check_comparison(texts, fit(texts, "default"), 0)
        assert left.status == "warn"
        assert "mixture" in beside.words and beside.figures.keys() == {"mixture"}


@pytest.mark.parametrize(("method", "right"), [("default", True), ("mode", False)])
def test_ranks_are_uniform_where_the_posterior_is_right(sound, method, right):
    """Of the mode alone, the truth is below or above all."""
    ranks = simulate(sound[0], 60, method=method)
    assert ranks.values.shape == (60, 2) and ranks.names == ("offset", "log likelihood")
    found = check_simulation(ranks)
    assert found.status == ("pass" if right else "fail") and (found.figures["p"] > 1e-6) == right


@pytest.mark.parametrize("width", [0.75, 1.0, 1.35])
def test_ranks_find_a_posterior_of_another_width(width):
    truth = np.random.default_rng(0).normal(size=(200, 3))
    found = check_simulation(Ranks(("a", "b", "c"), norm.cdf(truth / width)))
    assert found.status == ("pass" if width == 1.0 else "fail")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            (GALLERY[0].parent / "verbosity.py", np.eye(5), [0, 1]),
            "asks for the covariate 'length'",
        ),
        (("location", np.eye(5)), "need labels"),
        (("location", np.eye(5), [0, 1, 2, 3, 4, 0]), "5 rows of logits came with 6 labels"),
        (("location",), "needs 20 data sets or more; got 3"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(cp.InputError, match=message):
        check_channel(*given, simulations=0 if len(given) > 1 else 3)
