"""`cordial check`: findings as lines and JSON, and its exit status."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from broken_channels import write_channel
from review_tables import read, write_tables

from cordial_ppl.evaluation.checks import check_channel
from cordial_ppl.evaluation.checks.checking import PROMISES
from cordial_ppl.evaluation.checks.exactness import Ranks, check_diagnostics
from cordial_ppl.tables import write_table

MODELS = Path(__file__).parents[2] / "models"


@pytest.fixture
def quick(monkeypatch):
    """Leave out what takes long, and what fails for one data set in two hundred: p-values."""
    quick = partial(check_channel, checks=(*PROMISES, check_diagnostics))
    monkeypatch.setattr("cordial_ppl.evaluation.checks.check_channel", quick)

    def simulate(trial, sets):
        return Ranks(("offset",), (np.arange(sets)[:, None] + 0.5) / sets)

    monkeypatch.setattr("cordial_ppl.evaluation.checks.exactness.simulate", simulate)


def test_a_sound_channel(cordial, tmp_path, quick):
    result = cordial("check", write_channel(tmp_path, "sound"), "--simulations", 20)
    lines = [line.split()[0] for line in result.stdout.splitlines()]
    assert len(lines) == 6 and set(lines) <= {"pass", "warn"}
    assert "pass  simulation-based calibration" in result.stdout


def test_texts_without_a_reading_are_left_out(as_json, tmp_path, monkeypatch):
    """A fit keeps them, and a channel says nothing of them; their labels go, too."""
    readings, labels = write_tables(tmp_path)
    cells, seen = read(readings), []
    blank = {name: [*column] for name, column in cells.items()}
    for name in (*blank,)[1:]:
        blank[name][3] = blank[name][30] = ""
    write_table(readings, blank)
    monkeypatch.setattr(
        "cordial_ppl.evaluation.checks.check_channel",
        lambda channel, *texts, **_: seen.append(texts) or check_channel(channel, checks=()),
    )
    as_json("check", "location", "--readings", readings, "--labels", labels)
    (logits, codes, _), kept = seen[0], [row for row in range(60) if row not in (3, 30)]
    stated = np.array([cells[f"logit_{k}"] for k in range(1, 6)], float).T[kept]
    stated = stated - stated.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(logits - logits.mean(axis=1, keepdims=True), stated)
    assert len(codes) == 19


@pytest.mark.nightly
def test_readings_of_a_user_with_a_covariate(as_json, tmp_path, quick):
    lengths = np.random.default_rng(0).lognormal(5, 1, 60)
    readings, labels = write_tables(tmp_path, length=lengths)
    arguments = "check", MODELS / "verbosity.py", "--readings", readings, "--labels", labels
    found = as_json(*arguments)
    figures = {line["name"]: line["figures"] for line in found["findings"]}
    assert found["channel"] == "verbosity" and found["status"] in ("pass", "warn")
    assert figures["contract"]["covariates"] == ["length"]


def test_a_broken_channel_has_status_1(cordial, as_json, tmp_path):
    path = write_channel(tmp_path, "branch")
    found = as_json("check", path, status=1)
    (finding,) = found["findings"]
    assert found["status"] == finding["status"] == "fail"
    (line,) = cordial("check", path, status=1).stdout.splitlines()
    assert line.split()[:2] == ["fail", finding["name"]]
