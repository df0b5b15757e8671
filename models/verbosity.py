r"""Location channel for a reader that favours long texts: the offset depends on a text's length.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, m(x) + d - \beta \log_2 \frac{\ell(x)}{100}

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes, for a text of 100
units), ``gain`` s, ``verbosity`` beta, ``concentration`` kappa (1 / classes^2), ``strength`` rho.
The covariate ``length`` l counts words, tokens or characters; lengths below one are treated as one.

LLM judges favour long answers (Zheng et al. 2023, "Judging LLM-as-a-judge", NeurIPS; Dubois et al.
2024, "Length-controlled AlpacaEval"). At beta = 0 this is the location channel. Order is kept among
texts of the same length.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "verbosity": "classes by which the reader rates a text too high for each doubling of its length"
}
"""What its own parameter means, as a summary and a report put it."""

EXAMPLES = {"length": (20, 500)}
"""Range of the covariate in texts that are made up to check this channel."""


def model(readings, labels=None):
    """Sample the six parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    verbosity = numpyro.sample("verbosity", dist.Normal(0.0, 0.3))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    doublings = jnp.log2(jnp.maximum(readings.covariates["length"], 1.0) / 100.0)
    centre = gain * mean + offset - verbosity * doublings
    profile = jax.nn.softmax(-concentration * (options[None, :] - centre[:, None]) ** 2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)
