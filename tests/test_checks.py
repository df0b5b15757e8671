"""`check_channel`: every sound channel passes, every broken one fails in its own line."""

from pathlib import Path

import numpy as np
import pytest
from broken_channels import write_channel

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.checks import Finding, Report, check_channel, check_simulation, simulate
from cordial_ppl.checks.density import check_density
from cordial_ppl.checks.order import check_order, violation
from cordial_ppl.checks.posteriors import fit
from cordial_ppl.checks.predictive import check_prior_predictive
from cordial_ppl.checks.run import _check_contract
from cordial_ppl.checks.sensitivity import check_sensitivity
from cordial_ppl.checks.simulation import Ranks
from cordial_ppl.checks.texts import make_texts
from cordial_ppl.loading import load_channel

GALLERY = sorted((Path(__file__).parent.parent / "models").glob("*.py"))
EVERY = [*CHANNELS, *map(str, GALLERY)]


def cheap(channel):
    """The lines that need no posterior, by name."""
    texts, rng = make_texts(channel, 0), np.random.default_rng(0)
    lines = [_check_contract(channel), *check_density(texts, rng)]
    if lines[-1].status != "fail":
        lines += [check_prior_predictive(texts, 0), *check_order(texts, rng)]
    return {line.name: line for line in lines}


@pytest.mark.parametrize("name", EVERY, ids=lambda name: Path(name).stem)
def test_every_channel_is_sound(name):
    lines = cheap(load_channel(name))
    failed = [line for line in lines.values() if line.status == "fail"]
    assert not failed and len(lines) == 7
    ordered = "vector" not in name
    assert (lines["order of any readings"].status == "pass") == ordered


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_label", "states no likelihood"),
        ("two_labels", "a second observed site 'more'"),
        ("discrete", "a discrete site 'kind'"),
        ("branch", "branches on"),
        ("shape", "must give log_probs of shape"),
    ],
)
def test_a_broken_contract_is_the_one_line(tmp_path, name, words):
    report = check_channel(write_channel(tmp_path, name))
    assert report.status == "fail" and len(report.findings) == 1
    assert report["contract"].status == "fail" and words in report["contract"].words


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("not_finite", "finite density"),
        ("backward", "order of saturated readings"),
        ("backward", "prior predictive"),
        ("neighbours", "single texts"),
        ("cut_gradient", "gradients"),
    ],
)
def test_a_broken_promise_fails_in_its_line(tmp_path, name, line):
    lines = cheap(load_channel(write_channel(tmp_path, name)))
    assert lines[line].status == "fail"
    others = {"order of any readings", "order of saturated readings", "prior predictive", line}
    assert all(own.status == "pass" for other, own in lines.items() if other not in others)


def test_a_prior_that_fights_the_labels(tmp_path):
    found = {}
    for name in ("sound", "stubborn"):
        texts = make_texts(load_channel(write_channel(tmp_path, name)), 0)
        posterior = fit(texts, "default")
        found[name] = {line.name: line for line in check_sensitivity(texts, posterior, 0)}
    assert found["sound"]["prior against labels"].status == "pass"
    line = found["stubborn"]["prior against labels"]
    assert line.status == "fail" and "offset" in line.words and line.figures["offset"] > 3
    assert found["stubborn"]["sensitivity"].figures["offset"]["prior"] > 0.05


@pytest.mark.parametrize("method", ["default", "laplace"])
def test_ranks_are_uniform_where_the_posterior_is_right(tmp_path, method):
    texts = make_texts(load_channel(write_channel(tmp_path, "sound")), 0)
    ranks = simulate(texts, 60, method=method)
    assert ranks.values.shape == (60, 2) and ranks.names == ("offset", "log likelihood")
    assert check_simulation(ranks).status == "pass"


def test_ranks_find_a_posterior_that_is_too_narrow(tmp_path):
    # The mode alone: the truth is below or above all of it.
    texts = make_texts(load_channel(write_channel(tmp_path, "sound")), 0)
    found = check_simulation(simulate(texts, 60, method="mode"))
    assert found.status == "fail" and found.figures["p"] < 1e-6


def test_a_bias_of_ranks_is_named():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.random(200), rng.random(200) ** 1.6])
    found = check_simulation(Ranks(("one", "other"), values))
    assert found.status == "fail" and "rank of other" in found.words


def test_violation_is_the_largest_excess_of_a_cumulative_probability():
    low, high = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    assert violation(low, high) == 0.0
    assert violation(high, low) == pytest.approx(0.4)


def test_a_report_is_as_bad_as_its_worst_line():
    lines = [Finding("a", "pass", "fine"), Finding("b", "warn", "hm"), Finding("c", "pass", "ok")]
    report = Report("channel", tuple(lines))
    assert report.status == "warn" and report["b"].words == "hm"
    assert report.text.splitlines()[1] == "warn  b  hm"
    assert report.to_dict()["findings"][2]["name"] == "c"
    with pytest.raises(KeyError):
        report["d"]


def test_texts_of_a_user(tmp_path):
    path = Path(GALLERY[0]).parent / "verbosity.py"
    with pytest.raises(cp.InputError, match="asks for the covariate 'length'"):
        check_channel(path, np.eye(5), [0, 1])
    with pytest.raises(cp.InputError, match="need labels"):
        check_channel("location", np.eye(5))
    with pytest.raises(cp.InputError, match="5 rows of logits came with 6 labels"):
        check_channel("location", np.eye(5), [0, 1, 2, 3, 4, 0])
