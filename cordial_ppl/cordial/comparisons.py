"""The paper's comparison stacks: the logit stack with channels that have no ordinal structure."""

from collections.abc import Mapping, Sequence

from cordial_ppl.cordial.settings import check_mapping
from cordial_ppl.cordial.stack import PAPER_CALIBRATORS, Stack
from cordial_ppl.scale import Scale

SCALAR_CHANNELS: tuple[str, ...] = ("scalar", "scalar-vector")
FULL_CHANNELS: tuple[str, ...] = ("full", "full-vector")


class ScalarStack(Stack, kind="ScalarStack"):
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

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        inference: str = "default",
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        """Add the scalar channels to the logit-space calibrators."""
        super().__init__(
            options,
            channels=SCALAR_CHANNELS,
            inference=inference,
            weight_counts=_counts(SCALAR_CHANNELS, weight_counts),
            seed=seed,
        )


class FullChannelStack(Stack, kind="FullChannelStack"):
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

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
    ):
        """Add the full channels to the logit-space calibrators."""
        super().__init__(
            options,
            calibrators=(*PAPER_CALIBRATORS, *FULL_CHANNELS),
            weight_counts=_counts(FULL_CHANNELS, weight_counts),
            seed=seed,
        )


def _counts(channels: tuple[str, ...], given: Mapping[str, float] | None) -> dict[str, float]:
    return dict.fromkeys((*channels, *PAPER_CALIBRATORS), 0.0) | check_mapping(
        "weight_counts", given
    )
