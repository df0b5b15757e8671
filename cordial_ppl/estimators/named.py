"""The named stacks: the default, and the paper's comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cordial_ppl.channels import DEFAULT_CHANNELS, PAPER_CHANNELS
from cordial_ppl.data.checks import check_names
from cordial_ppl.data.scale import Scale
from cordial_ppl.estimators.stack import ARGUMENTS, Stack
from cordial_ppl.inference.priors import shipped_prior
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.settings import PAPER_CALIBRATORS, Defaults

SCALAR_CHANNELS: tuple[str, ...] = ("scalar", "scalar-vector")
FULL_CHANNELS: tuple[str, ...] = ("full", "full-vector")

CHANNEL_COUNTS = {"mixture": 0.5, "mixture-vector": 3.0, "location": 0.5, "bridge": 4.0}
"""Pseudo-counts of the default's channels with priors that were not trained: with the calibrators'
together nine labels' worth, chosen on one half of the tasks of `benchmarks/accuracy.py`."""

PAPER_COUNTS = {"one-count": 1.0, "flat": 0.0}
"""Pseudo-counts of each member as "Dirichlet(1)" may be read: one, or none."""


class PaperStack(Stack):
    """Base of the paper's stack and of those that it is compared with."""

    _literal: Mapping[str, Any] = {}  # The paper's defaults where they differ from the class's.

    @classmethod
    def paper[T: "PaperStack"](
        cls: type[T],
        options: Sequence[str | float] | Scale | None = None,
        *,
        weights: str = "one-count",
        seed: int = 0,
        **settings: Any,
    ) -> T:
        """Make the stack of the paper exactly, for comparison.

        Args:
            options: names of the K ordered options.
            weights: "one-count", one pseudo-count per member, which reproduces the paper's
                findings, or "flat", maximum likelihood, the literal meaning of "Dirichlet(1)".
            seed: seed of the folds and of every random number.
            settings: other settings of the class that replace the paper's, such as
                ``inference="mode"`` to compare averaging with the mode, or ``prior`` for a prior
                learned from other tasks.

        Raises:
            InputError: ``weights`` is neither "one-count" nor "flat".
        """
        check_names("weights", [weights], PAPER_COUNTS)
        literal = {"inference": "laplace", "prior": "own", "weight_counts": PAPER_COUNTS[weights]}
        paper = cls(options, seed=seed, **(literal | settings))
        paper._defaults = replace(cls._defaults, **cls._literal)
        return paper


class Cordial(PaperStack):
    r"""The paper's estimator: channels and calibrators in logit space, stacked (Eq. 5).

    .. math:: \hat p(z \mid x) = \sum_m \omega_m\, \hat p_m(z \mid x)

    The default differs from the paper in six choices that predict better: each channel's posterior
    is sampled by tempering, importance weights and moves, and reweighted for the folds; the label
    histogram is smoothed as much as the labels suggest; the channel "bridge", which combines both
    forms and a tilt, replaces "location-vector"; the channels' priors are learned from public sets
    of readings and trained on these sets; so are the pseudo-counts of the stack weights, worth
    twelve labels, most of them on "bridge", which has to earn its count with twenty texts or more
    (``earned_counts``); from 200 labels on, Dirichlet calibration is an eighth member, because with
    fewer labels it gains nothing and takes longest to fit (``benchmarks/accuracy.py``).
    :meth:`paper` follows the paper exactly.

    Arguments and attributes are those of every ``Stack``. By default, pseudo-counts of the weights
    are those of the trained prior, 2 for an additional channel of the package, and 1 for a channel
    from a file, which has to earn its count. With an untrained prior, the counts are 3 for
    "mixture-vector", 4 for "bridge", 0.5 for the other two channels and for proportional odds, and
    0.25 for the other calibrators.
    """

    _defaults = Defaults(
        channels=DEFAULT_CHANNELS,
        calibrators=(*PAPER_CALIBRATORS, "dirichlet"),
        weight_counts=CHANNEL_COUNTS,
        min_labels={"dirichlet": 200},
        learned=shipped_prior,
        name="Cordial",
    )
    _literal = {"channels": PAPER_CHANNELS, "calibrators": PAPER_CALIBRATORS}


class LogitStack(PaperStack):
    """The stack without channels, which shows what the channels add.

    Its members are temperature scaling, vector scaling and proportional odds, with one pseudo-count
    each, as in :meth:`Cordial.paper`; ``weight_counts=0`` gives maximum likelihood. Arguments are
    those of ``Stack``.
    """

    _defaults = Defaults(same_count=1.0, name="LogitStack")


class FullChannelStack(LogitStack):
    r"""The logit stack with full channels on both readings, shrunk toward the scalar channel.

    .. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
       \text{penalty}\; \lambda \sum_y \mathrm{KL}(T^0_y \,\|\, T_y)

    The K (K - 1) free numbers of T can express any error of the reader, ordinal or not; lambda is
    cross-validated (Section 2.5 of the paper).
    """

    _defaults = Defaults(
        calibrators=(*PAPER_CALIBRATORS, *FULL_CHANNELS),
        same_count=1.0,
        name="FullChannelStack",
    )


class ScalarStack(PaperStack):
    r"""The logit stack with Bayesian scalar channels on both readings.

    .. math:: \hat p_\beta(z) = \beta\, q(z \mid x) + (1 - \beta)\, \pi(z)

    A scalar channel trusts or distrusts the reader and moves no mass along the scale, so what
    ``Cordial`` gains over this stack is due to the structure of its channels (Sections 2.2 and
    2.5 of the paper).
    """

    _defaults = Defaults(channels=SCALAR_CHANNELS, same_count=1.0, name="ScalarStack")


NAMED = {kind.__name__: kind for kind in (Cordial, LogitStack, FullChannelStack, ScalarStack)}
"""Classes that can be saved, by name."""


def stack_of(fit: Fit, kind: type[Stack]) -> Stack:
    """Make the fitted stack of a fit, with its settings."""
    settings = fit.settings
    stack = kind(fit.scale, **{name: getattr(settings, name) for name in ARGUMENTS})
    stack.prior = None if settings.has_default_prior else settings.prior
    # The channels of the fit are all that there are.
    kept = {"min_labels": settings.min_labels, "fixed_counts": settings.fixed_counts}
    stack._defaults = replace(stack._defaults, channels=(), **kept)
    stack.fit_ = fit
    return stack
