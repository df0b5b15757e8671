r"""Location channel for several annotators, who differ in severity and in noise.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp\bigl[-\kappa e^{-2 \nu_a} (z - s\, m(x) - d + \delta_a)^2\bigr], \qquad
   \delta_a = \sigma\, \xi_a

for annotator a. Parameters: those of `template.py`, ``sigma`` (classes), and for each annotator
``severity`` xi in units of sigma and ``noise`` nu, the log of a factor on the spread of labels.

The covariate ``annotator`` numbers the annotators; set ``LEVELS`` one higher to predict the labels
of a new one. Use one row per label: ``fit(logits[rows], labels, {"annotator": people},
texts=rows)``. If severity and noise are zero, this is the location channel. Order is kept for each
annotator. Source: many-facet Rasch measurement (Linacre 1989).
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

LEVELS = {"annotator": 6}
"""How many annotators there are."""

PARAMETERS = {
    "sigma": "classes by which annotators differ in severity, as a standard deviation",
    "severity": "how much lower this annotator labels than others, in units of sigma",
    "noise": "log of how many times further this annotator's labels stray than others'",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample what all share and what each annotator has; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))
    sigma = numpyro.sample("sigma", dist.HalfNormal(0.5))
    with numpyro.plate("annotator", LEVELS["annotator"]):
        severity = numpyro.sample("severity", dist.Normal(0.0, 1.0))
        noise = numpyro.sample("noise", dist.Normal(0.0, 0.3))

    annotator = readings.covariates["annotator"].astype(int)
    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    centre = gain * mean + offset - sigma * severity[annotator]
    width = (concentration * jnp.exp(-2 * noise[annotator]))[:, None]
    profile = jax.nn.softmax(-width * (options[None, :] - centre[:, None]) ** 2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)
