"""Channel files that break the contract, or a promise, each in one way."""

START = '''
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from cordial_ppl import observe, sample_log_odds


def model(readings, labels=None):
    """Broken."""
    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    offset = numpyro.sample("offset", dist.Normal({loc}, {scale}))
    mean = jax.nn.softmax(readings.logits, axis=1) @ options
'''
END = """
    kernel = jax.nn.softmax(-2.0 * (options[None] - centre[:, None]) ** 2, axis=1)
    observe(None, labels, probs=0.97 * kernel + 0.03 * readings.histogram[None])
"""

TAILS = END.replace(
    "-2.0 * (options[None] - centre[:, None]) ** 2",
    "-3.0 * jnp.log1p(4.0 * (options[None] - centre[:, None]) ** 2)",
)
PLAIN = "    centre = mean + offset\n"
LONGER = '    centre = mean + offset - 0.1 * jnp.log(readings.covariates["length"] - 1.5)\n'
BODIES = {
    "sound": PLAIN + END,
    "no_label": PLAIN,
    "branch": "    centre = mean + (offset if offset > 0 else 0.0)\n" + END,
    "slash": PLAIN.replace("offset", "numpyro.sample('a/b', dist.Normal(0.0, 1.0))") + END,
    "every_text": PLAIN.replace(
        "offset", "numpyro.sample('own', dist.Normal(jnp.zeros(mean.shape), 1.0))"
    )
    + END,
    "factor": PLAIN + "    numpyro.factor('more', -(offset**2))\n" + END,
    "peeks": "    centre = mean + (offset if labels is None else offset + labels.mean())\n" + END,
    "not_finite": "    centre = mean + offset / 0.0\n" + END,
    "tails": PLAIN + TAILS,
    "undefined": LONGER + END,
    "backward": "    centre = offset + options[-1] - mean\n" + END,
    "beyond": "    own = numpyro.sample('own', dist.Normal(jnp.zeros(3), 1.0).to_event(1))\n"
    "    centre = mean + own[readings.covariates['user'].astype(int) + 2]\n" + END,
    "short": "    own = numpyro.sample('own', dist.Normal(jnp.zeros(3), 1.0).to_event(1))\n"
    "    centre = mean + own[jnp.arange(5)] @ jnp.ones(5) / 5\n" + END,
    "negative": "    tilt = 0.06 * offset * (options[None] - 2.0)\n"
    "    probs = jax.nn.softmax(readings.logits, axis=1) + tilt\n"
    "    observe(None, labels, probs=probs)\n",
    "remainder": "    far = options[None] - mean[:, None] - offset\n"
    "    probs = jax.nn.softmax(-3.0 * far**2, axis=1)\n"
    "    last = 1.0 - probs[:, :-1].sum(axis=1, keepdims=True)\n"
    "    observe(None, labels, probs=jnp.concatenate([probs[:, :-1], last], axis=1))\n",
    "plate": "    with numpyro.plate('user', 3):\n"
    "        own = numpyro.sample('own', dist.Normal(0.0, 1.0))\n"
    "    centre = mean + own[readings.covariates['user'].astype(int)]\n" + END,
    "cut_gradient": "    centre = mean + jax.lax.stop_gradient(offset)\n" + END,
}


def write_channel(folder, name, loc=0.0, scale=1.0):
    """Write one of them, with a prior of its offset; return its path."""
    path = folder / f"{name}.py"
    path.write_text(START.format(loc=loc, scale=scale) + BODIES[name])
    return path
