"""The paper's comparison stacks: without channels, and with channels that know no order."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from cordial_ppl.cordial.stack import PAPER_CALIBRATORS, Stack
from cordial_ppl.scale import Scale

SCALAR_CHANNELS: tuple[str, ...] = ("scalar", "scalar-vector")
FULL_CHANNELS: tuple[str, ...] = ("full", "full-vector")

FLAT = dict.fromkeys((*PAPER_CALIBRATORS, *SCALAR_CHANNELS, *FULL_CHANNELS), 0.0)
"""Pseudo-counts under which the weights are by maximum likelihood."""


class LogitStack(Stack, named=True):
    """The stack without channels, which shows what the channels add.

    Its members are temperature scaling, vector scaling and proportional odds; the weights are the
    paper's, by maximum likelihood, unless ``weight_counts`` says otherwise.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        weight_counts: Dirichlet pseudo-counts of the weights by member; 0 where not named.
        seed: seed of the folds.
    """

    COUNTS = FLAT
    CALIBRATORS: ClassVar[tuple[str, ...]] = PAPER_CALIBRATORS

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        members = self.CALIBRATORS
        super().__init__(options, calibrators=members, weight_counts=weight_counts, seed=seed)


class ScalarStack(Stack, named=True):
    r"""The logit stack with Bayesian scalar channels on both readings.

    .. math:: \hat p_\beta(z) = \beta\, q(z \mid x) + (1 - \beta)\, \pi(z)

    A scalar channel trusts or distrusts the reader and moves no mass along the scale, so that what
    ``Cordial`` gains over this stack is due to the structure of its channels (Sections 2.2 and
    2.5 of the paper).  The weights are by maximum likelihood, unless ``weight_counts`` says
    otherwise.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        inference: "default", "laplace" (the paper's 300 draws), "mode" or "nuts".
        weight_counts: Dirichlet pseudo-counts of the weights by member; 0 where not named.
        seed: seed of the folds and of every random number.
    """

    COUNTS = FLAT

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        super().__init__(
            options,
            channels=SCALAR_CHANNELS,
            inference=inference,
            weight_counts=weight_counts,
            seed=seed,
        )


class FullChannelStack(LogitStack, named=True):
    r"""The logit stack with full channels on both readings, shrunk toward the scalar one.

    .. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
       \text{penalty}\; \lambda \sum_y \mathrm{KL}(T^0_y \,\|\, T_y)

    The K (K - 1) numbers of T can express any error of the reader, ordinal or not; lambda is
    cross-validated (Section 2.5 of the paper).  The weights are by maximum likelihood, unless
    ``weight_counts`` says otherwise.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        weight_counts: Dirichlet pseudo-counts of the weights by member; 0 where not named.
        seed: seed of the folds.
    """

    CALIBRATORS = (*PAPER_CALIBRATORS, *FULL_CHANNELS)
