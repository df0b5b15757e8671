"""Simulation-based calibration of every channel, by the default and by the literal method.

Parameters are drawn from the prior and labels of twenty made-up reviews from the channel; each data
set is fitted, and the truth ranked among the draws.  Prints for each channel and method the least
uniform quantity and its p-value (two tests, times their number over all quantities), and
writes all of them as JSON.  Exit status 1 if the default's ranks of a channel are not uniform.

    python benchmarks/simulations.py --sets 200
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import CordialWarning
from cordial_ppl.evaluation.checks.exactness import check_simulation, simulate
from cordial_ppl.evaluation.checks.trial import make_trial

MODELS = sorted((Path(__file__).parent.parent / "models").glob("*.py"))


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--channels", nargs="+", default=list(CHANNELS))
    parser.add_argument("--gallery", action="store_true", help="the files of the gallery as well")
    parser.add_argument("--methods", nargs="+", default=["default", "laplace"])
    parser.add_argument("--out", type=Path, default=Path("simulations.json"))
    args = parser.parse_args()
    names = [*args.channels, *(map(str, MODELS) if args.gallery else ())]
    results, failed = {}, False
    for name in names:
        channel = load_channel(name)
        texts = make_trial(channel, 0)
        for method in args.methods:
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CordialWarning)
                ranks = simulate(texts, args.sets, method=method)
            line = check_simulation(ranks)
            results[f"{channel.name}, {method}"] = {"status": line.status, **line.figures}
            seconds = time.perf_counter() - start
            print(
                f"{line.status:5}{channel.name:18}{method:9}{line.words} ({seconds:.0f} s)",
                flush=True,
            )
            failed |= method == "default" and line.status == "fail"
    args.out.write_text(json.dumps(results, indent=1))
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
