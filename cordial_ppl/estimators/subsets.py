"""Fitting estimators to many subsets of the labels at once, for comparisons of calibrators.

A member that several estimators share is fitted once: the paper's stack, the same with other
weights, and the logit stack differ in how they weigh their members.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.single import LabelFree
from cordial_ppl.inference.case import Case, CaseFit
from cordial_ppl.inference.diagnostics import Diagnostics
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.runtime.blas import on_one_core
from cordial_ppl.runtime.platform import start_jax
from cordial_ppl.stack.fit import deal_folds
from cordial_ppl.stack.members import ChannelMember, Member, fit_members
from cordial_ppl.stack.settings import Settings
from cordial_ppl.stack.stacking import MIN_LABELS
from cordial_ppl.stack.weighing import weigh


class BatchFit(NamedTuple):
    """One estimator fitted to S subsets of labels.

    Attributes:
        probs: predictions of the report texts by each fit, shape ``[S, m, K]``.
        weights: of the members in each fit, shape ``[S, M]``.
        diagnostics: for each channel, those of its posterior for each subset.
    """

    probs: Float[np.ndarray, "S m K"]
    weights: Float[np.ndarray, "S M"]
    diagnostics: Sequence[Sequence[Diagnostics]]


Fits = tuple[Sequence[CaseFit], Float[np.ndarray, "S m K"]]
"""A member's fits, one a subset, and their predictions of the report texts."""


@on_one_core
def fit_subsets(
    estimators: Mapping[str, Estimator[Any]],
    pool: Labelled,
    subsets: Int[np.ndarray, "S n"],
    seeds: Sequence[int],
    report: Labelled,
    *,
    device: str = "auto",
) -> dict[str, BatchFit | Exception]:
    """Fit estimators to subsets of the labels and predict the report texts.

    Each fit is the one that ``fit`` would make of the subset with the subset's seed.  Estimators
    that need no labels are fitted to the whole pool.

    Args:
        estimators: unfitted estimators by name; their own seeds are ignored.
        pool: labelled texts that the subsets are drawn from.
        subsets: rows of the pool, one subset a row.
        seeds: seed of each subset's folds and random numbers.
        report: texts to predict; their labels are not looked at.
        device: "host", "accelerator", which fits channels to all subsets at once on all devices of
            JAX's backend, or "auto": the latter where that is no CPU.  Calibrators, and NUTS, run
            on the host.

    Returns:
        For each estimator its fits, or the error that one of its members ended with.
    """
    cases = make_cases(pool, subsets, seeds)
    settings = {name: estimator.settings for name, estimator in estimators.items()}
    needed = {
        name: () if isinstance(estimators[name], LabelFree) else each.members(len(subsets.T))
        for name, each in settings.items()
    }
    # What a calibrator's own validation leaves out follows from the folds of a stack.
    unique = {
        (part.key, settings[name].folded): part for name, parts in needed.items() for part in parts
    }

    accelerated, texts = is_accelerated(device), (report.logits, report.covariates)

    def fit(part: Member) -> Fits:
        folded = unique.get((part.key, True)) is part
        data_sets = cases if folded else [case._replace(folds=None) for case in cases]
        if accelerated and isinstance(part, ChannelMember) and part.method != "nuts":
            from cordial_ppl.inference.accelerator import fit_batch

            how = {"method": part.method, "effort": part.effort}
            return fit_batch(*part.prepare(data_sets), without_labels(*texts), **how)
        fits = part.fit(data_sets)
        return fits, np.stack([fit.fitted.predict(*texts)[0] for fit in fits])

    jobs = dict(zip(unique, fit_members(list(unique.values()), fit), strict=True))
    results: dict[str, BatchFit | Exception] = {}
    for name, estimator in estimators.items():
        try:
            if isinstance(estimator, LabelFree):
                probs = estimator.fit(pool.logits).predict_proba(report.logits)
                same = np.broadcast_to(probs, (len(subsets), *probs.shape))
                results[name] = BatchFit(same, np.ones((len(subsets), 1)), ())
            else:
                parts, each = needed[name], settings[name]
                member_fits = [jobs[part.key, each.folded].result() for part in parts]
                results[name] = _mix(each, parts, member_fits, cases)
        except Exception as error:  # The fits of the other estimators are kept.
            results[name] = error
    return results


def is_accelerated(device: str) -> bool:
    """Return whether channels are fitted on an accelerator, to all subsets at once."""
    start_jax()
    return device == "accelerator" or (device == "auto" and jax.default_backend() != "cpu")


def make_cases(pool: Labelled, subsets: Int[np.ndarray, "S n"], seeds: Sequence[int]) -> list[Case]:
    """Make the data sets to fit of the subsets, with the folds that each seed gives."""
    return [
        Case(texts, deal_folds(texts, seed) if texts.count >= MIN_LABELS else None, (seed,))
        for texts, seed in zip(map(pool.take, subsets), seeds, strict=True)
    ]


def _mix(
    settings: Settings, members: Sequence[Member], each: Sequence[Fits], cases: Sequence[Case]
) -> BatchFit:
    """Weigh the members of every subset, and predict with their mixture."""
    fits, predicted = zip(*each, strict=True)
    weights = np.full((len(cases), len(fits)), 1 / len(fits))
    names = [part.name for part in members]
    for row, case in enumerate(cases if settings.folded else ()):
        parts = [fit[row].held_out for fit in fits]
        held_out = None if case.folds is None else np.stack(parts, axis=-1)
        prior = settings.weight_prior(names, case.texts.count)
        weights[row] = weigh(case.texts, case.folds, held_out, *prior).weights
    probs = np.einsum("sm,mstk->stk", weights, predicted)
    channels = [fit for fit in fits if isinstance(fit[0].fitted, Posterior)]
    diagnostics = [[fit.fitted.diagnostics for fit in channel] for channel in channels]
    return BatchFit(probs / np.sum(probs, axis=2, keepdims=True), weights, diagnostics)
