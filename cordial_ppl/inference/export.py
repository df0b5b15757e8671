"""Posteriors for ArviZ: one ``DataTree`` a channel, whose draws have equal weights.

Draws of NUTS keep their chains.  All others are one chain, in which copies of a draw stand side by
side: ``ess_bulk`` sees them as it sees a chain that does not move.  There is no second chain to
compare with, so ``r_hat`` is NaN; k-hat and the effective sample size of the weights judge instead.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.channel import count_levels
from cordial_ppl.data.labelled import Labelled, pad_texts
from cordial_ppl.data.labelling import by_text, sum_at
from cordial_ppl.data.readings import Readings
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.runtime.arrays import bucket
from cordial_ppl.runtime.compilation import ONCE, compiled

if TYPE_CHECKING:
    from xarray import DataTree


PRIOR_DRAWS = 1000

CHAINED = "chains of NUTS"
RESAMPLED = "one chain of draws resampled by weight, for which r_hat has no meaning"


def to_datatree(
    posterior: Posterior,
    *,
    data: Labelled | None = None,
    options: tuple[str, ...] | None = None,
    readers: tuple[str, ...] | None = None,
    seed: int = 0,
) -> "DataTree":
    """Convert a posterior for ArviZ, whose plots and summaries need equally weighted draws.

    Weighted draws are resampled, each ``S w`` times, rounded at random, into one chain in their own
    order.  Those of NUTS keep their chains.

    Args:
        posterior: the posterior.
        data: labelled texts; by default those of the fit.
        options: names of the options, by default 0..K-1.
        readers: names of the readers of a channel that has several, by default 0..R-1.
        seed: seed of the resampling and of what is drawn from prior and predictive.

    Returns:
        A tree with the groups ``posterior`` and ``prior`` (the named parameters in their own units,
        with dimension ``option``, ``reader`` or that of a covariate's levels where there is one
        value each), ``log_prior`` (by site, nats, as a density of the unconstrained parameters) and
        ``sample_stats`` (log density ``lp``, of NUTS also ``diverging``, ``energy`` and others; its
        attributes are the diagnostics, and ``draws_are``, which says what a chain is); and
        ``log_likelihood`` (nats, times the label's weight), ``posterior_predictive``,
        ``prior_predictive`` and ``observed_data``, each of ``label`` with dimension ``text``.
        Where texts have several labels, the log likelihood is that of all ``labels`` of a text, and
        the others have dimension ``row``.

        The channel falls back on the histogram of the labels, which has seen the labels of each
        text.  The log likelihood of a label that was fitted is therefore that under the histogram
        of the other texts' labels: leaving labels out by their weights alone (PSIS-LOO) would call
        a channel that leans on the histogram better than it is.
    """
    from arviz_base import from_dict

    rng, target = np.random.default_rng(seed), posterior.target
    data = posterior.data if data is None else data
    index, chains = _chain_rows(posterior, rng)
    draws, prior_draws = posterior.draws[index], posterior.draw_prior(PRIOR_DRAWS, seed)
    prior, silent = posterior.replaced_prior, posterior.uninformative_reading()
    terms = np.asarray(over_draws(target.log_prior_terms)(draws, prior, silent))
    powers = np.asarray(over_draws(target.log_powers)(draws, silent))
    named, log_density = target.name(draws), terms.sum(axis=1) + powers
    logs, probs = _labels(target, draws, posterior.histogram, data)
    fitted = _labels(target, draws, posterior.histogram, posterior.data)[0]
    prior_probs = _labels(target, prior_draws, posterior.histogram, data)[1]
    stats = {name: field[index] for name, field in posterior.transitions.items()}
    groups = {
        "posterior": _by_chain(named, chains),
        "prior": _by_chain(target.name(prior_draws), 1),
        "posterior_predictive": _by_chain({"label": draw_options(probs, rng)}, chains),
        "prior_predictive": _by_chain({"label": draw_options(prior_probs, rng)}, 1),
        "observed_data": {"label": np.asarray(data.labels)},
        "sample_stats": _by_chain({"lp": log_density + fitted.sum(axis=1), **stats}, chains),
    }
    dims, coords = _dimensions(posterior, named, options, readers)
    # One entry a text in the log likelihood, as leaving out takes it; elsewhere one a label.
    row, var = ("text", "label") if data.count == len(data.labels) else ("row", "labels")
    coords[row] = np.arange(len(data.labels))
    tree = from_dict(groups, dims={**dims, "label": [row]}, coords=coords)
    # One number a site, whatever its shape: without the parameter's dimensions.
    sums = {site.parameter: terms[:, site.slice].sum(axis=1) for site in target.sites}
    each = sum_at(data.ranks, _left_out(posterior, draws, data, logs).T, (data.count, len(draws)))
    new = {"log_prior": _by_chain(sums, chains), "log_likelihood": _by_chain({var: each.T}, chains)}
    tree.update(from_dict(new, dims={var: ["text"]}, coords={"text": range(data.count)}).children)
    diagnostics = {
        **posterior.diagnostics._asdict(),
        # Files that trees are kept in know no truth values among attributes.
        "trusted": int(posterior.diagnostics.trusted),
        "draws_are": CHAINED if posterior.diagnostics.method == "nuts" else RESAMPLED,
    }
    tree["sample_stats"].attrs.update(diagnostics)
    tree["posterior"].attrs.update({"channel": target.channel.name, **diagnostics})
    return tree


def _chain_rows(
    posterior: Posterior, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " S"], int]:
    """Choose rows of a posterior's draws that weigh alike, and the number of their chains."""
    weights, count = posterior.weights, len(posterior.weights)
    index = np.arange(count)
    # Draws that have equal weights already stay in order.
    if not np.allclose(weights, 1 / count):
        with np.errstate(divide="ignore"):
            index = np.asarray(resample(rng.random(), np.log(weights), count))
    chains = min(posterior.diagnostics.chains, len(index))
    return index[: len(index) // chains * chains], chains


def _dimensions(
    posterior: Posterior,
    named: dict[str, np.ndarray],
    options: tuple[str, ...] | None,
    readers: tuple[str, ...] | None,
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Name the dimensions of parameters that have one value for each option, reader or level."""
    # A channel of several readers has one temperature a reader, and nothing for an option.
    axis, size, names = "option", len(posterior.histogram), options
    if posterior.data.readers is not None:
        axis, size, names = "reader", posterior.data.readers, readers
    dims = {name: [axis] for name, value in named.items() if value.shape[1:] == (size,)}
    # A parameter that is sampled in a plate of users, say, has one value for each.
    levels = count_levels(posterior.channel)
    dims |= {s.parameter: list(s.plates) for s in posterior.target.sites if {*s.plates} & {*levels}}
    coords = {name: np.arange(count) for name, count in levels.items()}
    return dims, {axis: list(names or range(size))} | coords


def join(trees: Mapping[str, "DataTree"]) -> "DataTree":
    """Put the trees of several channels into one, which ArviZ can look at as a whole too.

    Args:
        trees: trees of channels by name, with equally many draws.

    Returns:
        A tree with these as children, and with groups ``posterior`` and ``prior`` whose variables
        are those of all channels, named after channel and parameter: "mixture.offset".  A channel
        of the name of a group has no child of its own.
    """
    from xarray import DataTree, merge

    def together(group: str) -> "DataTree":
        parts = []
        for name, tree in trees.items():
            part: Any = tree[group].to_dataset()
            parts.append(part.rename({site: f"{name}.{site}" for site in part.data_vars}))
        merged: Any = merge(parts, combine_attrs="drop_conflicts")
        return DataTree(merged)

    groups = {group: together(group) for group in ("posterior", "prior")} if trees else {}
    return DataTree(children={**trees, **groups})


def _labels(
    target: Target, draws: np.ndarray, histogram: np.ndarray, data: Labelled
) -> tuple[Float[np.ndarray, "S n"], Float[np.ndarray, "S n K"]]:
    """Compute the weighted log likelihood of each label and the options' probabilities, by draw."""
    count = len(data.labels)
    texts = pad_texts(data, bucket(count))
    readings = Readings(texts.logits, histogram, dict(texts.covariates))
    logs, probs = over_draws(target.pointwise)(draws, readings, texts.labels, texts.weights)
    return np.asarray(logs)[:, :count], np.asarray(probs)[:, :count]


def _left_out(
    posterior: Posterior, draws: np.ndarray, data: Labelled, logs: Float[np.ndarray, "S n"]
) -> Float[np.ndarray, "S n"]:
    """Compute the log likelihood of each label under the histogram of the other texts' labels.

    Args:
        posterior: the posterior.
        draws: its draws.
        data: the labelled texts.
        logs: log likelihoods under its histogram, which hold where that is not of these labels.
    """
    case, size = Case(data).seen_by(posterior.diagnostics.method), len(posterior.histogram)
    same = np.allclose(case.histogram_of(data.labels), posterior.histogram, rtol=0, atol=1e-6)
    # Other texts may have labels of the same histogram; readings may have been rounded.
    rows, others = map(_sort_rows, (posterior.data, data))
    if not same or len(rows) != len(others) or not np.allclose(rows, others, 0, 1e-3, True):
        return logs
    left_out, labels = np.empty_like(logs), by_text(data.labels, size, data.weights, data.texts)
    # Texts that leave the same labels are scored together.
    counts = labels.shares * labels.weights[:, None]
    alike = np.unique(counts, axis=0, return_inverse=True)[1].ravel()[data.ranks]
    for group in range(alike.max() + 1):
        rows = np.flatnonzero(alike == group)
        others = data.take(data.texts != data.texts[rows[0]])
        histogram = case._replace(texts=others).histogram_of(others.labels)
        left_out[:, rows] = _labels(posterior.target, draws, histogram, data.take(rows))[0]
    return left_out


def _sort_rows(texts: Labelled) -> Float[np.ndarray, "n columns"]:
    """Sort labels and logits by their rounded values, so that the order of texts does not count."""
    rows = np.column_stack([texts.labels, texts.logits.reshape(len(texts.labels), -1)])
    return rows[np.lexsort(rows.round(2).T)]


def draw_options(
    probs: Float[np.ndarray, "S n K"], rng: np.random.Generator
) -> Int[np.ndarray, "S n"]:
    """Draw one option 0..K-1 for every draw and text from its probabilities."""
    below = np.cumsum(probs, axis=2)
    points = rng.random((*probs.shape[:2], 1)) * below[..., -1:]
    return np.minimum((below <= points).sum(axis=2), probs.shape[2] - 1)


def _by_chain(named: dict[str, np.ndarray], chains: int) -> dict[str, np.ndarray]:
    return {name: value.reshape(chains, -1, *value.shape[1:]) for name, value in named.items()}


@lru_cache(maxsize=64)
def over_draws(function: Callable[..., Any], *, gradient: bool = False) -> Callable[..., Any]:
    """Compile a method of a target over many draws, its first argument, in 64 bits.

    Args:
        function: the method, such as ``target.probs``.
        gradient: whether to return the gradient by the draws too.
    """
    single, effort = (jax.value_and_grad(function), ONCE) if gradient else (function, {})
    program = compiled(
        lambda draws, *rest: jax.vmap(lambda draw: single(draw, *rest))(draws), **effort
    )

    def run(*args: Any) -> Any:
        with jax.enable_x64(True):
            return program(*args)

    return run
