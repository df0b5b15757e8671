"""NUTS of a channel's NumPyro model: the reference that the fast methods answer to.

NumPyro itself reads the model here, with its plates, scales and transforms, so that what our own
density might get wrong is seen; but for the label, whose distribution `Likelihood` replaces here as
elsewhere, and whose probabilities tests compare with NumPyro's.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.channels.channel import LABEL_SITE
from cordial_ppl.data.labelled import Labelled, pad_texts
from cordial_ppl.data.readings import Readings
from cordial_ppl.inference.diagnostics import Draws, diagnose
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.arrays import bucket
from cordial_ppl.runtime.compilation import compiled

ACCEPTANCE = 0.99
LARGEST_RHAT = 1.05
FIELDS = {
    "diverging": "diverging",
    "acceptance_rate": "accept_prob",
    "energy": "energy",
    "n_steps": "num_steps",
}
"""What ArviZ calls NumPyro's figures of a transition."""


class Nuts(NamedTuple):
    """How long NUTS runs.

    Attributes:
        draws: number of draws kept per chain.
        chains: number of chains, side by side.
        warmup: number of warm-up steps per chain.
    """

    draws: int = 500
    chains: int = 4
    warmup: int = 1000
    name = "nuts"


DEFAULT = Nuts()


def replace_priors(target: Target, prior: Prior) -> Callable[..., None]:
    """Put other Gaussians on the unconstrained scale in place of a model's own.

    Args:
        target: the channel.
        prior: location and scale of all parameters; those of priors that are no fixed Gaussians are
            left as they are.
    """

    def model(readings: Readings, labels: Array) -> None:
        import numpyro
        import numpyro.distributions as dist
        from numpyro import handlers

        from cordial_ppl.channels.likelihood import Likelihood

        values = {}
        for site in target.sites:
            if site.gaussian:
                normal = dist.Normal(*(site.unravel(part) for part in prior))
                replaced = dist.TransformedDistribution(normal, site.transform)
                values[site.name] = numpyro.sample(site.name, replaced)
        # The model gets these values, and its density of them is hidden.
        with handlers.block(hide=list(values)), handlers.substitute(data=values):
            Likelihood(target.channel.model)(readings, labels)

    return model


def weigh_labels(model: Callable[..., Any], weights: Float[Any, " n"]) -> Callable[..., Any]:
    """Let each label count in the log density by its weight, and nothing else of a model."""
    from numpyro.primitives import Messenger

    class WeighLabels(Messenger):
        def process_message(self, msg: dict[str, Any]) -> None:
            # Also where the model scales the site itself.
            if msg["type"] == "sample" and msg["name"] == LABEL_SITE:
                scale = msg["scale"]
                msg["scale"] = weights if scale is None else scale * weights

    return WeighLabels(model)


def sample_nuts(
    target: Target,
    prior: Prior,
    texts: Labelled,
    histogram: Float[np.ndarray, " K"],
    key: jax.Array,
    method: Nuts = DEFAULT,
) -> Draws:
    """Sample a posterior with the No-U-Turn sampler (Hoffman and Gelman 2014, JMLR 15).

    Chains begin at draws from the prior, which is wider than the posterior, so that R-hat can
    tell whether they found the same one; they run side by side.  What is compiled serves all
    labels, priors and seeds of texts that are padded to as many rows.

    Args:
        target: the channel.
        prior: location and scale that replace the channel's own, unless they are these.
        texts: the labelled texts; a label of -1 leaves one out.
        histogram: smoothed label histogram that the channel falls back on.
        key: random key.
        method: how long each chain is, and how many there are.

    Returns:
        Equally weighted draws, chain after chain.  Their ``ess`` is the smallest over the
        parameters, and zero if the chains disagree (R-hat above 1.05).
    """
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    replaced = prior is not target.prior
    texts = pad_texts(texts, bucket(len(texts.labels)))
    with jax.enable_x64(True):
        run = _program(target, replaced, method)
        padded = Readings(texts.logits, histogram, dict(texts.covariates))
        arrays = prior if replaced else None, padded, texts.labels, texts.weights
        chains, fields = jax.device_get(run(key, *arrays))
    agree = np.max(split_gelman_rubin(chains)) <= LARGEST_RHAT
    points = chains.reshape(-1, target.size)
    # Like the draws: chain after chain.
    transitions = {name: np.ravel(fields[field]) for name, field in FIELDS.items()}
    diagnostics = diagnose(
        "nuts",
        points,
        ess=float(np.min(effective_sample_size(chains))) if agree else 0.0,
        acceptance=float(np.mean(fields["accept_prob"])),
        divergences=int(np.sum(transitions["diverging"])),
        chains=method.chains,
    )
    weights = np.full(len(points), 1 / len(points))
    return Draws(points, weights, diagnostics, transitions=transitions)


@lru_cache(maxsize=64)
def _program(target: Target, replaced: bool, method: Nuts) -> Callable[..., Any]:
    def run(
        key: jax.Array, prior: Prior | None, readings: Readings, labels: Array, weights: Array
    ) -> tuple[Array, dict[str, Array]]:
        from numpyro.infer import MCMC, NUTS, init_to_sample

        from cordial_ppl.channels.likelihood import Likelihood
        from cordial_ppl.inference.tracing import HANDLERS

        model = replace_priors(target, prior) if prior else Likelihood(target.channel.model)
        settings = {"target_accept_prob": ACCEPTANCE, "init_strategy": init_to_sample}
        sampler = MCMC(
            NUTS(weigh_labels(model, weights), dense_mass=True, **settings),
            num_warmup=method.warmup,
            num_samples=method.draws,
            num_chains=method.chains,
            chain_method="vectorized",
            progress_bar=False,
            # The unconstrained values themselves.
            postprocess_fn=lambda values: values,
        )
        # NumPyro divides floats by integers, which a user's strict settings would forbid.
        with HANDLERS, jax.numpy_dtype_promotion("standard"):
            sampler.run(key, readings, labels, extra_fields=tuple(FIELDS.values()))
        values = sampler.get_samples(group_by_chain=True)
        shape = method.chains, method.draws, -1
        parts = [values[site.name].reshape(shape) for site in target.sites]
        return jax.numpy.concatenate(parts, axis=2), sampler.get_extra_fields()

    # In one of our programs: NumPyro would compile with other options.
    return compiled(run)
