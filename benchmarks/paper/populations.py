"""Labels from a known channel that no affine channel equals, at a distance that is chosen.

Readings go through a full K x K channel, so the true probabilities are known and so is what the
best affine channel loses to them: the delta of the crossover `n* = (d_u - d_s) / (2 delta)`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from cordial_ppl.errors import InputError
from cordial_ppl.runtime.arrays import AnyArray
from cordial_ppl.stack.calibrators.regression import newton

AFFINE = np.array([0.3, np.log(0.9), np.log(1.5), 2.2])
"""Offset, log gain, log concentration, log odds of strength of the channel that is bent."""

STARTS = AFFINE + np.array(
    [[0.0, 0.0, 0.0, 0.0], [1.0, -0.7, -1.0, -1.0], [-1.0, 0.3, -1.0, -1.0], [0.0, -0.3, 1.0, -2.0]]
)
"""Where the search for the nearest affine channel begins; the best end is kept."""

TOLERANCE = 1e-3
"""How far, relative to it, the gap may lie from the one asked for."""

FAR, AT_ONCE = 6.0, 256
"""How far from zero parameters are free, and how many fits are made at a time."""


@dataclass(frozen=True)
class KnownGap:
    """A population of readings, the channel that its labels come from, and the nearest affine one.

    Args:
        logits: Readings (nats); the channel takes their softmax, at temperature one.
        truth: True probabilities.
        channel: The channel that the labels come from; row y is T(z | y).
        nearest: The affine channel of least expected log loss.
        delta: What that loses to the truth (nats), `mean_i KL(truth_i || softmax(l_i) nearest)`.
    """

    logits: Float[np.ndarray, "n K"]
    truth: Float[np.ndarray, "n K"]
    channel: Float[np.ndarray, "K K"]
    nearest: Float[np.ndarray, "K K"]
    delta: float

    def excess(self, probs: Float[np.ndarray, "n K"]) -> float:
        """Return the expected log loss (nats) of predictions for the readings, over the truth's."""
        return _divergence(self.truth, probs)

    def draw(self, rng: np.random.Generator, rows: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """Draw labels afresh for readings in some rows, with repetition or without."""
        below = np.cumsum(self.truth[rows], axis=1)[:, :-1]
        return (rng.random((len(rows), 1)) > below).sum(axis=1)


def known_gap(delta: float, seed: int = 0, *, n: int = 2000, options: int = 5) -> KnownGap:
    """Make readings whose best affine channel loses `delta` nats to the truth.

    The true channel is `(1 - t) T_phi + t P`: an affine channel
    `T_phi(z | y) = rho G(z | s y + d) + (1 - rho) / K` bent toward rows `P` drawn at random. The
    t that gives `delta = min_phi mean_i KL(p_i || q_i T_phi)`, over (d, log s, log kappa,
    logit rho), is found by bisection. The expectation runs over all n readings and all labels, so
    delta is a property of the population and no estimate.  From 0.0001 to 0.12 most seeds have
    one; of others an `InputError` says so.  With two options an affine channel is a full one.
    """
    rng = np.random.default_rng(seed)
    logits = _readings(rng, n, options)
    reading = softmax(logits, axis=1)
    affine, _ = affine_channel(AFFINE, options)
    bent = rng.dirichlet(np.full(options, 0.5), options)

    def attempt(t: float) -> KnownGap:
        channel = (1 - t) * affine + t * bent
        truth = reading @ channel
        phi = fit_affine(reading, truth[None], STARTS[None])[0]
        nearest, _ = affine_channel(phi, options)
        return KnownGap(logits, truth, channel, nearest, _divergence(truth, reading @ nearest))

    most = population = attempt(1.0)
    if most.delta < delta:
        raise InputError(
            f"with seed {seed} and {options} options the gap is {most.delta:.4f} nats at most; "
            f"got delta={delta}. Take another seed."
        )
    # The gap grows like t^2, so its root is interpolated; every other step halves the bracket.
    low, high, roots = 0.0, 1.0, [0.0, np.sqrt(most.delta)]
    for step in range(60):
        if abs(population.delta - delta) <= TOLERANCE * delta:
            break
        share = 0.5 if step % 2 else (np.sqrt(delta) - roots[0]) / (roots[1] - roots[0])
        t = low + share * (high - low)
        population = attempt(t)
        below = population.delta < delta
        low, high = (t, high) if below else (low, t)
        roots[not below] = np.sqrt(population.delta)
    return population


def affine_channel(
    phi: Float[np.ndarray, "*many 4"], size: int
) -> tuple[Float[np.ndarray, "*many K K"], Float[np.ndarray, "*many 4 K K"]]:
    """Return the mixture channel `rho G(z | s y + d) + (1 - rho) / K`, and its derivatives.

    `G(z | c)` is proportional to `exp(-kappa (z - c)^2)`, as in the paper's equation 2.  The four
    parameters are offset d, log gain s, log concentration kappa and log odds of strength rho; row
    y is for class y read.
    """
    offset, log_gain, log_kappa, log_odds = np.moveaxis(phi, -1, 0)[..., None, None]
    gain, kappa, rho = np.exp(log_gain), np.exp(log_kappa), 1 / (1 + np.exp(-log_odds))
    z = np.arange(size, dtype=float)[None, :]
    y = z.T
    far = z - gain * y - offset
    log = -kappa * far**2
    g = np.exp(log - log.max(axis=-1, keepdims=True))
    g /= g.sum(axis=-1, keepdims=True)

    def tilt(slope: Float[np.ndarray, "... K K"]) -> Float[np.ndarray, "... K K"]:
        return rho * g * (slope - (g * slope).sum(axis=-1, keepdims=True))

    shift = 2 * kappa * far
    slopes = [tilt(shift), tilt(shift * gain * y), tilt(log), rho * (1 - rho) * (g - 1 / size)]
    return rho * g + (1 - rho) / size, np.stack(slopes, axis=-3)


def fit_affine(
    reading: Float[AnyArray, "n K"],
    counts: Float[np.ndarray, "fits n K"],
    starts: Float[np.ndarray, "fits T 4"],
) -> Float[np.ndarray, "fits 4"]:
    """Fit the parameters of `affine_channel` by maximum likelihood, by Fisher scoring.

    Args:
        reading: probabilities q that go into the channel.
        counts: how often each reading got each label, for each fit; or probabilities, of which the
            fit has the least divergence.
        starts: where the searches begin, several for each fit, of which the best end is kept.
    """
    fits, each, _ = starts.shape
    if fits > AT_ONCE:
        parts = [slice(first, first + AT_ONCE) for first in range(0, fits, AT_ONCE)]
        return np.concatenate([fit_affine(reading, counts[p], starts[p]) for p in parts])
    reading = np.asarray(reading)
    shares = counts / np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1.0)

    def beyond(phi: np.ndarray) -> np.ndarray:
        """Few labels may ask for an infinite parameter; as far as FAR it is free."""
        return np.sign(phi) * np.maximum(np.abs(phi) - FAR, 0.0)

    def loss(phi: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        channel, slopes = affine_channel(phi, reading.shape[1])
        probs, truth = reading @ channel, shares[at // each]
        pulls = reading.T @ (truth / probs)
        value = (beyond(phi) ** 2).sum(axis=1) - (truth * np.log(probs)).sum(axis=(1, 2))
        return value, 2.0 * beyond(phi) - (slopes * pulls[:, None]).sum(axis=(2, 3))

    def fisher(phi: np.ndarray, at: np.ndarray) -> np.ndarray:
        channel, slopes = affine_channel(phi, reading.shape[1])
        often = shares[at // each].sum(axis=2, keepdims=True)
        change = (reading @ slopes) * np.sqrt(often / (reading @ channel))[:, None]
        flat = change.reshape(*phi.shape, -1)
        far = np.where(beyond(phi) != 0, 2.0, 1e-9)
        return flat @ flat.swapaxes(1, 2) + far[:, :, None] * np.eye(4)

    ends, values = newton(loss, fisher, starts.reshape(-1, 4), tolerance=1e-6)
    best = values.reshape(fits, each).argmin(axis=1)
    return ends.reshape(fits, each, 4)[np.arange(fits), best]


def _readings(rng: np.random.Generator, n: int, size: int) -> Float[np.ndarray, "n K"]:
    """Readings that lean to one option each, some surely, some hardly."""
    centre = rng.uniform(-0.5, size - 0.5, n)[:, None]
    sharpness = rng.gamma(3.0, 0.7, n)[:, None]
    return -sharpness * np.abs(np.arange(size) - centre) + 0.5 * rng.standard_normal((n, size))


def _divergence(target: Float[np.ndarray, "n K"], probs: Float[np.ndarray, "n K"]) -> float:
    """Return `mean_i KL(target_i || probs_i)`, with 0 log 0 = 0."""
    ratio = np.where(target > 0, target, probs) / probs
    return float((target * np.log(ratio)).sum(axis=1).mean())
