"""A metric of DeepEval, `pip install "cordial-ppl[deepeval]"`: another one's score, calibrated."""

from pathlib import Path
from typing import Any

from deepeval.metrics import BaseMetric  # pyright: ignore[reportMissingImports]

from cordial_ppl.data.ratings import Ends
from cordial_ppl.integrations import open_calibrator


class CalibratedMetric(BaseMetric):
    """Calibrate the scores that a metric gives.

    Args:
        metric: the metric, such as ``GEval(...)``; its scores are on the calibrator's scale, or
            in a range.
        calibrator: the calibrator's file.
        threshold: the least expected label that passes; by default nothing passes or fails.
        rating_range: the metric's worst and best possible scores, usually (0, 1), if the labels use
            a different scale; must match the fit.

    Attributes:
        score: the expected label on the calibrator's scale.
        score_breakdown: the metric's own score, and the probabilities.
    """

    def __init__(
        self,
        metric: Any,
        calibrator: str | Path,
        threshold: float | None = None,
        rating_range: Ends = None,
    ):
        # DeepEval copies a metric by those of its arguments that are attributes of the same name.
        self.metric, self.calibrator = metric, calibrator
        self.threshold, self.rating_range = threshold, rating_range
        self.calibrate = open_calibrator(calibrator, rating_range)
        self.async_mode, self.evaluation_model = metric.async_mode, metric.evaluation_model

    def measure(self, test_case: Any, *args: Any, **settings: Any) -> float:
        """Measure a case, and calibrate."""
        return self._take(self.metric.measure(test_case, *args, **settings))

    async def a_measure(self, test_case: Any, *args: Any, **settings: Any) -> float:
        """Measure a case beside others, and calibrate."""
        return self._take(await self.metric.a_measure(test_case, *args, **settings))

    def _take(self, score: float) -> float:
        made = self.calibrate(score)
        self.score, self.score_breakdown = made["mean"], {"score": score, **made}
        self.reason = self.metric.reason
        self.success = self.is_successful()
        return made["mean"]

    @property
    def __name__(self) -> str:
        """The name that DeepEval shows."""
        return f"{self.metric.__name__}, calibrated"
