"""What twenty sampled ratings a text are worth, before and after calibration, in two commands.

CORDIAL_DATA names a folder with ``topical_chat_gpt35``: `readings.csv` (item_id, task, reader, n_0,
n_1, n_2: how often each rating was sampled) and `labels.csv` (item_id, task, label).  For each task
the ratings of one reader are written as a log of samples; `cordial read` and `cordial calibrate`
make probabilities of them, with some labels; the other texts are scored.

    CORDIAL_DATA=path python benchmarks/samples.py

Prints a table and writes JSON.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import cordial_ppl as cp
from cordial_ppl.tables.formats import read_columns

NEEDED = "set CORDIAL_DATA to a folder that holds topical_chat_gpt35"
PROGRAM = "from cordial_ppl.cli import main; main()"
OPTIONS = ("0", "1", "2")


def main() -> None:
    """Read, calibrate and score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--reader", default="gpt-3.5-turbo_geval")
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("samples.json"))
    args = parser.parse_args()
    if not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    folder = Path(os.environ["CORDIAL_DATA"]) / "topical_chat_gpt35"
    readings = [row for row in rows(folder / "readings.csv") if row["reader"] == args.reader]
    labels = {(row["task"], row["item_id"]): row["label"] for row in rows(folder / "labels.csv")}
    results = []
    print(f"{'nats a text':16s}{'texts':>8s}{'counts':>10s}{'calibrated':>12s}")
    for task in dict.fromkeys(row["task"] for row in readings):
        texts = [
            row for row in readings if row["task"] == task and (task, row["item_id"]) in labels
        ]
        truth = [labels[task, row["item_id"]] for row in texts]
        losses = np.mean(
            [losses_of(texts, truth, args.labels, draw) for draw in range(args.draws)], axis=0
        )
        results.append({"task": task, "counts": losses[0], "calibrated": losses[1]})
        print(f"{task:16s}{len(texts):8d}{losses[0]:10.3f}{losses[1]:12.3f}", flush=True)
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": results}, indent=1))


def rows(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def losses_of(texts: list[dict], truth: list[str], count: int, draw: int) -> tuple[float, float]:
    """Log losses of the counts and of what two commands make of them, on unlabelled texts."""
    order = np.random.default_rng([draw, 6]).permutation(len(texts))
    labelled, rest = order[:count], order[count:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log.jsonl").open("w") as file:
            for row in texts:
                scores = [option for option in OPTIONS for _ in range(int(row[f"n_{option}"]))]
                file.write(json.dumps({"item_id": row["item_id"], "scores": scores}) + "\n")
        with (folder / "labels.csv").open("w") as file:
            file.write("item_id,label\n")
            file.writelines(f"{texts[i]['item_id']},{truth[i]}\n" for i in labelled)
        for command in (
            f"read log.jsonl --options {','.join(OPTIONS)} -o readings.csv",
            "calibrate readings.csv labels.csv -o calibrated.csv",
        ):
            program = [sys.executable, "-c", PROGRAM, *command.split(), "--quiet"]
            subprocess.run(program, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        cells = read_columns(folder / "calibrated.csv").cells
    probs = np.array([cells[f"p_{option}"] for option in OPTIONS], float).T
    counts = np.array([[float(row[f"n_{option}"]) for option in OPTIONS] for row in texts])
    logits = cp.readings_from_counts(counts)
    raw = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = np.array([OPTIONS.index(label) for label in truth])
    counted, calibrated = (cp.scores.log_loss(p[rest], codes[rest]) for p in (raw, probs))
    return float(counted), float(calibrated)


if __name__ == "__main__":
    main()
