"""A scorer of Inspect, `pip install "cordial-ppl[inspect]"`: another one's grade, calibrated."""

from pathlib import Path
from typing import Any

from inspect_ai import scorer as scoring  # pyright: ignore[reportMissingImports]

from cordial_ppl.data.ratings import Ends
from cordial_ppl.integrations import open_calibrator


@scoring.scorer(metrics=[scoring.mean(), scoring.stderr()])
def calibrated(
    rated: scoring.Scorer, calibrator: str | Path, rating_range: Ends = None
) -> scoring.Scorer:
    """Calibrate the grades that a scorer gives.

    Args:
        rated: the scorer, such as ``model_graded_qa()``; its grades are options of the calibrator.
        calibrator: the calibrator's file.
        rating_range: the scorer's worst and best possible grades, if the labels use a different
            scale; must match the fit.

    Returns:
        A scorer whose value is the expected label on the calibrator's scale; the grade and the
        probabilities are in its metadata.  What the scorer leaves without a grade stays so.
    """
    calibrate = open_calibrator(calibrator, rating_range)

    async def score(state: Any, target: scoring.Target) -> scoring.Score | None:
        grade = await rated(state, target)
        if grade is None or grade.value != grade.value:
            return grade
        made = calibrate(grade.as_str())
        details = {**(grade.metadata or {}), "grade": grade.value, **made}
        return grade.model_copy(update={"value": made["mean"], "metadata": details})

    return score
