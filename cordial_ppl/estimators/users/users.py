"""`UserShift`: how each user differs from the population, learned from labels.

With one value per user, a grid does without error what sampling would do: the log likelihood of a
user's labels is a row, one number per value, to which each further label adds one more row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.user_effects import SHIFT, SHIFTS, Effect
from cordial_ppl.data.checks import check_level, check_names, check_number
from cordial_ppl.data.frames import aligned, like
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, NotFittedError
from cordial_ppl.estimators.params import Parameters
from cordial_ppl.estimators.users.spreads import (
    KIND,
    SPREAD_PROBS,
    SPREADS,
    WIDEST,
    Spreads,
    UsersRecord,
    in_chunks,
    log_normals,
)
from cordial_ppl.estimators.users.validation import as_labelled, as_order, as_population, as_users
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.arrays import CHUNK_ROWS, FLOOR
from cordial_ppl.runtime.blas import on_one_core
from cordial_ppl.runtime.progress import doing

VALIDATED = "cross-validated"
"""The value of ``sigma`` with which each user's mode is plugged in."""


class UserShift(Parameters):
    r"""A shift for each user, on top of a population's calibrated predictions.

    .. math:: \sigma \sim \mathrm{HalfNormal}(\mathrm{unit}), \qquad \Delta_u \sim N(0, \sigma^2),
        \qquad p_u(z \mid x) = \sum_y p(y \mid x)\, \max(0, 1 - |z - c(y)|)

    with c(y) = y + Delta_u, clipped to the scale. Shifts lie on a fine grid, on which their
    posterior is exact, and predictions average over this posterior. A user without labels gets the
    population's prediction. If the probabilities are a pandas or polars data frame, predictions are
    a data frame with the same index. The paper plugs in each user's mode under a cross-validated
    sigma; see :meth:`paper`.

    Args:
        options: names of the K options, in order; by default 0..K-1.
        sigma: standard deviation of the shifts in classes, or "posterior" to average over its
            posterior. The unit of the prior is one class for five to eight options, otherwise the
            largest power of two up to a quarter of K - 1. "cross-validated" plugs in modes, with
            the sigma (on the same grid) that best predicts each label from the same user's earlier
            labels.

    Attributes:
        scale_: the scale.
        classes_: the K options in order: their names, or 0..K-1 if no options were named.
        sigma_: posterior mean of the shifts' standard deviation, or the standard deviation that was
            passed.
        users_: names of the users with labels.
        values_: posterior mean of each user's shift, in classes.
        counts_: number of labels of each user.

    Source: Section 2.7 of the paper, Personalization.
    """

    effect: Effect = SHIFT

    scale_: Scale
    sigma_: float
    counts_: dict[str, int]

    def __init__(self, options: Any = None, *, sigma: Any = "posterior"):
        """Remember the settings."""
        self.options, self.sigma = options, sigma

    @classmethod
    def paper(cls, options: Any = None, *, fractions: str = "divided") -> "UserShift":
        r"""Create the paper's exact shift, for comparison.

        .. math:: \max_\Delta \textstyle\sum_i \log p_\Delta(z_i \mid x_i) - \Delta^2 / (2 \sigma^2)

        The default averages over shift and sigma. The paper plugs in modes, with the sigma that
        predicts held-out users best.

        Args:
            options: names of the K ordered options.
            fractions: "divided" splits mass between two options, like the default, and reproduces
                the paper's gains; "nearest" moves all mass to the nearest option, as in the limit
                of the affine channel.

        Raises:
            InputError: ``fractions`` is neither "divided" nor "nearest".
        """
        check_names("fractions", [fractions], SHIFTS)
        shift = cls(options, sigma=VALIDATED)
        shift.effect = SHIFTS[fractions]
        return shift

    @on_one_core
    def fit[T: "UserShift"](
        self: T,
        probs: Any,
        labels: Any,
        users: Any,
        order: Any = None,
        *,
        sample_weight: Any = None,
    ) -> T:
        """Learn how much users differ, and each user's shift, from labelled texts.

        Args:
            probs: the population's probabilities, shape ``[n, K]``, from a calibrator that was not
                fitted to these labels, such as ``calibrator.fit_.out_of_fold``.
            labels: labels, as option names or whole numbers 0..K-1, shape ``[n]``.
            users: who gave each label, shape ``[n]``.
            order: time of each label, as in ``predict_in_order``; affects only a cross-validated
                sigma.
            sample_weight: weight of each label, 0 or above; by default 1.

        Returns:
            The estimator itself.

        Raises:
            InputError: the probabilities, labels, users or times cannot be used, or sigma is
                neither "posterior", "cross-validated" nor a positive number.
        """
        scale = Scale.of(self.options, as_population(probs).shape[1])
        deviations, prior = self._deviations(scale.size)
        labelled = as_labelled(probs, labels, users, scale, sample_weight)
        times = as_order(aligned(probs, order, "order"), len(labelled[0]))
        self.scale_, self.counts_ = scale, {}
        self._totals = np.zeros((0, len(self._grid)))
        with doing("comparing users"):
            self._add(*labelled)
            self._spreads = Spreads.learn(self._totals, self._grid, deviations, prior)
            self.sigma_ = self._spreads.mean
            if self.sigma == VALIDATED:
                self._cross_validate(*labelled, times)
        return self

    @on_one_core
    def partial_fit[T: "UserShift"](
        self: T, probs: Any, labels: Any, users: Any, *, sample_weight: Any = None
    ) -> T:
        """Add labels of known or new users; ``sigma_`` and the shifts of other users do not change.

        Args:
            probs: the population's probabilities, as for ``fit``.
            labels: labels, as for ``fit``.
            users: who gave each label.
            sample_weight: weight of each label, as in ``fit``.

        Raises:
            InputError: the probabilities, labels or users cannot be used.
            NotFittedError: ``fit`` has not been called.
        """
        self._check_fitted()
        self._add(*as_labelled(probs, labels, users, self.scale_, sample_weight))
        return self

    @on_one_core
    def predict_proba(self, probs: Any, users: Any) -> Any:
        """Predict the probability of each option for each text's user.

        Args:
            probs: the population's probabilities, shape ``[m, K]``.
            users: the user whose label is predicted, for each text, shape ``[m]``.

        Returns:
            Probabilities, shape ``[m, K]``; for a data frame, a data frame with the options as
            columns.

        Raises:
            InputError: the probabilities or users cannot be used.
            NotFittedError: ``fit`` has not been called.
        """
        self._check_fitted()
        population = as_population(probs, self.scale_)
        users = aligned(probs, users, "users")
        numbers = self._number(as_users(users, len(population)))
        predictions = population.copy()
        for texts in in_chunks(np.flatnonzero(numbers >= 0)):
            who, index = np.unique(numbers[texts], return_inverse=True)
            weights = self._weigh(self._totals[who], who)[index]
            predictions[texts] = self.effect.average(population[texts], weights)
        return like(probs, predictions, self.classes_)

    @on_one_core
    def predict_in_order(
        self,
        probs: Any,
        labels: Any,
        users: Any,
        order: Any = None,
        *,
        afresh: bool = False,
        sample_weight: Any = None,
    ) -> tuple[Any, Any]:
        """Predict each text from its user's earlier labels only, as if labels arrived one by one.

        Labels passed to ``fit`` and ``partial_fit`` count as earlier than all of these labels;
        labels of the same user at the same time do not inform each other.

        Args:
            probs: the population's probabilities, as for ``fit``.
            labels: labels, as for ``fit``.
            users: who gave each label.
            order: time of each label, as numbers that increase with time or as dates, shape
                ``[n]``; by default, the order of the rows.
            afresh: start without labels, to show what would have been predicted for the labels in
                the fit.
            sample_weight: weight of each label in predictions for later texts, as in ``fit``.

        Returns:
            Probabilities, shape ``[n, K]``, and the number of earlier labels of each text's user;
            for a data frame, a data frame and a series "earlier".

        Raises:
            InputError: the probabilities, labels, users or times cannot be used.
            NotFittedError: ``fit`` has not been called.
        """
        self._check_fitted()
        labelled = as_labelled(probs, labels, users, self.scale_, sample_weight)
        population, codes, names, counted = labelled
        times = as_order(aligned(probs, order, "order"), len(codes))
        predictions, earlier = population.copy(), np.zeros(len(codes), np.int64)
        # Afresh too, users have their numbers: their labels are taken out of sigma's posterior.
        numbers, counts = self._number(names), np.array([*self.counts_.values(), 0])
        groups = np.unique(names, return_inverse=True)[1]
        rows = np.lexsort((times, groups))
        who, when = groups[rows], times[rows]
        moments = np.cumsum(np.append(True, (who[1:] != who[:-1]) | (when[1:] != when[:-1])))
        # Some users at a time, whole ones.
        starts = np.flatnonzero(np.diff(who, prepend=-1))
        ends = np.searchsorted(starts, np.arange(0, len(rows), CHUNK_ROWS), side="right") - 1
        for chunk in np.split(np.arange(len(rows)), np.unique(starts[ends])[1:]):
            texts = rows[chunk]
            logs = self.effect.log_likelihoods(population[texts], codes[texts])
            logs *= counted[texts, None]
            sums = np.vstack([np.zeros_like(logs[:1]), logs.cumsum(axis=0)])
            first, moment = (np.searchsorted(key[chunk], key[chunk]) for key in (who, moments))
            totals, before = sums[moment] - sums[first], moment - first
            if not afresh:
                mask = numbers[texts] >= 0
                totals[mask] += self._totals[numbers[texts[mask]]]
                before = before + counts[numbers[texts]]
            earlier[texts], told = before, before > 0
            weights = self._weigh(totals[told], numbers[texts][told])
            predictions[texts[told]] = self.effect.average(population[texts[told]], weights)
        return like(probs, predictions, self.classes_), like(probs, earlier, "earlier")

    @property
    def classes_(self) -> np.ndarray:
        """Return the K options in order, as they were passed; 0..K-1 by default."""
        return self.scale_.classes

    @property
    def users_(self) -> list[str]:
        """Names of the users with labels."""
        self._check_fitted()
        return list(self.counts_)

    @property
    @on_one_core
    def values_(self) -> dict[str, float]:
        """Posterior mean of each user's shift, in classes."""
        means = np.concatenate([weights @ self._grid for weights in self._posteriors()])
        return dict(zip(self.counts_, means.tolist(), strict=True))

    @on_one_core
    def intervals(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Compute each user's credible interval, in the units of ``values_``.

        Args:
            level: probability inside the interval, between 0 and 1.

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: ``level`` is not between 0 and 1, or modes are plugged in.
        """
        if self.sigma == VALIDATED:
            raise InputError(f"sigma={VALIDATED!r} has no intervals. Use 'posterior' or a number.")
        tails = (1 - check_level(level)) / 2, (1 + level) / 2
        totals = (np.cumsum(weights, axis=1) for weights in self._posteriors())
        each = [[np.argmax(total >= tail, axis=1) for tail in tails] for total in totals]
        ends = self._grid[np.concatenate(each, axis=1)].T.tolist()
        return dict(zip(self.counts_, map(tuple, ends), strict=True))

    def save(self, path: str | Path) -> None:
        """Save the fitted estimator to a single file of plain data, for ``cp.load``.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: ``fit`` has not been called.
            InputError: the effect is not the shift.
            FileError: the file cannot be written.
        """
        self._check_fitted()
        if self.effect not in SHIFTS.values():
            raise InputError(f"only built-in shifts can be saved; got {self.effect.name!r}.")
        UsersRecord(
            scale=self.scale_,
            sigma=self.sigma if isinstance(self.sigma, str) else float(self.sigma),
            names=self.users_,
            totals=self._totals,
            counts=np.array(list(self.counts_.values())),
            spreads=self._spreads._replace(logs=self._spreads.logs[:, :0]),
            nearest=self.effect == SHIFTS["nearest"],
        ).save(path, KIND)

    @property
    def _grid(self) -> Float[np.ndarray, " G"]:
        return self.effect.grid(self.scale_.size)

    def _deviations(self, size: int) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
        """List the standard deviations that K options allow, and their prior probabilities."""
        if isinstance(self.sigma, str) and self.sigma in ("posterior", VALIDATED):
            return self.effect.unit(size) * SPREADS, SPREAD_PROBS
        words = f"sigma (unless 'posterior' or '{VALIDATED}')"
        return np.array([check_number(words, self.sigma, 1 / WIDEST, WIDEST)]), np.ones(1)

    def _weigh(
        self, totals: Float[np.ndarray, "n G"], users: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n G"]:
        """Compute posterior probabilities of users' values from the likelihoods of their labels."""
        if self.sigma != VALIDATED:
            return self._spreads.weigh(totals, users)
        # All weight on the mode; of several, on the one nearest to zero.
        nearest = np.argsort(np.abs(self._grid), kind="stable")
        logs = totals - 0.5 * np.square(self._grid / self._spreads.deviations[0])
        return np.eye(len(nearest))[nearest[logs[:, nearest].argmax(axis=1)]]

    def _cross_validate(
        self, probs: Any, codes: Any, users: list[str], weights: Any, order: Any
    ) -> None:
        """Keep the sigma that predicts labels best from earlier ones; of several, the smallest."""
        seen, tried = np.flatnonzero(weights), []
        probs, codes, weights, order = (part[seen] for part in (probs, codes, weights, order))
        users, labels = [users[row] for row in seen], self.scale_.decode(codes)
        for sigma in self._spreads.deviations:
            self._spreads = Spreads.learn(self._totals, self._grid, sigma[None], np.ones(1))
            # Nothing is learned of a user from others: under each sigma every user is held out.
            moved, earlier = self.predict_in_order(
                probs, labels, users, order, afresh=True, sample_weight=weights
            )
            logs = weights * np.log(np.maximum(moved[np.arange(len(codes)), codes], FLOOR))
            tried.append((logs[earlier > 0].sum(), self._spreads))
        self._spreads = max(tried, key=lambda pair: pair[0])[1]
        self.sigma_ = self._spreads.mean

    def _posteriors(self) -> Iterator[Float[np.ndarray, "u G"]]:
        """Compute posterior probabilities of all users' values, some users at a time."""
        self._check_fitted()
        chunks = in_chunks(np.arange(len(self._totals)))
        return (self._weigh(self._totals[rows], rows) for rows in chunks)

    def _number(self, names: list[str]) -> Int[np.ndarray, " n"]:
        """Number users by name; -1 for one without labels."""
        index = {name: number for number, name in enumerate(self.counts_)}
        return np.array([index.get(name, -1) for name in names], np.int64)

    def _add(
        self,
        probs: Float[np.ndarray, "n K"],
        codes: Int[np.ndarray, " n"],
        names: list[str],
        weights: Float[np.ndarray, " n"],
    ) -> None:
        """Add the log likelihoods of labels, times their weights, to those of their users."""
        for name in names:
            self.counts_[name] = self.counts_.get(name, 0) + 1
        self._totals = np.pad(self._totals, ((0, len(self.counts_) - len(self._totals)), (0, 0)))
        numbers = self._number(names)
        for texts in in_chunks(np.arange(len(names))):
            rows = self.effect.log_likelihoods(probs[texts], codes[texts])
            np.add.at(self._totals, numbers[texts], rows * weights[texts, None])

    def _check_fitted(self) -> None:
        if not hasattr(self, "sigma_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted. Call fit(probs, labels, users) first."
            )


def load(path: str | Path) -> UserShift:
    """Read a fitted `UserShift`; errors are those of ``cp.load``."""
    state = UsersRecord.load(path, KIND)
    with storage.blaming(path):
        spreads, scale = state.spreads, state.scale
        shift = UserShift(scale, sigma=state.sigma)
        shift.effect = SHIFTS["nearest" if state.nearest else "divided"]
        shift.scale_, shift._totals = scale, state.totals
        shift.counts_ = dict(zip(state.names, state.counts.tolist(), strict=True))
        deviations = shift._deviations(scale.size)[0]
        if state.sigma == VALIDATED:
            deviations = deviations[np.isin(deviations, spreads.deviations)]
        if not (
            len(spreads.evidence) <= len(shift.counts_) == len(state.totals)
            and len(deviations) == len(spreads.log_shares) == spreads.evidence.shape[1]
            and np.array_equal(deviations, spreads.deviations)
            and state.counts.min(initial=1) >= 1
            and 1 / WIDEST <= deviations.min() <= deviations.max() <= WIDEST
            and state.totals.shape[1] == len(shift._grid)
        ):
            raise ValueError("the users, counts, values and standard deviations do not match")
        shift._spreads = spreads._replace(logs=log_normals(shift._grid, deviations))
        shift.sigma_ = shift._spreads.mean
        return shift
