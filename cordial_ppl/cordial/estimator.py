"""What every estimator shares: the door that data come in by, and predictions in three forms."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from cordial_ppl.cordial.frames import check_columns, column_names, like
from cordial_ppl.cordial.parameters import Parameters
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import InputError, NotFittedError, name_rows
from cordial_ppl.inference.data import Labelled
from cordial_ppl.readings import as_logits
from cordial_ppl.scale import Scale
from cordial_ppl.scores import accuracy

if TYPE_CHECKING:
    from cordial_ppl.cordial.members import Member


class Estimator(Parameters, ABC):
    """A calibrator in the manner of scikit-learn: ``fit``, then predict.

    Readings in a pandas or polars data frame give predictions in one, with the same index.

    Args:
        options: names of the K ordered options, in order; by default 0..K-1.

    Attributes:
        scale_: the scale; present once fitted.
        classes_: the K options in order, in the terms that ``predict`` answers in.
        n_features_in_: the number of options, K.
        feature_names_in_: names of the columns, where the fit had a data frame; predictions need
            the same in the same order.  A file does not keep them.
        covariates_: names of the covariates that the fit had, which predictions need too.
    """

    folded: ClassVar[bool] = False
    """Whether members are fitted to folds too, to be weighed."""

    scale_: Scale
    feature_names_in_: np.ndarray
    covariates_: tuple[str, ...]

    def __init__(self, options: Sequence[str] | Scale | None = None):
        """Remember the options."""
        self.options = options

    @property
    def classes_(self) -> np.ndarray:
        """The K options in order: their names, or 0..K-1 if no options were named."""
        scale = self.scale_
        return np.arange(scale.size) if self.options is None else np.asarray(scale.options)

    @property
    def n_features_in_(self) -> int:
        """The number of options, K."""
        return self.scale_.size

    def fit[T: "Estimator"](
        self: T, logits: Any, labels: Any, covariates: Mapping[str, Any] | None = None
    ) -> T:
        """Learn the calibration from labelled readings.

        Args:
            logits: option logits of the labelled texts, shape ``[n, K]`` with ``n >= 1``.
            labels: their options, as names or as whole numbers 0..K-1, shape ``[n]``.
            covariates: per-text covariates of the channels that use them, each of shape ``[n]``.

        Returns:
            The estimator itself.

        Raises:
            InputError: the readings or the labels cannot be used; the message says where and why.
        """
        readings = self._read(logits)
        scale = Scale.of(self.options, readings.shape[-1])
        check_columns(logits, None, scale.options)
        codes = encode(labels, scale, len(readings))
        extra = as_covariates(covariates, len(readings))
        self.fit_labelled(Labelled(readings, codes, extra), scale)
        names = column_names(logits)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def fit_labelled[T: "Estimator"](self: T, texts: Labelled, scale: Scale) -> T:
        """Learn from labelled texts that are validated and centred."""
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
            Probabilities, shape ``[m, K]``, float64 rows that sum to one; of a data frame, a data
            frame with the options as columns.

        Raises:
            InputError: the readings cannot be used, or have another number of options.
            NotFittedError: there was no fit yet.
        """
        return like(logits, self._probs(logits, covariates), self.classes_)

    def predict(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Most probable option of each text, in the terms that the labels were given in.

        Returns:
            Option names, or whole numbers 0..K-1 if no options were named, shape ``[m]``; of a
            data frame, a series "label".
        """
        best = np.argmax(self._probs(logits, covariates), axis=1)
        return like(logits, self.classes_[best], "label")

    def predict_mean(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Expected position on the scale, ``sum_z z p(z)``, shape ``[m]``.

        Options whose names are numbers count as these numbers, others as 0..K-1.  A data frame
        gives a series "mean".
        """
        means = self._probs(logits, covariates) @ self.scale_.values
        return like(logits, means, "mean")

    def score(self, logits: Any, labels: Any, covariates: Mapping[str, Any] | None = None) -> float:
        """Accuracy, the share of texts whose most probable option is the label.

        That is what scikit-learn's classifiers return; probabilities are judged by their log loss,
        ``cp.scores.log_loss`` or ``scoring="neg_log_loss"``.

        Args:
            logits: option logits, shape ``[m, K]``.
            labels: their options, as in ``fit``.
            covariates: their covariates, as in ``fit``.

        Raises:
            InputError: the readings or the labels cannot be used.
            NotFittedError: there was no fit yet.
        """
        return accuracy(self._probs(logits, covariates), self.scale_.encode(labels))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def _probs(self, logits: Any, covariates: Mapping[str, Any] | None) -> Float[np.ndarray, "m K"]:
        readings, extra = self._enter(logits, covariates)
        probs = self._predict(readings, extra)
        rows = np.flatnonzero(~np.isfinite(probs).all(axis=1))
        if rows.size:
            # A channel of one's own may take the logarithm of a covariate, say.
            raise InputError(
                f"the fit gives no probabilities for {name_rows(rows)}: is a reading or covariate "
                "there such as none of the labelled texts has?"
            )
        return probs

    def _read(self, logits: Any, size: int | None = None) -> Float[np.ndarray, "n *readers K"]:
        """Validate and centre readings, of K options if ``size`` says so."""
        # In one order of memory, so that sums round alike whatever the readings came in.
        return np.ascontiguousarray(as_logits(logits, size=size))

    def _check_fitted(self) -> None:
        if not hasattr(self, "scale_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted: call fit(logits, labels) first."
            )

    def parts(self, labels: int) -> "tuple[Member, ...]":
        """The members that are fitted to so many labels; none where none are needed."""
        return ()

    @abstractmethod
    def _fit(self, texts: Labelled) -> None:
        """Fit to validated, centred readings."""

    @abstractmethod
    def _predict(
        self, logits: Float[np.ndarray, "m *readers K"], covariates: dict[str, np.ndarray]
    ) -> Float[np.ndarray, "m K"]:
        """Predict validated, centred readings."""

    def _enter(
        self, logits: Any, covariates: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        self._check_fitted()
        known = getattr(self, "feature_names_in_", None)
        check_columns(logits, known, self.scale_.options)
        readings = self._read(logits, self.scale_.size)
        return readings, as_covariates(covariates, len(readings), self.covariates_)


def encode(labels: Any, scale: Scale, rows: int) -> np.ndarray:
    """Return labels as 0..K-1, one a row of logits, or raise an ``InputError``."""
    codes = scale.encode(labels)
    if len(codes) != rows:
        raise InputError(
            f"every labelled text needs one row of logits: {rows} rows came with "
            f"{len(codes)} labels."
        )
    return codes
