"""Whether labels are such as a calibrator predicts: a posterior predictive check."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.decisions.estimates.quantities import summarise
from cordial_ppl.decisions.judge import LEVEL
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.errors import count
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import predict_each, predict_mixture

SIMULATIONS = 1999
"""Sets of labels that are simulated."""

RATE = 0.05
"""Share of alarms where nothing has changed, at most."""

ALTERNATIVES = ((1, 0), (1, -1.0), (1, -0.3), (1, 0.3), (1, 1.0), (0.4, 0), (2, 0))
"""Powers of a calibrator's probabilities, and log odds by class: what labels may follow instead."""


class LabelCheck(NamedTuple):
    """Log loss of new labels, compared with the loss expected if the calibrator is right.

    Attributes:
        p: probability of such a high log loss if the labels came from the calibrator.
        loss: weighted mean log loss of the labels, nats.
        expected: mean log loss of simulated labels, nats.
        lower: 5 % quantile of the simulated losses.
        upper: 95 % quantile of the simulated losses.
        labels: number of labelled texts.
        evidence: likelihood ratio against the calibrator. If the calibrator is right, the evidence
            ever reaches 20 with probability 1/20 at most, even if you look after each label.
    """

    p: float
    loss: float
    expected: float
    lower: float
    upper: float
    labels: int
    evidence: float

    @property
    def alarm(self) -> bool:
        """Whether the labels are predicted worse than chance explains."""
        return self.p <= RATE

    @property
    def text(self) -> str:
        """The figures in a sentence."""
        worse = self.alarm or self.evidence >= 1 / RATE
        how = "worse than expected" if worse else "about as well as expected"
        return (
            f"The calibrator predicts the labels of {count(self.labels, 'new text')} {how}: log "
            f"loss {self.loss:.2f} nats, expected {self.expected:.2f} ({self.lower:.2f} to "
            f"{self.upper:.2f}), p = {self.p:.2g}, evidence {self.evidence:.3g} to 1"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-compatible values."""
        return list_fields(self) | {"alarm": self.alarm}


def check_labels(fit: Fit, texts: Labelled) -> LabelCheck:
    r"""Posterior predictive check of labels that are not of the fit, by their log loss.

    .. math:: p = P(T(z^{rep}) \ge T(z)), \qquad
       T(z) = -\frac{1}{\sum_i w_i} \sum_i w_i \log \hat p(z_i \mid x_i)

    A text is one observation: of several labels the mean loss is compared with that of a single
    simulated label, as if annotators said the same.  What they do say varies less, so that there
    are no more false alarms.

    Source: Box (1980); Gelman, Meng and Stern (1996).

    Args:
        fit: the fit.
        texts: the texts and their labels, one or more each.
    """
    size = fit.scale.size
    first, label_shares, weights = by_text(texts.labels, size, texts.weights, texts.texts)
    texts, weights = texts.take(first), weights / weights.sum()
    members, shares = fit.mixture(texts.logits)
    probs, _ = predict_mixture(members, shares, texts.covariates, np.zeros(size))
    losses, rows = -np.log(np.maximum(probs, FLOOR)), np.arange(len(probs))
    observed = float(weights @ (label_shares * losses).sum(axis=1))
    sets = simulate(members, shares[0], texts, SIMULATIONS, np.random.default_rng(fit.seed))
    simulated = np.array([losses[rows, labels] @ weights for labels in sets])
    # Equal losses may differ in their last digits.
    p = (1 + int((simulated >= observed - 1e-9).sum())) / (1 + len(simulated))
    evidence = weigh(members, shares[0], texts.covariates, label_shares)
    return LabelCheck(p, observed, *summarise(simulated, LEVEL), len(probs), evidence)


def weigh(
    members: Sequence[tuple[Any, np.ndarray]],
    shares: Float[np.ndarray, " M"],
    covariates: Any,
    label_shares: Float[np.ndarray, "n K"],
) -> float:
    r"""Weigh labels against a mixture's joint predictive distribution: the e-value of alternatives.

    .. math:: e = \frac{\frac{1}{A} \sum_a p_a(z)}{p(z)}, \qquad
       p(z) = \sum_j \omega_j \sum_d w_{jd} \prod_i p_j(z_i \mid x_i, \phi_{jd})

    Alternatives multiply the odds of neighbouring options by a factor, or raise probabilities to a
    power; of several labels of a text the mean log probability counts.

    Args:
        members: fitted members, each with the readings that it sees.
        shares: their weights in the mixture.
        covariates: of the texts, by name.
        label_shares: share of each option among the labels of each text.
    """
    powers, odds = np.array(ALTERNATIVES)[:, :, None, None, None].swapaxes(0, 1)
    logs: list[np.ndarray] = []
    for (fit, seen), share in zip(members, shares, strict=True):
        if share > 0:
            each = np.log(np.maximum(predict_each(fit, seen, covariates), FLOOR))
            changed = powers * each + odds * np.arange(each.shape[-1])
            changed -= np.logaddexp.reduce(changed, axis=-1, keepdims=True)
            weights = share * fit.prediction_weights / fit.prediction_weights.sum()
            with np.errstate(divide="ignore"):
                logs.append((changed * label_shares).sum(axis=(2, 3)) + np.log(weights))
    null, *others = np.logaddexp.reduce(np.concatenate(logs, axis=1), axis=1)
    return float(np.exp(min(np.logaddexp.reduce(others) - np.log(len(others)) - null, 500.0)))


def simulate(
    members: Sequence[tuple[Any, np.ndarray]],
    shares: Float[np.ndarray, " M"],
    texts: Labelled,
    count: int,
    rng: np.random.Generator,
) -> Iterator[Int[np.ndarray, " n"]]:
    r"""Draw sets of labels from the joint posterior predictive distribution.

    .. math:: p(z_1, \dots, z_n)
       = \sum_j \omega_j \sum_d w_{jd} \prod_i p_j(z_i \mid x_i, \phi_{jd})

    The labels of a set share one member and one draw of its parameters: what few labels leave open
    moves all of them together.

    Args:
        members: fitted members, each with the readings that it sees.
        shares: their weights in the mixture.
        texts: the texts; their labels are not looked at.
        count: how many sets.
        rng: source of randomness.
    """
    for (fit, seen), sets in zip(members, rng.multinomial(count, shares), strict=True):
        if sets:
            below = predict_each(fit, seen, texts.covariates).cumsum(axis=-1)[..., :-1]
            weights = fit.prediction_weights / fit.prediction_weights.sum()
            for draw in rng.choice(len(below), sets, p=weights):
                yield (rng.random((len(seen), 1)) > below[draw]).sum(axis=-1)
