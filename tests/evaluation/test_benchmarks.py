"""The benchmarks: what they need, and the errors and differences that they print."""

import os
import subprocess
import sys
from pathlib import Path

import fusion
import numpy as np
import pytest
import users
from embedded import benchmark
from jackknife import jackknife_error

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_real_readings_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if name != "CORDIAL_DATA"}
    command = [sys.executable, str(FOLDER / "accuracy.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "CORDIAL_DATA must name a folder" in done.stderr and "SummEval" in done.stderr


def test_users_are_compared_text_by_text_and_their_errors_are_of_users(monkeypatch):
    """Every text of a user gains alike: users are drawn, not texts."""
    task = benchmark("music")
    rows = task.rows("users")
    _, who = np.unique(task.users[rows], return_inverse=True)
    level = np.random.default_rng(0).normal(0.1, 0.3, who.max() + 1)[who]
    gains = {users.PLAIN: level, "reliability, mode": level - 0.02}
    monkeypatch.setattr(users, "gains_of_draw", lambda *_: gains)
    monkeypatch.setattr(users, "BOOTSTRAPS", 300)
    found = users.measure_gains("music", 2, [*gains])
    mean, over_texts, over_users = found[users.PLAIN]["all"]
    assert mean == pytest.approx(level.mean())
    # Ten texts a user: about three times, sd 4 % of the bootstrap.
    assert over_users[2] > 2 * over_texts[2] and over_users[0] < mean < over_users[1]
    apart, _, (low, high, error) = found[f"{users.PLAIN} - reliability, mode"]["all"]
    assert (apart, low, high) == pytest.approx((0.02, 0.02, 0.02)) and error < 1e-9


def test_errors_of_a_fusion_are_of_draws_that_settings_share():
    rng = np.random.default_rng(1)
    shift, noise = rng.normal(0, 0.2, 6), rng.normal(0, 1, (6, 50))
    fused, alone = {d: noise[d] for d in range(6)}, {d: noise[d] + 0.1 + shift[d] for d in range(6)}
    losses = {(task, 20): {"fusion": fused, "alone": alone} for task in ("music", "beauty")}
    made = fusion.measure_gains(losses)
    row = next(row for row in made if row["method"] == "alone")
    error = shift.std(ddof=1) / 6**0.5
    assert row["gain"][0] == pytest.approx(0.1 + shift.mean())
    assert row["gain_error"] == pytest.approx(error)
    (line,) = fusion.count_wins(made)
    # As if the tasks were independent it would be less by a factor of 1.4.
    assert line.endswith(f"{0.1 + shift.mean():+.4f} ± {error:.4f}")


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(2).normal(size=12)
    error = values.std(ddof=1) / 12**0.5
    assert jackknife_error(lambda kept: values[kept].mean(), 12) == pytest.approx(error)
    assert np.isnan(jackknife_error(lambda kept: np.inf, 12))
    assert np.isnan(jackknife_error(lambda kept: 0.0, 1))
