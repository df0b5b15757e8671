"""A sweep's files: two readers' readings, labels, and probabilities made elsewhere."""

import numpy as np

from cordial_ppl.evaluation.sweep import parse_config
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table

TEXTS = reviews(90, seed=5)
IDS = [f"t{i}" for i in range(90)]
LENGTHS = {"length": [float(i) for i in range(90)]}


def write_sweep(folder):
    """Write them; the probabilities made elsewhere lack one draw."""
    columns: dict = {"item_id": IDS * 2, "reader": ["a"] * 90 + ["b"] * 90}
    for k in range(5):
        both = np.concatenate([TEXTS.logits[:, k], TEXTS.logits[::-1, k]])
        columns[f"logit_{k + 1}"] = both
    write_table(folder / "readings.parquet", columns)
    labels = {"item_id": IDS, "label": [str(z + 1) for z in TEXTS.labels]}
    write_table(folder / "labels.csv", labels)
    write_table(
        folder / "one.csv", {n: v[:90] for n, v in columns.items() if n != "reader"} | LENGTHS
    )
    rows = [(i, n, d) for n in (4, 9) for d in range(3) for i in IDS if (n, d) != (9, 1)]
    shots = {"item_id": [r[0] for r in rows], "n": [r[1] for r in rows]}
    shots |= {"draw": [r[2] for r in rows]} | {f"p_{k}": [0.2] * len(rows) for k in range(1, 6)}
    write_table(folder / "shots.parquet", shots)


def plan(folder, **changes):
    task = {"readings": "readings.parquet", "labels": "labels.csv", "report": 30}
    content = {
        "draws": 3,
        "budgets": [4, 9],
        "methods": ["raw", "histogram", "temperature"],
        "task": {"stars": task | changes.pop("task", {})},
        "external": {"shots": {"probabilities": "shots.parquet"}},
    }
    content |= changes
    return parse_config({k: v for k, v in content.items() if v is not None}, folder)
