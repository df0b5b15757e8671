r"""Draws of the shares of the options in a corpus: the posterior, and effects of what texts are of.

The texts with option k in a cell, such as those of a group that the judge passes, are under draw s

.. math:: \sum_{\text{labelled}} [z_i = k] + \sum_{\text{others}} p_{sk}(x_i) + N b_{sk}
    + \epsilon_k

The effects b of the corpus, the group, the verdict and clusters are drawn given residuals under the
same draw, :math:`r_i - [p_s(x_i) - \bar p(x_i)]` with the out-of-fold residual r: a draw that
predicts higher labels leaves less to the effects.  This is no joint posterior but a cut: residuals
tell the channel nothing.  An effect of a group is added to the shares of the group; its cells, of
several verdicts or strata of a plan, are then scaled to these, option by option (`tilting`).
Labelled texts count as themselves, and epsilon is the predictive spread of labels.  Means, shares,
pass rates and how often the judge agrees are sums of the same draws, so that they agree.

What is said of texts like these adds what a sample of texts leaves open: `superpopulation`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.decisions.corpus import Corpus, kish_weights
from cordial_ppl.decisions.corpus_draws import CorpusDraws
from cordial_ppl.decisions.effects import (
    GROUP_SCALE,
    Effects,
    Factor,
    count_chains,
    draw_effects,
    find_axes,
)
from cordial_ppl.decisions.estimates.rectified import is_even
from cordial_ppl.decisions.residuals import Residuals, as_options, as_steps
from cordial_ppl.decisions.superpopulation import sample_clusters, sample_texts
from cordial_ppl.decisions.tilting import tilt_cells
from cordial_ppl.decisions.unread_labels import draw_unread
from cordial_ppl.stack.fit import LIKE_OTHERS

STANDING = 1.5
"""Share of the texts over that of the labels beyond which a group's effect stands by itself."""

LEAST, FEWEST = 1e-9, 0.02
"""Least variance of a label, in squared units of the range, and concentration of a cell's."""


class Shares(NamedTuple):
    """Draws of the shares of all texts with each option, in each cell; in all they sum to one.

    Attributes:
        these: of just these texts.
        like_these: of the population that the texts were drawn from.
        effects: effect of each group, in units of the values.
    """

    these: Float[np.ndarray, "S C K"]
    like_these: Float[np.ndarray, "S C K"]
    effects: Float[np.ndarray, "S G"]


def draw_shares(sums: CorpusDraws, texts: Corpus, residuals: Residuals, seed: int) -> Shares:
    """Draw the shares of the options in each cell.

    Args:
        sums: predictions under draws, summed by cell.
        texts: labels, and what texts are of.
        residuals: of the labelled texts; none without folds.
        seed: seed of the draws.
    """
    rng, cells = np.random.default_rng([seed, len(texts.groups)]), texts.cells
    count, size, unread = len(residuals.steps), len(texts.value), cells.unread == 1
    factors, weights = list_factors(texts, count)
    picked = rng.choice(len(sums.weights), count_chains(factors, size - 1), p=sums.weights)
    reached = as_steps(sums.mixture).mean(axis=0)
    spread = np.sqrt(np.maximum(reached * (1 - reached), LEAST))
    axes = find_axes(residuals.covariance, spread, np.diff(texts.value))
    under = residuals.steps - as_steps(sums.labelled[picked, :count])
    effects = draw_effects(under, weights, factors, axes, residuals.covariance, rng)
    by_group, by_cell = _sum_effects(effects, texts)
    labels, left = cells.sum(texts.labels, texts.rows), cells.sum(texts.left)
    noise = _find_noise(sums.mixture, texts, effects)
    read, reached = left * ~unread, as_steps(sums.sums[picked])[effects.chains]
    reached += left[:, None] * by_cell
    shared = read[:, None] * by_group[:, cells.groups]

    def predict(steps: np.ndarray, common: np.ndarray, drawn: bool = True) -> np.ndarray:
        size = np.maximum(left, 1)[:, None]
        shares, base = (as_options(part / size, 1.0) for part in (steps, steps - common))
        near = tilt_cells(shares, base, read, texts.value, cells.groups)
        if drawn:
            # A Dirichlet distribution with the variance of the sum of single labels keeps their
            # mean and the ends of the scale.
            counts = np.maximum(left / noise - 1, FEWEST)[:, None]
            masses = rng.standard_gamma(near * counts) + np.finfo(float).tiny * near
            near = masses / masses.sum(axis=-1, keepdims=True)
        return left[:, None] * near

    if unread.any():
        counts = labels + predict(reached, shared, drawn=False)
        counts[:, unread] = 0
        alike = np.add.reduceat(counts, cells.starts, axis=1)
        # Two texts like those of all groups.
        alike += LIKE_OTHERS * alike.sum(axis=1, keepdims=True) / counts.sum(axis=(1, 2))[0]
        alike /= alike.sum(axis=2, keepdims=True)
        reached[:, unread] = left[unread, None] * as_steps(draw_unread(texts, alike, rng))

    if texts.clusters is None:
        these = labels + predict(reached, shared)
        like = sample_texts(these, texts, rng)
    else:
        units, clusters = np.unique(texts.clusters[texts.rows[:count]]), texts.clusters
        here = cells.sum_clusters(texts.left * texts.read, clusters)
        these = labels + predict(reached + _sum_clusters(here, effects, units, rng), shared)
        # The population has labels and clusters of its own.
        centre = np.broadcast_to(reached.mean(axis=0), reached.shape)
        common = shared.mean(axis=0)
        fresh = predict(centre + _sum_clusters(here, effects, units[:0], rng), common)
        fresh -= predict(centre, common, drawn=False)
        expected = sums.mixture + as_options(by_cell.mean(axis=0))[cells.of]
        expected[texts.rows] = texts.labels
        like = sample_clusters(these, fresh, cells.sum_clusters(expected, clusters), texts, rng)
    like /= like.sum(axis=(1, 2), keepdims=True)
    return Shares(these / len(texts.groups), like, by_group @ np.diff(texts.value))


def list_factors(texts: Corpus, count: int) -> tuple[dict[str, Factor], Float[np.ndarray, " n"]]:
    """List what the residuals are grouped by, with their weights.

    Args:
        texts: the corpus.
        count: how many residuals there are: of all labelled texts, or none.
    """
    rows, weights = texts.rows[:count], texts.weights[:count]
    factors = {"corpus": Factor(np.zeros(count, int), 1, texts.scale)}
    name, groups = "corpus", factors["corpus"].codes
    for key, of in (("group", texts.groups), ("plan", texts.plans)):
        if of is not None and np.ptp(of):
            name, groups, sizes = key, of[rows], np.bincount(of[texts.read], minlength=of.max() + 1)
            factors[name] = Factor(groups, len(sizes), GROUP_SCALE, heavy=True)
    if name != "corpus":
        # Drawn to the others, the effect of a group of most texts would decide the mean of all. And
        # what the calibrator learnt from labels of unlike weights is not right for all texts.
        drawn = np.bincount(groups, minlength=len(sizes))
        standing = (sizes * count > STANDING * drawn * sizes.sum()) & (drawn > 1)
        uneven = [not is_even(weights[groups == group]) for group in range(len(sizes))]
        factors[name] = factors[name]._replace(alone=standing | uneven)
    if texts.verdicts is not None and np.ptp(texts.verdicts):
        slope = texts.verdicts[rows] - texts.verdicts[texts.read].mean()
        factors["verdict"] = Factor(np.zeros(count, int), 1, GROUP_SCALE, slope=slope)
    if texts.clusters is not None:
        units, codes = np.unique(texts.clusters[rows], return_inverse=True)
        factors["cluster"] = Factor(codes, len(units), GROUP_SCALE)
    return factors, kish_weights(weights, groups)


def _sum_effects(
    effects: Effects, texts: Corpus
) -> tuple[Float[np.ndarray, "S G J"], Float[np.ndarray, "S C J"]]:
    """Add up the effects of each group, and of each cell; those of clusters are left out."""
    cells, levels = texts.cells, effects.levels
    by_group = levels["corpus"] + levels.get("group", np.zeros((1, cells.groups[-1] + 1, 1)))
    by_cell = by_group[:, cells.groups]
    if "plan" in levels:
        by_cell = by_cell + levels["plan"][:, cells.plans]
    if "verdict" in levels and texts.verdicts is not None:
        away = cells.verdicts - texts.verdicts[texts.read].mean()
        by_cell = by_cell + levels["verdict"] * away[:, None]
    return by_group, np.where(cells.unread[:, None], 0.0, by_cell)


def _find_noise(
    mixture: Float[np.ndarray, "N K"], texts: Corpus, effects: Effects
) -> Float[np.ndarray, " C"]:
    """Compute the variance of labels given their readings, as a share of that in their cell."""
    means, squares = mixture @ texts.value, mixture @ texts.value**2
    columns = np.stack([np.ones(len(means)), means, squares, squares - means**2], axis=1)
    sums = texts.cells.sum(texts.left[:, None] * columns)
    mean, square, inner = (sums[:, 1:] / np.maximum(sums[:, :1], 1)).T
    whole = square - mean**2
    share = np.divide(inner, whole, out=np.ones(len(whole)), where=whole > 0).clip(LEAST, 1)
    if "cluster" not in effects.tau:
        return share
    # An effect of a cluster is a part of a label's spread.
    along = np.diff(texts.value) @ effects.basis
    tau, sigma = (np.mean((s * along) ** 2) for s in (effects.tau["cluster"], effects.sigma))
    alone = np.where(texts.cells.unread, 1.0, sigma / (tau + sigma))
    return (share * alone).clip(LEAST, 1)


def _sum_clusters(
    here: Float[np.ndarray, "clusters C"],
    effects: Effects,
    units: Int[np.ndarray, " seen"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "S C J"]:
    """Sum the effects of clusters over the texts without a label of each cell.

    Args:
        here: how many such texts there are, by cluster and cell.
        effects: draws of effects.
        units: clusters whose effects were drawn; those of others are new ones.
        rng: source of random numbers.
    """
    seen, others = here[units], here.copy()
    others[units] = 0
    values, vectors = np.linalg.eigh(others.T @ others)
    # Signs are a convention that units must not change.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    root, tau = vectors * signs * np.sqrt(np.maximum(values, 0)), effects.tau["cluster"]
    drawn = rng.standard_normal((*tau.shape, len(values))) @ root.T * tau[..., None]
    result = np.swapaxes(drawn, 1, 2) @ effects.basis.T
    if len(units):
        result += np.einsum("slj,lc->scj", effects.levels["cluster"], seen, optimize=True)
    return result
