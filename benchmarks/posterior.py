"""How near the posteriors come to long NUTS runs, in predicted probabilities.

Every channel is fitted to subsets of n labels by the default, by the literal method (300 inflated
Laplace draws) and by the mode alone.  Their predictions for the same held-out texts are compared
with those of NUTS on the same density, two chains of 5,000 draws each.  A reference counts once
its split R-hat is below 1.01 for every parameter; the chains run on until then.

The readings are real where CORDIAL_DATA names a folder with ``summeval_logits`` (see real.py),
else ``cordial_ppl.evaluation.synthetic.reviews``.  Prints, for each channel and n, the worst over
subsets and seeds, and writes every fit as JSON.  Exit status 0 if every default fit is within 0.015
root mean square and 0.06 at worst, else 1.

    CORDIAL_DATA=path python benchmarks/posterior.py
    python benchmarks/posterior.py --quick
"""

import argparse
import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer.hmc import hmc
from real import SOURCES, load

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.readings import Readings, as_logits, label_histogram
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.diagnostics import Diagnostics
from cordial_ppl.inference.fitting import fit_channel
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import build_target
from cordial_ppl.runtime.compilation import compiled

METHODS = ("default", "laplace", "mode")
CHAINS, WARMUP, BLOCK = 2, 1000, 1000
ACCEPTANCE = 0.9
LARGEST_RHAT = 1.01
RMS_LIMIT, WORST_LIMIT = 0.015, 0.06
HELD_OUT = 400

SUMMEVAL = SOURCES["summeval_logits"]


class Subset(NamedTuple):
    """Labelled readings to fit, held-out readings to predict."""

    name: str
    logits: np.ndarray
    labels: np.ndarray
    unseen: np.ndarray


class Reference(NamedTuple):
    """NUTS draws of every subset, unconstrained, ``[B, chains, draws, P]``, and what they are."""

    draws: np.ndarray
    rhat: np.ndarray
    ess: np.ndarray
    divergences: np.ndarray


def subsets(count: int, n: int) -> list[Subset]:
    """Draw labelled subsets, each of another task or reader where there are several."""
    folder, result = os.environ.get("CORDIAL_DATA"), []
    for index in range(count):
        if folder:
            tasks, readers = SUMMEVAL.tasks, SUMMEVAL.readers[:2]
            pick = tasks[index % len(tasks)], readers[(index + index // len(tasks)) % len(readers)]
            logits, labels = load("summeval_logits", *pick)
            name = " ".join(pick)
        else:
            made = reviews(n + HELD_OUT, seed=index)
            logits, labels, name = made.logits, made.labels, f"reviews {index}"
        order = np.random.default_rng([index, 5]).permutation(len(labels))
        rows, rest = order[:n], order[-HELD_OUT:]
        result.append(Subset(name, as_logits(logits[rows]), labels[rows], as_logits(logits[rest])))
    return result


def sample(channel: str, data: list[Subset], draws: int, longest: int, seed: int) -> Reference:
    """Run NUTS on all subsets side by side, until all agree or the chains are ``longest``.

    The data are arguments of the compiled programs: one compilation serves all blocks of draws.
    """
    size = data[0].logits.shape[1]
    arrays = tuple(
        np.repeat(np.stack(leaf), CHAINS, axis=0)
        for leaf in (
            [subset.logits for subset in data],
            [label_histogram(subset.labels, size) for subset in data],
            [subset.labels for subset in data],
        )
    )
    with jax.enable_x64(True):
        target = build_target(CHANNELS[channel], arrays[0].shape[-1])

        def kernel(logits, histogram, labels, first, key):
            readings, (loc, scale) = Readings(logits, histogram), target.prior

            def energy(w):
                return -target.log_density(loc + scale * w, target.prior, readings, labels)

            begin, step = hmc(energy, algo="NUTS")
            state = begin(
                first, WARMUP, dense_mass=True, target_accept_prob=ACCEPTANCE, rng_key=key
            )
            return state, step

        def advance(logits, histogram, labels, state):
            _, step = kernel(logits, histogram, labels, state.z, state.rng_key)

            def once(state, _):
                state = step(state)
                return state, (state.z, state.diverging)

            return jax.lax.scan(once, state, None, length=BLOCK)

        scale = target.prior.scale
        first = np.random.default_rng(seed).normal(size=(len(data) * CHAINS, target.size))
        keys = jax.random.split(jax.random.key(seed), len(first))
        state = compiled(jax.vmap(lambda *a: kernel(*a)[0]))(*arrays, jnp.asarray(first), keys)
        run: Any = compiled(jax.vmap(advance))
        for _ in range(WARMUP // BLOCK):
            state, _ = run(*arrays, state)
        points, divergences = np.zeros((len(data), CHAINS, 0, target.size)), 0
        while True:
            state, (block, diverging) = run(*arrays, state)
            shape = (len(data), CHAINS, BLOCK, target.size)
            points = np.concatenate([points, np.asarray(block).reshape(shape)], axis=2)
            divergences = divergences + np.asarray(diverging).reshape(len(data), -1).sum(axis=1)
            rhat = np.array([split_gelman_rubin(chains).max() for chains in points])
            length = points.shape[2]
            if length >= draws and (rhat.max() < LARGEST_RHAT or length >= longest):
                break
    ess = np.array([effective_sample_size(chains).min() for chains in points])
    return Reference(target.prior.loc + scale * points, rhat, ess, divergences)


def recall(channel: str, data: list[Subset], n: int, args: argparse.Namespace) -> Reference:
    """Read the reference from the folder of references, or sample it and leave it there.

    Its name tells its data and the channel's prior, so that it is not taken for another's.
    """
    if args.references is None:
        return sample(channel, data, args.draws, args.longest, seed=n)
    with jax.enable_x64(True):
        prior = build_target(CHANNELS[channel], data[0].logits.shape[-1]).prior
    digest = hashlib.sha256()
    for array in (*prior, *(part for subset in data for part in (subset.logits, subset.labels))):
        digest.update(np.asarray(array, np.float64).tobytes())
    name = f"{channel}-{n}-{args.subsets}-{args.draws}-{digest.hexdigest()[:12]}.npz"
    path = args.references / name
    if not path.exists():
        args.references.mkdir(parents=True, exist_ok=True)
        np.savez(path, **sample(channel, data, args.draws, args.longest, seed=n)._asdict())
    with np.load(path) as kept:
        return Reference(**{name: kept[name] for name in Reference._fields})


def compare(channel: str, n: int, args: argparse.Namespace) -> list[dict]:
    """Errors of every method on every subset, for one channel and number of labels."""
    start = time.perf_counter()
    data = subsets(args.subsets, n)
    reference = recall(channel, data, n, args)
    seconds = time.perf_counter() - start
    rows = []
    for index, subset in enumerate(data):
        chains = reference.draws[index]
        flat = chains.reshape(-1, chains.shape[-1])
        # Evenly thinned to one size, so that predictions are compiled once.
        flat = flat[np.linspace(0, len(flat) - 1, CHAINS * args.draws).astype(int)]
        # As of a literal method: every draw counts.
        settled = Diagnostics("laplace", np.nan, reference.ess[index], np.nan, np.nan, 0, True)
        fits = [
            (
                method,
                seed,
                fit_channel(channel, subset.logits, subset.labels, method=method, seed=seed),
            )
            for method in METHODS
            for seed in range(index, index + args.seeds * args.subsets, args.subsets)
        ]
        weights = np.full(len(flat), 1 / len(flat))
        like = fits[0][2]
        nuts = Posterior(CHANNELS[channel], like.histogram, flat, weights, settled, like.data)
        truth = nuts.predict_proba(subset.unseen)
        for method, seed, fit in fits:
            error = fit.predict_proba(subset.unseen) - truth
            rows.append(
                {
                    "channel": channel,
                    "n": n,
                    "subset": subset.name,
                    "method": method,
                    "seed": seed,
                    "rms": float(np.sqrt(np.mean(error**2))),
                    "worst": float(np.abs(error).max()),
                    **{k: getattr(fit.diagnostics, k) for k in ("khat", "ess", "trusted")},
                    "nuts_rhat": float(reference.rhat[index]),
                    "nuts_ess": float(reference.ess[index]),
                    "nuts_draws": int(chains.shape[0] * chains.shape[1]),
                    "nuts_divergences": int(reference.divergences[index]),
                }
            )
    print(f"{channel}, n = {n}: {seconds:.0f} s of NUTS", flush=True)
    return rows


def report(rows: list[dict]) -> bool:
    """Print the worst over subsets; return whether every default fit is within the limits."""
    print("\nError of predicted probabilities against NUTS, worst of all (rms / largest)\n")
    header = "".join(f"{method:>16s}" for method in METHODS)
    print(f"{'channel':16s}{'n':>4s}{header}{'k-hat':>8s}{'ESS':>6s}{'trusted':>9s}", end="")
    print(f"{'R-hat':>9s}{'NUTS ESS':>10s}{'draws':>8s}{'diverged':>10s}")
    good = True
    for channel, n in dict.fromkeys((row["channel"], row["n"]) for row in rows):
        mine = [row for row in rows if (row["channel"], row["n"]) == (channel, n)]
        line = f"{channel:16s}{n:4d}"
        for method in METHODS:
            fits = [row for row in mine if row["method"] == method]
            rms, worst = (max(row[figure] for row in fits) for figure in ("rms", "worst"))
            line += f"{f'{rms:.4f} / {worst:.3f}':>16s}"
        fits = [row for row in mine if row["method"] == "default"]
        rhat = max(row["nuts_rhat"] for row in fits)
        line += f"{max(row['khat'] for row in fits):8.2f}{min(row['ess'] for row in fits):6.0f}"
        line += f"{sum(row['trusted'] for row in fits):>6d}/{len(fits)}{rhat:10.4f}"
        line += f"{min(row['nuts_ess'] for row in fits):10.0f}{fits[0]['nuts_draws']:8d}"
        line += f"{sum(row['nuts_divergences'] for row in fits):10d}"
        near = all(row["rms"] <= RMS_LIMIT and row["worst"] <= WORST_LIMIT for row in fits)
        mixed = rhat < LARGEST_RHAT
        print(line + ("" if near else "  too far") + ("" if mixed else "  no reference"))
        good = good and near and mixed
    print("\nk-hat, ESS and trusted are the default's; R-hat, ESS, draws and divergences NUTS'.")
    limits = f"{RMS_LIMIT} root mean square and {WORST_LIMIT} at worst"
    print(f"Every default fit within {limits}: {'yes' if good else 'no'}")
    return good


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--channels", nargs="+", default=list(CHANNELS), choices=list(CHANNELS))
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--subsets", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1, help="fits of each subset and method")
    parser.add_argument("--draws", type=int, default=5000, help="draws of each NUTS chain")
    parser.add_argument("--longest", type=int, default=40000, help="draws after which to give up")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="comparisons at a time")
    parser.add_argument("--references", type=Path, help="folder that NUTS draws are kept in")
    parser.add_argument("--out", type=Path, default=Path("posterior.json"))
    args = parser.parse_args()
    if args.quick:
        args.channels, args.labels, args.subsets = ["mixture", "location-vector"], [20], 2
        args.draws, args.longest = 1000, 4000
    start = time.perf_counter()
    # The longest runs first, so that no core is idle at the end.
    jobs = sorted(product(args.channels, args.labels), key=lambda job: "vector" not in job[0])
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        results = dict(
            zip(jobs, pool.map(lambda job: compare(job[0], job[1], args), jobs), strict=True)
        )
    rows = [row for job in product(args.channels, args.labels) for row in results[job]]
    good = report(rows)
    print(f"{time.perf_counter() - start:.0f} s in all")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}))
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
