"""What channels of files cost and gain as further members, by how their pseudo-counts are set.

Two channels that predict badly (the reading nearly as it is, and upside down) and two of the
gallery are added to the default on the real sets of `real.py`: the log loss beyond the default's.
The pseudo-count of what is added is two, or one that has to be earned (`earned_counts`).
"""

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from accuracy import CELL, score
from measurement import Line, Means, Measurement
from real import list_tasks, split_task, trained_without

import cordial_ppl as cp
from cordial_ppl.channels import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.evaluation.tasks import draw_subsets

GALLERY = Path(__file__).parent.parent / "models"


def flipped(readings, labels=None):
    """Softmax of the logits in the wrong order, believed: it predicts badly."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 0.5))
    cp.observe(jax.nn.log_softmax(readings.logits[:, ::-1] / temperature, axis=1), labels)


def sharp(readings, labels=None):
    """Softmax of the logits at a temperature near one, believed: it is far too sure."""
    temperature = numpyro.sample("temperature", dist.LogNormal(0.0, 0.3))
    cp.observe(jax.nn.log_softmax(readings.logits / temperature, axis=1), labels)


ADDED = {
    "two that are bad": [Channel("flipped", flipped), Channel("sharp", sharp)],
    "two of the gallery": [GALLERY / "skewed.py", GALLERY / "probit.py"],
}


def run(draw: int, n: int, source: str, name: str, reader: str) -> Iterator[Line]:
    """Fit the default with and without further channels."""
    task, prior = split_task(source, name, reader), trained_without(source)
    stacks = {"nothing": cp.Cordial(prior=prior)}
    for what, channels in ADDED.items():
        sure = {load_channel(each).name: 2.0 for each in channels}
        for rule, counts in (("one, earned", None), ("two", sure)):
            stack = cp.Cordial(prior=prior, channels=channels, weight_counts=counts)
            stacks[f"{what}: {rule}"] = stack
    rows = draw_subsets(task, n, draw + 1)[draw]
    losses = score(stacks, task.pool, rows, draw, task.report)
    for what, loss in losses.items():
        yield {"added": what, "loss": loss, "beyond the default": loss - losses["nothing"]}


MEASUREMENTS = (
    Measurement(
        "unproven",
        lambda draw: ((n, *pair) for n in (10, 50) for pair in list_tasks()),
        run,
        Means(CELL, "labels added", alike="set task reader"),
        2,
    ),
)
