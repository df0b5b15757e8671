"""Ordinary NumPyro likelihoods of a label, as the site that `observe` makes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.primitives import Messenger
from numpyro.util import not_jax_tracer

from cordial_ppl.channels.channel import LABEL_SITE, Model, Ordinal
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import ChannelError


class Likelihood(Messenger):
    r"""Run a model whose label is any distribution over ``0..K-1``, as if it called ``observe``.

    ``Categorical`` by logits or probabilities, ``OrderedLogistic`` and ``Binomial(K - 1)``, of one
    label per text and of any name, become ``Ordinal``, under which a label of -1 counts nothing:

    .. math:: \log p(z) = \sum_k [z = k] \log p_k

    `observe` within a plate over the texts of the author's is as without it.

    Args:
        model: the model.
    """

    size = 0

    def __init__(self, model: Model):
        super().__init__(model)

    def __call__(self, readings: Readings, labels: Any = None) -> Any:
        """Run the model."""
        self.size = readings.logits.shape[-1]
        return super().__call__(readings, labels)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Replace the distribution of the label within the masks around it."""
        if msg["type"] != "sample":
            return
        fn, masks = msg["fn"], []
        while isinstance(fn, dist.MaskedDistribution):
            masks.append(fn._mask)
            fn = fn.base_dist
        ordinal = as_ordinal(fn, self.size)
        if ordinal is not None:
            for mask in reversed(masks):
                ordinal = ordinal.mask(mask)
            msg["fn"], msg["name"] = ordinal, LABEL_SITE
            msg["cond_indep_stack"] = msg["cond_indep_stack"][:1]


def as_ordinal(fn: Any, size: int) -> Any:
    """Return a distribution of one label per text as ``Ordinal``; None for any other.

    Args:
        fn: the distribution.
        size: number of options K.

    Raises:
        ChannelError: a Binomial counts to another number than K - 1.
    """
    if isinstance(fn, dist.ExpandedDistribution) and isinstance(fn.base_dist, Ordinal):
        return fn.base_dist
    if isinstance(fn, dist.ExpandedDistribution) and fn.base_dist.batch_shape == fn.batch_shape:
        fn = fn.base_dist
    if len(fn.batch_shape) != 1 or fn.event_shape:
        return None
    if isinstance(fn, dist.CategoricalLogits):
        return Ordinal(jax.nn.log_softmax(fn.logits, axis=-1))
    if isinstance(fn, dist.CategoricalProbs):  # OrderedLogistic is one.
        return Ordinal(probs=fn.probs)
    if isinstance(fn, dist.BinomialProbs | dist.BinomialLogits):
        if not_jax_tracer(fn.total_count) and np.any(np.asarray(fn.total_count) != size - 1):
            raise ChannelError(
                f"a Binomial likelihood of {size} options counts to {size - 1}; this one counts to "
                f"{np.max(np.asarray(fn.total_count))}."
            )
        logs = [fn.log_prob(jnp.full(fn.batch_shape, option)) for option in range(size)]
        return Ordinal(jnp.stack(logs, axis=-1))
    return None
