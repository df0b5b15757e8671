"""Learned priors: the paper's figures, units of the scale's length, files, and every door."""

import json
from pathlib import Path

import jax
import numpy as np

from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors.fits import ModeFit, TaskFit
from cordial_ppl.priors.learned import Learned, LearnedPrior, Rule

GOLDEN = json.loads((Path(__file__).parent / "reference" / "priors.json").read_text())


def target(name="mixture", size=5):
    with jax.enable_x64(True):
        return build_target(CHANNELS[name], size)


def table(**rule):
    """The reference's fits of both forms on the temperature reading."""
    fits = []
    for place, (mode, size) in enumerate(GOLDEN["fits"]):
        own = ModeFit(np.array(mode), np.full(5, 0.1))
        counts = np.arange(1, size + 1)
        fits.append(TaskFit(f"task {place}", "", counts, {"mixture": own, "location": own}))
    marks = {name: Learned("", ()) for name in ("mixture", "location")}
    return LearnedPrior(tuple(fits), marks, Rule(**rule))


def test_the_papers_rule_is_the_references():
    found = table().of(target(size=GOLDEN["target_K"]))
    np.testing.assert_allclose(found, GOLDEN["mean_sd"], rtol=1e-12, atol=0)
