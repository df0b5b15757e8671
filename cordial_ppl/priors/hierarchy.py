r"""A hierarchical prior: hyper-parameters with a posterior, and what they predict of a new task.

.. math:: \mu \sim N(\mu_0, \sigma_0^2), \quad \omega, \eta \sim \mathrm{HalfNormal}(\sigma_0),
   \quad a_g \sim N(\mu, \omega^2), \quad \theta_t \sim N(a_{g(t)}, \eta^2),
   \quad \hat\theta_t \sim N(\theta_t, s_t^2)

Tasks g differ by omega and the readers of a task by eta, so that many readers of few tasks do not
count as many tasks.  Given omega and eta everything is Gaussian, and these two are on a grid: what
NUTS would sample from the NumPyro model below, without its error.  Where no task has several
readers there is no eta.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float, Int

POINTS = 40
WIDEST = 3.0
"""The grid's last point, in prior standard deviations."""


def predict_new(
    modes: Float[np.ndarray, "T P"],
    spreads: Float[np.ndarray, "T P"],
    tasks: Int[np.ndarray, " T"],
    loc: Float[np.ndarray, " P"],
    scale: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Mean and standard deviation of a new task's parameters, each parameter by itself.

    Args:
        modes: estimates of T tasks and readers.
        spreads: their standard errors.
        tasks: number of each one's task, 0..G-1.
        loc: prior means mu_0.
        scale: prior standard deviations sigma_0.

    Returns:
        Mean and standard deviation of each parameter.
    """
    y, error = (modes - loc) / scale, spreads / scale
    grid = (np.arange(POINTS) + 0.5) * WIDEST / POINTS
    alone = len(np.unique(tasks)) == len(tasks)
    omega, eta = np.meshgrid(grid, np.zeros(1) if alone else grid, indexing="ij")
    omega, eta = omega.reshape(-1, 1, 1), eta.reshape(-1, 1, 1)
    member = (tasks[None] == np.unique(tasks)[:, None]).astype(float)
    evidence, means, precision = _pool(y[None], error**2 + eta**2, member)
    own, mu, certainty = _pool(means, 1 / precision + omega**2, np.ones((1, len(member))))
    evidence = evidence.sum(axis=1) + own[:, 0]
    mu, variance = mu[:, 0], 1 / certainty[:, 0]
    evidence += -0.5 * np.log(1 + variance) - 0.5 * mu**2 / (1 + variance)
    evidence += -0.5 * (omega**2 + eta**2)[:, :, 0]
    weights = np.exp(evidence - evidence.max(axis=0))
    weights /= weights.sum(axis=0)
    centre, width = mu / (1 + variance), variance / (1 + variance)
    mean = (weights * centre).sum(axis=0)
    second = width + (omega**2 + eta**2)[:, :, 0] + centre**2
    return loc + scale * mean, scale * np.sqrt((weights * second).sum(axis=0) - mean**2)


def _pool(
    values: Float[np.ndarray, "_ T P"],
    variances: Float[np.ndarray, "grid T P"],
    member: Float[np.ndarray, "G T"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum up Gaussian values of one unknown mean a group.

    Returns:
        Log of the factor beside the summary's density, weighted means and precisions, each of
        shape ``[grid, G, P]``.
    """
    weights = 1 / variances
    precision = member @ weights
    means = member @ (weights * values) / precision
    residual = member @ (weights * values**2) - precision * means**2
    logs = member @ np.log(weights) - np.log(precision) - residual
    return 0.5 * logs, means, precision


def hierarchy(
    modes: Float[np.ndarray, "T P"],
    spreads: Float[np.ndarray, "T P"],
    tasks: Int[np.ndarray, " T"],
    loc: Float[np.ndarray, " P"],
    scale: Float[np.ndarray, " P"],
) -> None:
    """The same as a NumPyro model, which the grid integrates; ``new`` is a new task's."""
    centre, unit = jnp.asarray(loc), jnp.asarray(scale)
    mu: Any = numpyro.sample("mu", dist.Normal(centre, unit).to_event(1))
    omega: Any = numpyro.sample("omega", dist.HalfNormal(unit).to_event(1))
    eta: Any = jnp.zeros_like(unit)
    if len(np.unique(tasks)) < len(tasks):
        eta = numpyro.sample("eta", dist.HalfNormal(unit).to_event(1))
    count = int(np.max(tasks)) + 1
    with numpyro.plate("task", count):
        nowhere = jnp.zeros((count, len(loc)))
        own: Any = numpyro.sample("own", dist.Normal(nowhere, 1.0).to_event(1))
    width = jnp.sqrt(eta[None] ** 2 + jnp.asarray(spreads) ** 2)
    places = mu[None] + omega[None] * own[jnp.asarray(tasks)]
    with numpyro.plate("fit", len(tasks)):
        numpyro.sample("mode", dist.Normal(places, width).to_event(1), obs=jnp.asarray(modes))
    further = jnp.sqrt(omega**2 + eta**2)
    numpyro.sample("new", dist.Normal(mu, further).to_event(1))
