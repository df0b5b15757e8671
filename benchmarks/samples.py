"""What twenty sampled ratings a text are worth, before and after calibration, in two commands.

Of ``topical_chat_gpt35``: for each task the ratings of one reader are written as a log of samples;
`cordial read` and `cordial calibrate` make probabilities of them, with 20 labels; the other texts
are scored.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measurement import Line, Means, Measurement
from real import SOURCES, folder_of
from scipy.special import softmax

import cordial_ppl as cp

SOURCE, READER, LABELS = "topical_chat_gpt35", "gpt-3.5-turbo_geval", 20
PROGRAM = "from cordial_ppl.cli import main; main()"
OPTIONS = ("0", "1", "2")


def run(draw: int, task: str) -> Line:
    """Log losses of the counts and of what two commands make of them, on unlabelled texts."""
    readings, labels = (
        pl.read_csv(folder_of(SOURCE) / f"{name}.csv").filter(task=task)
        for name in ("readings", "labels")
    )
    texts = readings.filter(reader=READER).join(labels, on="item_id", maintain_order="left")
    counts = texts.select(f"n_{option}" for option in OPTIONS).to_numpy()
    order = np.random.default_rng([draw, 6]).permutation(len(texts))
    labelled, rest = order[:LABELS], order[LABELS:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log.jsonl").open("w") as file:
            for item, each in zip(texts["item_id"], counts, strict=True):
                line = {"item_id": item, "scores": [*np.repeat(OPTIONS, each)]}
                file.write(json.dumps(line) + "\n")
        texts[labelled].select("item_id", "label").write_csv(folder / "labels.csv")
        for command in (
            f"read log.jsonl --options {','.join(OPTIONS)} -o readings.csv",
            "calibrate readings.csv labels.csv -o calibrated.csv",
        ):
            program = [sys.executable, "-c", PROGRAM, *command.split(), "--quiet"]
            subprocess.run(program, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        calibrated = pl.read_csv(folder / "calibrated.csv")
    probs = {
        "counts": softmax(cp.readings_from_counts(counts), axis=1),
        "calibrated": calibrated.select(f"p_{option}" for option in OPTIONS).to_numpy(),
    }
    truth = texts["label"].to_numpy()[rest]
    return {name: cp.scores.log_loss(each[rest], truth) for name, each in probs.items()}


MEASUREMENTS = (
    Measurement(
        "samples",
        lambda draw: ((task,) for task in SOURCES[SOURCE].tasks),
        run,
        Means("task", "task"),
        5,
    ),
)
