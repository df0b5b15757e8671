"""Fitting estimators to many subsets of the labels at once, for comparisons of calibrators.

What several estimators have in common is fitted once: the paper's stack, the same with other
weights, and the logit stack differ in how they weigh their members, not in the members.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import FLOOR, pad_rows, wide_bucket
from cordial_ppl.compilation import compiled, workers
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.parts import CalibratorPart, ChannelPart, Part, PartFit, Texts
from cordial_ppl.cordial.single import ChannelCalibrator, LabelFree, LogitCalibrator
from cordial_ppl.cordial.stack import FOLDS, Stack
from cordial_ppl.inference.lanes import Lanes, make_lanes
from cordial_ppl.inference.posterior import Diagnostics
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors import reading_spread, resolve
from cordial_ppl.stacking import assign_folds, stack_weights


class BatchFit(NamedTuple):
    """One estimator fitted to S subsets of labels.

    Attributes:
        probs: what each fit says of the report texts, shape ``[S, m, K]``.
        weights: how far each member is believed, shape ``[S, M]``.
        diagnostics: for each channel, those of its posterior for each subset.
    """

    probs: Float[np.ndarray, "S m K"]
    weights: Float[np.ndarray, "S M"]
    diagnostics: Sequence[Sequence[Diagnostics]]


def fit_subsets(
    estimators: Mapping[str, Estimator],
    pool: Texts,
    labels: Int[np.ndarray, " N"],
    subsets: Int[np.ndarray, "S n"],
    seeds: Sequence[int],
    report: Texts,
    *,
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, BatchFit | Exception]:
    """Fit estimators to subsets of the labels and predict the report texts.

    Each fit is the one that ``fit`` would make of the subset with the subset's seed.  What needs no
    labels is fitted to the whole pool.

    Args:
        estimators: unfitted estimators by name; their own seeds are not used.
        pool: texts that the subsets are drawn from.
        labels: their options 0..K-1.
        subsets: rows of the pool, one subset a row.
        seeds: seed of each subset's folds and random numbers.
        report: texts to predict.
        on_done: is called when a member has been fitted to all subsets.

    Returns:
        For each estimator its fits, or the error that one of its members ended with.
    """
    count = subsets.shape[1]
    needed = {name: parts(estimator, count) for name, estimator in estimators.items()}
    stacked = {
        part.key
        for name, own in needed.items()
        for part in own
        if isinstance(estimators[name], Stack)
    }
    unique = {part.key: part for own in needed.values() for part in own}
    whole = make_batch(pool, labels, subsets, seeds, folded=False)
    # Also with too few labels to use the folds: the program is then the one for more of them.
    split = make_batch(pool, labels, subsets, seeds, folded=True)

    def fit(part: Part) -> PartFit | Exception:
        try:
            return part.fit(split if part.key in stacked else whole, seeds, report)
        except Exception as error:  # Whatever befell it, the other members are fitted.
            return error
        finally:
            on_done()

    # The longest first, so that no core is left with much at the end.
    unique = dict(sorted(unique.items(), key=lambda item: -_dimension(item[1], whole)))
    with ThreadPoolExecutor(max_workers=workers(max(1, len(unique)))) as threads:
        found = dict(zip(unique, threads.map(fit, unique.values()), strict=True))
    results: dict[str, BatchFit | Exception] = {}
    for name, estimator in estimators.items():
        own = [found[part.key] for part in needed[name]]
        try:
            if isinstance(estimator, LabelFree):
                results[name] = _without_labels(estimator, pool, len(subsets), report)
            else:
                results[name] = _mix(estimator, own, labels[subsets])
        except Exception as error:  # The fits of the other estimators are kept.
            results[name] = error
    return results


def parts(estimator: Estimator, labels: int) -> tuple[Part, ...]:
    """The members that an estimator fits to so many labels; none if it needs none."""
    if isinstance(estimator, LabelFree):
        return ()
    if isinstance(estimator, LogitCalibrator):
        return (CalibratorPart(estimator.name),)
    if isinstance(estimator, ChannelCalibrator):
        if isinstance(estimator.channel, str):
            return (CalibratorPart(estimator.channel),)
        prior = estimator.prior.of(estimator.channel.name)
        settings = estimator.inference, prior, estimator.effort
        return (ChannelPart(estimator.channel, 0, *settings),)
    if isinstance(estimator, Stack):
        method, effort = estimator.inference, estimator.effort
        channels = (
            ChannelPart(channel, index, method, estimator.prior.of(channel.name), effort)
            for index, channel in enumerate(estimator.channels)
        )
        return (*channels, *map(CalibratorPart, estimator.calibrators_of(labels)))
    raise TypeError(f"a {type(estimator).__name__} cannot be fitted in a batch")


def check_covariates(estimator: Estimator, texts: Texts) -> None:
    """Check that texts have what the channels of an estimator need.

    Args:
        estimator: what is to be fitted.
        texts: what it is to be fitted to.

    Raises:
        InputError: a channel uses a covariate that the texts lack, or a prior that was given is
            not for its channels.
        ChannelError: a channel breaks the contract.
    """
    size, names = texts.logits.shape[1], tuple(texts.covariates)
    own = [part for part in parts(estimator, 0) if isinstance(part, ChannelPart)]
    with jax.enable_x64(True):
        targets = [build_target(part.channel, size, names) for part in own]
        for part, target in zip(own, targets, strict=True):
            resolve(part.prior, target, reading_spread(texts.logits))
    if isinstance(estimator, Stack | ChannelCalibrator):
        estimator.prior.check(targets)


def make_batch(
    pool: Texts,
    labels: Int[np.ndarray, " N"],
    subsets: Int[np.ndarray, "S n"],
    seeds: Sequence[int],
    *,
    folded: bool,
) -> Lanes:
    """Make the lanes of every subset, one axis more in front of each array.

    Args:
        pool: texts that the subsets are drawn from, centred logits.
        labels: their options 0..K-1.
        subsets: rows of the pool, one subset a row.
        seeds: seed of each subset's folds, as in a fit of the subset alone.
        folded: whether each subset also has a lane for each fold.

    Returns:
        The lanes, padded to a bucket; every array has the S subsets in front.
    """
    sets = []
    for rows, seed in zip(subsets, seeds, strict=True):
        folds = assign_folds(len(rows), FOLDS, np.random.default_rng(seed)) if folded else None
        texts, size = pool.take(rows), wide_bucket(len(rows))
        sets.append(make_lanes(texts.logits, labels[rows], folds, dict(texts.covariates), size))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *sets)


def _dimension(part: Part, lanes: Lanes) -> int:
    """Parameters of a channel; 0 of a calibrator, and of a channel that cannot be fitted."""
    if not isinstance(part, ChannelPart):
        return 0
    try:
        with jax.enable_x64(True):
            return build_target(part.channel, lanes.logits.shape[2], tuple(lanes.covariates)).size
    except Exception:  # The fit will say why.
        return 0


def _without_labels(estimator: LabelFree, pool: Texts, draws: int, report: Texts) -> BatchFit:
    """The same predictions for every subset."""
    probs = estimator.fit(pool.logits).predict_proba(report.logits)
    return BatchFit(np.broadcast_to(probs, (draws, *probs.shape)), np.ones((draws, 1)), ())


def _mix(
    estimator: Estimator, found: Sequence[PartFit | Exception], labels: Int[np.ndarray, "S n"]
) -> BatchFit:
    """Weigh the members of every subset, and predict with their mixture."""
    fits = []
    for fit in found:
        if isinstance(fit, Exception):
            raise fit
        fits.append(fit)
    weights = np.full((len(labels), len(fits)), 1 / len(fits))
    if isinstance(estimator, Stack):
        held_out = np.stack([fit.held_out for fit in fits], axis=-1)
        picked = np.arange(len(labels))[:, None], np.arange(labels.shape[1])[None], labels
        logs = np.log(np.maximum(held_out[picked], FLOOR))
        rows = held_out.shape[1]
        channels = tuple(channel.name for channel in estimator.channels)
        members = (*channels, *estimator.calibrators_of(labels.shape[1]))
        counts = np.array([estimator.weight_counts[name] for name in members])
        padded = pad_rows(logs.swapaxes(0, 1), rows, 0.0).swapaxes(0, 1)
        with jax.enable_x64(True):
            weights = np.asarray(_stacker()(padded, np.arange(rows) < labels.shape[1], counts))
    probs = sum(weights[:, m, None, None] * fit.probs for m, fit in enumerate(fits))
    diagnostics = [fit.diagnostics for fit in fits if len(fit.diagnostics)]
    return BatchFit(probs / np.sum(probs, axis=2, keepdims=True), weights, diagnostics)


@lru_cache(maxsize=1)
def _stacker() -> Any:
    return compiled(jax.vmap(stack_weights, (0, None, None)))
