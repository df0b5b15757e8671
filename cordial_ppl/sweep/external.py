"""External methods of a sweep: their probabilities are read from a table and scored."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from cordial_ppl.errors import CordialWarning, InputError, naming
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External
from cordial_ppl.sweep.plan import Job
from cordial_ppl.sweep.scoring import Prediction, score_cell
from cordial_ppl.sweep.tasks import Reading
from cordial_ppl.tables import Predictions


def read_externals(config: SweepConfig, readings: Sequence[Reading]) -> dict[str, Predictions]:
    """Read the tables of probabilities, by the name of their method.

    Raises:
        FileError: a table cannot be read.
        InputError: it lacks a column; the message names the key.
    """
    tables = {}
    for method in config.methods:
        if isinstance(method, External):
            with naming(f"external.{method.name}"):
                tables[method.name] = Predictions(method.path)
                for reading in readings:
                    tables[method.name].check(reading.scale)
    return tables


def score_externals(draws: int, job: Job, tables: Mapping[str, Predictions]) -> Cell:
    """Score what the tables say of the report texts, for every draw of one cell.

    Where probabilities are missing or invalid the fit counts as failed, with the reason.
    """
    reading = job.reading
    size = reading.scale.size
    unknown = np.full((size, size), np.nan)
    found: dict[str, list[Prediction | Exception]] = {name: [] for name in tables}
    for name, table in tables.items():
        for draw in range(draws):
            fit = {"task": reading.task, "reader": reading.reader, "n": job.n, "draw": draw}
            try:
                probs = table.probs(reading.report_ids, reading.scale, **fit)
                found[name].append(Prediction(probs, unknown))
            except InputError as error:
                found[name].append(error)
    return score_cell(reading, job.n, found, 0.0)


def warn_of_gaps(cells: Sequence[Cell]) -> None:
    """Warn of tables without probabilities for some fits, before anything is fitted."""
    gaps: dict[str, list[str]] = {}
    for cell in cells:
        for (method, draw), reason in cell.reasons.items():
            place = f"{cell.task}, {cell.reader}, {cell.n} labels, draw {draw}"
            gaps.setdefault(method, []).append(f"{place}: {reason}")
    for method, places in gaps.items():
        total = sum(cell.losses.shape[1] for cell in cells)
        warnings.warn(
            f"external.{method} has no probabilities for {len(places)} of {total} fits; the first: "
            f"{places[0]}",
            CordialWarning,
            stacklevel=3,
        )
