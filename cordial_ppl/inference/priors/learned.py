"""A learned prior: a table of fits, and the prior of any channel and scale that follows from it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import jax
import msgspec
import numpy as np
from jaxtyping import Float

from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import InputError, SettingNeeded, list_names
from cordial_ppl.inference.priors.fits import (
    CAUTION,
    LONGEST,
    TEMPERATURE,
    TYPICAL_SPREAD,
    LearnedChannel,
    RelativePrior,
    Rule,
    TaskFit,
    check_powers,
    unit,
)
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.runtime import storage

KIND, FILE = "prior", "shipped.cordial"
FEWEST = 2
"""Fits below which nothing is known of how tasks differ."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPrior:
    """A prior learned from other tasks, for every channel that was fitted to them.

    Created by :func:`learn_prior` or :meth:`load`, for use as ``Cordial(prior=...)``.

    Attributes:
        fits: the fits from which the prior is learned.
        channels: the channels by name.
        rule: how the prior is derived from the fits.
    """

    fits: tuple[TaskFit, ...]
    channels: dict[str, LearnedChannel]
    rule: Rule = Rule()

    def __repr__(self) -> str:
        """Say what it was learned from, in one line."""
        source = f"{len(self.fits)} fits to {len(self.tasks)} tasks"
        return f"<LearnedPrior of {source}: {self.rule.name}>"

    def __post_init__(self):
        """Refuse an unknown rule, and too few fits."""
        if self.rule.name not in CAUTION:
            raise InputError(f"rule must be one of {', '.join(CAUTION)}; got {self.rule.name!r}.")
        if len(self.fits) < FEWEST:
            names = "; ".join(fit.name for fit in self.fits) or "none"
            raise InputError(
                f"a prior needs fits for at least {FEWEST} tasks or judges; got {names}. Exclude "
                "fewer tasks, or add tasks."
            )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, each once."""
        return tuple(dict.fromkeys(fit.task for fit in self.fits))

    def of(self, target: Target, spread: float = TYPICAL_SPREAD) -> Prior:
        """Derive the prior of a channel's unconstrained parameters on its scale.

        Args:
            target: the channel, for K options.
            spread: spread of the readings for which the prior is meant, nats; see
                `cordial_ppl.inference.priors.fits`.

        Returns:
            Location and scale; for parameters that were not learned, those of the channel file.

        Raises:
            InputError: the fits are for other channels or for a different version of the channel
                file, or tasks with different K cannot be compared.
        """
        return _derive(self, target).of(target, spread)

    def describe(self, channels: Sequence[Channel | str], size: int) -> list[dict[str, Any]]:
        """List the learned parameters of channels, on a scale of K options.

        Args:
            channels: objects, names of built-in channels, or paths of channel files.
            size: number K of options.

        Returns:
            For each parameter: "channel" and "parameter"; "loc" and "scale" in the unconstrained
            space; "default_loc" and "default_scale" from the channel's file; and "centre" and
            "default_centre", the two locations in the parameter's own units.

        Raises:
            InputError: the prior was not learned for these channels.
        """
        rows, names = [], ("loc", "scale", "default_loc", "default_scale")
        names += ("centre", "default_centre")
        for channel in map(load_channel, channels):
            with jax.enable_x64(True):
                fitted = self.channels.get(channel.name)
                target = build_target(channel, size, fitted.covariates if fitted else ())
                learned = self.of(target)
                ends = (_centres(target, prior.loc) for prior in (learned, target.prior))
                numbers = target.coordinates, *learned, *target.prior, *ends
            for parameter, *figures in zip(*numbers, strict=True):
                if figures[:2] != figures[2:4]:
                    values = dict(zip(names, map(float, figures), strict=True))
                    rows.append({"channel": channel.name, "parameter": parameter, **values})
        return rows

    def leave_out(self, names: Collection[str]) -> "LearnedPrior":
        """Return the prior without some tasks, for an evaluation on those tasks.

        Trained adjustments are dropped, because the training has seen the tasks.

        Args:
            names: names of tasks, which are excluded with all their judges.

        Raises:
            InputError: a task does not exist, or fewer than two fits are left.
        """
        check_tasks(names, self.tasks)
        fits = tuple(fit for fit in self.fits if fit.task not in names)
        return replace(self, fits=fits, rule=self.rule.forget() if names else self.rule)

    def join(self, *others: "LearnedPrior") -> "LearnedPrior":
        """Combine the fits of several priors for their common channels, by the rule of this prior.

        Raises:
            InputError: two of the priors have a fit to the same task and judge, or the priors share
                no channel.
        """
        fits = tuple(fit for prior in (self, *others) for fit in prior.fits)
        names = [fit.name for fit in fits]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise InputError(f"two priors contain fit {doubled[0]!r}. Rename or exclude one fit.")
        common = {
            name: channel
            for name, channel in self.channels.items()
            if all(prior.channels.get(name) == channel for prior in others)
        }
        if not common:
            raise InputError("the priors have no channel in common.")
        return replace(self, fits=fits, channels=common)

    def with_rule(self, **settings) -> "LearnedPrior":
        """Return the prior from the same fits under a different rule; see :class:`Rule`.

        Passing the ``name`` of a rule drops trained adjustments.
        """
        rule = self.rule.forget() if "name" in settings else self.rule
        return replace(self, rule=msgspec.structs.replace(rule, **settings))

    def save(self, path: str | Path) -> None:
        """Save the prior to one small file of plain data, which :meth:`load` reads.

        Raises:
            FileError: the file cannot be written.
        """
        storage.write(path, KIND, msgspec.to_builtins(self), {})

    @classmethod
    def load(cls, path: str | Path) -> "LearnedPrior":
        """Load a prior that :meth:`save` wrote.

        Raises:
            FileError: the file cannot be read, is damaged, or contains no learned prior.
        """
        meta, arrays = storage.read(path, KIND)
        with storage.blaming(path):
            storage.require(not arrays, "a prior must not contain arrays")
            return msgspec.convert(meta, cls)


def _centres(target: Target, loc: Float[np.ndarray, " P"]) -> Float[np.ndarray, " P"]:
    """Turn unconstrained values into their parameters' units; as they are where these are fewer."""
    centres = np.array(loc)
    for site in target.sites:
        values = np.ravel(site.value(loc))
        if len(values) == len(centres[site.slice]):
            centres[site.slice] = values
    return centres


def check_tasks(names: Collection[str], tasks: Collection[str]) -> None:
    """Refuse to leave out tasks that are not there.

    Raises:
        InputError: the names are no list.
        SettingNeeded: a name is not among the tasks.
    """
    if isinstance(names, str):
        raise InputError(f"leave_out must be a list of tasks; got {names!r}.")
    if unknown := [name for name in names if name not in tasks]:
        problem = f"no task is called {unknown[0]!r}. The tasks are {list_names(tasks)}."
        raise SettingNeeded(problem, "Choose tasks, for example", "leave_out", (*tasks,)[:1])


@lru_cache(maxsize=256)
def _derive(prior: LearnedPrior, target: Target) -> RelativePrior:
    """Derive the prior of a channel for readings of any spread."""
    rule, size, channel = prior.rule, target.options, target.channel.name
    _check_channel(prior, target)
    check_powers(target, {size, *(fit.size for fit in prior.fits)}, rule.powers)
    loc, scale = (np.array(part) for part in target.prior)
    slope = np.zeros(target.size)
    for site in (site for site in target.sites if site.gaussian):
        at, here = site.slice, unit(site, size, rule.powers)
        if rule.relative and size > LONGEST:
            there = unit(site, LONGEST, rule.powers)
            loc[at] = here.read(there.express(loc[at]))
            scale[at] *= there.factor / here.factor
        fits = [fit for fit in prior.fits if not site.shape or (rule.vector and fit.size == size)]
        if len(fits) >= FEWEST:
            modes = []
            for fit in fits:
                spread = fit.spread / TYPICAL_SPREAD if rule.relative else 1.0
                task_unit = unit(site, fit.size, rule.powers, spread)
                modes.append(here.read(task_unit.express(np.array(fit.modes[channel][site.name]))))
            tasks = len({fit.task for fit in fits})
            loc[at], scale[at] = rule.combine(np.stack(modes), tasks, Prior(loc[at], scale[at]))
        shift, log_factor = rule.adjustments.get(channel, {}).get(site.name, (0.0, 0.0))
        loc[at] += shift * scale[at]
        scale[at] *= np.exp(log_factor)
        slope[at] = rule.relative and site.parameter == TEMPERATURE
    return RelativePrior(loc, scale, slope)


def _check_channel(prior: LearnedPrior, target: Target) -> None:
    """Refuse fits of another channel, or of other parameters than it has."""
    channel = target.channel
    if channel.name not in prior.channels:
        raise InputError(
            f"the prior was learned for {', '.join(prior.channels)}, not for channel "
            f"{channel.name!r}. Learn a prior with that channel."
        )
    if prior.channels[channel.name].digest != channel.digest:
        raise InputError(
            f"{channel.source or channel.name} differs from the file {channel.name}.py for which "
            "the prior was learned. Learn the prior again."
        )
    sizes = {site.name: int(np.prod(site.shape)) for site in target.sites}
    # At another K, the number of values of a parameter of single options is not known here.
    vectors = {site.name for site in target.sites if site.shape}
    for fit in prior.fits:
        counts = {site: len(mode) for site, mode in fit.modes.get(channel.name, {}).items()}
        free = vectors if fit.size != target.options else ()
        fixed = {name: sizes[name] for name in sizes if name not in free}
        if counts.keys() != sizes.keys() or not fixed.items() <= counts.items():
            raise InputError(
                f"the prior's fit of {fit.name} has the parameters {_list(counts)}, but channel "
                f"{channel.name!r} has the parameters {_list(sizes)}. Learn the prior again."
            )


def _list(sizes: Mapping[str, int]) -> str:
    return ", ".join(name if size == 1 else f"{name}[{size}]" for name, size in sizes.items())


@lru_cache(maxsize=1)
def shipped_prior() -> LearnedPrior:
    """Return the default prior of ``Cordial``.

    :func:`learn_prior` made this prior from 44 pairs of task and judge with three, four, five and
    seven options; it was then trained on these pairs and on 36 more (``benchmarks/ship_prior.py``).
    Parameters of single options are not learned, so the prior works for scales of any length.

    Returns:
        The learned prior. ``shipped_prior().leave_out([...])`` removes some of its tasks, and
        ``prior.join(shipped_prior())`` adds its tasks to another prior.
    """
    with as_file(files("cordial_ppl.inference.priors") / FILE) as path:
        return LearnedPrior.load(path)
