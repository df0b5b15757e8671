"""What centring does: vector-scaled readings of centred logits against those of log-probabilities.

Logits have no origin, and softmax(l / tau) needs none; the vector-scaled reading
softmax(e^eps * l / tau + b) does.  The package centres the logits of each text; the paper takes
them as they are.  Each channel of the paper is fitted to both by the default posterior, with the
same labels and seeds.  Prints the rms difference of the probabilities of report texts, that of two
seeds, and how much lower the log loss with centred logits is, ± its standard error over draws.

    python benchmarks/centring.py --labels 20 --draws 10
"""

import argparse
from typing import Any

import jax
import numpy as np
from embedded import TASKS, load_tasks
from scipy.special import log_softmax

from cordial_ppl.channels import CHANNELS, PAPER_CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.tasks import Task, draw_subsets
from cordial_ppl.inference.fitting import Case, fit_cases
from cordial_ppl.inference.target import build_target
from cordial_ppl.scores import log_loss


def main() -> None:
    """Fit and compare, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    args = parser.parse_args()
    tasks = load_tasks(args.tasks, ["main"])
    for channel in PAPER_CHANNELS:
        rows = [
            compare(task, channel, rows, draw)
            for task in tasks
            for draw, rows in enumerate(draw_subsets(task, args.labels, args.draws))
        ]
        apart, seeds, gains = np.array(rows).reshape(len(tasks), args.draws, 3).T
        rms = [np.sqrt(np.mean(each**2)) for each in (apart, seeds)]
        # Draws of different tasks are independent.
        errors = gains.std(axis=0, ddof=1) / args.draws**0.5
        print(
            f"{channel:16} rms {rms[0]:.4f}, of two seeds {rms[1]:.4f}; centred is lower by "
            f"{gains.mean():+.4f} ± {np.linalg.norm(errors) / len(tasks):.4f}",
            flush=True,
        )


def compare(task: Task, channel: str, rows: np.ndarray, draw: int) -> list[float]:
    """Rms difference by centring, and by the seed, and what centring gains, of one draw."""
    centred, labels = task.pool.logits[rows], task.pool.labels[rows]
    report, truth = task.report.logits, task.report.labels
    logs, scored = (log_softmax(each, axis=1) for each in (centred, report))
    with jax.enable_x64(True):
        target = build_target(CHANNELS[channel], centred.shape[1])

    def predict(fitted: np.ndarray, texts: np.ndarray, seed: int) -> np.ndarray:
        case = Case(Labelled(fitted, labels), None, (seed,))
        posterior: Any = fit_cases(target, [case])[0].fitted
        return posterior.predict(texts, {})[0]

    one, again = (predict(centred, report, seed) for seed in (draw, draw + 1000))
    other = predict(logs, scored, draw)
    apart = [float(np.sqrt(np.mean((one - each) ** 2))) for each in (other, again)]
    return [*apart, float(log_loss(other, truth)) - float(log_loss(one, truth))]


if __name__ == "__main__":
    main()
