"""The default estimator, the literal method of the paper, and `load`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cordial_ppl import storage
from cordial_ppl.channel import Channel
from cordial_ppl.channels import DEFAULT_CHANNELS, PAPER_CHANNELS
from cordial_ppl.cordial.files import KIND, blaming, unpack
from cordial_ppl.cordial.settings import check_list
from cordial_ppl.cordial.stack import PAPER_CALIBRATORS, Stack
from cordial_ppl.errors import InputError
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.priors import LearnedPrior, shipped_prior
from cordial_ppl.scale import Scale

LATE = {"dirichlet": 200}
"""Calibrators that join the default's members, and the number of labels from which they do.

Many parameters need many labels: below, the member gains nothing and takes longer to fit than all
others (``benchmarks/accuracy.py``).
"""


class Cordial(Stack, named=True):
    r"""The paper's estimator: channels and three logit-space calibrators, stacked (Eq. 5).

    .. math:: \hat p(z \mid x) = \sum_m \omega_m\, \hat p_m(z \mid x)

    The default differs from the paper in five choices, which predict better: each
    channel's posterior is sampled by tempering, importance weights and moves, and carried over to
    the folds by importance weights; in the place of "location-vector" stands the channel "bridge",
    which has both forms in one; the channels' priors are learned from public sets of readings; the
    stack weights have nine labels' worth of prior, most of it on two channels; with 200 labels or
    more Dirichlet calibration is an eighth member.  :meth:`paper` makes the literal choices.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts" (minutes).
        prior: None for the one that comes with the package (``shipped_prior``); "own" for that of
            each channel's file; location and scale by the name of a parameter (see
            ``NamedPrior``), such as ``{"offset": (0.0, 0.3)}``, or a ``Prior`` or such a mapping by
            the name of a channel, beside the one that comes with the package; a prior learned from
            other tasks (``learn_prior``) in its place, or the path of its file.
        channels: further channels as members, by path of their file, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 3 for "mixture-vector", 4 for "bridge", 0.5 for the other two channels
            and for proportional odds, 0.25 for the other calibrators, 2 for a further channel.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.
    """

    # With the calibrators' nine labels' worth, chosen on one half of the tasks of
    # `benchmarks/accuracy.py`.
    COUNTS = {"mixture": 0.5, "mixture-vector": 3.0, "location": 0.5, "bridge": 4.0, **Stack.COUNTS}

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        prior: Mapping[str, Any] | LearnedPrior | str | Path | None = None,
        channels: Sequence[str | Path | Channel] = (),
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        super().__init__(
            options,
            channels=(*DEFAULT_CHANNELS, *check_list("channels", channels)),
            calibrators=(*PAPER_CALIBRATORS, *LATE),
            min_labels=LATE,
            inference=inference,
            prior=prior,
            weight_counts=weight_counts,
            seed=seed,
            effort=effort,
        )

    def _learned(self) -> LearnedPrior:
        """The prior that comes with the package."""
        return shipped_prior()

    @classmethod
    def paper(
        cls,
        options: Sequence[str] | Scale | None = None,
        *,
        weights: str = "flat",
        seed: int = 0,
    ) -> "Cordial":
        """The literal method of the paper, kept exact for comparison.

        Args:
            options: names of the K ordered options.
            weights: "flat", maximum likelihood as "Dirichlet(1)" reads, or "one-count", one
                pseudo-count for each member.
            seed: seed of the folds and of every random number.

        Raises:
            InputError: ``weights`` is neither.
        """
        counts = {"flat": 0.0, "one-count": 1.0}
        if not isinstance(weights, str) or weights not in counts:
            raise InputError(f"weights must be 'flat' or 'one-count'; got {weights!r}.")
        same = dict.fromkeys((*PAPER_CHANNELS, *PAPER_CALIBRATORS), counts[weights])
        literal: dict[str, Any] = {"inference": "laplace", "prior": "own", "weight_counts": same}
        stack = cls.assemble(options=options, channels=PAPER_CHANNELS, seed=seed, **literal)
        return stack._made_by(cls.paper, options, weights=weights, seed=seed)


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Stack:
    """Read a fitted stack.

    Args:
        path: a file that ``save`` wrote.
        channels: the channel files that the stack was fitted with, if any; their code is run.

    Returns:
        The stack, ready to predict.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
        InputError: the stack has a channel of a user's file that ``channels`` does not give, or
            gives with other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    contents = unpack(path, *storage.read(path, KIND), channels)
    with blaming(path):
        return Stack.restore(contents)
