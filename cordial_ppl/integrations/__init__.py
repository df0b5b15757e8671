"""Calibrated scores inside other tools: of a rating that a judge of theirs gives, from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.data.ratings import Ends, read_ratings
from cordial_ppl.decisions.answers import reader_of
from cordial_ppl.errors import InputError, list_names
from cordial_ppl.estimators.bulk.predictor import LEVEL, name_predictions
from cordial_ppl.estimators.saved import load
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.stack.entering import predict_all
from cordial_ppl.tables.provenance import name_direction


def open_calibrator(path: str | Path, rating_range: Ends = None) -> Callable[[Any], dict[str, Any]]:
    """Load a calibrator of ratings, and return the function that calibrates one.

    Args:
        path: its file, from `cordial fit` with ratings of the same judge, such as those that
            `cordial read` takes from the tool's log.
        rating_range: the tool's worst and best possible scores, such as (0, 1), if the labels use a
            different scale; must match the fit (`readings_from_ratings`).

    Returns:
        A function of a rating, an option's name or a number, which may lie between options; it
        returns what `cordial predict` writes of a text, by the names of these columns.

    Raises:
        InputError: the file holds something else, or a calibrator of log-probabilities, of several
            ratings or of another range; of the function, that the rating is no option, or a
            number where the options are words.
    """
    fitted = load(path)
    if not isinstance(fitted, Stack):
        raise InputError(f"{path} is a {type(fitted).__name__}. Use a file from `cordial fit`.")
    scale, reader = fitted.fit_.scale, reader_of(fitted.fit_)
    # In a range of two options, a rating is read as a probability.
    if reader is not None and not reader.hard and (rating_range is None or scale.size > 2):
        raise InputError(
            f"{path} was fitted to {reader.kind}, but evaluation tools provide one rating per "
            "text. Fit a calibrator to ratings, such as those that `cordial read` extracts."
        )

    made, *_ = fitted.fit_.provenance.get("direction", [name_direction(ends=rating_range)])
    turned = made.startswith("reversed")
    if made != (way := name_direction(turned, rating_range)):
        raise InputError(
            f"{path} was fitted with {made!r} but is used with {way!r}. Pass the fit's "
            "rating_range, or none if it had none."
        )

    def calibrate(rating: Any) -> dict[str, Any]:
        # Numbers may count options that are words from 0 or from 1.
        unclear = rating_range is None and scale.numbers is None and scale.named(rating) is None
        if scale.size > 2 if isinstance(rating, bool | np.bool_) else unclear:
            names = list_names(scale.options)
            raise InputError(f"the score must be the name of an option ({names}); got {rating}.")
        logits = read_ratings([rating], scale, lambda _: "the score", "split", rating_range)
        probs, _, *ends = predict_all(fitted.fit_, logits[:, ::-1] if turned else logits, LEVEL)
        return {name: cell for name, (cell,) in name_predictions(scale, probs, *ends).items()}

    return calibrate
