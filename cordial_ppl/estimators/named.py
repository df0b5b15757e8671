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
        """Create the paper's exact stack, for comparison.

        Args:
            options: names of the K ordered options.
            weights: "one-count" for one pseudo-count per member, which reproduces the paper's
                findings, or "flat" for maximum likelihood, the literal meaning of "Dirichlet(1)".
            seed: seed for the folds and for all random numbers.
            settings: settings of the class that replace the paper's, such as ``inference="mode"``
                to compare averaging with the mode, or ``prior`` for a prior learned from other
                tasks.

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

    The default differs from the paper in six choices that together improve predictions. Each
    posterior is sampled by tempering, importance weights and moves, and reweighted for the folds.
    The label histogram is smoothed as much as the labels suggest. The channel "bridge", which
    combines both forms and a tilt, replaces "location-vector". The channels' priors are learned
    from, and trained on, public sets of readings. So are the pseudo-counts of the stack weights:
    twelve in total, most of them for "bridge", whose count is reduced if it predicts worse than the
    other members (``earned_counts``). From 200 labels on, Dirichlet calibration is an eighth
    member; with fewer labels, it would take the longest to fit. :meth:`paper` follows the paper
    exactly.

    Arguments and attributes are those of ``Stack``. The default pseudo-counts come from the trained
    prior, with 2 for an additional channel of the package and 1 for a channel from a file. With an
    untrained prior, the counts are 3 for "mixture-vector", 4 for "bridge", 0.5 for the other two
    channels and for proportional odds, and 0.25 for the other calibrators.
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
    """A stack without channels, to show what the channels add.

    The members are temperature scaling, vector scaling and proportional odds, with one pseudo-count
    each, as in :meth:`Cordial.paper`; ``weight_counts=0`` means maximum likelihood. Arguments are
    those of ``Stack``.
    """

    _defaults = Defaults(same_count=1.0, name="LogitStack")


class FullChannelStack(LogitStack):
    r"""The logit stack plus full channels, shrunk toward the scalar channel.

    .. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
       \text{penalty}\; \lambda \sum_y \mathrm{KL}(T^0_y \,\|\, T_y)

    The K (K - 1) free parameters of T can represent any error of the judge, ordinal or not. Lambda
    is cross-validated (Section 2.5 of the paper).
    """

    _defaults = Defaults(
        calibrators=(*PAPER_CALIBRATORS, *FULL_CHANNELS), same_count=1.0, name="FullChannelStack"
    )


class ScalarStack(PaperStack):
    r"""The logit stack plus Bayesian scalar channels (temperature and vector-scaled readings).

    .. math:: \hat p_\beta(z) = \beta\, q(z \mid x) + (1 - \beta)\, \pi(z)

    A scalar channel can only trust or distrust the judge; it moves no probability along the scale.
    Any gain of ``Cordial`` over this stack therefore comes from the structure of its channels
    (Sections 2.2 and 2.5 of the paper).
    """

    _defaults = Defaults(channels=("scalar", "scalar-vector"), same_count=1.0, name="ScalarStack")


NAMED = {kind.__name__: kind for kind in (Cordial, LogitStack, FullChannelStack, ScalarStack)}
"""Classes that can be saved, by name."""


def stack_of(fit: Fit, kind: type[Stack]) -> Stack:
    """Make the fitted stack of a fit, with its settings."""
    settings = fit.settings
    stack = kind(fit.scale, **{name: getattr(settings, name) for name in ARGUMENTS})
    stack.calibrators = None
    stack.prior = None if settings.has_default_prior else settings.prior
    counts, defaults = settings.weight_counts, stack._defaults
    # A default that came as an argument would need no proof.
    chosen = settings.fixed_counts if defaults.same_count is None else (*counts,)
    stack.weight_counts = {name: counts[name] for name in chosen}
    rest = {name: count for name, count in counts.items() if name not in chosen}
    kept = {"calibrators": settings.calibrators, "min_labels": settings.min_labels}
    kept["weight_counts"] = {**defaults.weight_counts, **rest}
    # The channels of the fit are all that there are.
    stack._defaults = replace(defaults, channels=(), **kept)
    stack.fit_ = fit
    return stack
