"""Intake: tables of new readings for a saved calibrator, compared with those of its fit."""

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.decisions.drift import Drift, compare, differ
from cordial_ppl.errors import InputError, count, warn
from cordial_ppl.estimators.fusion import Fusion
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.fit import AnyFit, Fit
from cordial_ppl.stack.sketch import merge, sketch
from cordial_ppl.tables import (
    ReadingTable,
    differences,
    open_readings,
    read_columns,
    read_provenance,
    read_several,
)


def open_tables(
    path: Path, fitted: Any, paths: Sequence[Path], **settings: Any
) -> tuple[ReadingTable, Drift | None, list[str]]:
    """Check the tables for a calibrator; that of one judge need not fit in memory.

    Args:
        path: The file of the calibrator, for messages.
        fitted: The calibrator.
        paths: The tables: one, or several for a calibrator of several judges.
        settings: Further arguments of ``open_readings`` or ``read_several``.

    Returns:
        The readings; for one judge, how they are distributed beside those of the fit; and how they
        were made otherwise, in phrases.

    Raises:
        InputError: A table is not as it must be.
    """
    fit, drift, counted = fitted.fit_, None, list[np.ndarray]()
    with doing("reading"):
        if isinstance(fitted, Fusion):
            table = _read_judges(fitted, paths, **settings)
        elif len(paths) > 1:
            raise InputError(f"{path} was fitted to one judge. Remove --also.")
        else:
            table = open_readings(paths[0], **settings)
            table.check(fit.covariates, fit.levels, lambda logits: counted.append(sketch(logits)))
            drift = compare(fit.sketch, merge(counted), fit.scale)
    others = warn_of_kind(path, fit, paths[0], table)
    warn_of_drift(path, fit, paths[0], drift)
    warn_of_unread(path, fit, table)
    return table, drift, others


def _read_judges(
    fitted: Fusion, paths: Sequence[Path], reader: str | None, **settings: Any
) -> ReadingTable:
    """Read the tables of several judges, some of whom may be missing."""
    unnamed = reader and not any(reader in read_columns(path).schema for path in paths)
    if unnamed or settings.get("rating") in fitted.readers_:
        raise InputError("a fusion uses all judges. Name the column of judges, and omit --rating.")
    readers = [name if reader is None else f"{reader}={name}" for name in fitted.readers_]
    table = read_several(paths, **settings, readers=readers, gaps=True)
    if absent := [*compress(table.readers, np.isnan(table.logits).all(axis=(0, 2)))]:
        warn(
            f"no table has readings from {', '.join(absent)}. The other judges are used in "
            "proportion to their weights."
        )
    return table


def warn_of_kind(
    path: Path, fit: AnyFit, readings: Path, table: ReadingTable, stated: Any = None
) -> list[str]:
    """Warn of readings of another judge, model or prompt than the fit's; say what differs."""
    if others := differences(fit.provenance, stated or read_provenance(table)):
        advice, reverse = "", table.columns.reverse
        if turned := others[0].startswith("direction "):
            alike = fit.provenance["direction"][0].startswith("reversed") == reverse
            way = f"{'remove' if reverse else 'add'} --reverse"
            way = "use its --rating-range, or none if it had none" if alike else way
            advice = f" To read the scale as in the fit, {way}."
        if len(others) > turned:
            advice += " A calibrator is valid only for one model with one prompt. Label some of "
            advice += "these texts and fit a new calibrator."
        warn(
            f"the readings in {readings} were produced differently from those used to fit {path}: "
            f"{'; '.join(others)}.{advice}"
        )
    return others


def warn_of_unnamed(path: Path, fit: Fit, labels: Path) -> None:
    """Warn where a fit names none of its texts, so that their labels cannot be recognised."""
    if fit.entered.texts.max() < 0:
        problem = f"{path} does not name its training texts, so all labels in {labels} count as new"
        warn(f"{problem}. If some were used in the fit, fit again with their item_id as texts.")


def warn_of_unread(path: Path, fit: AnyFit, table: ReadingTable) -> None:
    """Warn where more texts were not read than of the labelled ones of the fit, beyond chance."""
    then, now = fit.entered.take(fit.entered.first).unread, table.unread
    if now.mean() > then.mean() and differ(then, now):
        warn(
            f"{table.columns.path}: {now.mean():.0%} of the texts have no reading, compared with "
            f"{then.mean():.0%} of the labelled texts in {path}. All texts without a reading get "
            f"the same prediction, based on {count(int(then.sum()), 'label')}. Label more texts "
            "without a reading, then fit again."
        )


def warn_of_drift(path: Path, fit: AnyFit, readings: Path, drift: Drift | None) -> None:
    """Warn of readings that are not distributed like those of the fit, if they are not."""
    if drift is not None and drift.alarm:
        warn(
            f"{readings}, {path}: {drift.describe(fit.scale)}. Either the texts or the judge has "
            "changed, or the table covers only a subset, such as the texts of one system. Label a "
            "few of these texts; `cordial report` then shows whether the calibration still holds."
        )
