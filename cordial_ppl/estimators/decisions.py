"""What a user decides by: estimates of a corpus, forecasts, a verdict, checks of what is new."""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import of_fit
from cordial_ppl.decisions.corpus import PosteriorDraws
from cordial_ppl.decisions.drift import Drift, compare, sketch
from cordial_ppl.decisions.estimates.bias import Bias, find_bias
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.estimating import estimate
from cordial_ppl.decisions.forecasting import Forecast, forecast
from cordial_ppl.decisions.outlook import expected_loss_and_gap
from cordial_ppl.decisions.predictive import LabelCheck, check_labels
from cordial_ppl.decisions.reader import Reader, assess
from cordial_ppl.decisions.verdict import Verdict, judge
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.members import Fitted
from cordial_ppl.stack.settings import check_names, check_number

LEAST_BIAS = 0.025
"""Share of the scale's length that a group must be off to be reported: a tenth of five stars."""


class Decisions(Estimator):
    """A fitted mixture that says what its labels and its posterior are good for; base of stacks.

    Attributes:
        labels_: labels of the fit, positions 0..K-1, shape ``[n]``.
        out_of_fold_: out-of-fold probabilities of the labelled texts, shape ``[n, K]``, in the
            order of ``labels_``; None with fewer than eight labels.
        sample_weight_: what each of these labels counts.
        texts_: which text each is of: a digest of its name, by which a report and a check
            recognise it, or a negative number where it has none.
        folds_: fold of each label, 0..3, the same for those of a text; None as ``out_of_fold_``.
        label_counts_: sum of the weights of the labels with each option, shape ``[K]``.
        sketch_: counts of the readings that the fit was for.
    """

    seed: Any = 0

    fits_: dict[str, Fitted]
    weights_: dict[str, float]
    label_counts_: Float[np.ndarray, " K"]
    sketch_: Int[np.ndarray, "2 cells"]
    labels_: Int[np.ndarray, " n"]
    sample_weight_: Float[np.ndarray, " n"]
    texts_: Int[np.ndarray, " n"]
    folds_: Int[np.ndarray, " n"] | None = None
    out_of_fold_: Float[np.ndarray, "n K"] | None = None
    _texts: Labelled | None = None

    @property
    def fit_(self) -> Fit:
        """The fit as one record, which decisions are made from."""
        return Fit(
            scale=self.scale_,
            members=self.fits_,
            weights=self.weights_,
            labels=self.labels_,
            sample_weight=self.sample_weight_,
            texts=self.texts_,
            label_counts=self.label_counts_,
            out_of_fold=self.out_of_fold_,
            logits=None if self._texts is None else self._texts.logits,
            seed=self.seed,
        )

    @cached_property
    def reader_(self) -> Reader | None:
        """The reader as it is; None for a file that was saved without it."""
        return None if self._texts is None else assess(self.fit_, self._texts)

    @property
    def posteriors_(self) -> dict[str, Posterior]:
        """Posterior of each channel by name."""
        return {name: fit for name, fit in self.fits_.items() if isinstance(fit, Posterior)}

    def predict_draws(
        self,
        logits: Any,
        draws: int = 256,
        covariates: Any = None,
        *,
        histogram: str = "redrawn",
    ) -> tuple[Float[np.ndarray, "D m K"], Float[np.ndarray, " D"]]:
        r"""Probabilities of the options under draws from the posterior, for means and other sums.

        A member's draws share its weight equally, so that the weighted mean of the draws is close
        to ``predict_proba``.

        Args:
            logits: option logits, as in ``predict_proba``.
            draws: how many draws of each channel; a calibrator has one.
            covariates: per-text covariates, as in ``fit``.
            histogram: "redrawn" draws the label histogram, which channels fall back on, from its
                Dirichlet posterior: over a corpus its uncertainty does not average out; "fixed"
                is the posterior mean, as in ``predict_proba``.

        Returns:
            Probabilities of the D draws of all members, and the weight of each.

        Raises:
            InputError: the readings, or the number or kind of draws are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        readings, extra = self._enter(logits, covariates)
        check_names("histogram", [histogram], ("redrawn", "fixed"))
        count = int(check_number("draws", draws, 2, whole=True))
        posterior = PosteriorDraws(self.fit_, count, histogram == "redrawn")
        shares, probs = zip(*posterior.predict(readings, extra), strict=True)
        weights = [np.full(len(p), share / len(p)) for share, p in zip(shares, probs, strict=True)]
        return np.concatenate(probs), np.concatenate(weights)

    def estimate(
        self,
        logits: Any,
        rows: Any,
        groups: Any = None,
        covariates: Any = None,
        *,
        level: float = 0.9,
        strata: Any = None,
        probabilities: Any = None,
        draws: int = 256,
    ) -> Estimate:
        """Estimate the mean label and the shares of the options, of a corpus and of its groups.

        Intervals are meant to hold in repeated sampling of labels.  Labelled texts count as
        themselves: what is estimated are the labels of just these texts.  A group has an effect of
        its own, for a reader errs differently by group; one without labels is extrapolated.

        Args:
            logits: option logits of all texts, labelled or not, shape ``[N, K]``.
            rows: positions in ``logits`` of the texts of the fit, in its order, one a label or one
                a text.  The mean of a text's labels counts as its label.
            groups: group of each text, such as the system that wrote it, shape ``[N]``; None for
                the whole corpus alone.
            covariates: per-text covariates, as in ``fit``, each of shape ``[N]``.
            level: probability inside the intervals, between 0 and 1.
            strata: strata that labelled texts were drawn from, shape ``[N]``, for the design-based
                estimate; see ``rectified_mean``.
            probabilities: inclusion probability of each labelled text, shape ``[n]``, likewise.
            draws: how many draws of each channel.

        Returns:
            The estimates.

        Raises:
            InputError: the readings or groups are invalid, ``rows`` are other texts than those of
                the fit, or there are no draws: without channels, or with ``inference="mode"``.
            NotFittedError: ``fit`` was not called yet.

        Source:
            `cordial_ppl.decisions.estimates`; `cordial_ppl.decisions.estimating` has the formula.
        """
        readings, extra = self._enter(logits, covariates)
        groups, strata = (
            aligned(logits, column, noun)
            for column, noun in ((groups, "groups"), (strata, "strata"))
        )
        with doing("estimating"):
            return estimate(
                self.fit_,
                readings,
                extra,
                rows,
                groups,
                level=level,
                strata=strata,
                probabilities=probabilities,
                draws=int(check_number("draws", draws, 2, whole=True)),
            )

    def find_bias(self, columns: Mapping[str, Any]) -> list[Bias]:
        """Look for groups of texts that the reader rates too low or too high after calibration.

        Args:
            columns: what is known of the labelled texts, such as which system wrote each, by name,
                each of shape ``[n]`` in the order of the fit, one cell a label.

        Returns:
            Columns whose groups differ by more than chance, with the worst group of each; a test
            with an error rate of 5 % over all columns, see
            `cordial_ppl.decisions.estimates.bias`.  None with fewer than eight labels.

        Raises:
            InputError: a column has another length.
            NotFittedError: ``fit`` was not called yet.
        """
        self._check_fitted()
        if self.out_of_fold_ is None:
            return []
        for name, cells in columns.items():
            if len(cells) != len(self.labels_):
                raise InputError(
                    f"column {name!r} must have one cell for each of {len(self.labels_)} labels; "
                    f"got {len(cells)}."
                )
        values, per_text = self.scale_.values, self.fit_.text_labels
        residuals = (per_text.shares - self.out_of_fold_[per_text.first]) @ values
        text_columns = {
            name: [cells[row] for row in per_text.first] for name, cells in columns.items()
        }
        return find_bias(residuals, text_columns, self.seed, LEAST_BIAS * float(np.ptp(values)))

    def verdict(self) -> Verdict | None:
        """Whether to use the calibrator, and why, from its out-of-fold predictions.

        Returns:
            The verdict; None for a calibrator without folds.
        """
        self._check_fitted()
        if not self.folded:
            return None
        points = self.reader_ and self.reader_.points
        labelled = self.sample_weight_, self.texts_
        return judge(self.labels_, self.out_of_fold_, self.scale_, *labelled, points)

    @property
    def can_forecast(self) -> bool:
        """Whether ``forecast`` has what it needs: folds, and draws of a channel."""
        return self.folded and self.fit_.has_draws

    def forecast(
        self, logits: Any, covariates: Any = None, *, counts: Sequence[int] | None = None
    ) -> Forecast:
        """Forecast what more labels would give: log loss, and the interval of the texts' mean.

        Nothing is fitted for it.  With fewer than 20 labels nothing is forecast.

        Args:
            logits: option logits of all texts that the mean is wanted of, ``[m, K]``.
            covariates: their covariates, as in ``fit``.
            counts: numbers of labels; by default 2, 3, 5 and 10 times those of the fit.

        Returns:
            The loss to expect now, and at these numbers of labels, with 80 % ranges.

        Raises:
            NotFittedError: ``fit`` was not called yet.
            InputError: the readings are invalid, or the calibrator has no folds, or no channel
                with draws.
        """
        readings, extra = self._enter(logits, covariates)
        if not self.can_forecast:
            raise InputError(
                f"this {type(self).__name__} cannot forecast: it has no folds, or no channel with "
                "draws (with the mode there is one). Fit a Cordial with the default inference."
            )
        with doing("forecasting what more labels would give"):
            outlook = expected_loss_and_gap(*self._mixture(readings), extra)
            return forecast(
                self.labels_,
                self.out_of_fold_,
                self.scale_.values,
                outlook,
                counts,
                self.sample_weight_,
                self.texts_,
            )

    def check_readings(self, logits: Any) -> Drift | None:
        """Test whether readings are like those of the fit; see `decisions.drift.compare`.

        Args:
            logits: option logits of new texts, ``[m, K]``.

        Returns:
            How they differ, with a p value; None where there are no readings.

        Raises:
            InputError: the readings are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        self._check_fitted()
        readings = self._read(logits, self.scale_.size)
        return compare(self.sketch_, sketch(readings), self.scale_)

    def check_labels(
        self,
        logits: Any,
        labels: Any,
        covariates: Any = None,
        *,
        sample_weight: Any = None,
        texts: Any = None,
    ) -> LabelCheck:
        """Test whether new labels are such as the calibrator predicts, by their log loss.

        Label sets are simulated from the joint posterior predictive distribution, so that a fit to
        few labels expects less of itself; see `cordial_ppl.decisions.predictive.check_labels`.

        Args:
            logits: option logits of texts that are not of the fit, ``[n, K]``.
            labels: their options, as in ``fit``; of several annotators ``[n, annotators]``.
            covariates: their covariates, as in ``fit``.
            sample_weight: what each label counts, as in ``fit``.
            texts: which text each row is of, as in ``fit``; a text is one observation.

        Returns:
            The log loss, what was expected of it, and the p value.

        Raises:
            InputError: the readings or the labels are invalid.
            NotFittedError: ``fit`` was not called yet.
        """
        data = self._enter_labels(logits, labels, covariates, sample_weight, texts)
        fitted = of_fit(data.texts, self.texts_)
        if fitted.any():
            warnings.warn(
                f"{len(np.unique(data.texts[fitted]))} of {data.count} texts are of the fit: "
                "the check flatters. Leave those out.",
                CordialWarning,
                stacklevel=2,
            )
        return check_labels(*self._mixture(data.logits), data, self.seed)
