"""Log loss on real readings after a handful of labels: literal method, default and baselines.

Needs a folder CORDIAL_DATA with ``summeval_logits/readings.parquet`` (``item_id``, ``task``,
``reader``, ``logit_1`` ... ``logit_5``) and ``summeval_logits/labels.csv`` (``item_id``, ``task``,
``label``): the public SummEval summaries, with the option log-probabilities of LLM judges and the
experts' ratings.  Every method sees the same draws of labels and is scored on the same held-out
texts.  Prints the mean log loss in nats by number of labels, then by task and reader, and writes
all results as JSON.

    CORDIAL_DATA=path python benchmarks/accuracy.py --draws 10 --budgets 10 20 50
"""

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import cordial_ppl as cp
from cordial_ppl.readings import label_histogram
from cordial_ppl.tables import match_labels, read_labels, read_readings

OPTIONS = ("1", "2", "3", "4", "5")
TASKS = ("coherence", "consistency", "fluency", "relevance")
READERS = ("gpt-4o-mini_geval", "deepseek-r1-distill-qwen-32b")
TEST = 1000
NEEDED = (
    "CORDIAL_DATA must name a folder with summeval_logits/readings.parquet (item_id, task, reader, "
    "logit_1 ... logit_5) and summeval_logits/labels.csv (item_id, task, label), made from the "
    "public SummEval summaries and the option log-probabilities of LLM judges."
)

MEMBERS = cp.Cordial().members

METHODS = {
    "vector scaling": lambda seed: cp.VectorScaling(),
    "logit stack": lambda seed: cp.LogitStack(seed=seed),
    "paper, flat": lambda seed: cp.Cordial.paper(seed=seed),
    "paper, one-count": lambda seed: cp.Cordial.paper(weights="one-count", seed=seed),
    "default, flat": lambda seed: cp.Cordial(seed=seed, weight_counts=dict.fromkeys(MEMBERS, 0.0)),
    "default, one-count": lambda seed: cp.Cordial(
        seed=seed, weight_counts=dict.fromkeys(MEMBERS, 1.0)
    ),
    "default": lambda seed: cp.Cordial(seed=seed),
}


def load(folder: Path, task: str, reader: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of one task and reader."""
    readings = read_readings(folder / "readings.parquet", task=task, reader=reader)
    labels = read_labels(folder / "labels.csv", readings.scale, task=task)
    return readings.logits[match_labels(readings, labels)], labels.labels


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("accuracy.json"))
    args = parser.parse_args()
    if not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    folder = Path(os.environ["CORDIAL_DATA"]) / "summeval_logits"
    losses: dict = defaultdict(list)
    start = time.perf_counter()
    for task in TASKS:
        for reader in READERS:
            logits, labels = load(folder, task, reader)
            for draw in range(args.draws):
                order = np.random.default_rng([draw, 77]).permutation(len(labels))
                test, truth = logits[order[-TEST:]], labels[order[-TEST:]]
                for n in args.budgets:
                    rows = order[:n]
                    histogram = label_histogram(labels[rows], len(OPTIONS))
                    predictions = {"label histogram": np.tile(histogram, (TEST, 1))}
                    for name in args.methods:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore", cp.CordialWarning)
                            judge = METHODS[name](draw).fit(logits[rows], labels[rows])
                        predictions[name] = judge.predict_proba(test)
                        for member, fit in getattr(judge, "_fits", {}).items():
                            if name == "default":
                                probs = fit.predict_centred(test, {}, dtype="float32")
                                predictions[f"  {member}"] = probs
                    for name, probs in predictions.items():
                        loss = cp.scores.log_loss(probs, truth)
                        losses[n, task, reader, name].append(loss)
            print(f"{task} {reader} {time.perf_counter() - start:.0f} s", flush=True)
    report(losses, args)


def report(losses: dict, args: argparse.Namespace) -> None:
    """Print the tables and write the JSON file."""
    names = list(dict.fromkeys(key[3] for key in losses))
    print(f"\n{'mean log loss, nats':24s}" + "".join(f"{n:>9d}" for n in args.budgets))
    for name in names:
        means = [
            np.mean([v for k, v in losses.items() if k[0] == n and k[3] == name])
            for n in args.budgets
        ]
        print(f"{name:24s}" + "".join(f"{mean:9.4f}" for mean in means))
    if "default" in names:
        print("\ndefault minus label histogram, mean over draws")
        for task in TASKS:
            for reader in READERS:
                row = [
                    np.mean(losses[n, task, reader, "default"])
                    - np.mean(losses[n, task, reader, "label histogram"])
                    for n in args.budgets
                ]
                print(f"  {task:12s}{reader:30s}" + "".join(f"{x:+9.4f}" for x in row))
    rows = [
        {"n": n, "task": task, "reader": reader, "method": name.strip(), "log_loss": values}
        for (n, task, reader, name), values in losses.items()
    ]
    args.out.write_text(json.dumps({"settings": vars(args) | {"out": str(args.out)}, "rows": rows}))


if __name__ == "__main__":
    main()
