"""`cordial plan --more`: what more labels would give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cordial_ppl.cli.options import Chosen, Shown
from cordial_ppl.errors import InputError


def show_forecast(
    calibrator: Path,
    readings: Path,
    chosen: Chosen,
    width: float | None,
    shown: Shown,
    channels: Sequence[Path] | None = None,
) -> dict[str, Any]:
    """Print what more labels would give a saved calibrator, unless JSON is wanted.

    Args:
        calibrator: its file.
        readings: table of the readings of all texts.
        chosen: what is read from the table.
        width: half the width of the interval of the texts' mean that is wanted, in units of the
            scale; None for the widths at some numbers of labels alone.
        shown: how it is printed.
        channels: the channel files that it was fitted with.

    Returns:
        The forecast, for JSON.

    Raises:
        InputError: the file holds another kind of calibrator, or one that keeps no out-of-fold
            predictions; the table does not fit it; or the width is not positive.
    """
    from cordial_ppl.cli.output import STDOUT
    from cordial_ppl.cli.predict import load_reader, warn_of_drift
    from cordial_ppl.decisions.answers import check_readings
    from cordial_ppl.tables import read_readings

    if width is not None and not width > 0:
        raise InputError(f"the width of an interval must be positive; got {width}.")
    settings = chosen.settings
    fitted, settings["options"] = load_reader(calibrator, settings["options"], channels)
    table = read_readings(readings, **settings)
    drift = check_readings(fitted.fit_, table.logits)
    if drift is not None and drift.alarm:
        warn_of_drift(calibrator, fitted, readings, drift)
    covariates = table.covariates(fitted.fit_.covariates, fitted.fit_.levels)
    forecast = fitted.forecast(table.logits, covariates)
    if not shown.json:
        STDOUT.print(forecast.text)
        if width is not None and forecast.loss is not None:
            STDOUT.print(forecast.say_needed(width))
    content = forecast.to_dict()
    if width is not None:
        needed = forecast.needed(width)
        content |= {"width": width, "needed": needed and needed._asdict()}
    return content
