"""How far the default is above the label histogram on a scale of which few options are used.

Eleven options, of which seven are ever the label, and a reader with hard ratings that states the
label of another text, or the right one in a quarter or half of the texts.  Prints, for numbers of
labels, the log loss less that of the smoothed label histogram, in nats on 1,000 further texts, on
the mean over draws: of the default, of the default whose channels need not earn their
pseudo-counts, of the default with the cautious prior and the tilt, and of the stack without
channels.

    python benchmarks/odd_scales.py --draws 5
"""

import argparse
import warnings

import numpy as np

import cordial_ppl as cp
from cordial_ppl.data.readings import label_histogram

OPTIONS = list(range(11))
USED, SHARES = [0, 2, 3, 5, 7, 8, 10], [0.05, 0.1, 0.25, 0.2, 0.25, 0.1, 0.05]
TEXTS, REPORT = 3000, 1000
WHOLE = {"bridge": 9.0, "mixture-vector": 1.5}
"""Pseudo-counts that are nearly the default's, and stay, for they are given."""
RIGHT = {"shuffled": 0.0, "weak": 0.25, "half": 0.5}


def main() -> None:
    """Make readings, fit and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--budgets", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    args = parser.parse_args()
    warnings.simplefilter("ignore", cp.CordialWarning)
    cautious = cp.priors.shipped_prior().with_rule(name="cautious")
    rng = np.random.default_rng(3)
    truth = rng.choice(USED, TEXTS, p=SHARES)
    for kind, right in RIGHT.items():
        stated = np.where(rng.random(TEXTS) < right, truth, rng.permutation(truth))
        logits = cp.readings_from_ratings(stated, options=OPTIONS)
        for n in args.budgets:
            excess: dict[str, list[float]] = {}
            for draw in range(args.draws):
                order = np.random.default_rng([draw, n]).permutation(TEXTS)
                rows, report = order[:n], order[-REPORT:]
                histogram = label_histogram(truth[rows], len(OPTIONS))[truth[report]]
                for name, stack in {
                    "default": cp.Cordial(OPTIONS, seed=draw),
                    "whole counts": cp.Cordial(OPTIONS, seed=draw, weight_counts=WHOLE),
                    "cautious prior": cp.Cordial(OPTIONS, seed=draw, prior=cautious),
                    "without channels": cp.LogitStack(OPTIONS, seed=draw),
                }.items():
                    probs = stack.fit(logits[rows], truth[rows]).predict_proba(logits[report])
                    loss = np.log(histogram) - np.log(probs[np.arange(REPORT), truth[report]])
                    excess.setdefault(name, []).append(float(loss.mean()))
            shown = "  ".join(f"{name} {np.mean(each):+.3f}" for name, each in excess.items())
            print(f"{kind:9} {n:4}  {shown}", flush=True)


if __name__ == "__main__":
    main()
