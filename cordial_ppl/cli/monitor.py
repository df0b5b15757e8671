"""`cordial monitor`: is it still the same judge?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from cordial_ppl.cli.options import FILES, MODEL, Calibrator, Channels, LabelsOrNot, option
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import EVERY, PLAIN, Columns, Labelling
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.progress import doing


def monitor(
    calibrator: Calibrator,
    old: Annotated[Path, option(FILES, "Readings at first.")],
    new: Annotated[Sequence[Path], option(FILES, "Readings since then, in order of time.", "NEW")],
    *,
    columns: Columns = EVERY,
    labelling: Labelling = PLAIN,
    labels: LabelsOrNot = None,
    channel: Channels = (),
    level: Annotated[
        float, option(MODEL, "Probability that the same judge raises no alarm at any look.", "P")
    ] = 0.95,
) -> Result:
    """Is it still the same judge? Compare its readings of the same texts, then and now.

    Give the readings of all looks so far, in order of time: the error rate, 1 - P, is of all looks
    together. Labels of texts of the last table that are not of the fit say whether the calibration
    holds, at the same rate. Exit status: 0 the same, 3 changed, 4 cannot tell yet.
    """
    from cordial_ppl.cli.predict import load_calibrator, warn_of_kind
    from cordial_ppl.data.labelling import as_texts, of_fit
    from cordial_ppl.decisions import answers
    from cordial_ppl.decisions.estimates.requirement import NO, STATUS
    from cordial_ppl.tables import match_labels, read_labels, read_readings

    fitted, options = load_calibrator(calibrator, columns.options, channel)
    fit, settings = fitted.fit_, {**vars(columns), "options": options}
    with doing("reading"):
        tables = [read_readings(path, **settings) for path in (old, *new)]
    for path, table in zip(new, tables[1:], strict=True):
        warn_of_kind(calibrator, fit, path, table)
    extras = [table.covariates(fit.covariates, fit.levels) for table in tables]
    logits, texts = zip(*((table.logits, table.item_ids) for table in tables), strict=True)
    made = answers.monitor(fit, *logits, texts=texts, covariates=extras, level=level)
    answer, check = made.answer, None
    lines, content = [made.describe(fit.scale)], {**made.to_dict(), "labels": None}
    if labels is not None:
        read = read_labels(labels, tables[-1].scale, **columns.choice, **vars(labelling))
        fresh = np.flatnonzero(~of_fit(as_texts(read.item_ids, len(read.labels)), fit.texts))
        if not fresh.size:
            raise InputError(f"{labels}: all labelled texts are of the fit: label others.")
        matched, rows = match_labels(tables[-1], read.take(fresh))
        extra = {name: column[rows] for name, column in extras[-1].items()}
        names = fit.scale.decode(matched.labels)
        kept = {"sample_weight": matched.weights, "texts": matched.item_ids}
        check = answers.check_labels(fit, logits[-1][rows], names, extra, **kept)
        broken = check.evidence >= 1 / (1 - level)
        answer = NO if broken else answer
        content |= {"labels": check.to_dict(), "answer": answer}
        lines.append(
            f"the calibration {'does not hold' if broken else 'is not refuted'}: evidence "
            f"{check.evidence:.3g} to 1. {check.text}"
        )
    return Result(content, "\n".join(lines), status=STATUS[answer])
