"""What a fitted stack predicts of a corpus under draws from its posterior, summed by group."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.errors import InputError
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.stack.fit import Fit

BLOCK = 1024
"""Texts whose draws are in memory at a time."""


class CorpusDraws(NamedTuple):
    """Predictions of a corpus under D draws, and of its labelled texts.

    Each channel's draws vary around the mixture that predicts: which member is right is no further
    source of uncertainty, as it would be if members were a latent choice.

    Attributes:
        weights: of the draws, which sum to one.
        sums: probabilities summed over the unlabelled texts of each group.
        labelled: probabilities of the labelled texts less those of the mixture.
        mixture: probabilities of all texts, by which the stack predicts.
    """

    weights: Float[np.ndarray, " D"]
    sums: Float[np.ndarray, "D G K"]
    labelled: Float[np.ndarray, "D n K"]
    mixture: Float[np.ndarray, "N K"]


def require_draws(fit: Fit, needing: str) -> None:
    """Check that a fit has posterior draws, for something such as "an estimate needs".

    Raises:
        InputError: it has none.
    """
    if not fit.has_draws:
        raise InputError(
            f"{needing} posterior draws. Fit a stack that has channels, such as Cordial, and use "
            'an inference method other than "mode".'
        )


class PosteriorDraws:
    """Draws of every member of a fitted stack, the same for all texts.

    Args:
        fit: the fit.
        count: draws of each channel; a calibrator has one.
        redrawn: whether label histograms are drawn from their Dirichlet posteriors.
    """

    def __init__(self, fit: Fit, count: int, redrawn: bool):
        self.fit, self.labels = fit, float(fit.labelled.weights.sum())
        rng = np.random.default_rng([fit.seed, count])
        self.drawn = {
            name: posterior.draw(count, self.labels, redrawn, rng)
            for name, posterior in fit.posteriors.items()
        }

    def predict(self, texts: Labelled) -> Iterator[tuple[float, Float[np.ndarray, "D m K"]]]:
        """Predict texts with each member that has weight: its weight, and its draws."""
        for name, weight in self.fit.weights.items():
            member = self.fit.members[name]
            if weight > 0:
                if isinstance(member, Posterior):
                    drawn = self.drawn[name]
                    yield weight, member.predict_draws(texts.logits, texts.covariates, *drawn)
                else:
                    yield weight, member.predict(texts.logits)[0][None]

    def predict_all(
        self, texts: Labelled
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "D m K"]]:
        """Predict texts with all members: the weight of each draw, and all draws."""
        members = [*self.predict(texts)]
        weights = [np.full(len(drawn), weight / len(drawn)) for weight, drawn in members]
        return np.concatenate(weights), np.concatenate([drawn for _, drawn in members])


def sum_draws(
    sampler: PosteriorDraws,
    texts: Labelled,
    groups: Int[np.ndarray, " N"],
    rows: Int[np.ndarray, " n"],
    count: int,
) -> CorpusDraws:
    """Predict a corpus under draws and sum over the unlabelled texts of each group.

    Args:
        sampler: the draws.
        texts: all texts; their labels do not count.
        groups: group of each text, 0..G-1.
        rows: the labelled texts.
        count: how many groups G there are.
    """
    number, size = texts.logits.shape
    label_ranks = np.full(number, -1)
    label_ranks[rows] = np.arange(len(rows))
    mixed, every = np.zeros((count, size)), np.empty((number, size))
    sums: list[np.ndarray] = []
    labelled: list[np.ndarray] = []
    shares: list[float] = []
    for start in range(0, number, BLOCK):
        block = slice(start, start + BLOCK)
        # Groups in a row, then the labelled texts.
        order = start + np.lexsort((groups[block], label_ranks[block] >= 0))
        others, marked = np.split(order, [np.sum(label_ranks[block] < 0)])
        present, starts = np.unique(groups[others], return_index=True)
        mixture, channel = np.zeros((len(order), size)), 0
        for weight, probs in sampler.predict(texts.take(order)):
            mixture += weight * probs.mean(axis=0)
            if len(probs) == 1:
                continue
            if not start:
                shares.append(weight)
                sums.append(np.zeros((len(probs), count, size)))
                labelled.append(np.zeros((len(probs), len(rows), size)))
            if len(present):
                parts = np.add.reduceat(probs[:, : len(others)], starts, axis=1, dtype=np.float64)
                sums[channel][:, present] += parts
            labelled[channel][:, label_ranks[marked]] = probs[:, len(others) :]
            channel += 1
        every[order] = mixture / mixture.sum(axis=1, keepdims=True)
        np.add.at(mixed, groups[others], every[others])
    if not shares:  # Calibrators alone: nothing is known of their uncertainty.
        return CorpusDraws(np.ones(1), mixed[None], np.zeros((1, len(rows), size)), every)
    weights = np.repeat(np.array(shares) / sum(shares) / len(sums[0]), len(sums[0]))
    centred = ([drawn - drawn.mean(axis=0) for drawn in each] for each in (sums, labelled))
    of_groups, of_labels = map(np.concatenate, centred)
    return CorpusDraws(weights, of_groups + mixed, of_labels, every)
