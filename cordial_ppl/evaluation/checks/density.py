"""Checks of a channel's density: traced, finite, differentiable; and of what its prior predicts."""

from typing import Any

import jax
import numpy as np
from jax.experimental import checkify
from jaxtyping import Float
from scipy.special import logsumexp

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.errors import ChannelError, list_names
from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding, verdict
from cordial_ppl.evaluation.checks.trial import Trial
from cordial_ppl.inference.export import over_draws
from cordial_ppl.inference.state import PRECISION
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.runtime.platform import on_host

POINTS, FEW = 64, 16
FAR = 6.0
"""Standard deviations of the prior within which a density is evaluated."""

EXTREME = 60.0
"""Logits of an extreme reading, nats."""

STEP = 1e-5
SLOPE_TOLERANCE = 1e-4

SIZES = (2, 3, 5, 7)
"""Numbers of options for which a channel is tried."""

DRAWS, SETS = 1000, 999
FEWER = 256
"""Draws among which a reversal is sought."""

SATURATED = 1e4
"""Logit of the one option of a reading that is saturated at any likely temperature, nats."""

TOLERANCE = 1e-6


def check_contract(channel: Channel) -> Finding:
    """Trace the channel for several numbers of options; name its parameters and covariates."""
    sizes, faults = {}, []
    for size in SIZES:
        try:
            columns = find_covariates(channel, size)
            target = build_target(channel, size, columns, 2 if channel.several else None)
            covariates, sizes[size] = columns, target.size
        except ChannelError as error:
            faults.append(f"with {size} options: {error}")
    if not sizes:
        return Finding("contract", FAIL, faults[0])
    names = [site.parameter for site in target.sites]
    fixed = [site.parameter for site in target.sites if not site.gaussian]
    words = f"{len(names)} parameters: {', '.join(names)}"
    words += f"; covariates: {', '.join(covariates)}" if covariates else ""
    words += f"; priors that cannot be overridden by name: {', '.join(fixed)}" if fixed else ""
    if unused := [name for name, *_ in channel.examples if name not in covariates]:
        uses = list_names(covariates) if covariates else "no covariate"
        words += f"; EXAMPLES names {list_names(unused)}, but the model uses {uses}"
    works = f"; works only with {', '.join(map(str, sizes))} options; "
    words += "".join(works + fault for fault in faults[:1])
    figures = {"parameters": sizes, "covariates": list(covariates)}
    return Finding("contract", WARN if unused or faults else PASS, words, figures)


def check_indices(trial: Trial) -> Finding | None:
    """Find where an array is indexed beyond its end, which JAX does without a word."""
    target = trial.target
    with on_host(), jax.enable_x64(True):
        checked = jax.jit(checkify.checkify(target.probs, errors=checkify.index_checks))
        error, _ = checked(target.prior.loc, trial.readings)
    if not (message := error.get()):
        return None
    names = [name for name in trial.labelled.covariates if name not in count_levels(target.channel)]
    size = message.rstrip(" .").rpartition(" ")[2]
    advice = f" (if {names[0]!r} is the index: LEVELS = {{{names[0]!r}: {size}}})" if names else ""
    words = f"{message.strip().rstrip('.')}. JAX uses the last entry instead, or none{advice}"
    # What is indexed by no covariate may be meant so, and masked.
    return Finding("indices", FAIL if trial.labelled.covariates else WARN, words)


def check_finite(trial: Trial) -> Finding:
    """Evaluate log density and gradient at extreme points and readings, in both types."""
    target, size, rng = trial.target, trial.target.options, trial.rng(2)
    density = over_draws(target.log_density, gradient=True)
    loc, scale = target.prior
    ends = EXTREME * (2.0 * np.vstack([np.eye(size), 1 - np.eye(size)]) - 1.0)
    logits = np.vstack([ends - ends.mean(axis=1, keepdims=True), np.zeros((1, size))])
    # As many texts, and as many points at a time, as elsewhere: one program serves all.
    count = max(len(logits), len(trial.labelled.labels))
    readings = trial.plain(np.resize(logits, (count, size)))
    labels = np.resize(np.arange(size), count)
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[:3] = loc, loc - FAR * scale, loc + FAR * scale

    def count_bad(kind: Any) -> tuple[int, int]:
        cast = jax.tree.map(lambda leaf: np.asarray(leaf, kind), (target.prior, readings))
        blocks = np.split(points.astype(kind), POINTS // FEW)
        parts = [np.column_stack(density(block, *cast, labels)) for block in blocks]
        bad = ~np.isfinite(np.vstack(parts))
        return int(bad.any(axis=1).sum()), int(bad[:, 0].sum())

    (double, wrong), (single, _) = count_bad(np.float64), count_bad(PRECISION)
    where = f"logits of ±{EXTREME:.0f} and parameters within {FAR:.0f} prior standard deviations"
    words, status = f"finite for {where}", PASS
    if single or double:
        words = f"not finite at {double or single} of {POINTS} points, for {where}"
        words = words if wrong or not double else f"finite, but the gradient is {words}"
        words, status = (words, FAIL) if double else (f"in single precision, {words}", WARN)
    figures = {"points": POINTS, "not_finite": double, "not_finite_float32": single}
    return Finding("finite density", status, words, figures)


def check_gradients(trial: Trial) -> Finding:
    """Compare the gradient with finite differences."""
    target, data = trial.target, (trial.target.prior, trial.readings, trial.labelled.labels)
    loc, scale = target.prior
    density = over_draws(target.log_density, gradient=True)
    points = loc + scale * trial.rng(3).normal(0, 1.0, (FEW, target.size))
    slope = np.asarray(density(points, *data)[1]) * scale
    steps = STEP * scale * np.eye(target.size)
    values = [[density(points + sign * step, *data)[0] for step in steps] for sign in (1, -1)]
    above, below = np.swapaxes(values, 1, 2)
    difference = (above - below) / (2 * STEP)
    errors = np.abs(slope - difference) / (1.0 + np.abs(difference))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    # Of the coordinate that is wrong most often: a single one may be cut off.
    share = float((errors > SLOPE_TOLERANCE).mean(axis=0).max())
    worst = float(errors.max())
    figures = {"worst_error": worst, "share_beyond": share, "tolerance": SLOPE_TOLERANCE}
    words, status = f"agree with finite differences to {worst:.0e}", PASS
    if worst > SLOPE_TOLERANCE:
        name = target.coordinates[int(errors.max(axis=0).argmax())]
        words = f"off by up to {worst:.1e} (in {name}); wrong at {100 * share:.0f} % of points"
        # Few points meet a kink; a gradient that is cut off is wrong at most points.
        status = FAIL if share > 0.1 else WARN
    return Finding("gradients", status, words, figures)


def violation(
    lower: Float[np.ndarray, "... K"], higher: Float[np.ndarray, "... K"]
) -> Float[np.ndarray, "..."]:
    r"""Return how far two distributions are from first-order stochastic order, in probability.

    .. math:: \max_t \sum_{z \le t} [p_2(z) - p_1(z)]_+

    Args:
        lower: the distribution that should lie lower.
        higher: the distribution that should lie higher.
    """
    return np.asarray(np.maximum(np.cumsum(higher - lower, axis=-1)[..., :-1].max(axis=-1), 0.0))


def check_order(trial: Trial) -> Finding:
    """Search for neighbouring saturated readings that parameters from the prior reverse.

    The proposition promises their order of every channel of the paper.
    """
    name, rng, size = "order of saturated readings", trial.rng(5), trial.target.options
    histogram, ladder = rng.dirichlet(np.ones(size)), SATURATED * (np.eye(size) - 1 / size)
    low, high = (trial.plain(logits, histogram) for logits in (ladder[:-1], ladder[1:]))
    draws = trial.draw_prior(FEWER, int(rng.integers(2**31)), low)
    violations = violation(*(trial.predict(draws, rows) for rows in (low, high)))
    if undefined := float((~np.isfinite(violations)).mean()):
        words = f"predictions are not finite for {100 * undefined:.3g} % of draw-reading pairs"
        # Within the contract's range "finite density" fails for that.
        return Finding(name, WARN, words, {"not_finite": undefined})
    draw, pair = np.unravel_index(violations.argmax(), violations.shape)
    worst, share = float(violations[draw, pair]), float((violations > TOLERANCE).any(axis=1).mean())
    figures: dict[str, object] = {"worst": worst, "share_of_draws": share}
    if worst <= TOLERANCE:
        words = f"preserved for {size - 1} pairs of readings in all {FEWER} draws from the prior"
        return Finding(name, PASS, words, figures)
    lower, higher = (logits[pair].round(1).tolist() for logits in (ladder[:-1], ladder[1:]))
    words = (
        f"reversed by up to {worst:.2g} in {100 * share:.3g} % of draws from the prior: the "
        f"prediction for logits {lower} is higher than the prediction for {higher}"
    )
    return Finding(name, FAIL, words, figures | {"lower": lower, "higher": higher})


def check_conflict(trial: Trial) -> Finding:
    r"""Rank the evidence of the labels among those of labels simulated from the prior.

    .. math:: p = \Pr[ T(z') \le T(z) ], \qquad T(z) = \log \int p(z \mid \theta)\, p(\theta)\,
       d\theta, \qquad z' \sim \int p(z' \mid \theta)\, p(\theta)\, d\theta

    with the label histogram held fixed.  A prior that excludes what the labels say gives them less
    evidence than nearly all the labels that it expects, however narrow it is.

    Source: Box (1980), "Sampling and Bayes' inference in scientific modelling and robustness",
    J. R. Stat. Soc. A 143; Evans and Moshonov (2006), Bayesian Analysis 1.
    """
    labels, rng = np.asarray(trial.labelled.labels), trial.rng(11)
    draws = trial.draw_prior(DRAWS + SETS, int(rng.integers(2**31)))
    sets = np.vstack([labels[None], trial.draw_labels(draws[DRAWS:], rng)])
    probs = trial.predict(draws[:DRAWS], trial.readings)
    logs = np.log(np.maximum(probs, 1e-300)).reshape(DRAWS, -1)
    # The mean likelihood over draws from the prior, up to a constant.
    evidence = logsumexp(np.eye(probs.shape[2])[sets].reshape(len(sets), -1) @ logs.T, axis=1)
    p_value = float(np.mean(evidence[1:] <= evidence[0]) * SETS + 1) / (SETS + 1)
    loc, scale = trial.target.prior
    distances = (trial.fit().weights @ trial.fit().draws - loc) / scale
    index, status = int(np.abs(distances).argmax()), verdict(p_value)
    name, distance = trial.target.coordinates[index], float(distances[index])
    words = "" if status == PASS else "prior and labels disagree: "
    words += (
        f"{100 * p_value:.3g} % of label sets drawn from the prior are as unlikely as these "
        f"labels; {name} is farthest from its prior location ({distance:+.1f} standard deviations)"
    )
    return Finding("prior against labels", status, words, {"p": p_value, name: distance})
