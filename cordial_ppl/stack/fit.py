"""A fit of a stack as one record: its labels, members, weights and out-of-fold predictions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelling import TextLabels, by_text
from cordial_ppl.data.scale import Scale
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.stack.members import Fitted


@dataclass(frozen=True, eq=False)
class Fit:
    """Values that decisions are made from; a stack has them as attributes.

    Attributes:
        scale: the K options.
        members: fitted members by name.
        weights: weight of each member by name; they sum to one.
        labels: labels of the fit, positions 0..K-1.
        sample_weight: weight of each label.
        texts: number of the text that each label is of, as in ``Labelled``.
        label_counts: sum of the weights of the labels with each option.
        out_of_fold: out-of-fold probabilities of the labelled texts; None without folds.
        logits: centred logits of the labelled texts, nats; None for a fit from a file.
        seed: seed of every random number.
    """

    scale: Scale
    members: Mapping[str, Fitted]
    weights: Mapping[str, float]
    labels: Int[np.ndarray, " n"]
    sample_weight: Float[np.ndarray, " n"]
    texts: Int[np.ndarray, " n"]
    label_counts: Float[np.ndarray, " K"]
    out_of_fold: Float[np.ndarray, "n K"] | None
    logits: Float[np.ndarray, "n K"] | None
    seed: int

    @property
    def posteriors(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return {name: fit for name, fit in self.members.items() if isinstance(fit, Posterior)}

    @property
    def has_draws(self) -> bool:
        """True if draws of a channel tell its uncertainty; a mode has none."""
        return any(np.ptp(fit.draws, axis=0).any() for fit in self.posteriors.values())

    @property
    def text_labels(self) -> TextLabels:
        """The labels of each text, put together."""
        return by_text(self.labels, self.scale.size, self.sample_weight, self.texts)
