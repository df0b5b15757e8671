"""What every estimator shares: input is validated here, once, and predicted in four forms."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.frames import aligned, aligned_labels, check_columns, column_names, like
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import as_texts, as_weights, have_several, list_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, NotFittedError, name_rows
from cordial_ppl.estimators.parameters import Parameters
from cordial_ppl.runtime.progress import doing
from cordial_ppl.scores import accuracy
from cordial_ppl.stack.interval import label_range, predict_mixture
from cordial_ppl.stack.members import Member
from cordial_ppl.stack.settings import check_level


class Estimator(Parameters, ABC):
    """A weighted mixture of fitted members, with scikit-learn's interface.

    Readings in a pandas or polars data frame give predictions in one, with the same index.

    Attributes:
        options: names of the K ordered options, in order; by default 0..K-1.
        scale_: the scale; present once fitted.
        classes_: the K options in order, in the terms of ``predict``.
        n_features_in_: the number of options, K.
        feature_names_in_: names of the columns if the fit had a data frame; predictions need the
            same in the same order.  They are not saved.
        covariates_: names of the covariates that the fit had, which predictions need too.
    """

    folded: ClassVar[bool] = False
    """Whether members are fitted to folds too, to be weighed."""

    options: Sequence[str | float] | Scale | None
    scale_: Scale
    feature_names_in_: np.ndarray
    covariates_: tuple[str, ...]

    @property
    def classes_(self) -> np.ndarray:
        """The K options in order, as they were given; 0..K-1 if none were."""
        scale = self.scale_
        return np.arange(scale.size) if self.options is None else scale.classes

    @property
    def n_features_in_(self) -> int:
        """The number of options, K."""
        return self.scale_.size

    def fit[T: "Estimator"](
        self: T,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn the calibration from labelled readings.

        Args:
            logits: option logits of the labelled texts, shape ``[n, K]`` with ``n >= 1``.
            labels: their options, as names or as whole numbers 0..K-1, shape ``[n]``; of several
                annotators shape ``[n, m]``, with None, NaN or -1 where one has given none. A series
                or data frame of pandas is put in the order of the index of the logits.
            covariates: per-text covariates of the channels that use them, each of shape ``[n]``.
            sample_weight: what each label counts, numbers from 0 up, in the shape of the labels; by
                default one, and 1/m for each of a text's m labels.
            texts: which text each row is of, names or whole numbers, where a text has several rows:
                these share a fold.

        Returns:
            The estimator itself.

        Raises:
            InputError: a setting, the readings or the labels are invalid; the message says where
                and why.
            ChannelError: there is no such channel, or it breaks the contract.
        """
        readings = self._read(logits)
        scale = Scale.of(self.options, readings.shape[-1])
        check_columns(logits, None, scale.options)
        labels, sample_weight, texts = aligned_labels(logits, labels, sample_weight, texts)
        extra = as_covariates(aligned(logits, covariates, "covariates"), len(readings))
        # While rows are still those that were given.
        self.check(readings, extra)
        data = _label(readings, extra, scale, labels, sample_weight, texts)
        self.fit_labelled(data, scale)
        names = column_names(logits)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def fit_labelled[T: "Estimator"](self: T, texts: Labelled, scale: Scale) -> T:
        """Learn from labelled texts that are already validated, centred and checked."""
        with doing("fitting"):
            self._fit(texts)
        vars(self).pop("feature_names_in_", None)
        self.scale_ = scale
        self.covariates_ = tuple(texts.covariates)
        return self

    def predict_proba(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Calibrated probabilities of the options.

        Args:
            logits: option logits, shape ``[m, K]``.
            covariates: the covariates that the estimator was fitted with, each of shape ``[m]``.

        Returns:
            Probabilities, shape ``[m, K]``, float64 rows that sum to one; for a data frame, a data
            frame with the options as columns.

        Raises:
            InputError: the readings are invalid, or have another number of options.
            NotFittedError: ``fit`` was not called yet.
        """
        return like(logits, self._probs(logits, covariates), self.classes_)

    def predict(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Most probable option of each text, in the terms that the labels were given in.

        Returns:
            Option names, or whole numbers 0..K-1 if no options were named, shape ``[m]``; for a
            data frame, a series "label".
        """
        best = np.argmax(self._probs(logits, covariates), axis=1)
        return like(logits, self.classes_[best], "label")

    def predict_mean(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Expected position on the scale, ``sum_z z p(z)``, shape ``[m]``.

        Options whose names are numbers count as these numbers, others as 0..K-1.  For a data frame
        it is a series "mean".
        """
        means = self._probs(logits, covariates) @ self.scale_.values
        return like(logits, means, "mean")

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[Any, Any]:
        """Credible interval of each text's expected position on the scale.

        The uncertainty is that of a fit to few labels: parameters of the channels vary over their
        posteriors, members over their weights.  It is not the spread of single labels, few of which
        it holds: see ``predict_label_interval``.  A channel contributes the draws that it predicts
        with, a calibrator its one prediction.  An interval that misses ``predict_mean``, which can
        happen with ``inference="mode"``, is widened to it.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Lower and upper ends, each of shape ``[m]``, in the units of ``predict_mean``; for a
            data frame, series "mean_low" and "mean_high".

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        *_, low, high = self.predict_all(logits, level, covariates)
        return like(logits, low, "mean_low"), like(logits, high, "mean_high")

    def predict_label_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[Any, Any]:
        r"""Interval in which a person's label of each text falls: a prediction interval.

        .. math:: [\max \{ k : P(z < k) \le \alpha \},\ \min \{ k : P(z > k) \le \alpha \}],
           \qquad \alpha = (1 - \mathrm{level}) / 2

        It is the smallest central set of options that leaves at most ``alpha`` on either side by
        ``predict_proba``; a label falls into it with a probability of at least ``level``.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: the least probability of the set, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Lowest and highest option, each of shape ``[m]``, in the terms of ``predict``; for a
            data frame, series "label_low" and "label_high".

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        ends = label_range(self._probs(logits, covariates), check_level(level))
        low, high = self.classes_[ends]
        return like(logits, low, "label_low"), like(logits, high, "label_high")

    def predict_all(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Predict all that there is to a text, for little more than its probabilities cost.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Arrays of what ``predict_proba``, ``predict_mean`` and ``predict_interval`` return.

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        probs, ends = self._predict(logits, covariates, check_level(level))
        mean = probs @ self.scale_.values
        return probs, mean, np.minimum(ends[0], mean), np.maximum(ends[1], mean)

    def score(
        self,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        *,
        sample_weight: Any = None,
    ) -> float:
        """Accuracy, as for any classifier of scikit-learn.

        Probabilities are better judged by their log loss: ``cp.scores.log_loss``.

        Args:
            logits: option logits, shape ``[m, K]``.
            labels: their options, as in ``fit``; of several annotators ``[m, annotators]``.
            covariates: their covariates, as in ``fit``.
            sample_weight: what each label counts, as in ``fit``.
        """
        data = self._enter_labels(logits, labels, covariates, sample_weight)
        probs = self._predict_entered(data.logits, data.covariates)[0]
        return accuracy(probs, data.labels, data.weights)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def _probs(self, logits: Any, covariates: Mapping[str, Any] | None) -> Float[np.ndarray, "m K"]:
        return self._predict(logits, covariates)[0]

    def _predict(
        self, logits: Any, covariates: Mapping[str, Any] | None, level: float | None = None
    ) -> tuple[Float[np.ndarray, "m K"], Any]:
        """Probabilities, and the ends of the interval before it is widened to the mean."""
        return self._predict_entered(*self._enter(logits, covariates), level)

    def _predict_entered(
        self,
        readings: np.ndarray,
        covariates: Mapping[str, np.ndarray],
        level: float | None = None,
    ) -> tuple[Float[np.ndarray, "m K"], Any]:
        with doing("predicting"):
            mixture = self._mixture(readings)
            probs, ends = predict_mixture(*mixture, covariates, self.scale_.values, level)
        return _check_finite(probs), ends

    def _enter(
        self, logits: Any, covariates: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Validate readings and covariates to be predicted."""
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        check_columns(logits, names, self.scale_.options)
        readings = self._read(logits, self.scale_.size)
        covariates = aligned(logits, covariates, "covariates")
        return readings, as_covariates(covariates, len(readings), self.covariates_, self.levels())

    def _enter_labels(
        self,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> Labelled:
        """Validate labelled texts for what is fitted already; arguments are those of ``fit``."""
        readings, extra = self._enter(logits, covariates)
        labels, sample_weight, texts = aligned_labels(logits, labels, sample_weight, texts)
        return _label(readings, extra, self.scale_, labels, sample_weight, texts)

    def _read(self, logits: Any, size: int | None = None) -> Float[np.ndarray, "n *readers K"]:
        """Validate and centre readings; ``size`` is the number of options, if known."""
        # Sums round alike only in one order of memory.
        return np.ascontiguousarray(as_logits(logits, size=size))

    def _check_fitted(self) -> None:
        if not hasattr(self, "scale_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted: call fit(logits, labels) first."
            )

    def parts(self, labels: int) -> tuple[Member, ...]:
        """The members that are fitted to so many labels; none where no labels are needed."""
        return ()

    def levels(self) -> dict[str, int]:
        """Levels of the covariates that number something, such as users, as its channels say."""
        return {}

    @abstractmethod
    def check(self, logits: Any, covariates: Mapping[str, Any]) -> None:
        """Check that validated texts have what a fit needs."""

    @abstractmethod
    def _fit(self, texts: Labelled) -> None:
        """Fit to validated, centred readings."""

    @abstractmethod
    def _mixture(
        self, logits: Float[np.ndarray, "m *readers K"]
    ) -> tuple[list[tuple[Any, np.ndarray]], Float[np.ndarray, "#m M"]]:
        """Fitted members, each with the readings that it sees, and their weights.

        The weights have a row for each text, or one for all.
        """


def _label(
    readings: np.ndarray,
    extra: dict[str, np.ndarray],
    scale: Scale,
    labels: Any,
    sample_weight: Any,
    texts: Any,
) -> Labelled:
    """Add labels and weights to readings and covariates, one label a row."""
    several = have_several(labels)
    codes = None if several else scale.encode(labels)
    count = len(labels) if codes is None else len(codes)
    if count != len(readings):
        raise InputError(
            f"every labelled text needs one row of logits: {len(readings)} rows came with "
            f"{count} {'rows of ' if several else ''}labels."
        )
    of = as_texts(texts, count)
    if codes is None:
        codes, rows, columns = list_labels(labels, scale)
        weights = as_weights(sample_weight, of[rows], (rows, columns))
        data = Labelled(readings, np.zeros(count, np.int64), extra, None, of).take(rows)
        data = replace(data, labels=codes, weights=weights)
    else:
        data = Labelled(readings, codes, extra, as_weights(sample_weight, of), of)
    # What counts nothing is left out.
    seen = np.flatnonzero(data.weights)
    return data if len(seen) == len(data.labels) else data.take(seen)


def _check_finite(probs: Float[np.ndarray, "m K"]) -> Float[np.ndarray, "m K"]:
    rows = np.flatnonzero(~np.isfinite(probs).all(axis=1))
    if rows.size:
        # A user's channel may take the logarithm of a covariate, say.
        raise InputError(
            f"the fit gives no probabilities for {name_rows(rows)}: does a reading or "
            "covariate there lie far outside those of the labelled texts?"
        )
    return probs
