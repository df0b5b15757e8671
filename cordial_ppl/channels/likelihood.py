"""Ordinary NumPyro likelihoods of a label, as the site that `observe` makes."""

import math
import re
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.primitives import Messenger
from numpyro.util import not_jax_tracer

from cordial_ppl.channels.channel import LABEL_SITE, Model
from cordial_ppl.channels.ordinal import Ordinal
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import ChannelError


class Likelihood(Messenger):
    r"""Run a model whose label is any distribution over ``0..K-1``, as if it called ``observe``.

    ``Categorical`` by logits or probabilities, ``OrderedLogistic``, and what counts to K - 1, such
    as ``Binomial(K - 1)``, of one label per text and of any name, become ``Ordinal``, under which a
    label of -1 counts nothing:

    .. math:: \log p(z) = \sum_k [z = k] \log p_k

    `observe` within a plate over the texts of the author's is as without it.

    Args:
        model: the model.
    """

    size, label, labelled = 0, "", False

    def __init__(self, model: Model):
        super().__init__(model)

    def __call__(self, readings: Readings, labels: Any = None) -> Any:
        """Run the model."""
        self.size, self.label = readings.logits.shape[-1], ""
        self.labelled = labels is not None
        return super().__call__(join_vectors(readings), labels)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Replace the distribution of the label within the masks around it."""
        if msg["type"] != "sample":
            return
        fn, masks = msg["fn"], []
        while isinstance(fn, dist.MaskedDistribution):
            masks.append(fn._mask)
            fn = fn.base_dist
        # What is observed where no labels came is something else.
        ordinal = None if msg["is_observed"] and not self.labelled else as_ordinal(fn, self.size)
        if ordinal is not None:
            _check_label(msg, self.label, self.labelled)
            self.label = msg["name"]
            for mask in reversed(masks):
                ordinal = ordinal.mask(mask)
            msg["fn"], msg["name"] = ordinal, LABEL_SITE
            msg["cond_indep_stack"] = msg["cond_indep_stack"][:1]


def _check_label(msg: dict[str, Any], first: str, labelled: bool) -> None:
    """Refuse a second site of a label, and one that is not observed where labels came."""
    name = msg["name"]
    if first:
        raise ChannelError(
            f"a channel must have one label site per text, but this channel has two, {first!r} "
            f"and {name!r}. Depending on the model, use one row per label, remove obs_mask "
            "(labels of -1 are ignored), or sum out latent options."
        )
    if labelled and not msg["is_observed"]:
        raise ChannelError(
            f"the label site {name!r} (0..K-1 for each text) is not observed. Pass obs=labels."
        )


def join_vectors(readings: Readings) -> Readings:
    """Put the entries of a vector of covariates, "embedding[0]" and on, together as ``[n, D]``."""
    whole: dict[str, list[Any]] = {}
    # JAX sorts the keys of a dictionary as text, "e[10]" before "e[2]".
    for name in sorted(readings.covariates, key=lambda name: (len(name), name)):
        if entry := re.fullmatch(r"(.+)\[\d+\]", name):
            whole.setdefault(entry[1], []).append(readings.covariates[name])
    vectors = {name: jnp.stack(columns, axis=-1) for name, columns in whole.items()}
    return readings._replace(covariates=readings.covariates | vectors) if vectors else readings


def as_ordinal(fn: Any, size: int) -> Any:
    """Return a distribution of one label per text as ``Ordinal``; None for any other.

    Args:
        fn: the distribution.
        size: number of options K.

    Raises:
        ChannelError: it counts to another number than K - 1.
    """
    base: Any = fn.base_dist if isinstance(fn, dist.ExpandedDistribution) else fn
    if isinstance(base, Ordinal) or base.batch_shape == fn.batch_shape:
        fn = base
    if isinstance(fn, Ordinal):
        return fn
    if len(fn.batch_shape) != 1 or fn.event_shape:
        return None
    if isinstance(fn, dist.CategoricalLogits):
        return _normalised(fn.logits)
    if isinstance(fn, dist.OrderedLogistic):
        # sigmoid(b) - sigmoid(a) = sigmoid(b) sigmoid(-a) (1 - e^(a - b)), which keeps its digits.
        cuts: Any = fn.cutpoints
        odds, steps = cuts - fn.predictor[..., None], jnp.diff(cuts)
        below, above = jax.nn.log_sigmoid(odds), jax.nn.log_sigmoid(-odds)
        gaps = jnp.log(-jnp.expm1(-steps) + jnp.finfo(odds.dtype).tiny)
        middle = below[:, 1:] + above[:, :-1] + gaps
        return Ordinal(jnp.concatenate([below[:, :1], middle, above[:, -1:]], axis=1))
    if isinstance(fn, dist.CategoricalProbs):
        return Ordinal(probs=jax.lax.optimization_barrier(fn.probs))
    if ordinal := _as_mixture(fn, size):
        return ordinal
    # Binomial, BetaBinomial and others that count; of two options Bernoulli.
    support, top = fn.support, getattr(fn.support, "upper_bound", None)
    if support is constraints.boolean and size == 2:
        top = 1
    if not support.is_discrete or top is None:
        return None
    if not_jax_tracer(top) and np.any(np.asarray(top) != size - 1):
        raise ChannelError(
            f"with {size} options, labels go up to {size - 1}, but this {type(base).__name__} "
            f"goes up to {np.max(np.asarray(top))}."
        )
    if isinstance(fn, dist.BetaBinomial):
        return _normalised(_log_counts(fn.concentration1, fn.concentration0, size))
    each = jax.vmap(lambda option: fn.log_prob(jnp.full(fn.batch_shape, option)), out_axes=-1)
    return _normalised(each(jnp.arange(size)))


def _as_mixture(fn: Any, size: int) -> Ordinal | None:
    """Mix the options' probabilities of a mixture's components, or add to the lowest option's."""
    gate = getattr(fn, "gate", None)
    if gate is not None and (part := as_ordinal(fn.base_dist, size)):
        first, *others = ((1 - gate)[:, None] * part.probs).T
        return Ordinal(probs=[gate + first, *others])
    if isinstance(fn, dist.MixtureGeneral):
        parts = [as_ordinal(each, size) for each in fn.component_distributions]
        mixing: Any = fn.mixing_distribution
        shares = jnp.broadcast_to(mixing.probs, (*fn.batch_shape, len(parts))).T
        if all(parts):
            each = (share[:, None] * part.probs for share, part in zip(shares, parts, strict=True))
            return Ordinal(probs=reduce(add, each))


def _normalised(scores: Any) -> Ordinal:
    """Normalise log probabilities: in single precision some sum to one only roughly."""
    # Computed once: the compiler would compute them again for each sum that they enter.
    return Ordinal(jax.nn.log_softmax(jax.lax.optimization_barrier(scores), axis=-1))


def _log_counts(high: Any, low: Any, size: int) -> Any:
    r"""Compute the logarithms of a beta-binomial's options, up to a constant.

    .. math:: \log p_k = \log {n \choose k} + \sum_{i<k} \log(a + i) + \sum_{i<n-k} \log(b + i)

    Two beta functions of each option would take far longer.
    """
    steps = jnp.arange(size - 1, dtype=high.dtype)[None]
    up, down = (jnp.cumsum(jnp.log(each[:, None] + steps), axis=1) for each in (high, low))
    ways = [math.log(math.comb(size - 1, option)) for option in range(size)]
    none = jnp.zeros((len(high), 1), high.dtype)
    sums = jnp.append(none, up, 1) + jnp.append(none, down, 1)[:, ::-1]
    return sums + jnp.asarray(ways, high.dtype)[None]
