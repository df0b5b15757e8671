"""Members of stacks, each fitted by itself to subsets of the labels of real tasks, and kept.

Stacks differ in their members and in how these are weighed.  Once every member is fitted, what any
stack would say follows in no time from two numbers a text: what a member says of the label of a
text, held out by a fold or held out for good.
"""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from real import EMBEDDED, Pair

import cordial_ppl as cp
from cordial_ppl.channels import AFFINE_CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.estimators.subsets import make_cases
from cordial_ppl.evaluation.tasks import draw_subsets
from cordial_ppl.inference.priors.learned import FILE
from cordial_ppl.inference.priors.sources import NamedPrior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.members import CalibratorMember, ChannelMember, Member
from cordial_ppl.stack.weighing import stated

FOLDERS = Path(__file__).parent.parent / "models", Path(__file__).parent / "bad"
RULES = {"learned": "cautious", "untilted": "cautious", "literal": "paper"}
LABEL_FREE = ("raw", "histogram")


class Said(NamedTuple):
    """The probability that a member gives the label.

    Attributes:
        held_out: of each labelled text, by the fit that has not seen it, ``[S, n]``.
        report: of each text to be scored on, ``[S, m]``.
    """

    held_out: np.ndarray
    report: np.ndarray


def fit_members(
    pair: Pair, n: int, draws: int, names: Sequence[str], folder: Path
) -> dict[str, Said]:
    """What members say of the labels of a task; what an earlier run kept is not fitted again.

    Args:
        pair: task and reader.
        n: labels.
        draws: subsets of them.
        names: a logit-space calibrator, "raw", "histogram", or a channel after how it is fitted:
            "paper:mixture" as the paper does, "own:mixture" by the default with the channel's own
            prior, "learned:mixture" with the prior that comes with the package without the fits of
            the pair's set, "untilted:mixture" the same with no tilt of the bridge,
            "literal:mixture" with what these fits say by the paper's rule; a channel may be a file
            of the gallery or of the folder of bad channels.
        folder: where fits are kept.
    """
    path = folder / f"{pair.name.replace(' ', '_')}_{n}_{draws}_{_version()}.npz"
    results: dict[str, Said] = {}
    if path.exists():
        with np.load(path) as kept:
            for name in {key.split("|")[0] for key in kept}:
                results[name] = Said(kept[f"{name}|held_out"], kept[f"{name}|report"])
    missing = [name for name in names if name not in results]
    if missing:
        results |= _fit(pair, n, draws, missing, folder)
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {
            f"{name}|{key}": np.float32(value)
            for name, result in results.items()
            for key, value in result._asdict().items()
        }
        np.savez_compressed(path, **arrays)
    return results


@lru_cache(maxsize=1)
def _version() -> str:
    """What fits that are kept depend on: the package, and the prior that comes with it."""
    prior = files("cordial_ppl.inference.priors").joinpath(FILE).read_bytes()
    return f"{version('cordial-ppl')}_{sha256(prior).hexdigest()[:8]}"


def _fit(pair: Pair, n: int, draws: int, names: Sequence[str], folder: Path) -> dict[str, Said]:
    reading = pair.reading
    subsets = draw_subsets(reading, n, draws)
    labels, seeds = reading.pool.labels[subsets], range(draws)
    cases = make_cases(reading.pool, subsets, seeds)
    results = {}
    for name in names:
        if name in LABEL_FREE:
            results[name] = _without_fit(name, pair, labels)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.CordialWarning)
            fits = _member(name, pair.source, folder).fit(cases)
        truth = reading.report.labels
        probs = [fit.fitted.predict(reading.report.logits, {})[0] for fit in fits]
        results[name] = Said(
            np.stack(
                [
                    np.asarray(fit.held_out)[np.arange(n), rows]
                    for fit, rows in zip(fits, labels, strict=True)
                ]
            ),
            np.stack([rows[np.arange(len(truth)), truth] for rows in probs]),
        )
    return results


def _member(name: str, source: str, folder: Path) -> Member:
    if name in CALIBRATORS:
        return CalibratorMember(name)
    how, _, which = name.partition(":")
    paths = (folder / f"{which}.py" for folder in FOLDERS)
    channel = load_channel(next((path for path in paths if path.exists()), which))
    names = list(AFFINE_CHANNELS)
    index = names.index(which) if which in names else len(names)
    method = "laplace" if how == "paper" else "default"
    prior: Any = without(source).with_rule(name=RULES[how]) if how in RULES else None
    if how == "untilted" and which == "bridge":
        prior = NamedPrior({"tilt": (-9.0, 0.05)}, prior)
    if how == "trained":
        prior = trained_without(source, folder)
    return ChannelMember(channel, index, method, prior, DEFAULT_EFFORT)


def _without_fit(name: str, pair: Pair, labels: np.ndarray) -> Said:
    """The reading as it is, or the smoothed histogram of the labels."""
    reading, size = pair.reading, pair.reading.report.logits.shape[1]
    truth = reading.report.labels
    if name == "raw":
        rows = stated(reading.report.logits)[np.arange(len(truth)), truth]
        return Said(np.full(labels.shape, np.nan), np.broadcast_to(rows, (len(labels), len(rows))))
    with jax.enable_x64(True):
        histograms = np.stack([np.asarray(label_histogram(rows, size)) for rows in labels])
    return Said(np.full(labels.shape, np.nan), histograms[:, truth])


@lru_cache(maxsize=8)
def trained_without(source: str, folder: Path) -> cp.priors.LearnedPrior:
    """The prior that was trained without a set of readings, from `ship_prior.py`."""
    if source == EMBEDDED:
        return cp.priors.shipped_prior()
    return cp.priors.LearnedPrior.load(folder / f"without-{source}.cordial")


@lru_cache(maxsize=8)
def without(source: str) -> cp.priors.LearnedPrior:
    """The prior that comes with the package, without what it knows of one set of readings."""
    whole = cp.priors.shipped_prior()
    return whole.leave_out([task for task in whole.tasks if task.split()[0] == source])
