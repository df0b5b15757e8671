"""The estimator of a per-user effect on a population's predictions; base of `UserShift`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from cordial_ppl.blas import on_one_core
from cordial_ppl.cordial.frames import like
from cordial_ppl.cordial.parameters import Parameters
from cordial_ppl.cordial.settings import check_level
from cordial_ppl.errors import NotFittedError
from cordial_ppl.personal import files
from cordial_ppl.personal.door import as_labelled, as_population, as_sigma, as_users
from cordial_ppl.personal.effects import Effect
from cordial_ppl.personal.history import arrange
from cordial_ppl.personal.labelled import Labelled
from cordial_ppl.personal.prediction import mean_values, predict_known, predict_sequence
from cordial_ppl.personal.spreads import learn_spreads, log_priors
from cordial_ppl.personal.times import as_order
from cordial_ppl.readings import label_histogram
from cordial_ppl.scale import Scale
from cordial_ppl.scores import as_probabilities

U = TypeVar("U", bound="UserEffect")


class UserEffect(Parameters):
    r"""One value a user on top of a population's calibrated predictions; base of `UserShift`.

    .. math:: v_u \sim N(0, \sigma^2), \qquad z \sim f(p(\cdot \mid x), v_u)

    Values live on a fine grid, where their posterior is exact.  A user without labels gets the
    population's prediction as it is.  Probabilities in a pandas or polars data frame give
    predictions in one, with the same index.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.
        average: average the prediction over each user's posterior, or plug in its mode.
        sigma: "posterior" (averaged over, with a half-normal prior of the effect's unit),
            "cross-validated" (the best predictions of each label from the user's earlier ones; as
            "posterior" where no label has any), or a number in the effect's units.

    Raises:
        InputError: ``sigma`` is none of those.

    Attributes:
        scale_: the scale.
        classes_: the K options in order: their names, or 0..K-1 if no options were named.
        sigma_: standard deviation of users' values: its posterior mean, or the one chosen.
        users_: names of the users with labels.
        values_: each one's value: posterior mean, or mode where ``average`` is false.
        counts_: each one's number of labels.
    """

    effect: ClassVar[Effect]

    scale_: Scale
    sigma_: float

    def __init__(
        self,
        options: Sequence[str] | Scale | None = None,
        *,
        average: bool = True,
        sigma: str | float | np.floating | np.integer = "posterior",
    ):
        """Remember the settings."""
        self.options, self.average, self.sigma = options, average, as_sigma(sigma)

    @on_one_core
    def fit(self: U, probs: Any, labels: Any, users: Any, order: Any = None) -> U:
        """Learn how far users differ, and each user's value, from their labelled texts.

        Args:
            probs: the population's probabilities, shape ``[n, K]``; of a judge that has not seen
                these labels, such as ``judge.out_of_fold_``.
            labels: options, as names or as whole numbers 0..K-1, shape ``[n]``.
            users: who gave each label, shape ``[n]``.
            order: when, in numbers that grow with time or in dates, shape ``[n]``; by default as
                the rows come.

        Returns:
            The estimator itself.

        Raises:
            InputError: the probabilities, labels, users or times cannot be used.
        """
        population = as_probabilities(probs)
        scale = Scale.of(self.options, population.shape[1])
        codes, names = as_labelled(population, labels, users, scale)
        times = as_order(order, len(codes))
        self.scale_ = scale
        self._histogram = label_histogram(codes, scale.size)
        self._index: dict[str, int] = {}
        self._totals = np.zeros((0, len(self._grid)))
        self._counts = np.zeros(0, np.int64)
        labelled = self._add(population, codes, names, times)
        settings = {"sigma": self.sigma, "average": self.average}
        self._spreads = learn_spreads(labelled, self._totals, **settings)
        self.sigma_ = self._spreads.mean
        return self

    @on_one_core
    def partial_fit(self: U, probs: Any, labels: Any, users: Any) -> U:
        """Add labels of known or new users; ``sigma_`` and all others stay as they are.

        Args:
            probs: the population's probabilities, shape ``[n, K]``.
            labels: options, shape ``[n]``.
            users: who gave each label, shape ``[n]``.

        Raises:
            InputError: the probabilities, labels or users cannot be used.
            NotFittedError: there was no fit yet.
        """
        population = self._enter(probs)
        codes, names = as_labelled(population, labels, users, self.scale_)
        self._add(population, codes, names, np.zeros(len(codes)))
        return self

    @on_one_core
    def predict_proba(self, probs: Any, users: Any) -> Any:
        """Probabilities of each text's options for its user.

        Args:
            probs: the population's probabilities, shape ``[m, K]``.
            users: whose label is predicted, shape ``[m]``; for a user without labels the
                population's probabilities are returned.

        Returns:
            Probabilities, shape ``[m, K]``; of a data frame, a data frame with the options as
            columns.

        Raises:
            InputError: the probabilities or users cannot be used.
            NotFittedError: there was no fit yet.
        """
        population = self._enter(probs)
        names = as_users(users, len(population))
        rows = np.array([self._index.get(name, -1) for name in names])
        known = self._totals, self._weigh, self._histogram
        found = predict_known(self.effect, population, rows, *known)
        return like(probs, found, self.classes_)

    @on_one_core
    def predict_in_order(
        self, probs: Any, labels: Any, users: Any, order: Any = None, *, afresh: bool = False
    ) -> tuple[Any, Any]:
        """Predict each text from its user's earlier labels only, as if they came in one by one.

        Labels that ``fit`` and ``partial_fit`` have seen count as earlier than all of these; labels
        of one user at the same time do not know of each other.

        Args:
            probs: the population's probabilities, shape ``[n, K]``.
            labels: options, shape ``[n]``.
            users: who gave each label, shape ``[n]``.
            order: when, as for ``fit``; by default as the rows come.
            afresh: begin without labels, to see what would have been said of those fitted.

        Returns:
            Probabilities, shape ``[n, K]``, and the number of earlier labels of each text's user;
            of a data frame, a data frame and a series "earlier".

        Raises:
            InputError: the probabilities, labels, users or times cannot be used.
            NotFittedError: there was no fit yet.
        """
        population = self._enter(probs)
        codes, names = as_labelled(population, labels, users, self.scale_)
        _, numbers = np.unique(names, return_inverse=True)
        history = arrange(numbers, as_order(order, len(codes)))
        rows = np.array([self._index.get(name, -1) for name in names])[history.rows]
        # Users keep their rows: what these told of sigma is taken out for each.
        begun = np.full_like(rows, -1) if afresh else rows
        labelled = Labelled(self.effect, population, codes, self._histogram, history)
        learned = self._counts, self._totals, self._weigh
        found, earlier = predict_sequence(labelled, rows, begun, *learned)
        return like(probs, found, self.classes_), like(probs, earlier, "earlier")

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to one file of plain data; ``load`` reads it back.

        Args:
            path: the file to write, by convention ending in ``.cordial``.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: the effect is no shift.
            FileError: the file cannot be written.
        """
        self._check_fitted()
        settings = {"named": self.options is not None, "average": self.average, "sigma": self.sigma}
        learned = self._histogram, list(self._index), self._totals, self._counts, self._spreads
        files.write(path, files.State(self.effect, self.scale_, settings, *learned))

    @classmethod
    def restore(cls: type[U], state: files.State) -> U:
        """Make the estimator that a file holds."""
        settings = dict(state.settings)
        options = state.scale.options if settings.pop("named") else None
        found = cls(options, **settings)
        found.scale_, found._histogram = state.scale, state.histogram
        found._index = {name: number for number, name in enumerate(state.names)}
        found._totals, found._counts, found._spreads = state.totals, state.counts, state.spreads
        if found._totals.shape != (len(state.names), len(found._grid)):
            raise ValueError("the likelihoods are of other users or values")
        # Only the shares are stored: what they are shares of follows from the settings.
        logs = log_priors(found._grid, state.spreads.deviations, found.average)
        found._spreads = state.spreads._replace(logs=logs)
        found.sigma_ = found._spreads.mean
        return found

    @property
    def classes_(self) -> np.ndarray:
        """The K options in order: their names, or 0..K-1 if no options were named."""
        self._check_fitted()
        size = self.scale_.size
        return np.arange(size) if self.options is None else np.asarray(self.scale_.options)

    @property
    def users_(self) -> list[str]:
        """Names of the users with labels."""
        self._check_fitted()
        return list(self._index)

    @property
    @on_one_core
    def values_(self) -> dict[str, float]:
        """Each user's value."""
        self._check_fitted()
        values = mean_values(self._totals, self._weigh, self._grid)
        return dict(zip(self._index, values, strict=True))

    def intervals(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Each user's credible interval.

        Args:
            level: probability inside, between 0 and 1.

        Returns:
            The ends, in the units of ``values_``; equal ones of a fit that takes the mode.

        Raises:
            NotFittedError: there was no fit yet.
            InputError: ``level`` is not between 0 and 1.
        """
        self._check_fitted()
        tails = (1 - check_level(level)) / 2, (1 + level) / 2
        weights = self._weigh(self._totals, np.arange(len(self._totals)))
        total = np.cumsum(weights, axis=1)
        low, high = (self._grid[np.argmax(total >= tail, axis=1)] for tail in tails)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return dict(zip(self._index, ends, strict=True))

    @property
    def counts_(self) -> dict[str, int]:
        """Each user's number of labels."""
        self._check_fitted()
        return dict(zip(self._index, self._counts.tolist(), strict=True))

    @property
    def _grid(self) -> np.ndarray:
        return self.effect.grid(self.scale_.size)

    def _weigh(self, totals: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self._spreads.weigh(totals, rows, self._grid, self.average)

    def _add(
        self, probs: np.ndarray, codes: np.ndarray, names: list[str], times: np.ndarray
    ) -> Labelled:
        """Add labels to their users'."""
        for name in names:
            self._index.setdefault(name, len(self._index))
        new = len(self._index) - len(self._totals)
        if new:
            self._totals = np.pad(self._totals, ((0, new), (0, 0)))
            self._counts = np.pad(self._counts, (0, new))
        history = arrange(np.array([self._index[name] for name in names]), times)
        labelled = Labelled(self.effect, probs, codes, self._histogram, history)
        labelled.add_to(self._totals, self._counts)
        return labelled

    def _enter(self, probs: Any) -> np.ndarray:
        self._check_fitted()
        return as_population(probs, self.scale_)

    def _check_fitted(self) -> None:
        if not hasattr(self, "sigma_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted: call fit(probs, labels, users) first."
            )
