"""What each channel of the gallery adds to the package's own, on real readings.

CORDIAL_DATA names a folder with ``summeval_logits`` (see real.py) and ``wmt23_esa_users`` (see
fusion.py).  Each variant is one more member of `Cordial`, fitted to the same subsets of n labels as
`Cordial` without it, and scored on the same 800 held-out texts; and it is fitted by itself, beside
the best of the four channels of the paper on the same subsets.  Prints gains in nats of log loss
with 95 % intervals (paired bootstrap over texts and subsets), and writes them as JSON.

    CORDIAL_DATA=path python benchmarks/gallery.py --draws 8 --budgets 50 100
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from fusion import load
from real import NEEDED

import cordial_ppl as cp
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.estimators.subsets import BatchFit, Texts, fit_subsets
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.scores import paired_bootstrap

MODELS = Path(__file__).parent.parent / "models"
PAIRS = (
    ("summeval", "coherence", "gpt-4o-mini_geval"),
    ("summeval", "coherence", "qwen2.5"),
    ("summeval", "consistency", "gpt-4o-mini_geval"),
    ("summeval", "fluency", "deepseek-r1-distill-qwen-32b"),
    ("summeval", "relevance", "gpt-4o-mini_geval"),
    ("summeval", "relevance", "qwen2.5"),
    ("wmt", "ESA-1", "GEMBA-MQM_gpt4"),
    ("wmt", "MQM-1", "GEMBA-MQM_gpt4"),
)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--budgets", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--channels", nargs="+", help="files of the gallery; by default all")
    parser.add_argument("--out", type=Path, default=Path("gallery.json"))
    args = parser.parse_args()
    if not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    files = sorted(path for path in MODELS.glob("*.py") if path.stem != "template")
    # These readings come without lengths and times.
    files = [path for path in files if not find_covariates(load_channel(path), 5)]
    files = [path for path in files if path.stem in (args.channels or [path.stem])]
    gains: dict[tuple[str, str, int], dict[str, np.ndarray]] = {}
    start = time.perf_counter()
    for data, task, reader in PAIRS:
        for n in args.budgets:
            gains[task, reader, n] = compare(data, task, reader, n, args.draws, files)
            means = "".join(
                f" {name} {values.mean():+.4f}" for name, values in gains[task, reader, n].items()
            )
            print(f"{task} {reader} {n}:{means} ({time.perf_counter() - start:.0f} s)", flush=True)
            report(gains, args)


def compare(
    data: str, task: str, reader: str, n: int, draws: int, files: list[Path]
) -> dict[str, np.ndarray]:
    """Gains per draw and text: of each file in the stack, and by itself."""
    texts = load(data, task, 0)
    index = texts.readers.index(reader)
    pool, report = texts.pool[:, index], texts.report[:, index]
    subsets = np.stack(
        [np.random.default_rng([draw, n]).permutation(len(pool))[:n] for draw in range(draws)]
    )
    judges: dict[str, Any] = {"cordial": cp.Cordial()}
    judges |= {name: cp.ChannelCalibrator(name) for name in PAPER_CHANNELS}
    for path in files:
        judges[f"with {path.stem}"] = cp.Cordial(channels=[path])
        judges[path.stem] = cp.ChannelCalibrator(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.CordialWarning)
        batch = fit_subsets(judges, Texts(pool), texts.labels, subsets, range(draws), Texts(report))
    losses = {}
    for name, fit in batch.items():
        if not isinstance(fit, BatchFit):
            raise fit
        losses[name] = np.stack(
            [cp.scores.log_loss(probs, texts.truth, per_text=True) for probs in fit.probs]
        )
    best = min((losses[name] for name in PAPER_CHANNELS), key=lambda loss: loss.mean())
    gains = {}
    for path in files:
        gains[f"with {path.stem}"] = losses["cordial"] - losses[f"with {path.stem}"]
        gains[path.stem] = best - losses[path.stem]
    return gains


def report(gains: dict[tuple[str, str, int], dict[str, np.ndarray]], args: Any) -> None:
    """Write every cell as JSON; print the means once all are there."""
    rows = []
    for (task, reader, n), cell in gains.items():
        for name, gain in cell.items():
            interval = [float(part) for part in paired_bootstrap(gain, draws=2000)]
            rows.append({"task": task, "reader": reader, "n": n, "what": name, "gain": interval})
    args.out.write_text(json.dumps(rows, indent=1))
    if len(gains) < len(PAIRS) * len(args.budgets):
        return
    for n in args.budgets:
        print(
            f"\n{n} labels: mean gain over {len(PAIRS)} pairs of task and reader; wins and losses"
        )
        for name in dict.fromkeys(row["what"] for row in rows):
            cell = [row["gain"] for row in rows if row["what"] == name and row["n"] == n]
            wins, lost = sum(low > 0 for _, low, _ in cell), sum(high < 0 for *_, high in cell)
            mean = np.mean([gain for gain, *_ in cell])
            print(f"  {name:24} {mean:+.4f}  {wins:2} resolved, {lost:2} lost")


if __name__ == "__main__":
    main()
