"""The benchmarks: what they need, and the errors and differences that they print."""

import sys
from types import SimpleNamespace

import fused_readers
import numpy as np
import peers
import pytest
import results
import user_gains
import words
from comparison import jackknife_error
from embedded import benchmark
from measurement import Means, Row, linearise


def test_real_readings_are_asked_for(monkeypatch, capsys):
    monkeypatch.delenv("CORDIAL_DATA", raising=False)
    with pytest.raises(SystemExit) as ended:
        results.main(["accuracy"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "CORDIAL_DATA must name a folder" in told and "SummEval" in told


def test_users_are_compared_text_by_text_and_their_errors_are_of_users(monkeypatch):
    """Every text of a user gains alike: users are drawn, not texts."""
    task = benchmark("music")
    rows = task.rows("users")
    _, who = np.unique(task.users[rows], return_inverse=True)
    level = np.random.default_rng(0).normal(0.1, 0.3, who.max() + 1)[who]
    gains = {user_gains.PLAIN: level, "reliability, mode": level - 0.02}
    monkeypatch.setattr(user_gains, "gains_of_draw", lambda *_: gains)
    monkeypatch.setattr(user_gains, "BOOTSTRAPS", 300)
    found = user_gains.measure_gains("music", 2, [*gains], lambda draw, fit: fit())
    mean, over_texts, over_users = found[user_gains.PLAIN]["all"]
    assert mean == pytest.approx(level.mean())
    # Ten texts a user: about three times, sd 4 % of the bootstrap.
    assert over_users[2] > 2 * over_texts[2] and over_users[0] < mean < over_users[1]
    apart, _, (low, high, error) = found[f"{user_gains.PLAIN} - reliability, mode"]["all"]
    assert (apart, low, high) == pytest.approx((0.02, 0.02, 0.02)) and error < 1e-9


def test_errors_of_a_fusion_are_of_draws_that_settings_share():
    rng = np.random.default_rng(1)
    shift, noise = rng.normal(0, 0.2, 6), rng.normal(0, 1, (6, 50))
    fused, alone = {d: noise[d] for d in range(6)}, {d: noise[d] + 0.1 + shift[d] for d in range(6)}
    losses = {(task, 20): {"fusion": fused, "alone": alone} for task in ("music", "beauty")}
    made = fused_readers.measure_gains(losses)
    row = next(row for row in made if row["method"] == "alone")
    error = shift.std(ddof=1) / 6**0.5
    assert row["gain"][0] == pytest.approx(0.1 + shift.mean())
    assert row["gain_error"] == pytest.approx(error)
    (line,) = fused_readers.count_wins(made)
    # As if the tasks were independent it would be less by a factor of 1.4.
    assert line.endswith(f"{0.1 + shift.mean():+.4f} ± {error:.4f}")


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(2).normal(size=12)
    error = values.std(ddof=1) / 12**0.5
    assert jackknife_error(lambda kept: values[kept].mean(), 12) == pytest.approx(error)
    assert np.isnan(jackknife_error(lambda kept: np.inf, 12))
    assert np.isnan(jackknife_error(lambda kept: 0.0, 1))


def test_means_are_of_sets_and_errors_of_what_is_independent():
    numbers = [
        {"user": "a", "number": 3, "gain": 1.0, "right": None},
        {"user": "b", "number": 1, "gain": -3.0, "right": True},
    ]
    rows = [Row(draw, (source,), numbers) for source in ("one", "other") for draw in range(2)]
    table = Means("set", by="set*", unit="user", weight="number")
    *_, line = table(rows)
    assert [each["set"] for each in table(rows)] == ["one", "other", "all"]
    assert (line["gain"], line["right"], line["count"]) == (0.0, 1.0, 8)
    # Each user: three quarters of the texts are 1 off, one quarter 3 the other way; two of them.
    assert line["gain se"] == pytest.approx((2 * 2 * 0.75**2) ** 0.5)


def test_clear_sets_are_counted_and_errors_are_squared():
    values = {"up": (1.0, 1.1, 0.9), "down": (-1.0, -1.1, -0.9), "open": (1.0, -1.0, 0.1)}
    rows = [Row(d, (s,), {"x": each[d]}) for s, each in values.items() for d in range(3)]
    (line,) = Means("set", by="", resolved=("x",), lowest=("x",), highest=("x",))(rows)
    assert (line["x above"], line["x below"], line["lowest x in"]) == (1, 1, "down")
    assert line["highest x"] == pytest.approx(1.0)
    (line,) = Means("set", by="", alike="", squared=("x",))(rows)
    assert line["x"] == pytest.approx(np.sqrt(np.mean(np.square([*values.values()]))))


def test_a_bias_is_compared_as_with_labels_outside_of_its_fit():
    """An exact interval of 200 of 360 labels covers the mean of all 360 as often as it says."""
    rng, found = np.random.default_rng(0), []
    for _ in range(2000):
        off = rng.normal(size=360)
        mean, half = off[:200].mean(), 1.6525 * off[:200].std(ddof=1) / 200**0.5
        bias = SimpleNamespace(value=mean, low=mean - half, high=mean + half)
        found += words.rate(["all"], off.mean(), bias, (160 / 360) ** 0.5)
    assert np.mean([line["covers"] for line in found]) == pytest.approx(0.9, abs=0.02)
    assert np.std([line["error"] for line in found]) == pytest.approx(200**-0.5, rel=0.05)


def test_texts_of_a_plan_are_weighed_for_another_package(monkeypatch):
    """A twentieth of one system is labelled, and half of the other: both weights undo it."""

    def ppi_mean_ci(y, f, rest, alpha, w, w_unlabeled):
        return np.average(f, weights=w), np.average(rest, weights=w_unlabeled)

    monkeypatch.setitem(sys.modules, "ppi_py", SimpleNamespace(ppi_mean_ci=ppi_mean_ci))
    scores, probability = np.repeat([0.0, 1.0], [1000, 100]), np.repeat([0.05, 0.5], [1000, 100])
    chosen = np.r_[np.arange(1000) < 50, np.arange(100) < 50]
    labels = np.where(chosen, 0.0, np.nan)
    task = peers.Task(scores, labels, (0, 1), None, probability, None, 0)
    found = peers.measure_peer("ppi_py", task, task, np.full(1100, "A"), False)["all texts",]
    assert found[1:] == pytest.approx((1 / 11, 1 / 11))


def test_a_ratio_keeps_its_value_and_its_error():
    rng = np.random.default_rng(3)
    base = rng.exponential(1.0, 4000)
    value = 2 * base + rng.normal(0, 0.5, 4000)
    each = linearise(value, base)
    assert each.mean() == pytest.approx(value.mean() / base.mean())
    assert each.std() == pytest.approx(0.5, rel=0.05)
    assert linearise(value, base, root=True).mean() ** 2 == pytest.approx(each.mean())


def test_every_measurement_lists_its_cells():
    every = results.list_measurements()
    names = {f"{name}.py" for name in results.PROGRAMS}
    assert {program for program, _ in every.values()} == names
    for name, (_, each) in every.items():
        if not each.needs_data:
            cells = [tuple(cell) for cell in each.cells(0)]
            assert len({*cells}) == len(cells), name
            assert cells or name in ("device-gpu", "device-cpu")


@pytest.mark.literal
@pytest.mark.nightly
def test_measurements_that_need_no_data_can_be_tried(capsys):
    every = results.list_measurements()
    names = [name for name, (_, each) in every.items() if not each.needs_data]
    slow = {"simulations", "fit-cold", "fit-starts", "sweep", "priors-embedded"}
    assert results.main(["--quick", *(name for name in names if name not in slow)]) == 0
