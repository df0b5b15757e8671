"""The population that a corpus was drawn from: what a sample of texts, or of clusters, leaves open.

Were the labels of all N texts known, their shares would still miss those of the population, as a
multinomial sample does, or a sample of whole clusters.

Source: Särndal, Swensson and Wretman (1992), Model assisted survey sampling, chapters 4 and 5.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaincinv

from cordial_ppl.decisions.corpus import Corpus, Draws
from cordial_ppl.decisions.tilting import tilt

POOLED = 3
"""Texts of the whole corpus that a group's sampling variance counts besides its own."""

BLOCK = 1024
"""Clusters whose weights are in memory at a time."""

LEAST = 1e-9
"""Least variance, as a share of that of what is drawn."""


def sample_texts(counts: Draws, texts: Corpus, rng: np.random.Generator) -> Draws:
    """Draw the population that texts were drawn from one by one.

    A group of few texts tells its variance less well than all groups tell theirs: it is drawn to
    theirs, as by `POOLED` texts more.

    Args:
        counts: draws of the texts with each option in each cell.
        texts: the texts and their cells.
        rng: source of random numbers.
    """
    cells, value = texts.cells, texts.value
    # The variance of the labels of each text, which its mean label has not.
    within = texts.labels @ value**2 - (texts.labels @ value) ** 2
    within = cells.sum(within, texts.rows)
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
    return _add_errors(counts, errors, masses, degrees, texts, rng)


def sample_clusters(
    counts: Draws,
    noise: Draws,
    parts: Float[np.ndarray, "clusters C K"],
    texts: Corpus,
    rng: np.random.Generator,
) -> Draws:
    """Draw the population that whole clusters were drawn from.

    Args:
        counts: draws of the texts with each option in each cell.
        noise: other draws of the labels that are not known, about what is expected.
        parts: what is expected of the texts, by cluster.
        texts: the texts and their cells.
        rng: source of random numbers.
    """
    cells, value = texts.cells, texts.value
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
    return _add_errors(counts, errors, masses, units - 1 + POOLED, texts, rng)


def _add_errors(
    counts: Draws,
    errors: Draws,
    masses: Float[np.ndarray, "S G"],
    degrees: Float[np.ndarray, " G"],
    texts: Corpus,
    rng: np.random.Generator,
) -> Draws:
    """Add Student-t errors to the shares of groups, which have so much of all texts."""
    # One quantile for all: what groups have in common still cancels in their differences.
    wide = np.sqrt(degrees / 2 / gammaincinv(degrees / 2, rng.random((len(counts), 1))))
    cells = texts.cells
    shares = cells.shares(counts) + errors * wide[:, cells.groups, None]
    return tilt(shares, texts.value, cells.groups) * masses[:, cells.groups, None]
