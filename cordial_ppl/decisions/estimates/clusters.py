r"""Clusters of texts that are alike, such as turns of a conversation or answers to a prompt.

The labels of a cluster say less than as many others.  So the stack is fitted again with whole
clusters as folds, and the likelihood of each label to the power of what it is worth,

.. math:: w_i = \frac{1}{1 + (n_k - 1) \rho}, \qquad \rho = \frac{\tau_c^2}{\tau_c^2 + \sigma^2},

where the residuals of the first fit say how alike labels of a cluster are.

Source: Kish (1965), Survey sampling (the design effect); Ribatet, Cooley and Davison (2012),
Bayesian inference from composite likelihoods.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from cordial_ppl.data.checks import check_cells
from cordial_ppl.decisions.effects import CHAINS, GROUP_SCALE, Factor, draw_effects, find_axes
from cordial_ppl.decisions.residuals import residuals_of
from cordial_ppl.errors import InputError, quote
from cordial_ppl.stack.fit import Fit, fit_stack
from cordial_ppl.stack.stacking import MIN_LABELS

GROUPS = 100
"""Groups that clusters may be shared by, at most: their effects are drawn jointly."""


def number_clusters(
    clusters: Any, pairs: Any, groups: Int[np.ndarray, " N"] | None, count: int
) -> Int[np.ndarray, " N"] | None:
    """Number the cluster of each text; None where there are none.

    Args:
        clusters: cluster of each text, ``[N]``, or None.
        pairs: what each text answers, such as a prompt, ``[N]``, or None.
        groups: group of each text, 0..G-1, or None.
        count: number of texts N.

    Raises:
        InputError: both came, a cell is missing, or a group has two texts of one pair.
    """
    if clusters is None and pairs is None:
        return None
    if clusters is not None and pairs is not None:
        raise InputError(
            "pairs act as clusters, so pairs and clusters cannot be combined. Pass one of them."
        )
    noun = "clusters" if pairs is None else "pairs"
    cells = check_cells(noun, clusters if pairs is None else pairs, count)
    names, codes = np.unique(cells, return_inverse=True)
    if len(names) < 2:
        raise InputError(f"{noun} must differ between texts, but all are {quote(str(names[0]))}.")
    if groups is not None and groups.max() >= GROUPS:
        raise InputError(f"use at most {GROUPS} groups with {noun}; got {groups.max() + 1}.")
    if pairs is not None:
        _check_pairs(codes, groups, names)
    return codes


def _check_pairs(codes: np.ndarray, groups: np.ndarray | None, names: np.ndarray) -> None:
    """Check that groups share pairs, and that each has one text of each."""
    if groups is None:
        raise InputError("pairs need groups to compare, such as systems. Pass groups as well.")
    cells = np.stack([codes, groups], axis=1)
    unique, first, counts = np.unique(cells, axis=0, return_index=True, return_counts=True)
    if counts.max() > 1:
        row = first[counts.argmax()]
        raise InputError(
            f"a pair may contain only one text per group, but pair {quote(str(names[codes[row]]))} "
            f"contains {counts.max()} texts from one group. If these texts are related, pass "
            "clusters instead of pairs."
        )
    if np.bincount(unique[:, 0]).max() < 2:
        raise InputError("no pair contains texts from two groups, so there is nothing to compare.")


def fit_by_cluster(
    fit: Fit, rows: Int[np.ndarray, " labels"], clusters: Int[np.ndarray, " N"]
) -> Fit:
    """Fit again with whole clusters as folds, each label with the weight that it is worth.

    Args:
        fit: the fit, whose labels were taken for independent.
        rows: the text of each label.
        clusters: cluster of each text.

    Returns:
        The fit; the one that came where each label is of another cluster, or where fewer than
        eight clusters have labels.
    """
    units, of = np.unique(clusters[rows], return_inverse=True)
    texts = of[fit.text_labels.first]
    sizes = np.bincount(texts)
    if fit.out_of_fold is None or sizes.max() == 1 or len(units) < MIN_LABELS:
        return fit
    residuals, steps = residuals_of(fit), np.diff(fit.scale.values)
    variance = np.array([[steps @ residuals.covariance @ steps]])
    axes = find_axes(variance, np.ones(1), np.array([np.ptp(fit.scale.values)]))
    under = np.broadcast_to(residuals.steps @ steps, (CHAINS[1], len(texts)))[..., None]
    factors = {"cluster": Factor(texts, len(units), GROUP_SCALE)}
    rng = np.random.default_rng(fit.seed)
    drawn = draw_effects(under, np.ones(len(texts)), factors, axes, variance, rng)
    tau = drawn.tau["cluster"] ** 2
    alike = np.mean(tau / (tau + drawn.sigma**2))
    weights = fit.labelled.weights / (1 + (sizes[of] - 1) * alike)
    return fit_stack(replace(fit.labelled, weights=weights, texts=of), fit.scale, fit.settings)
