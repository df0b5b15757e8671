"""Fusion: several readers of the same texts, each with its own stack, weighed together.

The out-of-fold predictions of the stacks, of one more on the readers' average, and of the location
channel over all readers give the weights of a second stack.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.channel import Channel
from cordial_ppl.channels.readers import reader_weights
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.members import ChannelMember, warn_if_doubtful
from cordial_ppl.cordial.named import Cordial
from cordial_ppl.cordial.settings import (
    check_counts,
    check_effort,
    check_flag,
    check_list,
    check_mapping,
    check_method,
    check_seed,
)
from cordial_ppl.cordial.stack import FOLDS, Stack
from cordial_ppl.cordial.weighing import ExpectedLoss, shares_of, weigh
from cordial_ppl.errors import InputError, NotFittedError
from cordial_ppl.fusion import files
from cordial_ppl.fusion.door import as_reader_logits, check_names, check_overlap, pool, read_by
from cordial_ppl.fusion.joint import AVERAGE, COUNTS, JOINT, READER_COUNT, joint_prior
from cordial_ppl.fusion.words import put_into_words
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.fit import Case
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.priors import LearnedPrior, reading_spread
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from xarray import DataTree

SETTINGS = ("average", "inference", "weight_counts", "seed")
"""Arguments that a file keeps as they are."""


class Fusion(Estimator):
    r"""Several readers' calibrated predictions, stacked.

    .. math:: \hat p(z \mid x) = \sum_r \omega_r\, \hat p_r(z \mid x)
        + \omega_a\, \hat p_a(z \mid x) + \omega_0\, \hat p_0(z \mid x)

    Each reader r has a stack of its own, fitted to the labelled texts that it has read.  One more
    stack, a, sees the readers' average, logits in units of each reader's spread; and 0 is the
    location channel over all readers, with a weight and a temperature for each.  The weights
    maximise the likelihood of the labels under out-of-fold predictions with a Dirichlet prior; with
    fewer than eight labels they are those of the prior.  A reader that has not read a text is left
    out of that text's prediction, and the other weights are scaled to sum to one.

    The paper has no average among the members, and one pseudo-count each: ``average=False,
    weight_counts=dict.fromkeys([*readers, "joint channel"], 1.0)``.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        readers: names of the R readers; by default those of a mapping, or "reader 0" ....
        average: whether the stack on the readers' average is a member.
        inference: "default", "laplace", "mode" or "nuts".
        prior: what replaces the priors of the channels, as ``Cordial`` takes it.  What is said of
            a parameter by name, or learned of the channel "location", holds for the parameters of
            those names of the joint channel too.
        channels: further channels of each stack, by path of their file, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights, where they differ from the default:
            3 for "average reading", 0.5 for "joint channel", 0.25 for each reader.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Raises:
        InputError: a setting is none of those; the message says what it may be.

    Attributes:
        readers_: names of the readers.
        fits_: what is fitted, by member: a stack for each reader and for "average reading", and the
            posterior of "joint channel"; a single reader has neither of the last two.
        weights_: weight of each member by name.
        shares_: posterior mean of each reader's weight within the joint channel.
        best_reader_: the reader whose own stack predicts best out of fold.
        expected_: out-of-fold log losses; a member with fewer than eight labels of its own has no
            part in them.
        out_of_fold_: probabilities of the labelled texts by fits that have not seen their labels,
            shape ``[n, K]``; None with fewer than eight labels.

    Source: Section 2.7 of the paper, Several readers.
    """

    joint = True
    """Whether the channel over all readers is a member."""

    readers_: tuple[str, ...]
    fits_: dict[str, Stack | Posterior]
    weights_: dict[str, float]
    expected_: ExpectedLoss
    out_of_fold_: Float[np.ndarray, "n K"] | None

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        readers: Sequence[str] | None = None,
        average: bool = True,
        inference: str = "default",
        prior: Mapping[str, Any] | LearnedPrior | str | Path | None = None,
        channels: Sequence[str | Path | Channel] = (),
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Check the settings."""
        self.options = options
        self.readers = None if readers is None else tuple(map(str, check_list("readers", readers)))
        self.average = check_flag("average", average)
        self.inference = check_method(inference)
        self.prior = prior
        self.channels = check_list("channels", channels)
        self.weight_counts = check_mapping("weight_counts", weight_counts)
        self.seed = check_seed(seed)
        self.effort = check_effort(effort)
        self._stack(0).parts(0)  # Validates the settings of the stacks.
        if self.readers is not None:
            check_names(self.readers, COUNTS)
            check_counts(self.weight_counts, self._members(self.readers))

    @property
    def stacks_(self) -> dict[str, Stack]:
        """Each reader's own fitted stack, by name."""
        return {name: fit for name in self.readers_ if isinstance(fit := self.fits_[name], Stack)}

    @property
    def shares_(self) -> dict[str, float]:
        """Posterior mean of each reader's weight within the joint channel."""
        posterior = self.fits_.get(JOINT.name)
        if not isinstance(posterior, Posterior):
            return dict.fromkeys(self.readers_, 1 / len(self.readers_))
        weights = np.asarray(reader_weights(posterior.parameters()["contrast"]))
        return dict(zip(self.readers_, (posterior.weights @ weights).tolist(), strict=True))

    @property
    def best_reader_(self) -> str:
        """The reader whose own stack predicts best out of fold; the first where none is known."""
        losses = {name: stack.expected_.cordial for name, stack in self.stacks_.items()}
        return min(losses, key=lambda name: np.nan_to_num(losses[name], nan=np.inf))

    def summary(self) -> str:
        """Each reader's faults, the members' weights and the expected log loss in plain words."""
        if not hasattr(self, "scale_"):
            raise NotFittedError("there is nothing to describe: call fit(logits, labels) first.")
        own = {name: stack.describe() for name, stack in self.stacks_.items()}
        return put_into_words(own, self.weights_, self.expected_)

    def to_datatree(self) -> "DataTree":
        """Posteriors for ArviZ: a ``DataTree`` with one child a member, a "/" in names as "_".

        A stack's child has one child a channel, as ``Stack.to_datatree`` makes it; that of the
        joint channel has the groups themselves, with the dimension ``reader``.

        Raises:
            NotFittedError: there was no fit yet.
        """
        from xarray import DataTree

        if not hasattr(self, "scale_"):
            raise NotFittedError("there is nothing to look at: call fit(logits, labels) first.")
        names = {"options": self.scale_.options, "readers": self.readers_, "seed": self.seed}
        children = {
            name.replace("/", "_"): fit.to_datatree(**names)
            if isinstance(fit, Posterior)
            else fit.to_datatree()
            for name, fit in self.fits_.items()
        }
        return DataTree(children=children)

    def save(self, path: str | Path) -> None:
        """Write the fitted fusion to one file of plain data; ``cp.load`` reads it back.

        What is loaded predicts the same; fitted again, it begins without ``prior`` and further
        ``channels``.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: this is of another class than ``Fusion``.
            FileError: the file cannot be written.
        """
        if type(self) is not Fusion:
            raise InputError(f"only a Fusion can be saved; this is a {type(self).__name__}.")
        if not hasattr(self, "scale_"):
            raise NotFittedError("there is nothing to save: call fit(logits, labels) first.")
        settings = {name: getattr(self, name) for name in SETTINGS}
        settings |= {"named": self.options is not None, "effort": self.effort._asdict()}
        joint = self.fits_.get(JOINT.name)
        stacks = {name: fit for name, fit in self.fits_.items() if isinstance(fit, Stack)}
        state = files.State(
            scale=self.scale_,
            settings=settings,
            readers=self.readers_,
            spreads=self._spreads,
            stacks=stacks,
            joint=joint if isinstance(joint, Posterior) else None,
            weights=self.weights_,
            expected=self.expected_,
            covariates=self.covariates_,
        )
        files.write(path, state)

    @classmethod
    def restore(cls, state: files.State) -> "Fusion":
        """Make a fitted fusion of what a file held."""
        settings = dict(state.settings)
        options = state.scale.options if settings.pop("named") else None
        effort = Effort(**settings.pop("effort"))
        fusion = cls(options, readers=state.readers, effort=effort, **settings)
        fusion.fits_ = {**state.stacks} | ({} if state.joint is None else {JOINT.name: state.joint})
        if tuple(fusion.fits_) != fusion._members(state.readers):
            raise ValueError("its members are others than its settings say")
        fusion.readers_, fusion._spreads = state.readers, state.spreads
        fusion.weights_, fusion.expected_ = state.weights, state.expected
        fusion.scale_, fusion.covariates_ = state.scale, state.covariates
        fusion.out_of_fold_ = None
        return fusion

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        tags.input_tags.dict = tags.input_tags.allow_nan = True
        return tags

    def _members(self, readers: Sequence[str]) -> tuple[str, ...]:
        """Names of the members."""
        return (*readers, *self._more(len(readers)))

    def _more(self, readers: int) -> tuple[str, ...]:
        """Names of what sees several readers; one alone needs no more than its own stack."""
        more = (AVERAGE,) * self.average + (JOINT.name,) * self.joint
        return more if readers > 1 else ()

    def _read(self, logits: Any, size: int | None = None) -> Float[np.ndarray, "n R K"]:
        fitted = size is not None
        found, names = as_reader_logits(logits, self.readers_ if fitted else self.readers, size)
        if not fitted:
            check_names(names, COUNTS)
            self._named = names
        return found

    def _stack(self, seed: int) -> Stack:
        """An unfitted stack, of one reader or of the average."""
        return Cordial(
            self.options,
            inference=self.inference,
            prior=self.prior,
            channels=self.channels,
            seed=seed,
            effort=self.effort,
        )

    def _views(
        self, logits: Float[np.ndarray, "n R K"], spreads: Float[np.ndarray, " R"]
    ) -> tuple[list[np.ndarray], Bool[np.ndarray, "n M"]]:
        """What each member sees of the readings, and of which texts it sees anything."""
        views, present = list(logits.swapaxes(0, 1)), read_by(logits)
        more = self._more(len(views))
        views += [pool(logits, spreads) if name == AVERAGE else logits for name in more]
        return views, np.hstack([present, np.ones((len(present), len(more)), bool)])

    def _fit(self, texts: Labelled) -> None:
        logits, labels, covariates = texts
        readers, (count, _, size) = self._named, logits.shape
        members = self._members(readers)
        check_counts(self.weight_counts, members)
        counts = {name: COUNTS.get(name, READER_COUNT) for name in members} | self.weight_counts
        scale = Scale.of(self.options, size)
        check_overlap(read_by(logits), readers)
        spreads = np.nanstd(logits, axis=(0, 2))
        spreads = np.where(spreads > 0, spreads, 1.0)
        views, present = self._views(logits, spreads)
        # Members must not share their random numbers, or their errors correlate.
        seeds = np.random.SeedSequence(self.seed).generate_state(len(members)).tolist()
        enough = count >= MIN_LABELS
        folds = assign_folds(count, FOLDS, np.random.default_rng(self.seed)) if enough else None
        whole = self._stack(0).settings

        def fit(place: int) -> tuple[Stack | Posterior, np.ndarray | None]:
            if members[place] == JOINT.name:
                each = [reading_spread(own) for own in logits.swapaxes(0, 1)]
                prior = joint_prior(whole.prior, size, each, tuple(covariates))
                counts = whole.prior.pseudo_counts
                joint = ChannelMember(JOINT, 0, self.inference, prior, counts, self.effort)
                (found,) = joint.fit([Case(texts, folds, (seeds[place],))])
                return found
            rows = present[:, place]
            extra = {name: column[rows] for name, column in covariates.items()}
            own = Labelled(views[place][rows], labels[rows], extra)
            stack = self._stack(seeds[place]).fit_labelled(own, scale)
            return stack, stack.out_of_fold_

        with ThreadPoolExecutor(max_workers=workers(len(members))) as threads:
            found = list(threads.map(fit, range(len(members))))
        self.readers_, self._spreads = readers, spreads
        self.fits_ = {name: own for name, (own, _) in zip(members, found, strict=True)}
        held_out = np.zeros((count, size, len(members)))
        known = present & [own is not None for _, own in found]
        for place, (own, unseen) in enumerate(found):
            held_out[known[:, place], :, place] = 0.0 if unseen is None else unseen
            if isinstance(own, Posterior):
                warn_if_doubtful(own)
        prior = np.array([counts[name] for name in members])
        mixture = weigh(texts, folds, held_out if enough else None, prior, known)
        self.weights_ = dict(zip(members, mixture.weights.tolist(), strict=True))
        self.expected_, self.out_of_fold_ = mixture.expected, mixture.out_of_fold

    def _mixture(
        self, logits: np.ndarray
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "m M"]]:
        views, present = self._views(logits, self._spreads)
        shares, members, own = self._shares(present), [], []
        for place, (fit, seen) in enumerate(zip(self.fits_.values(), views, strict=True)):
            if isinstance(fit, Posterior):
                members.append((fit, seen))
                own.append(shares[:, place])
                continue
            for name, weight in fit.weights_.items():
                # What stands for a missing reading has no share.
                members.append((fit.fits_[name], np.nan_to_num(seen)))
                own.append(shares[:, place] * weight)
        return members, np.stack(own, axis=1)

    def _shares(self, present: Bool[np.ndarray, "m M"]) -> Float[np.ndarray, "m M"]:
        """Weight of each member in each text's mixture."""
        return shares_of(np.array(list(self.weights_.values())), present)

    def _predict(
        self, logits: Float[np.ndarray, "m R K"], covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        views, present = self._views(logits, self._spreads)
        shares = self._shares(present)

        def weighted(place: int, fit: Stack | Posterior) -> np.ndarray:
            found = np.zeros((len(logits), logits.shape[2]))
            rows = np.flatnonzero(shares[:, place])
            if rows.size:
                seen = views[place][rows], {k: column[rows] for k, column in covariates.items()}
                joint = isinstance(fit, Posterior)
                own = fit.predict_centred(*seen) if joint else fit._predict(*seen)
                found[rows] = shares[rows, place, None] * own
            return found

        with ThreadPoolExecutor(max_workers=workers(len(self.fits_))) as threads:
            parts = threads.map(weighted, range(len(self.fits_)), self.fits_.values())
            probs = sum(parts)
        return probs / np.sum(probs, axis=1, keepdims=True)
