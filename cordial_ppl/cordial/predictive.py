"""Whether labels are such as a calibrator predicts: a posterior predictive check."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import FLOOR
from cordial_ppl.inference.data import Labelled

SIMULATIONS = 1999
"""Sets of labels that are simulated."""

BLOCK = 1 << 20
"""Simulated labels that are held at a time, about."""


def simulate(
    members: Sequence[tuple[Any, np.ndarray]],
    shares: Float[np.ndarray, " M"],
    texts: Labelled,
    count: int,
    rng: np.random.Generator,
) -> Iterator[Int[np.ndarray, "_ n"]]:
    r"""Draw sets of labels from the joint posterior predictive distribution.

    .. math:: p(z_1, \dots, z_n) = \sum_j \omega_j \sum_d w_{jd} \prod_i p_j(z_i \mid x_i, \phi_{jd})

    The labels of a set share one member and one draw of its parameters: what few labels leave open
    moves all of them together.

    Args:
        members: fitted members, each with the readings that it sees.
        shares: their weights in the mixture.
        texts: the texts; their labels are not looked at.
        count: how many sets.
        rng: source of randomness.

    Yields:
        Sets of labels, some at a time.
    """
    size = texts.logits.shape[-1]
    for (fit, seen), sets in zip(members, rng.multinomial(count, shares), strict=True):
        if not sets:
            continue
        # The expected value of an option's indicator is its probability.
        probs = np.stack(
            [fit.predict(seen, texts.covariates, row)[1] for row in np.eye(size)[:-1]], axis=-1
        )
        below = probs.cumsum(axis=-1)
        weights = fit.draw_weights / fit.draw_weights.sum()
        for draw, repeats in enumerate(rng.multinomial(sets, weights)):
            most = max(1, BLOCK // len(seen))
            for start in range(0, repeats, most):
                uniform = rng.random((min(most, repeats - start), len(seen), 1))
                yield (uniform > below[draw]).sum(axis=-1)
