"""How many draws predictions need, and how to choose them among those of a fit.

The default judge is fitted to subsets of n labels of real tasks. Each way to choose D of the draws
of a channel is compared with all of them on held-out texts: the largest difference of a predicted
probability, of any option, and the difference of the mean log loss in nats; for each channel, and
for the stack of the channels by their weights. Then, for the way that the package goes: the ends
of 90 % intervals, and draws with unequal weights, those of a fold whose labels are taken out.

    CORDIAL_DATA=path python benchmarks/draws.py
    CORDIAL_DATA=path python benchmarks/draws.py --quick

Prints the worst and the mean over fits, and writes everything as JSON.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from real import FOLDER, NEEDED, SOURCES, load_task
from scipy.spatial.distance import cdist

import cordial_ppl as cp
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.inference.thinning import make_probes, thin
from cordial_ppl.runtime.compilation import compiled
from cordial_ppl.stack.interval import quantiles

TEXTS, PADDING, LEVEL = 256, 64, 0.9
Chosen = tuple[np.ndarray, np.ndarray]


class Draws(NamedTuple):
    """All draws of a channel, and what each of them predicts.

    Attributes:
        flat: unconstrained parameters, ``[S, P]``.
        weights: of the draws, ``[S]``.
        probes: predictions whose means are kept, ``[S, F]``.
        report: predictions for held-out texts, ``[S, m, K]``.
        labelled: predictions for the labelled texts, ``[S, n, K]``.
    """

    flat: np.ndarray
    weights: np.ndarray
    probes: np.ndarray
    report: np.ndarray
    labelled: np.ndarray


class Fit(NamedTuple):
    """A judge fitted to a subset: its channels' draws and shares, and the labels."""

    name: str
    channels: dict[str, Draws]
    shares: np.ndarray
    labels: np.ndarray
    truth: np.ndarray


def fits(budgets: Sequence[int], tasks: int, readers: int) -> Iterator[Fit]:
    """Fit the default judge to tasks of both halves, several readers of each."""
    for source, about in SOURCES.items():
        for task in (about.development[:1] + about.confirmation[:1])[:tasks]:
            for pair in list(load_task(source, task))[:readers]:
                order = np.random.default_rng(7).permutation(len(pair.pool_labels))
                texts = as_logits(pair.report.logits[:TEXTS])
                for n in budgets:
                    rows = order[:n]
                    logits, labels = pair.pool.logits[rows], pair.pool_labels[rows]
                    judge = cp.Cordial(seed=n).fit(logits, labels)
                    centred = as_logits(logits)
                    channels = {
                        name: look(fit, texts, centred) for name, fit in judge.posteriors_.items()
                    }
                    shares = np.array([judge.weights_[name] for name in channels])
                    name = f"{source} {task} {pair.reader} {n}"
                    truth = pair.report_labels[:TEXTS]
                    yield Fit(name, channels, shares / shares.sum(), labels, truth)


def look(posterior: Posterior, texts: np.ndarray, labelled: np.ndarray) -> Draws:
    """What each draw says of the held-out texts, the labelled ones and the probes."""
    probes = make_probes(labelled)
    whole = np.concatenate([texts, labelled, probes.logits]).astype(np.float32)
    padded = np.pad(whole, ((0, -len(whole) % PADDING), (0, 0)))
    readings = Readings(padded, posterior.histogram.astype(np.float32), {})
    with jax.enable_x64(True):
        probs = np.asarray(predictor(posterior.target)(posterior.draws.astype("f4"), readings))
    report, labelled, probed = np.split(
        probs[:, : len(whole)], [len(texts), len(texts) + len(labelled)], 1
    )
    kept = probed[:, np.arange(len(probes.options)), probes.options]
    return Draws(posterior.draws, posterior.weights, kept, report, labelled)


@lru_cache(maxsize=64)
def predictor(target: Target) -> Callable[..., Any]:
    """Probabilities of all texts under each of many draws."""

    def run(draws: Any, readings: Readings) -> Any:
        return jax.lax.map(lambda flat: target.probs(flat, readings).astype("f4"), draws)

    return compiled(run)


def components(values: np.ndarray, weights: np.ndarray, count: int, scaled: bool) -> np.ndarray:
    """Leading principal components, each in its own spread where they are to be ``scaled``."""
    centred = values - weights @ values
    spread, axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    order = np.argsort(-spread)[:count]
    order = order[spread[order] > 1e-9 * spread.max()]
    return centred @ axes[:, order] / (np.sqrt(spread[order]) if scaled else 1.0)


def equal(rows: np.ndarray) -> Chosen:
    """Draws that weigh the same."""
    return rows, np.full(len(rows), 1 / len(rows))


def random(draws: Draws, size: int) -> Chosen:
    """A sample without replacement."""
    return equal(np.random.default_rng(0).permutation(len(draws.flat))[:size])


def systematic(draws: Draws, size: int) -> Chosen:
    """Every so many draws, in the order of the first component of the predictions."""
    order = np.argsort(components(draws.probes, draws.weights, 1, scaled=False)[:, 0])
    comb = (np.arange(size) + 0.5) / size
    return equal(
        order[np.searchsorted(np.cumsum(draws.weights[order]), comb).clip(max=len(order) - 1)]
    )


def support(points: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Support points, one by one: each lowers the energy distance most."""
    distance = cdist(points, points)
    mean, near, rows = distance @ weights, np.zeros(len(points)), []
    for count in range(1, size + 1):
        rows.append(int(np.argmin(mean - near / count)))
        near += distance[rows[-1]]
    return np.array(rows)


def support_parameters(draws: Draws, size: int) -> Chosen:
    """Support points of the whitened parameters."""
    width = draws.flat.shape[1]
    points = components(draws.flat, draws.weights, width, scaled=True)
    return equal(support(points, draws.weights, size))


def support_predictions(draws: Draws, size: int) -> Chosen:
    """Support points of the predictions."""
    points = components(draws.probes, draws.weights, 24, scaled=False)
    return equal(support(points, draws.weights, size))


def herd(draws: Draws, size: int) -> Chosen:
    """Herding: each draw takes the mean prediction of those chosen nearest to that of all."""
    points = components(draws.probes, draws.weights, 64, scaled=False)
    half, total, rows = (points**2).sum(axis=1) / 2, np.zeros(points.shape[1]), []
    for _ in range(size):
        rows.append(int(np.argmin(half + points @ total)))
        total += points[rows[-1]]
        half[rows[-1]] = np.inf
    return equal(np.array(rows))


def calibrated(choose: Callable[[Draws, int], Chosen]) -> Callable[[Draws, int], Chosen]:
    """The same draws, with the weights nearest to theirs that keep a quarter as many means."""

    def run(draws: Draws, size: int) -> Chosen:
        rows, base = choose(draws, size)
        points = components(draws.probes, draws.weights, size // 4, scaled=True)[rows]
        tilt, weights = np.zeros(points.shape[1]), base
        for _ in range(8):
            mean = weights @ points
            spread = (points * weights[:, None]).T @ points - np.outer(mean, mean)
            step = np.linalg.solve(spread + 1e-6 * np.trace(spread) * np.eye(len(mean)), mean)
            tilt -= step / max(1.0, np.abs(points @ step).max() / 2)
            weights = base * np.exp(points @ tilt - (points @ tilt).max())
            weights /= weights.sum()
        return rows, weights

    return run


def thinned(draws: Draws, size: int, features: np.ndarray | None = None) -> Chosen:
    """What the package does."""
    return thin(draws.probes if features is None else features, draws.weights, size)


def thinned_parameters(draws: Draws, size: int) -> Chosen:
    """The same by the whitened parameters, which needs no predictions."""
    width = draws.flat.shape[1]
    return thinned(draws, size, components(draws.flat, draws.weights, width, scaled=True))


METHODS: dict[str, Callable[[Draws, int], Chosen]] = {
    "random": random,
    "systematic": systematic,
    "support, parameters": support_parameters,
    "support, predictions": support_predictions,
    "herding": herd,
    "herding, calibrated": calibrated(herd),
    "thin, parameters": thinned_parameters,
    "thin": thinned,
    "thin, calibrated": calibrated(thinned),
}


def compare(fit: Fit, method: str, size: int) -> Iterator[dict[str, Any]]:
    """A row for each channel, and one for their stack."""
    row = np.arange(len(fit.truth))
    means = []

    def line(name: str, full: np.ndarray, few: np.ndarray, **more: float) -> dict[str, Any]:
        loss = np.mean(np.log(full[row, fit.truth]) - np.log(few[row, fit.truth]))
        worst = np.abs(few - full).max()
        figures = {"fit": fit.name, "method": method, "D": size, "of": name}
        return figures | {"worst": float(worst), "loss": float(loss)} | more

    for name, draws in fit.channels.items():
        start = time.perf_counter()
        rows, weights = METHODS[method](draws, size)
        spent = 1e3 * (time.perf_counter() - start)
        full = np.tensordot(draws.weights, draws.report, 1)
        few = np.tensordot(weights, draws.report[rows], 1)
        means.append((full, few))
        yield line(name, full, few, ms=spent, P=draws.flat.shape[1])
    full, few = (np.tensordot(fit.shares, np.stack(part), 1) for part in zip(*means, strict=True))
    yield line("stack", full, few)


def ends(fit: Fit, size: int) -> dict[str, Any]:
    """How far the ends of intervals move, in classes, and how wide they are."""
    means, weights = {"all": [], "thin": [], "random": []}, {"all": [], "thin": [], "random": []}
    for draws in fit.channels.values():
        mean_labels = draws.report @ np.arange(draws.report.shape[2], dtype=np.float32)
        for name, (rows, draw_weights) in {
            "all": (np.arange(len(mean_labels)), draws.weights),
            "thin": thinned(draws, size),
            "random": random(draws, size),
        }.items():
            means[name].append(mean_labels[rows])
            weights[name].append(draw_weights)
    limits = {k: quantiles(means[k], weights[k], fit.shares[None], LEVEL) for k in means}
    off = {k: float(np.abs(limits[k] - limits["all"]).mean()) for k in ("thin", "random")}
    width = float(np.mean(limits["all"][1] - limits["all"][0]))
    return {"fit": fit.name, "D": size, **off, "width": width}


def fold(fit: Fit, size: int) -> Iterator[dict[str, Any]]:
    """The draws as a fold weighs them, a fifth of the labels taken out, chosen the same way."""
    out = np.arange(0, len(fit.labels), 5)
    for name, draws in fit.channels.items():
        logs = -np.log(draws.labelled[:, out, fit.labels[out]]).sum(axis=1) + np.log(draws.weights)
        # Truncated, as plain importance weights are.
        weights = np.exp(logs - logs.max())
        weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
        weighted = draws._replace(weights=weights / weights.sum())
        rows, labelled = thinned(weighted, size)
        full = np.tensordot(weighted.weights, draws.report, 1)
        worst = np.abs(np.tensordot(labelled, draws.report[rows], 1) - full).max()
        yield {"fit": fit.name, "D": size, "of": name, "worst": float(worst)}


def show(rows: list[dict[str, Any]], sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Print worst and mean over fits."""
    names = list(dict.fromkeys(row["of"] for row in rows))
    header = "".join(f"{name:>17s}" for name in names)
    print(f"\n{'worst probability':24s}{'D':>4s}{header}{'stack loss':>26s}{'ms':>7s}")
    print(f"{'':28s}{'worst   mean'.rjust(17) * len(names)}{'worst  mean|.|    mean':>26s}")
    for size in sizes:
        for method in methods:
            matches = [row for row in rows if (row["method"], row["D"]) == (method, size)]
            line = f"{method:24s}{size:4d}"
            for name in names:
                worst = [row["worst"] for row in matches if row["of"] == name]
                line += f"{max(worst):10.4f} {np.mean(worst):6.4f}"
            loss = np.array([row["loss"] for row in matches if row["of"] == "stack"])
            spent = np.median([row["ms"] for row in matches if "ms" in row])
            line += f"{np.abs(loss).max():10.5f}{np.abs(loss).mean():8.5f}{loss.mean():+8.5f}"
            print(f"{line}{spent:7.1f}", flush=True)


def main() -> None:
    """Fit, choose, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    parser.add_argument("--tasks", type=int, default=2, help="tasks of each source")
    parser.add_argument("--readers", type=int, default=2, help="readers of each task")
    parser.add_argument("--draws", type=int, nargs="+", default=[32, 64, 96, 128, 192, 256])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("draws.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore")
    if args.quick:
        args.labels, args.tasks, args.readers, args.draws = [20], 1, 1, [64, 128]
    rows, intervals, folds = [], [], []
    for fit in fits(args.labels, args.tasks, args.readers):
        print(fit.name, flush=True)
        for size in args.draws:
            for method in args.methods:
                rows.extend(compare(fit, method, size))
            intervals.append(ends(fit, size))
            folds.extend(fold(fit, size))
    show(rows, args.draws, args.methods)
    print(f"\n{'ends of intervals, classes':30s}{'thin':>8s}{'random':>8s}{'width':>8s}")
    for size in args.draws:
        matches = [row for row in intervals if row["D"] == size]
        mean = "".join(
            f"{np.mean([r[k] for r in matches]):8.4f}" for k in ("thin", "random", "width")
        )
        print(f"{size:30d}{mean}")
    print("\nfolds, worst probability, worst and mean over fits")
    for size in args.draws:
        matches = [row["worst"] for row in folds if row["D"] == size]
        print(f"{size:30d}{max(matches):8.4f}{np.mean(matches):8.4f}")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    content = {"settings": settings, "rows": rows, "intervals": intervals, "folds": folds}
    args.out.write_text(json.dumps(content))


if __name__ == "__main__":
    main()
