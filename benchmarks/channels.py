"""Sixteen plain NumPyro channels (tests/common_channels.py): the default beside bare NUTS.

Each channel is fitted to labelled synthetic reviews by the default, in a new process, and by
NumPyro's own NUTS.  Prints a table: by how much predictive probabilities of other texts differ
(root mean square), CPU seconds of the first fit, of which most are compiling, and how long the
density takes compared with the mixture's; or the sentence by which a channel is refused.

    python benchmarks/channels.py
    python benchmarks/channels.py copula annotators --labels 100

Exit status 0 if every channel that is fitted is within 0.02 of NUTS, else 1.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import common_channels as common  # noqa: E402

import cordial_ppl as cp  # noqa: E402
from cordial_ppl.channels import Channel  # noqa: E402
from cordial_ppl.data.readings import as_logits, label_histogram  # noqa: E402
from cordial_ppl.evaluation.synthetic import reviews  # noqa: E402
from cordial_ppl.inference.programs import PACE  # noqa: E402
from cordial_ppl.inference.target import build_target  # noqa: E402

LIMIT = 0.02
UNSEEN = 200


def compare(name: str, labels: int) -> dict:
    """Fit one channel in this process, and sample it by NUTS."""
    texts = reviews(labels + UNSEEN, seed=1)
    logits, extra = as_logits(texts.logits), common.make_covariates(labels + UNSEEN)
    seen, unseen = (
        {k: v[rows] for k, v in extra.items()} for rows in (np.s_[:labels], np.s_[labels:])
    )
    channel = Channel(name, common.CHANNELS[name], levels=tuple(common.LEVELS.items()))
    known, start = texts.labels[:labels], time.process_time()
    try:
        fitted = cp.fit_channel(channel, logits[:labels], known, covariates=seen)
    except cp.ChannelError as error:
        return {"refused": str(error)}
    seconds = time.process_time() - start
    histogram = label_histogram(known, logits.shape[1])
    first = cp.Readings(logits[:labels], histogram, seen)
    last = cp.Readings(logits[labels:], histogram, unseen)
    probs, rhat, diverging = common.sample_by_numpyro(name, first, known, last)
    apart = fitted.predict_proba(logits[labels:], unseen) - probs
    with jax.enable_x64(True):
        pace = build_target(channel, logits.shape[1], tuple(extra)).pace
    return {
        "parameters": fitted.draws.shape[1],
        "rms": float(np.sqrt(np.mean(apart**2))),
        "seconds": seconds,
        "ratio": pace / PACE,
        "trusted": fitted.diagnostics.trusted,
        "rhat": rhat,
        "diverging": diverging,
    }


def main() -> int:
    """Compare each channel in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("channels", nargs="*", default=list(common.CHANNELS))
    parser.add_argument("--labels", type=int, default=40)
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    args = parser.parse_args()
    if args.here:
        print(json.dumps(compare(args.channels[0], args.labels)))
        return 0
    heads = (
        "parameters",
        "rms from NUTS",
        "CPU s",
        "times the mixture's density",
        "R-hat",
        "diverged",
    )
    print(f"| channel | {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|")
    far = 0
    for name in args.channels:
        command = [sys.executable, __file__, name, "--labels", str(args.labels), "--here"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        cells = (
            [row["refused"]]
            if "refused" in row
            else [
                str(row["parameters"]),
                f"{row['rms']:.4f}" + ("" if row["trusted"] else " (warned)"),
                f"{row['seconds']:.1f}",
                f"{row['ratio']:.1f}",
                f"{row['rhat']:.3f}",
                str(row["diverging"]),
            ]
        )
        far += row.get("rms", 0.0) > LIMIT
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nAll that are fitted are within {LIMIT}: {'no' if far else 'yes'}")
    return int(far > 0)


if __name__ == "__main__":
    raise SystemExit(main())
