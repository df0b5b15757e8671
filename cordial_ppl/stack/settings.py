"""Settings of a stack as one validated record, and the checks that make it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels import is_built_in
from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.checks import check_list, check_names, check_number, check_seed
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.errors import InputError, quote, warn
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.fitting import METHODS
from cordial_ppl.inference.priors import LearnedPrior, Priors, as_priors, reading_spread, resolve
from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.members import CalibratorMember, ChannelMember, Member
from cordial_ppl.stack.stacking import MIN_LABELS

PAPER_CALIBRATORS: tuple[str, ...] = ("temperature", "vector", "odds")
"""The paper's calibrators in logit space."""

LONG = 14
"""Options beyond which a fit takes over three times as long as to five."""

TEXTS_OF_PROOF = 20
"""Labelled texts from which a channel of the package has to earn all that its pseudo-count exceeds
one by; with ten, folds are too small to tell."""

LEAST_EFFORT = Effort(particles=64, proposals=1, moves=1, last_moves=0, least_ess=0.0, repairs=0)
"""Fewer particles are too few to fit the tail of their weights to."""


@dataclass(frozen=True)
class Defaults:
    """What a class of stacks has beside, or in place of, the arguments of its constructor.

    Attributes:
        channels: channels beside those that are given.
        calibrators: calibrators where none are given.
        weight_counts: pseudo-counts of the weights where none are given; of a member that is not
            named 2 for a channel of the package, 1 for one of a file, a calibrator's own ``count``.
        same_count: one for all members, in place of these and of what a prior was trained with.
        min_labels: number of labels from which one of these calibrators is a member, if not the
            first.
        learned: returns the learned prior where no prior is given.
        name: name of the class in files; None for one that cannot be saved.
    """

    channels: Sequence[Any] = ()
    calibrators: Sequence[str] = PAPER_CALIBRATORS
    weight_counts: Mapping[str, float] = field(default_factory=dict)
    same_count: float | None = None
    min_labels: Mapping[str, int] = field(default_factory=dict)
    learned: Callable[[], LearnedPrior | None] = lambda: None
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of a fit, validated; ``make_settings`` completes those of a constructor.

    Attributes:
        channels: the channels.
        calibrators: names of the calibrators.
        inference: how posteriors are found.
        prior: priors of the channels.
        has_default_prior: whether these are the defaults.
        weight_counts: Dirichlet pseudo-count of the weight of each member.
        fixed_counts: members whose pseudo-counts were chosen and need no proof.
        min_labels: number of labels from which a calibrator is a member, if not the first.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.
        folded: whether members are fitted to folds too, to be weighed.

    Raises:
        InputError: a setting is invalid; the message says what it may be.
    """

    channels: tuple[Channel, ...] = ()
    calibrators: tuple[str, ...] = ()
    inference: str = "default"
    prior: Priors = field(default_factory=Priors)
    has_default_prior: bool = True
    weight_counts: Mapping[str, float] = field(default_factory=dict)
    fixed_counts: tuple[str, ...] = ()
    min_labels: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    effort: Any = DEFAULT_EFFORT  # Checked to be an `Effort` below, whoever gives it.
    folded: bool = True

    def __post_init__(self) -> None:
        """Check what is not checked where it is made."""
        check_names("calibrators", self.calibrators, CALIBRATORS)
        check_names("inference", [self.inference], METHODS)
        if not self.names:
            raise InputError("a stack needs at least one channel or calibrator; got none.")
        if doubled := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise InputError(f"two stack members are called {doubled[0]!r}. Rename one of them.")
        check_counts(self.weight_counts, self.names)
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_effort(self.effort)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members, channels first."""
        return (*(channel.name for channel in self.channels), *self.calibrators)

    @property
    def levels(self) -> dict[str, int]:
        """Levels of the covariates that number something, such as users, as the channels say."""
        return count_levels(*self.channels)

    def members(self, labels: float) -> tuple[Member, ...]:
        """Return the members that are fitted to so many labels."""
        channels = (
            ChannelMember(channel, index, self.inference, self.prior.of(channel.name), self.effort)
            for index, channel in enumerate(self.channels)
        )
        # Rounding must not make 200 thirds of three labels fewer than 200.
        labels, least = round(labels), self.min_labels
        names = [name for name in self.calibrators if labels >= least.get(name, 0)]
        return (*channels, *map(CalibratorMember, names))

    def weight_prior(
        self, names: Sequence[str], texts: int
    ) -> tuple[Float[np.ndarray, " M"], Float[np.ndarray, " M"]]:
        """Return pseudo-counts of members, and the parts of them that need no proof.

        Args:
            names: names of the members.
            texts: number of labelled texts.
        """
        # What a channel has to earn with so many texts of its pseudo-count above one.
        share = np.clip((texts - MIN_LABELS) / (TEXTS_OF_PROOF - MIN_LABELS), 0.0, 1.0)
        counts = np.array([self.weight_counts.get(name, 1.0) for name in names])
        kept = counts.copy()
        for channel in (each for each in self.channels if each.name not in self.fixed_counts):
            row = names.index(channel.name)
            excess = max(counts[row] - 1.0, 0.0) * share if is_built_in(channel) else counts[row]
            kept[row] -= excess
        return counts, kept

    def check(
        self, logits: Float[np.ndarray, "n *readers K"], covariates: Mapping[str, Any]
    ) -> None:
        """Check that texts have what the channels need.

        Args:
            logits: validated, centred readings; of several readers their average is looked at.
            covariates: of the texts, by name.

        Raises:
            InputError: a channel uses a covariate that the texts lack or has fewer levels of one,
                or the prior does not fit the channels.
            ChannelError: a channel breaks the contract.
        """
        as_covariates(covariates, len(logits), levels=self.levels)
        if logits.ndim == 3:
            logits = np.nan_to_num(logits).mean(axis=1)
        parts = [part for part in self.members(0) if isinstance(part, ChannelMember)]
        targets = [part.target(logits.shape[-1], covariates) for part in parts]
        for part, target in zip(parts, targets, strict=True):
            resolve(part.prior, target, reading_spread(logits))
        self.prior.check(targets)
        size = logits.shape[-1]
        if size > LONG and any(target.size > size for target in targets):
            warn(
                f"a fit to {size} options takes over three times as long as a fit to five options. "
                "Round ratings and labels to fewer options, for example 11."
            )


def make_settings(
    defaults: Defaults,
    *,
    channels: Any = (),
    calibrators: Any = None,
    prior: Any = None,
    weight_counts: Any = None,
    **others: Any,
) -> Settings:
    """Complete and validate the arguments of a constructor; channel files are read.

    Args:
        defaults: those of the class.
        channels: further channels, as in ``Stack``.
        calibrators: names of the calibrators; None for the default.
        prior: as in ``Stack``.
        weight_counts: pseudo-counts where they differ from the default, or one for all.
        others: what ``Settings`` has as it is given: inference, seed, effort, folded.

    Raises:
        InputError: a setting is invalid; the message says what it may be.
        ChannelError: there is no such channel.
    """
    models = tuple(map(load_channel, (*defaults.channels, *check_list("channels", channels))))
    # Who names a calibrator wants it, however few the labels.
    least = defaults.min_labels if calibrators is None else {}
    calibrators = defaults.calibrators if calibrators is None else calibrators
    learned = defaults.learned()
    priors = as_priors(prior, [model.name for model in models], learned)
    replaced = priors.by_channel or priors.shared is not None or priors.learned is not learned
    settings = Settings(
        models,
        check_list("calibrators", calibrators),
        prior=priors,
        has_default_prior=not replaced,
        **others,
    )
    members = settings.names
    counts = {name: CALIBRATORS[name].count for name in settings.calibrators}
    counts |= {model.name: 2.0 if is_built_in(model) else 1.0 for model in models}
    trained = {} if priors.learned is None else priors.learned.rule.counts
    counts = {name: (counts | {**defaults.weight_counts} | trained)[name] for name in members}
    chosen = check_counts(defaults.same_count, members) | check_counts(weight_counts, members)
    return replace(
        settings,
        weight_counts=counts | chosen,
        fixed_counts=tuple(chosen),
        min_labels={k: v for k, v in least.items() if k in calibrators},
    )


def check_effort(effort: Any) -> None:
    """Raise an ``InputError`` that names the first wrong number of how much work to do."""
    if not isinstance(effort, Effort):
        raise InputError(f"effort must be an Effort; got {quote(effort)}.")
    for name, least in LEAST_EFFORT._asdict().items():
        check_number(f"effort.{name}", getattr(effort, name), least, whole=isinstance(least, int))


def check_counts(counts: Any, members: Collection[str]) -> dict[str, float]:
    """Return pseudo-counts of members, or one for all, by name, or raise an ``InputError``."""
    counts = dict.fromkeys(members, counts) if isinstance(counts, Real) else counts
    if not isinstance(counts, Mapping | None):
        raise InputError(f"weight_counts must map names to numbers; got {quote(counts)}.")
    numbers = {} if counts is None else dict(counts)
    check_names("weight_counts", numbers, members)
    return {n: check_number(f"weight_counts of {n!r}", count) for n, count in numbers.items()}
