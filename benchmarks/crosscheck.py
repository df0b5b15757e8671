"""Default and literal posteriors beside NUTS, for every channel, few and many labels and options.

Made-up reviews with n labels and K options are fitted by each method; two hundred further texts are
predicted by each.  Prints the root mean square and the worst difference of predicted probabilities
from those of NUTS (four chains, 2,000 draws), the largest distance of posterior means in posterior
standard deviations, k-hat, effective sample size, whether the fit trusts itself, and times with
compiling; keeps every row in a file of JSON lines, from which a further run goes on.  Exit status 1
if a default fit is 0.02 root mean square off and has not said so.

    python benchmarks/crosscheck.py --out crosscheck.jsonl
    python benchmarks/crosscheck.py --channels location models/probit.py --labels 20 --options 5
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import CordialWarning
from cordial_ppl.evaluation.checks.posterior import RMS_LIMIT, compare
from cordial_ppl.evaluation.checks.trial import make_trial

MODELS = sorted((Path(__file__).parent.parent / "models").glob("*.py"))
METHODS = ("default", "laplace")


def main() -> None:
    """Run what is not there yet, and print all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = [*CHANNELS, *(str(path) for path in MODELS if path.stem != "template")]
    parser.add_argument("--channels", nargs="+", default=every)
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--options", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--out", type=Path, default=Path("crosscheck.jsonl"))
    args = parser.parse_args()
    rows = (
        [json.loads(line) for line in args.out.read_text().splitlines()]
        if args.out.exists()
        else []
    )
    finished = {(row["channel"], row["options"], row["labels"]) for row in rows}
    for size, labels, path in product(args.options, args.labels, args.channels):
        name = load_channel(path).name
        if (name, size, labels) not in finished:
            results = check(path, size, labels)
            rows += results
            with args.out.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in results)
            for row in results:
                show(row)
    wrong = report(rows)
    raise SystemExit(bool(wrong))


def check(path: str, size: int, labels: int) -> list[dict[str, Any]]:
    """Both methods beside NUTS, for one channel and data set."""
    texts = make_trial(load_channel(path), 0, size, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CordialWarning)
        fits, seconds = {}, {}
        for method in ("nuts", *METHODS):
            start = time.perf_counter()
            fits[method] = texts.fit(method)
            seconds[method] = time.perf_counter() - start
    reference = fits["nuts"].diagnostics
    rows = []
    for method in METHODS:
        means, rms, worst, coordinate = compare(texts, fits[method], fits["nuts"])
        diagnostics = fits[method].diagnostics
        rows.append(
            {
                "channel": texts.target.channel.name,
                "options": size,
                "labels": labels,
                "method": method,
                "rms": rms,
                "worst": worst,
                "means": means,
                "furthest": coordinate,
                "khat": diagnostics.khat,
                "ess": diagnostics.ess,
                "trusted": diagnostics.trusted,
                "seconds": seconds[method],
                "nuts_ess": reference.ess,
                "nuts_divergences": reference.divergences,
                "nuts_seconds": seconds["nuts"],
            }
        )
    return rows


def show(row: dict[str, Any]) -> None:
    """Print one row."""
    print(
        f"{row['channel']:18}{row['options']:3}{row['labels']:5}  {row['method']:9}"
        f"rms {row['rms']:.4f}  worst {row['worst']:.3f}  means {row['means']:.2f}  k-hat "
        f"{row['khat']:5.2f}  ESS {row['ess']:6.0f}  {'' if row['trusted'] else 'flagged'}"
        f"  {row['seconds']:.1f} s; NUTS ESS {row['nuts_ess']:.0f}, {row['nuts_seconds']:.1f} s",
        flush=True,
    )


def report(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the worst of each channel; return the default fits that are off unawares."""
    compared = [row for row in rows if row["nuts_ess"] > 0]
    apart = (len(rows) - len(compared)) // 2
    print(f"\n{len(rows) // 2} data sets; in {apart} of them the chains of NUTS disagree")
    columns = "".join(f"{name:>10}{'flagged':>9}" for name in METHODS)
    print(f"{'worst root mean square':22}{columns}")
    for name in dict.fromkeys(row["channel"] for row in compared):
        cells = f"{name:22}"
        for method in METHODS:
            matches = [row for row in compared if (row["channel"], row["method"]) == (name, method)]
            flagged = sum(not row["trusted"] for row in matches)
            cells += f"{max(row['rms'] for row in matches):10.4f}{flagged:4} of {len(matches):2}"
        print(cells)
    wrong = [
        row
        for row in compared
        if row["method"] == "default" and row["rms"] > RMS_LIMIT and row["trusted"]
    ]
    for row in wrong:
        print("off, and not flagged:", end=" ")
        show(row)
    return wrong


if __name__ == "__main__":
    main()
