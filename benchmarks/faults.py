"""When a channel of the gallery helps: what it gains where its fault is there, and loses where not.

Texts are read without bias, and labelled by a channel of the gallery whose parameters are at the
medians of their priors (concentration 1.5), but for the one that is the fault, which goes from
nothing to strong.  The channel and the location channel are fitted to the same subsets of n labels
and predict 2,000 further texts.  Prints the gain in nats of log loss with its standard error over
the subsets, and draws it; for the probit channel, whose fault cannot be taken away, the spread of
the noise is varied.

    python benchmarks/faults.py --plot docs/faults.svg
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import cordial_ppl as cp
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.readings import Readings, as_logits, label_histogram
from cordial_ppl.estimators.subsets import BatchFit, Texts, fit_subsets
from cordial_ppl.inference.target import Target, build_target

MODELS = Path(__file__).parent.parent / "models"
OPTIONS, POOL, REPORT = 5, 2000, 2000
COVARIATES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "length": lambda rng, n: 100.0 * np.exp2(rng.standard_normal(n)),
    "time": lambda rng, n: rng.random(n),
}


class Fault(NamedTuple):
    """What differs from the location channel.

    Attributes:
        site: the parameter.
        values: from nothing to strong; a log where the parameter is positive.
        words: what the axis says.
        pattern: what a value is multiplied with.
        others: further parameters, on the unconstrained scale.
        shown: from a value to the number on the axis.
    """

    site: str
    values: tuple[float, ...]
    words: str
    pattern: tuple[float, ...] = ()
    others: dict[str, float] = {}
    shown: Callable[[float], float] = float


FAULTS = {
    "skewed": Fault("skew", (0.0, 0.5, 1.0, 1.5), "skew"),
    "heavy_tailed": Fault(
        "width",
        tuple(float(np.log(w)) for w in (4.0, 1.0, 0.5, 0.25)),
        "width, classes",
        shown=lambda value: float(np.exp(value)),
    ),
    "bent": Fault("bend", (0.0, 0.7, 1.4, 2.1), "bend"),
    "uneven": Fault(
        "steps", (0.0, 0.4, 0.8, 1.2), "steps alternate, log ratio / 2", (1.0, -1.0, 1.0, -1.0)
    ),
    "verbosity": Fault("verbosity", (0.0, 0.2, 0.4, 0.6), "classes a doubling of length"),
    "drift": Fault("drift", (0.0, 0.5, 1.0, 1.5), "classes in the whole time"),
    "probit": Fault(
        "spread",
        tuple(float(np.log(s)) for s in (0.25, 0.5, 1.0, 1.5)),
        "spread, classes",
        shown=lambda value: float(np.exp(value)),
    ),
    "two_populations": Fault(
        "difference", (0.0, 1.0, 2.0, 3.0), "difference, classes", others={"minority": -1.0}
    ),
}


def main() -> None:
    """Run, print, and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--channels", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--out", type=Path, default=Path("faults.json"))
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    start = time.perf_counter()
    for name in args.channels:
        for value in FAULTS[name].values:
            results = compare(name, value, args.budgets, args.draws)
            rows += results
            words = "".join(
                f"  {row['n']}: {row['gain']:+.4f} ({row['error']:.4f})" for row in results
            )
            shown = FAULTS[name].shown(value)
            print(
                f"{name:18}{shown:5.2f}{words}  [{time.perf_counter() - start:.0f} s]", flush=True
            )
    args.out.write_text(json.dumps(rows, indent=1))
    if args.plot:
        draw(rows, args.plot)


def compare(name: str, value: float, budgets: list[int], draws: int) -> list[dict[str, Any]]:
    """Gain of a channel on texts that have its fault."""
    path = MODELS / f"{name}.py"
    texts, labels = make_texts(name, value)
    pool, report = texts.take(slice(0, POOL)), texts.take(slice(POOL, None))
    truth, rows = labels[POOL:], []
    judges: dict[str, Any] = {
        "own": cp.ChannelCalibrator(path),
        "location": cp.ChannelCalibrator("location"),
    }
    for n in budgets:
        subsets = np.stack(
            [np.random.default_rng([draw, n]).permutation(POOL)[:n] for draw in range(draws)]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.CordialWarning)
            batch = fit_subsets(judges, pool, labels[:POOL], subsets, range(draws), report)
        losses = {}
        for judge, fit in batch.items():
            if not isinstance(fit, BatchFit):
                raise fit
            losses[judge] = np.array([cp.scores.log_loss(probs, truth) for probs in fit.probs])
        gains = losses["location"] - losses["own"]
        rows.append(
            {
                "channel": name,
                "value": FAULTS[name].shown(value),
                "n": n,
                "gain": float(gains.mean()),
                "error": float(gains.std(ddof=1) / np.sqrt(draws)),
            }
        )
    return rows


def make_texts(name: str, value: float) -> tuple[Texts, np.ndarray]:
    """Readings, covariates and labels of a channel with its fault."""
    fault = FAULTS[name]
    rng = np.random.default_rng(0)
    count = POOL + REPORT
    quality = rng.uniform(0.0, OPTIONS - 1.0, count)
    options = np.arange(OPTIONS)
    logits = -2.0 * (options - quality[:, None]) ** 2 + rng.standard_normal((count, OPTIONS))
    covariates = {key: make(rng, count) for key, make in COVARIATES.items()}
    with jax.enable_x64(True):
        target = build_target(load_channel(MODELS / f"{name}.py"), OPTIONS, tuple(covariates))
        histogram = np.asarray(label_histogram(rng.integers(0, OPTIONS, count), OPTIONS))
        readings = Readings(as_logits(logits), histogram, covariates)
        probs = np.asarray(target.probs(jnp.asarray(truth_of(target, fault, value)), readings))
    draws = rng.random((count, 1))
    labels = (draws > np.cumsum(probs, axis=1)[:, :-1]).sum(axis=1)
    return Texts(as_logits(logits), covariates), labels


def truth_of(target: Target, fault: Fault, value: float) -> np.ndarray:
    """The parameters: medians of the prior, the fault, and an unbiased reader."""
    flat = np.array(target.prior.loc, float)
    medians = {"temperature": 0.0, "concentration": np.log(1.5), **fault.others}
    for index, coordinate in enumerate(target.coordinates):
        site = coordinate.split("[")[0]
        if site == fault.site:
            coordinates = [
                coordinates
                for coordinates in target.coordinates
                if coordinates.split("[")[0] == site
            ]
            flat[index] = value * (
                fault.pattern[coordinates.index(coordinate)] if fault.pattern else 1.0
            )
        elif site in medians:
            flat[index] = medians[site]
    return flat


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One small picture a channel: gain by strength of the fault, a line a number of labels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ink = "#3a3a3a"
    matplotlib.rcParams.update({"svg.hashsalt": "cordial", "font.size": 9, "text.color": ink})
    names = list(dict.fromkeys(row["channel"] for row in rows))
    budgets = sorted({row["n"] for row in rows})
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, axes = plt.subplots(down, across, figsize=(2.6 * across, 2.3 * down), squeeze=False)
    colours = plt.get_cmap("viridis")(np.linspace(0.75, 0.1, len(budgets)))
    for axis, name in zip(axes.flat, names, strict=False):
        axis.axhline(0.0, color="#b5b2aa", linewidth=0.8)
        for n, colour in zip(budgets, colours, strict=True):
            matches = [row for row in rows if row["channel"] == name and row["n"] == n]
            places = range(len(matches))
            axis.errorbar(
                places,
                [row["gain"] for row in matches],
                yerr=[1.96 * row["error"] for row in matches],
                color=colour,
                marker="o",
                markersize=3,
                linewidth=1.2,
                label=f"{n} labels",
            )
            axis.set_xticks(places, [f"{row['value']:.3g}" for row in matches])
        axis.set_title(f"{name}.py", fontsize=9)
        axis.set_xlabel(FAULTS[name].words)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("gain over location, nats")
    axes.flat[0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
