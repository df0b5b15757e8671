"""What twenty sampled ratings a text are worth, before and after calibration, in two commands.

Of ``topical_chat_gpt35``: for each task the ratings of one reader are written as a log of samples;
`cordial read` and `cordial calibrate` make probabilities of them, with 20 labels; the other texts
are scored.

    CORDIAL_DATA=path python benchmarks/results.py samples
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measurement import Line, Means, Measurement
from real import SOURCES, folder_of

import cordial_ppl as cp
from cordial_ppl.tables import read_columns, write_table

SOURCE, READER, LABELS = "topical_chat_gpt35", "gpt-3.5-turbo_geval", 20
PROGRAM = "from cordial_ppl.cli import main; main()"
OPTIONS = ("0", "1", "2")


def run(draw: int, task: str) -> Line:
    """Log losses of the counts and of what two commands make of them, on unlabelled texts."""
    readings, labels = (
        read_columns(folder_of(SOURCE) / f"{name}.csv").cells for name in ("readings", "labels")
    )
    told = zip(labels["task"], labels["item_id"], labels["label"], strict=True)
    label = {item: str(each) for of, item, each in told if of == task}
    chosen = zip(readings["task"], readings["reader"], readings["item_id"], strict=True)
    rows = [i for i, key in enumerate(chosen) if key[:2] == (task, READER) and key[2] in label]
    items = [readings["item_id"][row] for row in rows]
    counts = np.array([[float(readings[f"n_{k}"][row]) for k in OPTIONS] for row in rows])
    order = np.random.default_rng([draw, 6]).permutation(len(rows))
    labelled, rest = order[:LABELS], order[LABELS:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log.jsonl").open("w") as file:
            for item, each in zip(items, counts.astype(int), strict=True):
                line = {"item_id": item, "scores": [*np.repeat(OPTIONS, each)]}
                file.write(json.dumps(line) + "\n")
        some = [items[i] for i in labelled]
        write_table(folder / "labels.csv", {"item_id": some, "label": [label[i] for i in some]})
        for command in (
            f"read log.jsonl --options {','.join(OPTIONS)} -o readings.csv",
            "calibrate readings.csv labels.csv -o calibrated.csv",
        ):
            program = [sys.executable, "-c", PROGRAM, *command.split(), "--quiet"]
            subprocess.run(program, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        cells = read_columns(folder / "calibrated.csv").cells
    logits = cp.readings_from_counts(counts)
    codes = np.array([OPTIONS.index(label[item]) for item in items])
    probs = {
        "counts": np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True),
        "calibrated": np.array([cells[f"p_{option}"] for option in OPTIONS], float).T,
    }
    return {k: cp.scores.log_loss(each[rest], codes[rest]) for k, each in probs.items()}


MEASUREMENTS = (
    Measurement(
        "samples",
        lambda draw: ((task,) for task in SOURCES[SOURCE].tasks),
        run,
        Means("task", "task"),
        5,
    ),
)
