"""Tables of reviews for the program to calibrate."""

from typing import Any

import numpy as np

from cordial_ppl.evaluation import synthetic
from cordial_ppl.tables import read_columns, write_table

LABELLED = 20
TEXTS = 60


def write_tables(folder, ending: Any = "csv", **extras):
    """Write readings of some reviews and the labels of the first; return their paths."""
    reviews = synthetic.reviews(TEXTS, seed=3)
    ids = [f"text {i}" for i in range(TEXTS)]
    cells = {f"logit_{o}": reviews.logits[:, k] for k, o in enumerate(reviews.options)}
    labels = [int(reviews.options[z]) for z in reviews.labels[:LABELLED]]
    readings, labelled = folder / f"r.{ending}", folder / f"l.{ending}"
    write_table(readings, {"item_id": ids, **cells, **extras})
    write_table(labelled, {"item_id": ids[:LABELLED], "label": labels})
    return readings, labelled


def read(path):
    columns = read_columns(path)
    return {name: list(cells) for name, cells in columns.cells.items()}


def read_probabilities(path):
    """Read what is predicted of the five options."""
    cells = read(path)
    return np.array([cells[f"p_{k}"] for k in range(1, 6)], float).T


def fast(*arguments):
    return *arguments, "--inference", "mode", "--quiet"
