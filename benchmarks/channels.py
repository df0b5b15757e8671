"""Sixteen plain NumPyro channels (tests/common_channels.py): the default beside bare NUTS.

Each channel is fitted to labelled synthetic reviews by the default, in a new process, and by
NumPyro's own NUTS: by how much predictive probabilities of other texts differ (root mean square),
CPU seconds of the first fit, of which most are compiling, and how long the density takes compared
with the mixture's; or the sentence by which a channel is refused.
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import process_time

import jax
import numpy as np
from measurement import Line, Timed, list_records

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import common_channels as common  # noqa: E402

import cordial_ppl as cp  # noqa: E402
from cordial_ppl.channels import Channel  # noqa: E402
from cordial_ppl.data.readings import as_logits  # noqa: E402
from cordial_ppl.data.smoothing import smooth_histogram  # noqa: E402
from cordial_ppl.evaluation.synthetic import reviews  # noqa: E402
from cordial_ppl.inference.programs import PACE  # noqa: E402
from cordial_ppl.inference.target import build_target  # noqa: E402

LABELS, UNSEEN = 40, 200


def compare(name: str) -> Line:
    """Fit one channel in this process, and sample it by NUTS."""
    texts, rows = reviews(LABELS + UNSEEN, seed=1), (np.s_[:LABELS], np.s_[LABELS:])
    logits, extra = as_logits(texts.logits), common.make_covariates(LABELS + UNSEEN)
    seen, unseen = ({k: v[part] for k, v in extra.items()} for part in rows)
    channel = Channel(name, common.CHANNELS[name], levels=tuple(common.LEVELS.items()))
    labels, start = texts.labels[:LABELS], process_time()
    try:
        fitted = cp.fit_channel(channel, logits[:LABELS], labels, covariates=seen)
    except cp.ChannelError as error:
        return {"refused": str(error)}
    seconds, histogram = process_time() - start, smooth_histogram(labels, logits.shape[1])
    first, last = (
        cp.Readings(logits[part], histogram, covariates)
        for part, covariates in zip(rows, (seen, unseen), strict=True)
    )
    probs, rhat, diverging = common.sample_by_numpyro(name, first, labels, last)
    apart = fitted.predict_proba(logits[LABELS:], unseen) - probs
    with jax.enable_x64(True):
        pace = build_target(channel, logits.shape[1], tuple(extra)).pace
    return {
        "parameters": fitted.draws.shape[1],
        "rms from NUTS": float(np.sqrt(np.mean(apart**2))),
        "CPU s": seconds,
        "times the mixture's density": pace / PACE,
        "trusted": fitted.diagnostics.trusted,
        "R-hat": float(rhat),
        "diverged": int(diverging),
    }


def run(draw: int, name: str) -> Line:
    """Compare in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, name], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


MEASUREMENTS = (
    Timed(
        "channels",
        lambda draw: ((name,) for name in common.CHANNELS),
        run,
        partial(list_records, names="channel"),
        1,
    ),
)

if __name__ == "__main__":
    print(json.dumps(compare(sys.argv[1])))
