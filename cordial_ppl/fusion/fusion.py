"""Fusion: several readers of the same texts, each with its own stack, weighed together.

The stacks' out-of-fold predictions, and those of the location channel over all readers, give the
weights of a second stack.
"""

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.channel import Channel
from cordial_ppl.channels.readers import location_readers, reader_weights
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.interval import DRAWS, mean_interval
from cordial_ppl.cordial.judges import Cordial
from cordial_ppl.cordial.members import fit_channel_member, warn_if_doubtful
from cordial_ppl.cordial.settings import check_counts, check_level, check_method, check_seed
from cordial_ppl.cordial.stack import FOLDS, Stack
from cordial_ppl.cordial.weighing import ExpectedLoss, shares_of, weigh
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.fusion.door import as_reader_logits, read_by
from cordial_ppl.inference.lanes import make_lanes
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.state import DEFAULT_EFFORT, Effort
from cordial_ppl.scale import Scale
from cordial_ppl.stacking import MIN_LABELS, assign_folds

JOINT = Channel("all readers", location_readers)
"""The location channel over all readers, as a member of the second stack."""

COUNT = 1.0
"""Dirichlet pseudo-count of each member of the second stack."""


class Fusion(Estimator):
    r"""Several readers' calibrated predictions and the channel over all of them, stacked.

    .. math:: \hat p(z \mid x) = \sum_r \omega_r\, \hat p_r(z \mid x)
        + \omega_0\, \hat p_{\mathrm{joint}}(z \mid x)

    Each reader r has a stack of its own, fitted to the labelled texts that it has read.  The
    weights maximise the likelihood of the labels under out-of-fold predictions, with a pseudo-count
    for each member; with fewer than eight labels they are equal.  A reader that has not read a text
    is left out of that text's prediction, and the others' weights are scaled to sum to one.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        readers: names of the R readers; by default those of a mapping, or "reader 0" ....
        inference: "default", "laplace", "mode" or "nuts".
        channels: further channels of each reader's stack, by path of their file, whose code is run.
        weight_counts: Dirichlet pseudo-counts of the weights by reader, and of "all readers", the
            channel over all of them; 1 where not named.
        seed: seed of the folds and of every random number.
        effort: how much work the default inference does.

    Raises:
        InputError: a setting is none of those; the message says what it may be.

    Attributes:
        readers_: names of the readers.
        stacks_: each reader's fitted stack, by name.
        weights_: weight of each reader's stack, and of "all readers".
        posterior_: posterior of the channel over all readers.
        shares_: posterior mean of each reader's weight within that channel.
        best_reader_: the reader whose own stack predicts best out of fold.
        expected_: out-of-fold log losses.
        out_of_fold_: probabilities of the labelled texts by fits that have not seen their labels,
            shape ``[n, K]``; None with fewer than eight labels.

    Source: Section 2.7 of the paper, Several readers.
    """

    joint = True
    """Whether the channel over all readers is a member."""

    readers_: tuple[str, ...]
    stacks_: dict[str, Stack]
    weights_: dict[str, float]
    posterior_: Posterior | None
    expected_: ExpectedLoss
    out_of_fold_: Float[np.ndarray, "n K"] | None

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        readers: Sequence[str] | None = None,
        inference: str = "default",
        channels: Sequence[str | Path | Channel] = (),
        weight_counts: Mapping[str, float] | None = None,
        seed: int = 0,
        effort: Effort = DEFAULT_EFFORT,
    ):
        """Check the settings."""
        super().__init__(options)
        self.readers = None if readers is None else tuple(map(str, readers))
        self.inference = check_method(inference)
        self.channels = tuple(channels)
        self.weight_counts = dict(weight_counts or {})
        self.seed = check_seed(seed)
        self.effort = effort
        if self.readers is not None:
            _check_names(self.readers)
            check_counts(self.weight_counts, (*self.readers, JOINT.name))

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members: the readers, and the channel over all of them."""
        return (*self.readers_, JOINT.name) if self.joint else self.readers_

    @property
    def shares_(self) -> dict[str, float]:
        """Posterior mean of each reader's weight within the channel over all readers."""
        if self.posterior_ is None:
            return {}
        found = np.ones((1, 1))
        if len(self.readers_) > 1:
            contrast = self.posterior_.parameters()["contrast"]
            found = np.asarray(reader_weights(contrast))
        means = self.posterior_.weights @ found if len(self.readers_) > 1 else found[0]
        return dict(zip(self.readers_, means.tolist(), strict=True))

    @property
    def best_reader_(self) -> str:
        """The reader whose own stack predicts best out of fold; the first where none is known."""
        losses = {name: stack.expected_.cordial for name, stack in self.stacks_.items()}
        return min(losses, key=lambda name: np.nan_to_num(losses[name], nan=np.inf))

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None, *, mean: Any = None
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Credible interval of each text's expected position on the scale, as `Stack` gives it.

        Args:
            logits: option logits, shape ``[m, R, K]``, or ``[m, K]`` a reader by name.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.
            mean: what ``predict_mean`` says of the same texts, where that is already known.

        Returns:
            Lower and upper ends, each of shape ``[m]``, in the units of ``predict_mean``.
        """
        level = check_level(level)
        readings, extra = self._enter(logits, covariates)
        shares = self._shares(readings)
        members, own = [], []
        for number, stack in enumerate(self.stacks_.values()):
            # What stands for a missing reading has no share.
            seen = np.nan_to_num(readings[:, number])
            for name in stack.members:
                members.append((stack._fits[name], seen))
                own.append(shares[:, number] * stack.weights_[name])
        if self.posterior_ is not None:
            members.append((self.posterior_, readings))
            own.append(shares[:, -1])
        draws = max(8, DRAWS // len(self.stacks_))
        values, share = self.scale_.values, np.stack(own, axis=1)
        low, high = mean_interval(members, share, extra, values, level, self.seed, draws)
        mean = self._predict(readings, extra) @ values if mean is None else mean
        return np.minimum(low, mean), np.maximum(high, mean)

    def _read(self, logits: Any, size: int | None = None) -> Float[np.ndarray, "n R K"]:
        fitted = size is not None
        found, names = as_reader_logits(logits, self.readers_ if fitted else self.readers, size)
        if not fitted:
            _check_names(names)
            self.readers_ = names
        return found

    def _stack(self, seed: int) -> Stack:
        """The unfitted stack of one reader."""
        return Cordial(
            self.options,
            inference=self.inference,
            channels=self.channels,
            seed=seed,
            effort=self.effort,
        )

    def _fit(
        self, logits: np.ndarray, labels: np.ndarray, covariates: dict[str, np.ndarray]
    ) -> None:
        present, (texts, readers, size) = read_by(logits), logits.shape
        _check_overlap(present, self.readers_)
        counts = dict.fromkeys(self.members, COUNT)
        counts |= check_counts(self.weight_counts, self.members)
        scale = Scale.of(self.options, size)
        # Readers must not share their random numbers, or their errors correlate.
        seeds = np.random.SeedSequence(self.seed).generate_state(readers + 1).tolist()
        enough = texts >= MIN_LABELS
        rng = np.random.default_rng(seeds[-1])
        lanes = make_lanes(
            logits, labels, assign_folds(texts, FOLDS, rng) if enough else None, covariates
        )

        def fit_reader(number: int) -> Stack:
            rows = present[:, number]
            extra = {name: column[rows] for name, column in covariates.items()}
            own = logits[rows, number], labels[rows], extra, scale
            return self._stack(seeds[number]).fit_centred(*own)

        def fit_joint() -> tuple[Posterior, np.ndarray]:
            settings = self.inference, None, self.effort
            return fit_channel_member(JOINT, lanes, (seeds[-1], 0), *settings)

        with ThreadPoolExecutor(max_workers=workers(readers + 1)) as pool:
            joint = pool.submit(fit_joint) if self.joint else None
            stacks = list(pool.map(fit_reader, range(readers)))
        self.stacks_ = dict(zip(self.readers_, stacks, strict=True))
        held_out = np.zeros((len(lanes.lane), size, len(self.members)))
        known = np.zeros((texts, len(self.members)), bool)
        for number, stack in enumerate(stacks):
            if stack.out_of_fold_ is not None:
                known[:, number] = present[:, number]
                held_out[:texts][known[:, number], :, number] = stack.out_of_fold_
        self.posterior_ = None
        if joint is not None:
            self.posterior_, held_out[:, :, -1] = joint.result()
            self._joint_oof = held_out[:texts, :, -1]
            known[:, -1] = True
            warn_if_doubtful(self.posterior_)
        prior = np.array([counts[name] for name in self.members])
        found = weigh(lanes, labels, held_out if enough else None, prior, known)
        self.weights_ = dict(zip(self.members, found[0].tolist(), strict=True))
        self.expected_ = found[1]
        shares = shares_of(found[0], known)
        self.out_of_fold_ = None
        if enough and known.any(axis=1).all():
            mixed = np.einsum("nkm,nm->nk", held_out[:texts], shares)
            self.out_of_fold_ = mixed / mixed.sum(axis=1, keepdims=True)

    def _shares(self, logits: Float[np.ndarray, "m R K"]) -> Float[np.ndarray, "m M"]:
        """Weight of each member in each text's mixture."""
        present = read_by(logits)
        if self.joint:
            present = np.hstack([present, np.ones((len(present), 1), bool)])
        return shares_of(np.array([self.weights_[name] for name in self.members]), present)

    def _predict(
        self, logits: Float[np.ndarray, "m R K"], covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        shares = self._shares(logits)

        def weighted(number: int) -> np.ndarray:
            if number == len(self.stacks_):
                assert self.posterior_ is not None
                probs = self.posterior_.predict_centred(logits, covariates, dtype="float32")
                return shares[:, number, None] * probs
            rows = np.flatnonzero(shares[:, number])
            found = np.zeros((len(logits), logits.shape[2]))
            if rows.size:
                extra = {name: column[rows] for name, column in covariates.items()}
                own = self.stacks_[self.readers_[number]]._predict(logits[rows, number], extra)
                found[rows] = shares[rows, number, None] * own
            return found

        with ThreadPoolExecutor(max_workers=workers(len(self.members))) as pool:
            probs = sum(pool.map(weighted, range(len(self.members))))
        return probs / np.sum(probs, axis=1, keepdims=True)


def _check_names(readers: Sequence[str]) -> None:
    doubled = [name for name in readers if readers.count(name) > 1]
    if doubled:
        raise InputError(f"readers must have different names; {doubled[0]!r} occurs twice.")
    if JOINT.name in readers:
        raise InputError(f"no reader can be called {JOINT.name!r}: rename it.")


def _check_overlap(present: Bool[np.ndarray, "n R"], readers: Sequence[str]) -> None:
    """Refuse a reader without a labelled text; warn of two that share none."""
    idle = [name for name, own in zip(readers, present.T, strict=True) if not own.any()]
    if idle:
        raise InputError(
            f"every reader needs a reading of a labelled text; {idle[0]!r} has none. Leave it out, "
            "or have it read texts that are labelled."
        )
    apart = [
        (readers[one], readers[other])
        for one, other in combinations(range(len(readers)), 2)
        if not (present[:, one] & present[:, other]).any()
    ]
    if apart:
        more = f" (nor {len(apart) - 1} more pairs)" if len(apart) > 1 else ""
        warnings.warn(
            f"the readers {apart[0][0]!r} and {apart[0][1]!r}{more} have read no labelled text in "
            "common: their weights compare them on different texts.",
            CordialWarning,
            stacklevel=5,
        )
