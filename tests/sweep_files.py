"""A sweep's files: two judges' readings, and labels; and how far it is."""

from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from cordial_ppl.evaluation.sweeps import fit_jobs, list_jobs
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.evaluation.tasks import read_tasks
from cordial_ppl.runtime.progress import Stage
from cordial_ppl.tables import write_table

TEXTS = reviews(90, seed=5)
IDS = [f"t{i}" for i in range(90)]
LOGITS = {
    f"logit_{k + 1}": np.concatenate([TEXTS.logits[:, k], TEXTS.logits[::-1, k]]) for k in range(5)
}


def write_sweep(folder):
    """Write tables of both judges, of labels, and of one judge with a covariate."""
    readings = {"item_id": IDS * 2, "reader": ["a"] * 90 + ["b"] * 90} | LOGITS
    write_table(folder / "stars.parquet", readings)
    labels = {"item_id": IDS, "label": [str(z + 1) for z in TEXTS.labels]}
    write_table(folder / "labels.csv", labels)
    one = {"item_id": IDS} | {name: column[:90] for name, column in LOGITS.items()}
    write_table(folder / "one.csv", one | {"length": [float(i) for i in range(90)]})


def tasks_of(folder, readings="stars.parquet", **settings: Any):
    chosen: Any = {"report": 30} | settings
    return read_tasks(folder / readings, folder / "labels.csv", **chosen)


def make_parts(*sweep: Any, **how: Any):
    """Make the files of a sweep's fits, and list them."""
    jobs = list_jobs(*sweep)
    fit_jobs(jobs, **how)
    return [job.path for job in jobs]


@contextmanager
def watching(tell):
    """Tell a function the share that is done, and the text, of the first stage that counts."""
    stages, reach = [], Stage.reach

    def told(stage, done, text=None):
        reach(stage, done, text)
        stages.extend([stage] * (stage.total > 0))
        if stage in stages[:1]:
            tell(done / stage.total, stage.text)

    with patch.object(Stage, "reach", told):
        yield
