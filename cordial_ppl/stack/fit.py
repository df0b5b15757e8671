"""A fit of a stack as one record: labelled texts, members, weights and out-of-fold predictions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.frames import check_columns
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import TextLabels, average_ranks, by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits, label_histogram
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import ChannelError, quote, warn
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.posterior import Posterior, warn_if_doubtful
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.members import Fitted, fit_members
from cordial_ppl.stack.settings import Settings
from cordial_ppl.stack.sketch import sketch
from cordial_ppl.stack.stacking import MIN_LABELS, assign_folds
from cordial_ppl.stack.weighing import ExpectedLoss, weigh

FOLDS = 4

LEAST_TEXTS, FALLING, BEYOND = 5, 5.9, 0.9
"""Texts from which a direction is told, and how far below zero, in units of 1 / (n - 1) and of
1 / sqrt(n - 1), the evidence is that scales run against each other."""

NEARER, STEADY = 0.5, 0.3
"""Share of the distances in this evidence, and classes that their deviation has at least."""

LIKE_OTHERS = 2.0
"""Labels that texts which were not read are taken to have, like the other texts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyFit(ABC):
    """What a fit of one reader or of several leaves.

    Attributes:
        scale: the K options.
        weights: weight of each member by name; they sum to one.
        expected: out-of-fold log losses.
        entered: the labelled texts, with readings of all of the readers; also those that were not
            read, whose labels tell of other such texts alone.
        out_of_fold: out-of-fold probabilities of the labelled texts, in the order of the labels;
            None without folds.
        columns: names of the columns if the readings were a data frame.
        provenance: what the fit is for, as far as tables say it: lists of values under "judge",
            "model", "prompt" and "decoding", the first and the last "date", and who gave "labels",
            see `cordial_ppl.tables.provenance`.
    """

    scale: Scale
    weights: Mapping[str, float]
    expected: ExpectedLoss
    entered: Labelled
    out_of_fold: Float[np.ndarray, "n K"] | None = None
    columns: np.ndarray | None = None
    provenance: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def labelled(self) -> Labelled:
        """The labelled texts that were read, which are what members are fitted to."""
        return self.entered.read

    @cached_property
    def unread_counts(self) -> Float[np.ndarray, " K"]:
        r"""Dirichlet counts of labels of texts that were not read.

        .. math:: \sum_{i\,\text{unread}} w_i [z_i = k] + 2\, \pi_k

        with the smoothed histogram :math:`\pi` of the labels of those that were.
        """
        unread, size = self.entered.take(self.entered.unread), self.scale.size
        read = label_histogram(self.labelled.labels, size, weights=self.labelled.weights)
        return LIKE_OTHERS * read + np.bincount(unread.labels, unread.weights, size)

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that the fit had, which predictions need too."""
        return tuple(self.labelled.covariates)

    @property
    def text_labels(self) -> TextLabels:
        """The labels of each text, put together."""
        texts = self.labelled
        return by_text(texts.labels, self.scale.size, texts.weights, texts.texts)

    @property
    @abstractmethod
    def levels(self) -> dict[str, int]:
        """Number of levels of each covariate that is an index, such as users."""

    @property
    @abstractmethod
    def judged(self) -> bool:
        """True if a verdict can be given."""

    @abstractmethod
    def read(self, logits: Any) -> np.ndarray:
        """Validate and centre readings of the options of the fit."""

    @abstractmethod
    def mixture(self, logits: np.ndarray) -> tuple[list[tuple[Fitted, np.ndarray]], np.ndarray]:
        """Return members, each with the readings that it sees, and their weights: one row, or m."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(AnyFit):
    """The fit of a calibrator for one judge.

    Attributes:
        settings: the settings of the fit.
        members: fitted members by name.
        losses: out-of-fold log loss of each member alone, nats; empty without folds.
        sketch: counts of the readings for which the calibrator is intended.
        folds: fold of each label, 0..3, shared by all labels of a text; None with fewer than eight
            labels.
    """

    settings: Settings
    members: Mapping[str, Fitted]
    losses: Mapping[str, float]
    sketch: Int[np.ndarray, "2 cells"]
    folds: Int[np.ndarray, " n"] | None = None

    @property
    def posteriors(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return {name: fit for name, fit in self.members.items() if isinstance(fit, Posterior)}

    @property
    def seed(self) -> int:
        """Seed for all random numbers."""
        return self.settings.seed

    @property
    def judged(self) -> bool:
        """True if folds are fitted whenever there are enough labels, so a verdict is available."""
        return self.settings.folded

    @property
    def levels(self) -> dict[str, int]:
        """Number of levels of each covariate that is an index, such as users."""
        return self.settings.levels

    @property
    def has_draws(self) -> bool:
        """True if a channel has posterior draws, which ``inference="mode"`` does not provide."""
        return any(np.ptp(fit.draws, axis=0).any() for fit in self.posteriors.values())

    def read(self, logits: Any) -> Float[np.ndarray, "m K"]:
        """Validate and centre readings; NaN marks a text without a reading."""
        check_columns(logits, self.columns, self.scale.options)
        return as_logits(logits, size=self.scale.size, gaps=True)

    def mixture(
        self, logits: Float[np.ndarray, "m K"]
    ) -> tuple[list[tuple[Fitted, np.ndarray]], Float[np.ndarray, "1 M"]]:
        """Return the members, each with the readings that it sees, and the members' weights."""
        weights = np.array([list(self.weights.values())])
        return [(self.members[name], logits) for name in self.weights], weights


def deal_folds(texts: Labelled, seed: int) -> Int[np.ndarray, " n"]:
    """Return the fold of each label, the same for the labels of a text.

    Args:
        texts: the labelled texts.
        seed: seed of the folds.
    """
    return assign_folds(texts.count, FOLDS, np.random.default_rng(seed))[texts.ranks]


def fit_stack(texts: Labelled, scale: Scale, settings: Settings) -> Fit:
    """Fit the members to all labels and without each of four folds, and weigh them.

    Args:
        texts: labelled texts, validated and centred, some of them read; ``settings.check`` has
            passed them.
        scale: their options.
        settings: what is fitted.
    """
    entered, texts = texts, texts.read
    members = settings.members(float(texts.weights.sum()))
    folds = held_out = None
    if settings.folded and texts.count >= MIN_LABELS:
        folds = deal_folds(texts, settings.seed)
    case = Case(texts, folds, (settings.seed,))
    with doing("fitting"):
        fits = [job.result() for job in fit_members(members, lambda member: member.fit([case])[0])]
    names = [member.name for member in members]
    if folds is not None:
        held_out = np.stack([fit.held_out for fit in fits], axis=-1)
        if below := sorted({names[member] for member in np.argwhere(held_out < -1e-6)[:, -1]}):
            raise ChannelError(f"channel {below[0]!r} predicts negative probabilities. Correct it.")
    mixture = weigh(texts, folds, held_out, *settings.weight_prior(names, texts.count))
    fit = Fit(
        settings=settings,
        scale=scale,
        members={name: fit.fitted for name, fit in zip(names, fits, strict=True)},
        weights=dict(zip(names, mixture.weights.tolist(), strict=True)),
        losses=dict(zip(names, mixture.losses, strict=False)),
        expected=mixture.expected,
        entered=entered,
        sketch=sketch(texts.logits[texts.first]),
        folds=folds,
        out_of_fold=mixture.out_of_fold,
    )
    warn_if_doubtful(*fit.posteriors.values())
    return fit


def warn_if_reversed(fit: Fit, reader: str = "") -> None:
    r"""Warn where labels fall as ratings rise, as if one of the scales ran the other way.

    The evidence is the rank correlation of labels and ratings, and whether labels would be farther
    from the ratings turned round:

    .. math:: \rho + \tfrac12\, \bar d / (s_d + 0.3), \qquad
        d_i = |x_i - (K - 1 - z_i)| - |x_i - z_i|

    Few texts have to tell more, so that one fit in a hundred to labels that run the right way is
    warned of at most (`benchmarks/directions.py`).

    Args:
        fit: the fit.
        reader: the reader's name, where there are several.
    """
    values, per_text = fit.scale.values, fit.text_labels
    both = np.stack([state(fit.labelled.logits[per_text.first])[0], per_text.shares]) @ values
    free = both.shape[1] - 1
    if free < LEAST_TEXTS - 1 or not np.ptp(both, axis=1).all():
        return
    rho = float(np.corrcoef([average_ranks(each) for each in both])[0, 1])
    stated, labels = (both - values.min()) / np.ptp(values) * (fit.scale.size - 1)
    nearer = np.abs(stated + labels - fit.scale.size + 1) - np.abs(stated - labels)
    evidence = rho + NEARER * nearer.mean() / (nearer.std() + STEADY)
    if rho < 0 and evidence < -max(FALLING / free, BEYOND / free**0.5):
        warn(
            f"labels fall as the ratings of {quote(reader) if reader else 'the judge'} rise (rank "
            f"correlation {rho:.2f} on {free + 1} texts). One of the two scales may run from best "
            "to worst. If so, reverse the readings before you calibrate. On the command line, add "
            "--reverse, or remove --reverse if you already pass it."
        )
