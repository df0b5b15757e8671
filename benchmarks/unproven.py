"""What channels of files cost and gain as further members, by how their pseudo-counts are set.

Two channels that predict badly (the reading nearly as it is, and upside down) and two of the
gallery are added to the default on the real sets of `real.py`: the log loss beyond the default's.
The pseudo-count of what is added is two, or one that has to be earned (`earned_counts`).
"""

from collections.abc import Iterator
from pathlib import Path

from accuracy import CELL, score
from measurement import Line, Means, Measurement
from real import list_tasks, split_task, without

import cordial_ppl as cp
from cordial_ppl.evaluation.tasks import draw_subsets

BAD, GALLERY = Path(__file__).with_name("bad"), Path(__file__).parent.parent / "models"
ADDED = {
    "two that are bad": [BAD / "flipped.py", BAD / "sharp.py"],
    "two of the gallery": [GALLERY / "skewed.py", GALLERY / "probit.py"],
}


def run(draw: int, n: int, source: str, name: str, reader: str) -> Iterator[Line]:
    """Fit the default with and without further channels."""
    task, prior = split_task(source, name, reader), without(source)
    stacks = {"nothing": cp.Cordial(prior=prior)}
    for what, paths in ADDED.items():
        for rule, counts in (("one, earned", None), ("two", {path.stem: 2.0 for path in paths})):
            stack = cp.Cordial(prior=prior, channels=paths, weight_counts=counts)
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
