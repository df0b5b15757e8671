"""`Fusion`: several readers of the same texts, each with a stack, weighted together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.forms import reader_weights
from cordial_ppl.data.checks import check_flag, check_list, check_names
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.errors import InputError, count, warn
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.fusion import fusion_files
from cordial_ppl.estimators.fusion.fusion_fit import (
    AVERAGE,
    COUNTS,
    JOINT,
    READER_COUNT,
    FusionFit,
    joint_prior,
    summarize,
    view,
)
from cordial_ppl.estimators.fusion.panel import (
    as_reader_logits,
    check_frames,
    find_spreads,
    read_by,
    trust_readers,
)
from cordial_ppl.estimators.named import PAPER_COUNTS, Cordial, stack_of
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.export import join
from cordial_ppl.inference.posterior import Posterior, warn_if_doubtful
from cordial_ppl.inference.priors import LearnedPrior, reading_spread
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.fit import Fit, deal_folds, fit_stack, warn_if_reversed
from cordial_ppl.stack.members import ChannelMember, fit_members
from cordial_ppl.stack.settings import Settings, check_counts
from cordial_ppl.stack.stacking import MIN_LABELS
from cordial_ppl.stack.weighing import weigh

if TYPE_CHECKING:
    from xarray import DataTree


class Fusion(Estimator[FusionFit]):
    r"""A stack of the calibrated predictions of several judges.

    .. math:: \hat p(z \mid x) = \sum_r \omega_r\, \hat p_r(z \mid x)
        + \omega_a\, \hat p_a(z \mid x) + \omega_0\, \hat p_0(z \mid x)

    Each judge r has a stack, fitted to the labelled texts that the judge has rated. Stack a uses
    the average of the judges' logits, scaled by each judge's spread, and member 0 is the location
    channel over all judges, with a weight and a temperature for each judge. The weights maximise
    the likelihood of the labels under out-of-fold predictions, with a Dirichlet prior; with fewer
    than eight labels, the weights are the prior weights. If a judge has not rated a text, the
    weights of the other members are scaled to sum to one. A text without any rating is predicted
    from the labels of other texts without ratings.

    The paper's fusion has no average member and uses different stacks and weights; see
    :meth:`paper`.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        readers: names of the R judges; by default the keys of a mapping, or "reader 0" and so on.
        average: whether to include the stack on the judges' average.
        inference: "default", "laplace", "mode" or "nuts".
        prior: replaces the priors of the channels, as in ``Cordial``. A prior of a named parameter,
            or a prior learned for the channel "location", also applies to the parameters of the
            same name in the joint channel.
        channels: additional channels of each stack, as paths of channel files, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights: a mapping by member, or one number
            for all members; by default 3 for "average reading", 0.5 for "joint channel", and 0.25
            for each judge.
        seed: seed for the folds and for all random numbers.
        effort: how much work the default inference does.

    Attributes:
        fit_: everything that was fitted, as a
            `cordial_ppl.estimators.fusion.fusion_fit.FusionFit`.
        readers_: names of the judges.
        stacks_: the fitted stack of each judge by name.
        weights_: weight of each member by name.
        shares_: posterior mean of each judge's weight in the joint channel.
        best_reader_: the judge whose stack has the lowest out-of-fold log loss.

    Source: Section 2.7 of the paper, Several readers.
    """

    _defaults: Callable[..., Stack] = Cordial  # Makes the stack of a reader.

    def __init__(
        self,
        options: Sequence[str | float] | Scale | None = None,
        *,
        readers: Sequence[str] | None = None,
        average: bool = True,
        inference: str = "default",
        prior: Mapping[str, Any] | LearnedPrior | str | Path | None = None,
        channels: Sequence[str | Path | Channel] = (),
        weight_counts: Mapping[str, float] | float | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Remember the settings; ``fit`` validates them."""
        self.options, self.readers, self.average = options, readers, average
        self.inference, self.prior, self.channels = inference, prior, channels
        self.weight_counts, self.seed, self.effort = weight_counts, seed, effort

    @classmethod
    def paper(cls, options: Any = None, *, weights: str = "one-count", **settings: Any) -> "Fusion":
        """Create the paper's exact fusion, for comparison.

        Each judge has the stack of ``Cordial.paper``, the joint channel has 300 draws from its
        Laplace approximation, and each member has one pseudo-count; there is no average member.
        Arguments and errors are those of ``Cordial.paper``, where ``weights`` applies to both
        levels, and of ``Fusion``, such as ``readers``.
        """
        check_names("weights", [weights], PAPER_COUNTS)
        literal = {"average": False, "inference": "laplace", "prior": "own"}
        fusion = cls(options, weight_counts=PAPER_COUNTS[weights], **(literal | settings))
        fusion._defaults = partial(Cordial.paper, weights=weights)
        return fusion

    @property
    def readers_(self) -> tuple[str, ...]:
        """Names of the judges."""
        return self.fit_.readers

    @property
    def stacks_(self) -> dict[str, Stack]:
        """The fitted stack of each judge by name."""
        return {name: stack_of(fit, Cordial) for name, fit in self.fit_.fits.items()}

    @property
    def shares_(self) -> dict[str, float]:
        """Posterior mean of each judge's weight in the joint channel."""
        joint = self.fit_.members.get(JOINT.name)
        if not isinstance(joint, Posterior):
            return dict.fromkeys(self.readers_, 1 / len(self.readers_))
        weights = np.asarray(reader_weights(joint.parameters()["contrast"]))
        return dict(zip(self.readers_, (joint.weights @ weights).tolist(), strict=True))

    @property
    def best_reader_(self) -> str:
        """The judge whose stack has the lowest out-of-fold log loss, if known."""
        losses = {name: fit.expected.cordial for name, fit in self.fit_.fits.items()}
        return min(losses, key=lambda name: np.nan_to_num(losses[name], nan=np.inf))

    def summary(self) -> str:
        """Describe each judge's errors, the weights and the expected log loss in plain words."""
        return summarize(self.fit_)

    def to_datatree(self) -> "DataTree":
        """Export to ArviZ, as a ``DataTree`` with a child per member; "/" in names becomes "_".

        The child of a stack has one child per channel, as in ``Stack.to_datatree``. The child of
        the joint channel contains the groups directly, with the dimension ``reader``.

        Raises:
            NotFittedError: ``fit`` has not been called.
        """
        from xarray import DataTree

        fit = self.fit_
        names = {"options": fit.scale.options, "readers": fit.readers, "seed": fit.settings["seed"]}
        return DataTree(
            children={
                name.replace("/", "_"): member.to_datatree(**names)
                if isinstance(member, Posterior)
                else join(answers.export(member))
                for name, member in fit.members.items()
            }
        )

    def save(self, path: str | Path) -> None:
        """Save the fitted fusion to a single file of plain data, for ``cp.load``.

        The loaded fusion makes the same predictions, but if it is fitted again, its stacks are the
        default stacks: ``prior``, additional ``channels`` and the stacks of :meth:`paper` are not
        saved.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: this is a subclass, which cannot be saved.
            FileError: the file cannot be written.
        """
        if type(self) is not Fusion:
            raise InputError(f"only a Fusion can be saved, not a {type(self).__name__}.")
        fusion_files.save(self.fit_, path)

    @property
    def settings(self) -> Settings:
        """The settings of each stack; see ``Estimator.settings``."""
        names = "inference", "prior", "channels", "seed", "effort"
        return self._defaults(self.options, **{k: getattr(self, k) for k in names}).settings

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        tags.input_tags.dict = tags.input_tags.allow_nan = True
        return tags

    def _members(self, readers: tuple[str, ...]) -> tuple[str, ...]:
        """Name the members; a single reader needs nothing beside its stack."""
        average = (AVERAGE,) if check_flag("average", self.average) else ()
        return (*readers, *average, JOINT.name) if len(readers) > 1 else readers

    def _read(
        self, logits: Any, corpus: Any = None
    ) -> tuple[Float[np.ndarray, "n R K"], dict[str, Any]]:
        if corpus is not None:
            raise InputError("a fusion does not use the `corpus` argument. Remove it.")
        names = None if self.readers is None else check_list("readers", self.readers)
        readings, names = as_reader_logits(logits, names and [*map(str, names)])
        if wrong := [name for name in names if name in COUNTS or names.count(name) > 1]:
            raise InputError(
                f"judge names must be unique and differ from {' and '.join(COUNTS)}. Rename "
                f"{wrong[0]!r}."
            )
        columns = check_frames(logits, Scale.of(self.options, readings.shape[2]).options)
        return readings, {"readers": names, "options": columns}

    def _fit(
        self, texts: Labelled, scale: Scale, settings: Settings, names: dict[str, Any]
    ) -> FusionFit:
        readers, entered, texts = names["readers"], texts, texts.read
        members = self._members(readers)
        chosen_counts = check_counts(self.weight_counts, members)
        counts = {name: COUNTS.get(name, READER_COUNT) for name in members} | chosen_counts
        _check_overlap(read_by(texts.logits), readers)
        folds = deal_folds(texts, settings.seed) if texts.count >= MIN_LABELS else None
        fits, trust, held_out, present = _fit_members(texts, members, folds, scale, settings)
        mixture = weigh(texts, folds, held_out, np.array([*counts.values()]), present=present)
        return FusionFit(
            settings={
                "average": bool(self.average),
                "inference": settings.inference,
                "weight_counts": chosen_counts,
                "seed": settings.seed,
                "effort": settings.effort._asdict(),
            },
            scale=scale,
            spreads=find_spreads(texts),
            trust=trust,
            members=fits,
            weights=dict(zip(members, mixture.weights.tolist(), strict=True)),
            expected=mixture.expected,
            entered=entered,
            out_of_fold=mixture.out_of_fold,
            **names,
        )


def _fit_members(
    texts: Labelled, names: Sequence[str], folds: Any, scale: Scale, settings: Settings
) -> tuple[dict[str, Fit | Posterior], np.ndarray, np.ndarray, np.ndarray]:
    """Fit the readers' stacks side by side, and then what sees all readers.

    Args:
        texts: the labelled texts.
        names: of all members, readers first.
        folds: fold of each label; None with too few.
        scale: the options.
        settings: those of each stack.

    Returns:
        Fitted members by name, the weight of each reader in their average ``[R]``, the members'
        out-of-fold predictions ``[n, K, M]``, and of which texts there are some, ``[n, M]``.
    """
    readers, trust = texts.logits.shape[1], np.ones(texts.logits.shape[1])
    # Members must not share their random numbers, or their errors correlate.
    seeds = np.random.SeedSequence(settings.seed).generate_state(len(names)).tolist()

    def fit(name: str) -> tuple[Fit | Posterior, np.ndarray | None]:
        """Return a fitted member, and its out-of-fold predictions of the texts that it sees."""
        index = names.index(name)
        if name == JOINT.name:
            spreads = [reading_spread(each, texts.weights) for each in views[:readers]]
            prior = joint_prior(settings.prior, scale.size, spreads, tuple(texts.covariates))
            joint = ChannelMember(JOINT, 0, settings.inference, prior, settings.effort)
            return joint.fit([Case(texts, folds, (seeds[index],))])[0]
        part = replace(texts, logits=views[index]).take(seen[:, index])
        stack = fit_stack(part, scale, replace(settings, seed=seeds[index]))
        return stack, stack.out_of_fold

    held_out = np.zeros((len(texts.labels), scale.size, len(names)))
    predicted = np.zeros((len(texts.labels), len(names)), bool)
    fits: dict[str, Fit | Posterior] = {}
    with doing(f"fitting {readers} judges"):
        for group in (names[:readers], names[readers:]):
            if fits:
                trust = trust_readers(texts, held_out[:, :, :readers], predicted[:, :readers])
            views, seen = view(texts.logits, names, find_spreads(texts), trust)
            for name, job in zip(group, fit_members(group, fit), strict=True):
                fits[name], out_of_fold = job.result()
                if out_of_fold is not None:
                    rows = seen[:, names.index(name)]
                    predicted[rows, names.index(name)] = True
                    held_out[rows, :, names.index(name)] = out_of_fold
    for name, member in fits.items():
        if isinstance(member, Posterior):
            warn_if_doubtful(member)
        elif name != AVERAGE:
            warn_if_reversed(member, name)
    return fits, trust, held_out, predicted


def _check_overlap(present: Bool[np.ndarray, "n R"], readers: Sequence[str]) -> None:
    """Refuse a reader without a labelled text; warn of two that share none."""
    if idle := [name for name, read in zip(readers, present.T, strict=True) if not read.any()]:
        raise InputError(
            f"judge {idle[0]!r} has rated no labelled text. Remove this judge, or have it rate "
            "some labelled texts."
        )
    apart = np.argwhere(np.triu(~(present.T @ present)))
    if len(apart):
        one, other = (readers[index] for index in apart[0])
        more = f" (and {count(len(apart) - 1, 'more pair')})" if len(apart) > 1 else ""
        warn(
            f"judges {one!r} and {other!r}{more} have no labelled texts in common, so their "
            "weights are based on different texts."
        )


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Fusion:
    """Read a fitted fusion; arguments and errors are those of ``cp.load``."""
    fit = fusion_files.read(path, channels)
    with storage.blaming(path):
        settings = {**fit.settings, "effort": Effort(**fit.settings["effort"])}
        fusion = Fusion(fit.scale, readers=fit.readers, **settings)
    fusion.fit_ = fit
    return fusion
