"""The stacks that have a name: the paper's seven members, and the stack without channels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cordial_ppl.channel import Channel
from cordial_ppl.channels import PAPER_CHANNELS
from cordial_ppl.cordial.comparisons import FullChannelStack, ScalarStack
from cordial_ppl.cordial.files import blaming, read
from cordial_ppl.cordial.stack import PAPER_CALIBRATORS, Stack
from cordial_ppl.errors import InputError
from cordial_ppl.inference.state import DEFAULT_EFFORT, Effort
from cordial_ppl.priors import LearnedPrior
from cordial_ppl.scale import Scale


class Cordial(Stack, kind="Cordial"):
    r"""The paper's estimator: four channels and three logit-space calibrators, stacked (Eq. 5).

    .. math:: \hat p(z \mid x) = \sum_{m=1}^{7} \omega_m\, \hat p_m(z \mid x)

    The default differs from the paper in two choices, which predict better from few labels: each
    channel's posterior is sampled by tempering, importance weights and moves, and carried over to
    the folds by importance weights; the stack weights have nine labels' worth of prior, most of it
    on the channels.  :meth:`paper` makes the literal choices.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts" (minutes).
        prior: what replaces the channels' own priors: location and scale by the name of a
            parameter (see ``NamedPrior``), such as ``{"offset": (0.0, 0.3)}``, or a ``Prior`` or
            such a mapping by the name of a channel; a prior learned from other tasks
            (``learn_prior``), or the path of its file.
        channels: further channels as members, by path of their file, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights by member, where they differ from
            the default: 2 a channel, 0.5 for proportional odds, 0.25 for the other two.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.
    """

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
        """Add further channels to the paper's four."""
        super().__init__(
            options,
            channels=(*PAPER_CHANNELS, *channels),
            inference=inference,
            prior=prior,
            weight_counts=weight_counts,
            seed=seed,
            effort=effort,
        )

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
        if weights not in counts:
            raise InputError(f"weights must be 'flat' or 'one-count'; got {weights!r}.")
        same = dict.fromkeys((*PAPER_CHANNELS, *PAPER_CALIBRATORS), counts[weights])
        return cls(options, inference="laplace", weight_counts=same, seed=seed)


class LogitStack(Stack, kind="LogitStack"):
    """The stack without channels, which shows what the channels add.

    Its members are temperature scaling, vector scaling and proportional odds; the weights are the
    paper's, by maximum likelihood, unless ``weight_counts`` says otherwise.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        weight_counts: Dirichlet pseudo-counts of the weights by member; 0 where not named.
        seed: seed of the folds.
    """

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        """Take the logit-space calibrators only."""
        counts = dict.fromkeys(PAPER_CALIBRATORS, 0.0) | dict(weight_counts or {})
        super().__init__(options, weight_counts=counts, seed=seed)


KINDS: dict[str, type[Stack]] = {
    "Cordial": Cordial,
    "LogitStack": LogitStack,
    "ScalarStack": ScalarStack,
    "FullChannelStack": FullChannelStack,
}


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
    state = read(path, channels)
    with blaming(path):
        return KINDS[state.kind].restore(state)
