"""How long a prediction takes, in microseconds a text, for few and for many texts.

The default and the literal stack are fitted to n labels and predict 1, 1,000 and 100,000 texts.
First is the first call for that number of texts, which may compile; median and minimum are those
of later calls.  The rival, in the same run, is ``predict_proba`` of scikit-learn's logistic
regression, a single matrix product where the stack sums over members and draws.

    python benchmarks/predict.py
    python benchmarks/predict.py --quick

Prints a table and writes JSON.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from sklearn.linear_model import LogisticRegression

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews

METHODS = {
    "default": lambda: cp.Cordial(),
    "paper": lambda: cp.Cordial.paper(),
    "logit stack": lambda: cp.LogitStack(),
    "scikit-learn": lambda: LogisticRegression(max_iter=1000),
}
RIVAL = "scikit-learn"


def main() -> None:
    """Time the predictions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--texts", type=int, nargs="+", default=[1, 1000, 100_000])
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--options", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("predict.json"))
    args = parser.parse_args()
    if args.quick:
        args.texts, args.repeats = [1, 1000], 5
    made = reviews(args.labels + max(args.texts), options=args.options)
    labelled = made.logits[: args.labels], made.labels[: args.labels]
    judges = {name: build().fit(*labelled) for name, build in METHODS.items()}
    rows = []
    print(
        f"{'us a text':14s}{'texts':>8s}{'first':>12s}{'median':>12s}{'minimum':>12s}{'ratio':>9s}"
    )
    for count in args.texts:
        texts = made.logits[args.labels : args.labels + count]
        times = {name: [] for name in judges}
        # In turn, so that all suffer alike from what else the machine does.
        for _ in range(args.repeats + 1):
            for name, judge in judges.items():
                start = time.perf_counter()
                judge.predict_proba(texts)
                times[name].append(1e6 * (time.perf_counter() - start) / count)
        for name, taken in times.items():
            median, other = statistics.median(taken[1:]), statistics.median(times[RIVAL][1:])
            row = {"first": taken[0], "median": median, "minimum": min(taken[1:])}
            row["ratio"] = median / other
            rows.append({"method": name, "texts": count, **row})
            line = "".join(f"{row[key]:12.2f}" for key in ("first", "median", "minimum"))
            print(f"{name:14s}{count:8d}{line}{row['ratio']:9.1f}")
    print(f"\nratio: median against that of {RIVAL}")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}))


if __name__ == "__main__":
    main()
