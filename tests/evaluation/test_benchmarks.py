"""The benchmarks: what they need, their references, and a slice of `fuzz.py`."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import fuzz
import numpy as np
import posterior
import pytest
from fuzzing import logs, tables

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import Channel

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_real_readings_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if name != "CORDIAL_DATA"}
    command = [sys.executable, str(FOLDER / "accuracy.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "CORDIAL_DATA must name a folder" in done.stderr and "SummEval" in done.stderr


def test_references_are_of_the_same_data_and_prior(monkeypatch, tmp_path):
    sampled = []

    def sample(*given, **settings):
        sampled.append(given)
        return posterior.Reference(*(np.zeros(1) for _ in posterior.Reference._fields))

    monkeypatch.setattr(posterior, "sample", sample)
    monkeypatch.delenv("CORDIAL_DATA", raising=False)
    args = Namespace(references=tmp_path, subsets=1, draws=10, longest=10)
    (subset,) = posterior.subsets(1, 8)

    def count(**changes):
        posterior.recall("mixture", [subset._replace(**changes)], 8, args)
        return len(sampled)

    assert (count(), count()) == (1, 1)
    assert count(labels=(subset.labels + 1) % 5) == 2
    assert count(logits=subset.logits * 2) == 3
    monkeypatch.setitem(CHANNELS, "mixture", Channel("mixture", CHANNELS["location"].model))
    target = posterior.build_target(CHANNELS["mixture"], 5)
    changed = target.prior._replace(loc=target.prior.loc + 1)
    monkeypatch.setattr(posterior, "build_target", lambda *_: Namespace(prior=changed))
    assert count() == 4


@pytest.mark.parametrize("name", [door.name for room in (tables, logs) for door in room.DOORS])
def test_damaged_input_is_a_result_or_one_error(name):
    broke = {}
    for seed in range(15):
        outcome, words = fuzz.try_case(fuzz.DOORS[name], seed)
        if outcome == "broke":
            broke[seed] = words
    assert not broke


def test_a_door_that_fails_is_one_that_broke(tmp_path):
    def fail(*_):
        raise IndexError("an empty list")

    door = fuzz.Door("none", fail, fail)
    outcome, words = fuzz.try_case(door, 0)
    assert outcome == "broke" and "IndexError: an empty list" in words
    fuzz.keep(tmp_path, door, 0, words)
    assert "no case: IndexError" in (tmp_path / "none-0" / "case.txt").read_text()
