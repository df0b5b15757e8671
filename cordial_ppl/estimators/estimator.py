"""Base of the estimators: input is validated once, and predicted in four forms."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.checks import check_level
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.frames import aligned, check_columns, column_names, like
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.errors import InputError, NotFittedError, list_names
from cordial_ppl.estimators.params import Parameters
from cordial_ppl.inference.used_covariates import keep_used
from cordial_ppl.scores import accuracy
from cordial_ppl.stack.entering import enter, enter_labels, label_rows, predict, predict_all
from cordial_ppl.stack.fit import AnyFit, fit_stack, warn_if_reversed
from cordial_ppl.stack.interval import label_range
from cordial_ppl.stack.settings import Settings
from cordial_ppl.stack.sketch import sketch

PASSING = (
    *("beartype", "contextlib", "cordial_ppl.estimators", "jaxtyping"),
    *("sklearn.base", "sklearn.model_selection._search", "sklearn.pipeline"),
)
"""Modules that pass predictions on as they are."""

VALIDATION = "sklearn.model_selection._validation"
SORTING = VALIDATION, "sklearn.calibration", "sklearn.ensemble", "sklearn.utils._response"
"""Those of scikit-learn that take columns to be sorted by the names of the options."""

RANKING = {"sklearn.ensemble._base": None, "sklearn.ensemble._bagging": None}
RANKING |= {VALIDATION: "predict_proba"}
"""Those that fit to the ranks of labels among those that occur, with the method that they do so
for; None for any."""


class Estimator[F: AnyFit](Parameters, ABC):
    """A weighted mixture of fitted members, with scikit-learn's interface.

    If the readings are a pandas or polars data frame, predictions are a data frame with the same
    index.

    Attributes:
        options: names of the K ordered options, in order; by default 0..K-1.
        fit_: the fit as one record, used by predictions and decisions.
        weights_: weight of each member by name.
        classes_: the K options in order, in the form that ``predict`` returns.
        n_features_in_: the number of options, K.
        feature_names_in_: column names of the data frame passed to ``fit``, if any; predictions
            need the same columns in the same order. The names are saved.
    """

    options: Sequence[str | float] | Scale | None

    @property
    def fit_(self) -> F:
        """The fit as one record.

        Raises:
            NotFittedError: ``fit`` has not been called.
        """
        if "_fitted" not in vars(self):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted. Call fit(logits, labels) first."
            )
        return vars(self)["_fitted"]

    @fit_.setter
    def fit_(self, fit: F) -> None:
        self._fitted = fit

    @property
    def classes_(self) -> np.ndarray:
        """The K options in order, as they were given; 0..K-1 if none were."""
        return self.fit_.scale.classes

    @property
    def n_features_in_(self) -> int:
        """The number of options, K."""
        return self.fit_.scale.size

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each member by name."""
        return dict(self.fit_.weights)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of the fit."""
        if self.fit_.columns is None:
            raise AttributeError("the readings passed to fit had no column names.")
        return self.fit_.columns

    def fit[T: "Estimator[Any]"](
        self: T,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        corpus: Any = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> T:
        """Learn the calibration from labelled readings.

        Args:
            logits: option logits of the labelled texts, shape ``[n, K]`` with ``n >= 1``.
            labels: labels of these texts, as option names or whole numbers 0..K-1, shape ``[n]``;
                for several annotators, shape ``[n, m]``, with None, NaN or -1 for a missing label.
                A pandas series or data frame is reordered to match the index of the logits.
            covariates: per-text covariates for channels that use them, each of shape ``[n]``.
            corpus: option logits of all texts to be calibrated, labelled or not, shape ``[m, K]``
                (one judge only). The fit stores counts of these readings, and ``check_readings``
                compares new readings with the counts. By default, only the labelled texts are
                counted, which is enough if they are a random sample.
            sample_weight: weight of each label, 0 or above, with the shape of the labels; by
                default 1, or 1/m for each of a text's m labels.
            texts: name or whole number of each row's text, needed if a text has several rows. Rows
                of the same text share a fold.

        Returns:
            The estimator itself.

        Raises:
            InputError: a setting, the readings or the labels are invalid; the message says where
                and why.
            ChannelError: a channel does not exist or breaks the contract.
        """
        readings, names = self._read(logits, corpus)
        scale = Scale.of(self.options, readings.shape[-1])
        check_columns(logits, None, scale.options)
        check_columns(corpus, names.get("columns"), scale.options)
        extra = as_covariates(aligned(logits, covariates, "covariates"), len(readings))
        settings = self.settings
        extra = keep_used(extra, settings.channels, readings)
        # While rows are still those that were given.
        settings.check(readings, extra)
        _check_caller(scale, "predict_proba")
        entered = without_labels(readings, extra)
        data = label_rows(entered, scale, logits, labels, sample_weight, texts)
        if data.unread.all():
            raise InputError("no text has a reading, so there is nothing to fit.")
        self.fit_ = self._fit(data, scale, settings, names)
        return self

    def predict_proba(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Predict the probabilities of the options.

        Args:
            logits: option logits, shape ``[m, K]``.
            covariates: the covariates used in the fit, each of shape ``[m]``.

        Returns:
            Probabilities, shape ``[m, K]``, float64 rows that sum to one; for a data frame, a data
            frame with the options as columns.

        Raises:
            InputError: the readings are invalid or have a different number of options, or
                scikit-learn calls this method and expects a different order of columns.
            NotFittedError: ``fit`` has not been called.
        """
        _check_caller(self.fit_.scale)
        return like(logits, self._probs(logits, covariates), self.classes_)

    def predict(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Predict the most probable option of each text, in the form of the labels.

        Returns:
            Option names, or whole numbers 0..K-1 if no options were named, shape ``[m]``; for a
            data frame, a series "label".
        """
        best = np.argmax(self._probs(logits, covariates), axis=1)
        return like(logits, self.classes_[best], "label")

    def predict_mean(self, logits: Any, covariates: Mapping[str, Any] | None = None) -> Any:
        """Predict the expected position on the scale, ``sum_z z p(z)``, shape ``[m]``.

        If option names are numbers, these numbers are the positions; otherwise the positions are
        0..K-1. For a data frame, the result is a series "mean".
        """
        return like(logits, self._probs(logits, covariates) @ self.fit_.scale.values, "mean")

    def predict_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[Any, Any]:
        """Predict a credible interval for each text's expected position on the scale.

        The interval reflects the uncertainty of a fit to few labels: channel parameters vary
        according to their posteriors, and members according to their weights. The interval does not
        include the spread of single labels; see ``predict_label_interval``. A channel contributes
        the draws that its predictions average (128 by default), a calibrator only one prediction.
        If the interval misses ``predict_mean``, as can happen with ``inference="mode"``,
        it is widened to include the mean.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: probability inside the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Lower and upper ends, each of shape ``[m]``, in the units of ``predict_mean``; for a
            data frame, series "mean_low" and "mean_high".

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings are invalid.
            NotFittedError: ``fit`` has not been called.
        """
        *_, low, high = predict_all(self.fit_, logits, check_level(level), covariates)
        return like(logits, low, "mean_low"), like(logits, high, "mean_high")

    def predict_label_interval(
        self, logits: Any, level: float = 0.9, covariates: Any = None
    ) -> tuple[Any, Any]:
        r"""Predict an interval for the label that a person would give each text.

        .. math:: \operatorname{arg\,min}_{[a, b]}
           \{ b - a : P(a \le z \le b) \ge \mathrm{level} \}

        The interval is the shortest run of options that contains a label with probability at least
        ``level``, according to ``predict_proba``. If several runs are equally short, the most
        probable run is used.

        Args:
            logits: option logits, as in ``predict_proba``.
            level: minimum probability of the interval, between 0 and 1.
            covariates: per-text covariates, as in ``fit``.

        Returns:
            Lowest and highest option, each of shape ``[m]``, in the form that ``predict`` returns;
            for a data frame, series "label_low" and "label_high".

        Raises:
            InputError: ``level`` is not between 0 and 1, or the readings are invalid.
            NotFittedError: ``fit`` has not been called.
        """
        ends = label_range(self._probs(logits, covariates), check_level(level))
        low, high = self.classes_[ends[:: 1 if self.fit_.scale.rising else -1]]
        return like(logits, low, "label_low"), like(logits, high, "label_high")

    def score(
        self,
        logits: Any,
        labels: Any,
        covariates: Mapping[str, Any] | None = None,
        *,
        sample_weight: Any = None,
    ) -> float:
        """Compute the accuracy, as any classifier of scikit-learn does.

        Probabilities are better judged by their log loss: ``cp.scores.log_loss``.

        Args:
            logits: option logits, shape ``[m, K]``.
            labels: labels of these texts, as in ``fit``; ``[m, annotators]`` if there are several.
            covariates: covariates of these texts, as in ``fit``.
            sample_weight: weight of each label, as in ``fit``.
        """
        data = enter_labels(self.fit_, logits, labels, covariates, sample_weight)
        return accuracy(predict(self.fit_, data)[0], data.labels, data.weights)

    def summary(self) -> str:
        """Describe the judge's errors in plain words."""
        return answers.describe(self.fit_).text

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def _probs(self, logits: Any, covariates: Mapping[str, Any] | None) -> Float[np.ndarray, "m K"]:
        return predict(self.fit_, enter(self.fit_, logits, covariates))[0]

    def _read(
        self, logits: Any, corpus: Any = None
    ) -> tuple[Float[np.ndarray, "n *readers K"], dict[str, Any]]:
        """Validate and centre readings before the fit; return them with what it keeps of them."""
        # Sums round alike only in one order of memory.
        readings = np.ascontiguousarray(as_logits(logits, gaps=True))
        kept = {"columns": column_names(logits)}
        if corpus is not None:
            counts = sketch(as_logits(corpus, size=readings.shape[1], gaps=True))
            kept |= {"sketch": counts} if counts.size else {}
        return readings, kept

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The settings, validated and complete.

        Raises:
            InputError: a setting is invalid; the message says what it may be.
            ChannelError: there is no such channel.
        """

    def _fit(self, texts: Labelled, scale: Scale, settings: Settings, names: dict[str, Any]) -> Any:
        """Fit to validated, centred readings, and return the record."""
        fit = replace(fit_stack(texts, scale, settings), **names)
        warn_if_reversed(fit)
        return fit


def _check_caller(scale: Scale, method: str | None = None) -> None:
    """Refuse scikit-learn columns, or labels for a method, that it numbers otherwise."""
    frame, caller = sys._getframe(2), ""
    while frame and (caller := str(frame.f_globals.get("__name__"))).startswith(PASSING):
        frame = frame.f_back
    passed: dict[str, Any] = frame.f_locals if frame else {}
    wanted, labels = passed.get("method"), passed.get("y")
    if labels is not None and caller in RANKING and RANKING[caller] == wanted:
        if (count := len(np.unique(labels))) < scale.size:
            raise InputError(
                "scikit-learn renumbers labels unless every option occurs, but these labels "
                f"contain {count} of {scale.size} options. Add labels of the other options, or "
                "call fit and predict_proba directly."
            )
    # Cross-validated probabilities are of a fit to the ranks of labels among those in order.
    expected = np.arange(scale.size) if caller == VALIDATION else scale.values
    in_order = [*scale.classes] == sorted(scale.classes) and np.array_equal(scale.values, expected)
    if caller.startswith(SORTING) and not in_order and method in (None, wanted):
        raise InputError(
            "scikit-learn expects labels numbered from 0 and columns in alphabetical order, but "
            f"the options are {list_names(scale.options)}. Pass labels as numbers 0..K-1 and "
            "omit options, or, to score, use scoring=cordial_ppl.scores.neg_log_loss."
        )
