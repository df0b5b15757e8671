"""`--update` of `cordial calibrate` and `cordial fit`: more labels for a saved calibrator."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import Chosen, Fitting, Labelling
from cordial_ppl.cli.predict import load_calibrator, warn_of_others
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.estimators.stack import Stack
    from cordial_ppl.tables import LabelTable, ReadingTable


def update_calibrator(
    path: Path,
    readings: Path,
    labels: Path,
    chosen: Chosen,
    labelling: Labelling,
    fitting: Fitting,
    quiet: bool,
) -> tuple["ReadingTable", "LabelTable", np.ndarray, Mapping[str, Sequence[str]], "Stack"]:
    """Load a calibrator and let it learn from those labels that it does not know.

    Args:
        path: The calibrator.
        readings: The table of readings.
        labels: All labels, old and new.
        chosen: What is read from the tables.
        labelling: How labels are taken.
        fitting: The channel files; other settings are the calibrator's.
        quiet: Whether nothing is said.

    Returns:
        What `FittedTables` holds.

    Raises:
        InputError: A table is not as it must be, does not have the calibrator's options, or lacks
            labels of its fit; or a setting was given.
    """
    given = [f.name for f in fields(fitting) if getattr(fitting, f.name) != f.default]
    others = [f"--{name.replace('_', '-')}" for name in given if name != "channel"]
    if others:
        raise InputError(
            f"--update keeps the settings of {path}: leave out {' and '.join(others)}, or fit anew "
            "without --update."
        )
    with doing("loading"):
        from cordial_ppl.data.labelled import Labelled
        from cordial_ppl.data.labelling import as_texts
        from cordial_ppl.estimators.stack import Stack
        from cordial_ppl.stack.fingerprints import find_places
        from cordial_ppl.tables import list_groups, read_labelled, read_provenance

        options = chosen.settings["options"]
        calibrator, options = load_calibrator(path, options, fitting.channel)
    if not isinstance(calibrator, Stack):
        raise InputError(f"{path} is of several readers: fit it anew, with `cordial fuse`.")
    given = chosen.settings | labelling.settings | {"options": options}
    with doing("reading"):
        table, found, rows = read_labelled(readings, labels, **given)
    extra = table.covariates(calibrator.covariates_, calibrator.levels())
    covariates = {name: column[rows] for name, column in extra.items()}
    names = as_texts(found.item_ids, len(rows))
    texts = Labelled(table.logits[rows], found.labels, covariates, found.weights, names)
    warn_of_others(path, calibrator, readings, table)
    with naming(path):
        new = calibrator.attach(texts, renamed=True)
    if new.any():
        with doing("updating"), leaving_at_once():
            calibrator.update(texts.take(np.flatnonzero(new)), named=True)
    calibrator.provenance_ = read_provenance(table.columns, rows.tolist())
    if not quiet:
        say(f"{count(int(new.sum()), 'label')} of {len(rows)} new to {path}")
    order = np.argsort(find_places(texts.logits, texts.labels, calibrator.seen_))
    cells = list_groups(table, rows, found).items()
    groups = {name: [names[int(place)] for place in order] for name, names in cells}
    return table, found, rows[order], groups, calibrator
