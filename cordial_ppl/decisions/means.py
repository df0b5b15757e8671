r"""Draws of the shares of the options in a corpus: the posterior, and effects of what texts are of.

The texts with option k in a cell, such as those of a group that the judge passes, are under draw s

.. math:: \sum_{\text{labelled}} [z_i = k] + \sum_{\text{others}} p_{sk}(x_i) + N b_{sk}
    + \epsilon_k

The effects b of the corpus, the group, the verdict and clusters are drawn given residuals under the
same draw, :math:`r_i - [p_s(x_i) - \bar p(x_i)]` with the out-of-fold residual r: a draw that
predicts higher labels leaves less to the effects.  This is no joint posterior but a cut: residuals
tell the channel nothing.  Labelled texts count as themselves, and epsilon is the predictive spread
of labels.  Means, shares, pass rates and how often the judge agrees are sums of the same draws, so
that they agree with each other.

What is said of texts like these adds what a sample of texts leaves open: were the labels of all N
texts known, their shares would still miss those of the population that they were drawn from, as a
multinomial sample does, or a sample of whole clusters.

Source: Särndal, Swensson and Wretman (1992), Model assisted survey sampling, chapters 4 and 5.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.stats import chi2

from cordial_ppl.decisions.corpus import CorpusDraws
from cordial_ppl.decisions.effects import (
    GROUP_SCALE,
    Effects,
    Factor,
    count_chains,
    draw_effects,
    find_axes,
)
from cordial_ppl.decisions.estimates.rectified import is_even
from cordial_ppl.decisions.residuals import Residuals, as_steps
from cordial_ppl.stack.fit import LIKE_OTHERS

STANDING = 1.5
"""Share of the texts over that of the labels beyond which a group's effect stands by itself."""

POOLED = 3
"""Texts of the whole corpus that a group's sampling variance counts besides its own."""

BORROWED = 2.0
"""Labels of its own that outweigh, in a group, what texts without a reading show in all groups."""

BLOCK = 1024
"""Clusters whose weights are in memory at a time."""

EDGE = 1e-4
"""Least distance of a mean from the ends of the scale, in units of its range; less is no share."""

STEEPEST, HALVINGS = 80.0, 22
"""Largest exponential tilt over the scale, and halvings of its range."""

LEAST, FEWEST = 1e-9, 0.02
"""Least variance of a label, in squared units of the range, and concentration of a cell's."""


class Cells(NamedTuple):
    """Texts that are of one group, of one group of the plan, and of one verdict of the judge.

    Attributes:
        of: cell of each text, 0..C-1.
        groups: group of each cell, in order.
        plans: group of the plan of each cell.
        verdicts: 1 for a cell of texts with the verdict of the last option.
        unread: 1 for a cell of texts that were not read.
    """

    of: Int[np.ndarray, " N"]
    groups: Int[np.ndarray, " C"]
    plans: Int[np.ndarray, " C"]
    verdicts: Int[np.ndarray, " C"]
    unread: Int[np.ndarray, " C"]

    @property
    def starts(self) -> Int[np.ndarray, " G"]:
        """The first cell of each group."""
        return np.unique(self.groups, return_index=True)[1]

    def sum(
        self, values: Shaped[np.ndarray, "n *K"], rows: Any = slice(None)
    ) -> Float[np.ndarray, "C *K"]:
        """Sum values of texts, or of some of them, by cell."""
        result = np.zeros((len(self.groups), *values.shape[1:]))
        np.add.at(result, self.of[rows], values)
        return result

    def total(self, values: Float[np.ndarray, "S C K"]) -> Float[np.ndarray, "S G"]:
        """Sum what is of each cell and option by group."""
        return np.add.reduceat(values.sum(axis=2), self.starts, axis=1)

    def shares(self, values: Float[np.ndarray, "S C K"]) -> Float[np.ndarray, "S C K"]:
        """Scale what is of each cell and option to sum to one in each group."""
        return values / self.total(values)[:, self.groups, None]

    def sum_clusters(
        self, values: Shaped[np.ndarray, "N *K"], clusters: Int[np.ndarray, " N"]
    ) -> Float[np.ndarray, "clusters C *K"]:
        """Sum values of texts by cluster and cell."""
        result = np.zeros((clusters.max() + 1, len(self.groups), *values.shape[1:]))
        np.add.at(result, (clusters, self.of), values)
        return result


@dataclass(frozen=True, eq=False)
class Corpus:
    """A corpus with its labels, and what its texts are of.

    Attributes:
        rows: the labelled texts, first those that were read.
        labels: share of each option among their labels, ``[n, K]``.
        value: value of each option, whose range is the unit of effects.
        weights: what each labelled text stands for, in any unit: 1 / inclusion probability.
        groups: group of each text, 0..G-1.
        scale: scale of the prior of the whole corpus's effect, in units of the values' range.
        plans: the groups of a plan by which labels were drawn, 0..P-1, where they are others.
        verdicts: 1 where the judge's verdict is that of the last option, else 0; None where no
            options pass.
        clusters: cluster of each text, 0..C-1; None where each is of another.
        unread: whether each text was not read, where some were not.
    """

    rows: Int[np.ndarray, " n"]
    labels: Float[np.ndarray, "n K"]
    value: Float[np.ndarray, " K"]
    weights: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " N"]
    scale: float = GROUP_SCALE
    plans: Int[np.ndarray, " N"] | None = None
    verdicts: Int[np.ndarray, " N"] | None = None
    clusters: Int[np.ndarray, " N"] | None = None
    unread: Bool[np.ndarray, " N"] | None = None

    @cached_property
    def cells(self) -> Cells:
        """The cells of the corpus."""
        nothing = np.zeros(len(self.groups), int)
        parts = self.plans, self.verdicts, self.unread
        parts = (nothing if part is None else part for part in parts)
        table, of = np.unique([self.groups, *parts], axis=1, return_inverse=True)
        return Cells(of.ravel(), *table)

    @cached_property
    def read(self) -> Bool[np.ndarray, " N"]:
        """Tell the texts that were read."""
        return np.ones(len(self.groups), bool) if self.unread is None else ~self.unread

    @cached_property
    def left(self) -> Float[np.ndarray, " N"]:
        """1 for a text without a label, else 0."""
        left = np.ones(len(self.groups))
        left[self.rows] = 0
        return left


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
    reached = as_steps(sums.sums[picked])[effects.chains] + left[:, None] * by_cell

    def predict(steps: np.ndarray, drawn: bool = True) -> np.ndarray:
        near = as_options(steps / np.maximum(left, 1)[:, None], 1.0)
        near = _inside(near, texts.value, np.arange(len(left)))
        return left[:, None] * (_draw_labels(near, left, noise, rng) if drawn else near)

    if unread.any():
        counts = labels + predict(reached, drawn=False)
        counts[:, unread] = 0
        alike = np.add.reduceat(counts, cells.starts, axis=1)
        # Two texts like those of all groups.
        alike += LIKE_OTHERS * alike.sum(axis=1, keepdims=True) / counts.sum(axis=(1, 2))[0]
        alike /= alike.sum(axis=2, keepdims=True)
        reached[:, unread] = left[unread, None] * as_steps(draw_unread(texts, alike, rng))

    if texts.clusters is None:
        these = labels + predict(reached)
        within = texts.labels @ texts.value**2 - (texts.labels @ texts.value) ** 2
        like = _sample_texts(these, cells, cells.sum(within, texts.rows), texts.value, rng)
    else:
        units, clusters = np.unique(texts.clusters[texts.rows[:count]]), texts.clusters
        here = cells.sum_clusters(texts.left * texts.read, clusters)
        these = labels + predict(reached + _sum_clusters(here, effects, units, rng))
        # The population has labels and clusters of its own.
        centre = np.broadcast_to(reached.mean(axis=0), reached.shape)
        noise = predict(centre + _sum_clusters(here, effects, units[:0], rng))
        noise -= predict(centre, drawn=False)
        expected = sums.mixture + as_options(by_cell.mean(axis=0))[cells.of]
        expected[texts.rows] = texts.labels
        parts = cells.sum_clusters(expected, clusters)
        like = _sample_clusters(these, noise, parts, cells, texts.value, rng)
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
    # Those of a group sum to its effective number of texts (Kish).
    sums, squares = np.bincount(groups, weights), np.bincount(groups, weights**2)
    return factors, weights * (sums / np.maximum(squares, np.finfo(float).tiny))[groups]


def draw_unread(
    texts: Corpus, alike: Float[np.ndarray, "S G K"], rng: np.random.Generator
) -> Float[np.ndarray, "S U K"]:
    r"""Draw how the labels of texts that were not read are distributed, in each cell of such.

    .. math:: p_c \sim \mathrm{Dirichlet}(n_c + b\, r_c), \qquad r_c \propto q_c\, p_0 / \bar q,
        \qquad p_0 \sim \mathrm{Dirichlet}
        \Bigl(2\, \bar q + \sum_c \frac{b + 1}{b + n_{c+}} n_c\Bigr)

    where q are the shares among the texts of the cell's group that were read, and q-bar their mean
    over the labels: not being read has the same odds in every group, as far as labels do not say
    otherwise.  Labels of one cluster count as one.

    Args:
        texts: the corpus.
        alike: draws of the shares among the texts of each group that were read.
        rng: source of random numbers.
    """
    cells, rows = np.flatnonzero(texts.cells.unread), np.flatnonzero(~texts.read[texts.rows])
    places = texts.rows[rows]
    of, size = texts.cells.of[places], len(texts.cells.groups)
    # Those of a cell sum to its effective number of texts (Kish).
    weights = texts.weights[rows]
    sums, squares = np.bincount(of, weights, size), np.bincount(of, weights**2, size)
    weights = weights * (sums / np.maximum(squares, np.finfo(float).tiny))[of]
    if texts.clusters is not None:
        pairs = np.stack([of, texts.clusters[places]])
        unit, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)[1:]
        weights = weights / counts[unit.ravel()]
    seen = texts.cells.sum(weights[:, None] * texts.labels[rows], places)[cells]
    number, alike = seen.sum(axis=1), alike[:, texts.cells.groups[cells]]
    mean = np.average(alike, axis=1, weights=number if number.any() else None).clip(EDGE)
    mean /= mean.sum(axis=1, keepdims=True)
    shared = (BORROWED + 1) / (BORROWED + np.maximum(number, 1)) if len(cells) > 1 else np.ones(1)
    pooled = rng.standard_gamma(LIKE_OTHERS * mean + shared @ seen)
    pooled /= pooled.sum(axis=1, keepdims=True)
    if len(cells) == 1:
        return pooled[:, None]
    near = alike * (pooled / mean)[:, None]
    masses = rng.standard_gamma(seen + BORROWED * near / near.sum(axis=-1, keepdims=True))
    return masses / masses.sum(axis=-1, keepdims=True)


def as_options(steps: Float[np.ndarray, "*m J"], total: float = 0.0) -> Float[np.ndarray, "*m K"]:
    """Turn shares of reaching each step into those of the options, of so much in all."""
    ends = np.full((*steps.shape[:-1], 1), total), np.zeros((*steps.shape[:-1], 1))
    return -np.diff(np.concatenate([ends[0], steps, ends[1]], axis=-1))


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


def _inside(
    shares: Float[np.ndarray, "S C K"],
    value: Float[np.ndarray, " K"],
    groups: Int[np.ndarray, " C"],
) -> Float[np.ndarray, "S C K"]:
    """Take near distributions of the same mean where shares are negative: an exponential tilt.

    Args:
        shares: of each cell and option, which sum to one in each group.
        value: value of each option.
        groups: group of each cell, in order.
    """
    starts = np.unique(groups, return_index=True)[1]

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts, axis=1)

    z = (value - value.min()) / np.ptp(value)
    mean = total(shares @ z).clip(EDGE, 1 - EDGE)
    logs = np.log(np.maximum(shares, EDGE / len(z)))
    low, high = np.full_like(mean, -STEEPEST), np.full_like(mean, STEEPEST)
    near = shares
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        near = logs + middle[:, groups, None] * z
        near -= np.maximum.reduceat(near.max(axis=2), starts, axis=1)[:, groups, None]
        near = np.exp(near)
        near /= total(near.sum(axis=2))[:, groups, None]
        below = total(near @ z) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    near = np.where(near < EDGE, 0.0, near)
    return near / total(near.sum(axis=2))[:, groups, None]


def _draw_labels(
    shares: Float[np.ndarray, "S C K"],
    total: Float[np.ndarray, " C"],
    noise: Float[np.ndarray, " C"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "S C K"]:
    """Draw shares of the labels of so many texts, about what is predicted.

    A Dirichlet distribution with the variance of the sum of single labels keeps their mean and the
    ends of the scale.
    """
    counts = np.maximum(total / noise - 1, FEWEST)[:, None]
    masses = rng.standard_gamma(shares * counts) + np.finfo(float).tiny * shares
    return masses / masses.sum(axis=-1, keepdims=True)


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
        levels = effects.levels["cluster"]
        result += np.einsum("slj,lc->scj", levels, seen, optimize=True)
    return result


def _sample_texts(
    counts: Float[np.ndarray, "S C K"],
    cells: Cells,
    within: Float[np.ndarray, " C"],
    value: Float[np.ndarray, " K"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "S C K"]:
    """Draw the population that texts were drawn from one by one.

    A group of few texts tells its variance less well than all groups tell theirs: it is drawn to
    theirs, as by `POOLED` texts more.

    Args:
        counts: draws of the texts with each option in each cell.
        cells: the cells.
        within: sum of the variances of the labels of each text, which its mean label has not.
        value: value of each option.
        rng: source of random numbers.
    """
    sizes, alike = cells.total(counts[:1])[0], counts.mean(axis=0)
    # In each group so many texts more, of the options that all texts have.
    more = alike.sum(axis=1) / sizes[cells.groups]
    pooled = counts + POOLED * more[:, None] * alike.sum(axis=0) / alike.sum()
    errors = cells.shares(rng.standard_gamma(pooled)) - cells.shares(pooled)
    moments = cells.shares(alike[None])[0] @ np.stack([value, value**2], axis=1)
    mean, square = np.add.reduceat(moments, cells.starts, axis=0).T
    lost, whole = np.add.reduceat(within, cells.starts) / sizes, square - mean**2
    lost = np.divide(lost, whole, out=np.zeros_like(lost), where=lost > 0).clip(0, 1)
    degrees = sizes + POOLED - 1
    wide = (1 - lost) * (degrees + 1) * (degrees + 2) / degrees / sizes
    errors *= np.sqrt(wide)[cells.groups, None]
    masses = rng.standard_gamma(sizes, (len(counts), len(sizes)))
    return _add_errors(counts, errors, masses, degrees, cells, value, rng)


def _sample_clusters(
    counts: Float[np.ndarray, "S C K"],
    noise: Float[np.ndarray, "S C K"],
    parts: Float[np.ndarray, "clusters C K"],
    cells: Cells,
    value: Float[np.ndarray, " K"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "S C K"]:
    """Draw the population that whole clusters were drawn from.

    Args:
        counts: draws of the texts with each option in each cell.
        noise: other draws of the labels that are not known, about what is expected.
        parts: what is expected of the texts, by cluster.
        cells: the cells.
        value: value of each option.
        rng: source of random numbers.
    """
    members, sizes = cells.total(parts), cells.total(parts.sum(axis=0, keepdims=True))[0]
    apart = parts - members[:, cells.groups, None] * cells.shares(parts.sum(axis=0)[None])
    apart /= sizes[cells.groups, None]
    both = np.concatenate([apart.reshape(len(parts), -1), members / sizes], axis=1)
    errors = np.zeros((len(counts), both.shape[1]))
    for start in range(0, len(both), BLOCK):
        block = both[start : start + BLOCK]
        errors += (rng.standard_exponential((len(counts), len(block))) - 1) @ block
    masses = sizes * np.maximum(1 + errors[:, -len(sizes) :], LEAST)
    errors = errors[:, : -len(sizes)].reshape(counts.shape) + noise / sizes[cells.groups, None]
    # Clusters of very unlike sizes tell as much as fewer of one size (Kish), and few tell less of
    # their variance than those of all groups do.
    units = sizes**2 / np.sum(members**2, axis=0)
    seen = np.add.reduceat(errors @ value, cells.starts, axis=1).var(axis=0)
    raw = seen * units**2
    pooled = raw.sum() / max(np.sum(units - 1), 1)
    wanted = (raw + POOLED * pooled) / (units - 1 + POOLED) / units
    scales = np.divide(wanted, seen, out=np.zeros_like(seen), where=seen > LEAST * wanted)
    errors *= np.sqrt(scales)[cells.groups, None]
    # A single cluster shows no variance: its group errs as others do, on its own.
    hidden = np.where(scales > 0, 0.0, wanted)[cells.groups]
    if hidden.any():
        flat = apart.reshape(-1, len(value))
        root = flat.T @ flat
        root /= max(value @ root @ value, LEAST)
        root = np.linalg.cholesky(root + LEAST * np.eye(len(root)))
        fresh = rng.standard_normal((len(counts), len(sizes), len(value))) @ root.T
        share = counts.mean(axis=0).sum(axis=1) / sizes[cells.groups]
        errors += fresh[:, cells.groups] * (share * np.sqrt(hidden))[:, None]
    degrees = units - 1 + POOLED
    return _add_errors(counts, errors, masses, degrees, cells, value, rng)


def _add_errors(
    counts: Float[np.ndarray, "S C K"],
    errors: Float[np.ndarray, "S C K"],
    masses: Float[np.ndarray, "S G"],
    degrees: Float[np.ndarray, " G"],
    cells: Cells,
    value: Float[np.ndarray, " K"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "S C K"]:
    """Add Student-t errors to the shares of groups, which have so much of all texts."""
    # One quantile for all: what groups have in common still cancels in their differences.
    wide = np.sqrt(degrees / chi2.ppf(rng.random((len(counts), 1)), degrees))
    shares = cells.shares(counts) + errors * wide[:, cells.groups, None]
    return _inside(shares, value, cells.groups) * masses[:, cells.groups, None]
