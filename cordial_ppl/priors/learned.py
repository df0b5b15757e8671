"""A learned prior: a table of fits, and the prior of any channel and scale that follows from it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.errors import InputError
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.inference.tracing import Site
from cordial_ppl.priors import files
from cordial_ppl.priors.fits import ModeFit, TaskFit
from cordial_ppl.priors.histogram import pseudo_counts
from cordial_ppl.priors.rules import RULES, Evidence
from cordial_ppl.priors.units import (
    LONGEST,
    POWERS,
    TEMPERATURE,
    TYPICAL_SPREAD,
    check_powers,
    shared,
    unit,
)

FEWEST = 2
"""Fits without which nothing is known of how tasks differ."""


class Rule(NamedTuple):
    """How a prior follows from the fits.

    Attributes:
        name: "cautious", "paper" or "hierarchical".
        vector: whether parameters of single options are learned, from tasks of the same K.
        histogram: whether the label histogram's pseudo-counts are learned, likewise.
        units: power of classes in the unit of further parameters, by name.
    """

    name: str = "cautious"
    vector: bool = True
    histogram: bool = False
    units: Mapping[str, float] = {}

    @property
    def relative(self) -> bool:
        """Whether temperatures are in units of the readings' spread, unlike in the paper."""
        return self.name != "paper"


class Learned(NamedTuple):
    """What is known of a channel that fits are of.

    Attributes:
        digest: SHA-256 of the channel's file; empty for a channel that has a name.
        covariates: names of the covariates that it was fitted with.
    """

    digest: str
    covariates: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """A prior learned from other tasks, for every channel that they were fitted with.

    Made by :func:`learn_prior` or :meth:`load`; ``Cordial(prior=...)`` takes it as it is.

    Attributes:
        fits: what it is learned from.
        channels: the channels by name.
        rule: how the prior follows.
    """

    fits: tuple[TaskFit, ...]
    channels: Mapping[str, Learned]
    rule: Rule = Rule()
    _known: dict[Target, Prior] = field(default_factory=dict, repr=False)

    def __post_init__(self):
        """Refuse a rule that there is none of, and too few fits."""
        if self.rule.name not in RULES:
            raise InputError(f"rule must be one of {', '.join(RULES)}; got {self.rule.name!r}.")
        if len(self.fits) < FEWEST:
            names = "; ".join(fit.name for fit in self.fits) or "none"
            raise InputError(
                f"a prior needs the fits of {FEWEST} tasks or readers at least; there is {names}. "
                "Leave out fewer, or add tasks."
            )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, each once."""
        return tuple(dict.fromkeys(fit.task for fit in self.fits))

    def of(self, target: Target, spread: float = TYPICAL_SPREAD) -> Prior:
        """Prior of a channel's unconstrained parameters on its scale.

        Args:
            target: the channel, for K options.
            spread: of the readings that it is for, nats; see `cordial_ppl.priors.units`.

        Returns:
            Location and scale; parameters that nothing is known of keep the channel's own.

        Raises:
            InputError: the fits are of other channels or of another file of that name, or tasks of
                different K cannot be compared.
        """
        if target not in self._known:
            self._known[target] = self._derive(target)
        found = self._known[target]
        if not self.rule.relative:
            return found
        loc = np.array(found.loc)
        for site in target.sites:
            if site.parameter == TEMPERATURE and site.gaussian:
                loc[site.slice] += np.log(spread / TYPICAL_SPREAD)
        return Prior(loc, found.scale)

    def pseudo_counts(self, size: int) -> Float[np.ndarray, " K"] | None:
        """Pseudo-counts of the label histogram of K options; None where none are learned."""
        # Readers of a task saw the same labels, or most of them: one of them counts.
        counts: dict[str, np.ndarray] = {}
        for fit in self.fits:
            if fit.size == size and fit.counts.sum() >= counts.get(fit.task, fit.counts).sum():
                counts[fit.task] = fit.counts
        if not self.rule.histogram or len(counts) < FEWEST:
            return None
        return pseudo_counts(np.stack(list(counts.values())))

    def leave_out(self, names: Collection[str]) -> "LearnedPrior":
        """The prior without some tasks, for an honest evaluation on them.

        Args:
            names: tasks, with all their readers.

        Raises:
            InputError: there is no such task, or fewer than two fits are left.
        """
        if isinstance(names, str):
            raise InputError(f"leave_out takes a list of tasks; got {names!r}.")
        unknown = [name for name in names if name not in self.tasks]
        if unknown:
            raise InputError(
                f"leave_out may name the tasks {', '.join(self.tasks)}; got {unknown[0]!r}."
            )
        kept = tuple(fit for fit in self.fits if fit.task not in names)
        return replace(self, fits=kept, _known={})

    def join(self, *others: "LearnedPrior") -> "LearnedPrior":
        """The prior from the fits of several, for the channels that all have; the rule is ours.

        Raises:
            InputError: a task and reader is in two of them, or they share no channel.
        """
        everyone = (self, *others)
        names = [fit.name for own in everyone for fit in own.fits]
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise InputError(f"{doubled[0]!r} is in two of the priors: rename or leave out one.")
        common = {
            name: mark
            for name, mark in self.channels.items()
            if all(own.channels.get(name) == mark for own in others)
        }
        if not common:
            raise InputError("the priors have no channel in common.")
        fits = tuple(fit for own in everyone for fit in own.fits)
        return replace(self, fits=fits, channels=common, _known={})

    def with_rule(self, **settings) -> "LearnedPrior":
        """The prior that follows from the same fits by another rule; see :class:`Rule`."""
        return replace(self, rule=self.rule._replace(**settings), _known={})

    def save(self, path: str | Path) -> None:
        """Write it to one small file of plain data; :meth:`load` reads it back.

        Raises:
            FileError: the file cannot be written.
        """
        marks = {name: tuple(mark) for name, mark in self.channels.items()}
        files.write(path, self.fits, marks, self.rule._asdict())

    @classmethod
    def load(cls, path: str | Path) -> "LearnedPrior":
        """Read what :meth:`save` wrote.

        Raises:
            FileError: the file cannot be read, is damaged, or holds no learned prior.
        """
        fits, marks, rule = files.read(path)
        with files.blaming(path):
            channels = {name: Learned(digest, tuple(own)) for name, (digest, own) in marks.items()}
            return cls(fits, channels, Rule(**rule))

    def _derive(self, target: Target) -> Prior:
        channel = target.channel
        if channel.name not in self.channels:
            raise InputError(
                f"the prior was learned for {', '.join(self.channels)}, not for channel "
                f"{channel.name!r}: learn one with that channel."
            )
        mark = self.channels[channel.name]
        if mark.digest != channel.digest:
            raise InputError(
                f"the prior was learned with another {channel.name}.py than "
                f"{channel.source or channel.name}: their contents differ. Learn it again."
            )
        self._check_parameters(target)
        powers, size = {**POWERS, **self.rule.units}, target.options
        check_powers(target, {size, *(fit.size for fit in self.fits)}, powers)
        start = self._own(target, powers)
        loc, scale = (np.array(part) for part in start)
        for site in target.sites:
            here, fits = unit(site, size, powers), self._fits_for(site, size, powers)
            if len(fits) < FEWEST or not site.gaussian:
                continue
            own = [self._standard(fit, site, channel.name, powers) for fit in fits]
            tasks = np.unique([fit.task for fit in fits], return_inverse=True)[1]
            modes = np.stack([mode for mode, _ in own]) / here.factor - here.shift
            spreads = np.stack([spread for _, spread in own]) / here.factor
            default = Prior(*(part[site.slice] for part in start))
            found = RULES[self.rule.name](Evidence(modes, spreads, tasks), default)
            loc[site.slice], scale[site.slice] = found
        return target.check_prior(Prior(loc, scale))

    def _own(self, target: Target, powers: Mapping[str, float]) -> Prior:
        """What the channel believes by itself, on a long scale in units of its length."""
        loc, scale = (np.array(part) for part in target.prior)
        if self.rule.relative and target.options > LONGEST:
            for site in (site for site in target.sites if site.gaussian):
                there, here = (unit(site, size, powers) for size in (LONGEST, target.options))
                at, factor = site.slice, there.factor / here.factor
                loc[at] = (loc[at] + there.shift) * factor - here.shift
                scale[at] *= factor
        return Prior(loc, scale)

    def _standard(
        self, fit: TaskFit, site: Site, channel: str, powers: Mapping[str, float]
    ) -> ModeFit:
        """The fit of one parameter in units of the scale's length and the readings' spread."""
        spread = fit.spread / TYPICAL_SPREAD if self.rule.relative else 1.0
        shift, factor = unit(site, fit.size, powers, spread)
        mode, error = fit.modes[channel][site.name]
        return ModeFit((mode + shift) * factor, error * factor)

    def _fits_for(self, site: Site, size: int, powers: Mapping[str, float]) -> Sequence[TaskFit]:
        """The fits that a parameter is learned from."""
        if site.shape and not self.rule.vector:
            return ()
        everywhere = shared(site, powers)
        return [fit for fit in self.fits if everywhere or fit.size == size]

    def _check_parameters(self, target: Target) -> None:
        """Refuse fits of other parameters than the channel has."""
        name, sites = target.channel.name, {site.name: site for site in target.sites}
        for fit in self.fits:
            found = {own: len(mode) for own, (mode, _) in fit.modes[name].items()}
            # How many values a parameter of single options has at another K, no one knows here.
            known = {
                own: int(np.prod(site.shape))
                for own, site in sites.items()
                if not site.shape or fit.size == target.options
            }
            if found.keys() != sites.keys() or not known.items() <= found.items():
                raise InputError(
                    f"the prior's fit of {fit.name} has the parameters {_list(found)} of channel "
                    f"{name!r}, which has {_list(known)}: learn it again."
                )


def _list(sizes: Mapping[str, int]) -> str:
    return ", ".join(name if size == 1 else f"{name}[{size}]" for name, size in sizes.items())
