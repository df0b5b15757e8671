"""What a fit leaves behind: weighted draws, their named parameters, and what they are worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, Shaped

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.data.checks import check_number
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, as_logits, as_logits_of_readers, name_readers
from cordial_ppl.errors import InputError, name_rows, warn
from cordial_ppl.inference.diagnostics import (
    LARGEST_GRADIENT,
    LEAST_ACCEPTANCE,
    PAPER_METHODS,
    Diagnostics,
    precision,
)
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.marginal_likelihood import estimate_log_evidence, find_mode
from cordial_ppl.inference.predictions import DRAWS, predict, predict_draws
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.inference.thinning import make_probes, thin

if TYPE_CHECKING:
    from xarray import DataTree


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior of one channel: weighted draws of its parameters.

    Attributes:
        channel: the channel.
        histogram: smoothed label histogram that the channel falls back on, shape ``[K]``.
        draws: unconstrained parameters, shape ``[S, P]``.
        weights: weights of the draws, which sum to one, shape ``[S]``.
        diagnostics: how the draws were found and whether they are reliable.
        data: the labelled texts of the fit.
        prior: location and scale of the unconstrained parameters; None for the channel's own.
        transitions: NUTS statistics of the step that led to each draw, each of shape ``[S]``.
    """

    channel: Channel
    histogram: Float[np.ndarray, " K"]
    draws: Float[np.ndarray, "S P"]
    weights: Float[np.ndarray, " S"]
    diagnostics: Diagnostics
    data: Labelled
    prior: Prior | None = None
    transitions: Mapping[str, Shaped[np.ndarray, " S"]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say what it is of and how it was found, in one line."""
        quality, of = self.diagnostics, f"{self.channel.name!r}, {len(self.data.labels)} labels"
        figures = f"k-hat {quality.khat:.2f}, ESS {quality.ess:.0f}, trusted: {quality.trusted}"
        return f"<Posterior of {of}: {quality.method}, {figures}>"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the density, which a copy finds again: programs are known by it."""
        return {name: value for name, value in vars(self).items() if name != "target"}

    @cached_property
    def target(self) -> Target:
        """The channel's density, which knows the names of the parameters."""
        covariates, readers = tuple(self.data.covariates), self.data.readers
        return build_target(self.channel, len(self.histogram), covariates, readers)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return draws of the named parameters in their own units, each of shape ``[S, ...]``."""
        return self.target.name(self.draws)

    def mean(self) -> dict[str, np.ndarray]:
        """Compute the posterior mean of each parameter in its own units."""
        return {k: np.tensordot(self.weights, v, axes=1) for k, v in self.parameters().items()}

    def quantile(self, level: float) -> dict[str, np.ndarray]:
        """Compute the weighted quantile of each parameter in its own units.

        Args:
            level: level of the quantile, from 0 to 1.

        Raises:
            InputError: the level is not a number from 0 to 1.
        """
        level = check_number("level", level, high=1)
        return {
            name: np.quantile(value, level, axis=0, weights=self.weights, method="inverted_cdf")
            for name, value in self.parameters().items()
        }

    @property
    def coordinates(self) -> list[str]:
        """Names of the unconstrained parameters, such as ``bias[2]``, in the order of ``draws``.

        A positive parameter is represented by its logarithm, a parameter in (0, 1) by its log odds,
        as in a prior.
        """
        return self.target.coordinates

    _gaussian = cached_property(find_mode)

    @property
    def mode(self) -> dict[str, np.ndarray]:
        """Value of each parameter, in its own units, where the density of `coordinates` is highest.

        The mode is computed on request, whatever the inference method.
        """
        loc, scale = self.replaced_prior
        named = self.target.name(loc + scale * self._gaussian.mean[None])
        return {name: np.asarray(value[0]) for name, value in named.items()}

    @property
    def covariance(self) -> Float[np.ndarray, "P P"]:
        """Covariance of the `coordinates`, in their order.

        This is the covariance of the weighted draws. For "laplace" and "mode", it is the covariance
        of the Gaussian at the mode: the inverse of the negative Hessian, with eigenvalues floored
        in units of the prior.
        """
        if self.diagnostics.method in PAPER_METHODS:
            factor = self.replaced_prior.scale[:, None] * self._gaussian.factor
            return factor @ factor.T
        centred = self.draws - self.weights @ self.draws
        return centred.T @ (self.weights[:, None] * centred)

    @cached_property
    def log_evidence(self) -> float:
        r"""Log probability of the labels, averaged over the prior, in nats.

        .. math:: \log \int \prod_i p(z_i \mid x_i, \phi)^{w_i}\, p(\phi)\, d\phi

        The estimate uses importance sampling, with draws from the prior and around the posterior's
        draws (for "laplace" and "mode", around the mode). The error is below .05 unless a warning
        is issued. Labels are weighted, and priors are scaled as in the model. The label histogram,
        which depends on the labels and on the inference method, is treated as fixed. If two
        channels fall back on the same histogram, the difference between their log evidences is the
        log of a Bayes factor.
        """
        return estimate_log_evidence(self)

    def uninformative_reading(self) -> Readings:
        """Return an uninformative reading of one text, for priors that ignore readings."""
        extra = dict.fromkeys(self.data.covariates, np.zeros(1))
        return Readings(np.zeros((1, *self.data.logits.shape[1:])), self.histogram, extra)

    @property
    def replaced_prior(self) -> Prior:
        """Location and scale of the unconstrained parameters' prior, after any replacement."""
        return self.target.prior if self.prior is None else self.prior

    def draw_prior(self, draws: int, seed: int) -> Float[np.ndarray, "S P"]:
        """Draw unconstrained parameters from the prior."""
        arguments = self.replaced_prior, self.uninformative_reading(), draws
        with jax.enable_x64(True):
            return np.asarray(self.target.sample_prior(jax.random.key(seed), *arguments))

    def sample_prior(self, draws: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Draw the named parameters from the prior, in their own units, each ``[S, ...]``.

        Args:
            draws: number of draws.
            seed: seed for the random numbers.
        """
        return self.target.name(self.draw_prior(draws, seed))

    def to_datatree(self, **settings: Any) -> "DataTree":
        """Export this posterior to ArviZ, by `cordial_ppl.inference.export.to_datatree`.

        Args:
            settings: labelled texts as ``data``, by default those of the fit; the names of options
                and judges (``readers``), and the seed.
        """
        from cordial_ppl.inference.export import to_datatree

        return to_datatree(self, **settings)

    @cached_property
    def thinned_weights(self) -> Float[np.ndarray, " S"]:
        """Weights of all draws in predictions: as few as these need are above zero.

        All draws keep theirs in a method of the paper.
        """
        if self.diagnostics.method in PAPER_METHODS or len(self.weights) <= DRAWS:
            return self.weights
        probes = make_probes(self.data.logits)
        extra = {name: column[probes.rows] for name, column in self.data.covariates.items()}
        readings = self._readings(probes.logits, extra)
        chosen = np.eye(len(self.histogram))[probes.options]
        with jax.enable_x64(True):
            features = predict(self.target, self.draws, self.weights, readings, chosen)[1]
        rows, weights = thin(np.asarray(features), self.weights, DRAWS)
        return np.bincount(rows, weights, len(self.weights))

    @property
    def prediction_weights(self) -> Float[np.ndarray, " D"]:
        """Weights of the draws used for predictions."""
        return self.prediction_draws[1]

    @cached_property
    def prediction_draws(self) -> tuple[Float[np.ndarray, "D P"], Float[np.ndarray, " D"]]:
        """The draws that predict, and their weights."""
        rows = np.flatnonzero(self.thinned_weights)
        return self.draws[rows], self.thinned_weights[rows]

    def predict_proba(
        self, logits, covariates: Mapping[str, Any] | None = None
    ) -> Float[np.ndarray, "m K"]:
        """Predict the probabilities of the options for each text.

        Args:
            logits: option logits, shape ``[m, K]``, or ``[m, R, K]`` as the channel was fitted.
            covariates: the covariates used in the fit, each of shape ``[m]``.

        Returns:
            Probabilities, shape ``[m, K]``, float64 rows that sum to one.

        Raises:
            InputError: the logits are not an ``[m, K]`` array of usable numbers, a covariate is
                missing or not usable, or the channel has no valid prediction for a text.
        """
        size, readers = len(self.histogram), self.data.readers
        if readers is None:
            readings = as_logits(logits, size=size)
        else:
            readings = as_logits_of_readers(logits, readers=name_readers(readers), size=size)
        levels, needed = count_levels(self.channel), tuple(self.data.covariates)
        extra = as_covariates(covariates, len(readings), needed, levels)
        return check_probs(self.predict(readings, extra)[0])

    def predict(
        self,
        logits: Float[np.ndarray, "m *readers K"],
        covariates: Mapping[str, np.ndarray],
        values: Float[np.ndarray, " K"] | None = None,
    ) -> tuple[Float[np.ndarray, "m K"], Float[np.ndarray, "D m"] | None]:
        """Predict from logits that are already validated and centred.

        Args:
            logits: the readings.
            covariates: per-text covariates.
            values: position of each option on the scale; None to skip expected positions.

        Returns:
            Probabilities, and the expected position of each text under each draw that predicts;
            ``prediction_weights`` has the weights of these draws.
        """
        readings = self._readings(logits, covariates)
        with jax.enable_x64(True):
            return predict(self.target, *self.prediction_draws, readings, values)

    def draw(
        self, count: int, labels: float, redrawn: bool, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "D P"], Float[np.ndarray, "D K"]]:
        """Draw unconstrained parameters, and a label histogram for each draw.

        Args:
            count: number of equally weighted draws.
            labels: number of labels in the fit, by weight.
            redrawn: True to draw the histogram from its Dirichlet posterior, which is wide with few
                labels; False to use the posterior mean.
            rng: source of random numbers.
        """
        with np.errstate(divide="ignore"):
            rows = resample(rng.random(), np.log(self.weights), count)
        size, shares = len(self.histogram), self.histogram / self.histogram.sum()
        if redrawn:
            return self.draws[rows], rng.dirichlet(shares * (labels + size), count)
        return self.draws[rows], np.tile(shares, (count, 1))

    def predict_draws(
        self,
        logits: Float[np.ndarray, "m *readers K"],
        covariates: Mapping[str, np.ndarray],
        draws: Float[np.ndarray, "D P"],
        histograms: Float[np.ndarray, "D K"],
    ) -> Float[np.ndarray, "D m K"]:
        """Predict under each draw separately, from logits that are validated and centred."""
        readings = self._readings(logits, covariates)
        with jax.enable_x64(True):
            return predict_draws(self.target, draws, histograms, readings)

    def _readings(self, logits: np.ndarray, covariates: Mapping[str, np.ndarray]) -> Readings:
        dtype = precision(self.diagnostics.method)
        extra = {name: np.asarray(column, dtype) for name, column in covariates.items()}
        return Readings(logits.astype(dtype), self.histogram, extra)


def check_probs(probs: Float[np.ndarray, "m K"]) -> Float[np.ndarray, "m K"]:
    """Return probabilities, or raise an ``InputError`` where a channel gives a text none."""
    if (rows := np.flatnonzero(~(np.isfinite(probs) & (probs >= 0)).all(axis=1))).size:
        # A user's channel may take the logarithm of a covariate, say.
        raise InputError(
            f"the fit has no valid prediction for {name_rows(rows)}. Test your own channels with "
            "`cordial check`, and check these texts for extreme readings or covariates."
        )
    return probs


def warn_if_doubtful(*posteriors: Posterior) -> None:
    """Warn once of the posteriors of a fit that are not reliable, and say what to do."""
    if doubtful := [each for each in posteriors if not each.diagnostics.trusted]:
        names = ", ".join(f"{each.channel.name!r} ({_reason(each)})" for each in doubtful)
        noun, verb = ("s of channels", "are") if doubtful[1:] else (" of channel", "is")
        method = doubtful[0].diagnostics.method
        advice = f"Compare with inference {'default' if method == 'nuts' else 'nuts'!r}"
        if method in PAPER_METHODS:
            advice = "Probabilities may be off by several hundredths. Use inference 'default'"
            advice += ", unless you need the results of the paper's method" * (method == "laplace")
        warn(f"the posterior{noun} {names} {verb} not reliable. {advice}.")


def _reason(posterior: Posterior) -> str:
    """Say the figures by which a posterior is judged."""
    figures, draws = posterior.diagnostics, len(posterior.weights)
    of = f" of {draws}" if figures.method == "laplace" else ""
    reasons = (
        (np.isfinite(figures.khat), f"k-hat {figures.khat:.2f}"),
        (draws > 1, f"ESS {figures.ess:.0f}{of}"),
        (figures.gradient_norm > LARGEST_GRADIENT, f"gradient {figures.gradient_norm:.1g}"),
        (figures.acceptance < LEAST_ACCEPTANCE, f"acceptance {figures.acceptance:.3f}"),
        (figures.divergences > 0, f"{figures.divergences} divergences"),
    )
    return ", ".join(words for holds, words in reasons if holds)
