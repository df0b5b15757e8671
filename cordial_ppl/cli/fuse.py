"""`cordial fuse`: several judges of the same texts, calibrated together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    COLUMNS,
    ENDING,
    FILES,
    Also,
    Names,
    TableOut,
    Written,
    names,
    option,
)
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import DEFAULTS, Fitting, Judges, Read, Tables
from cordial_ppl.errors import count
from cordial_ppl.runtime.progress import doing


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SeveralTables(Tables):
    """Tables with readings by several judges."""

    also: Also = ()
    readers: Annotated[
        Names, names(COLUMNS, "Columns of ratings, one per judge; needs --options.")
    ] = None
    reader: Judges = ()  # pyright: ignore[reportIncompatibleVariableOverride]


def fuse(
    tables: SeveralTables,
    *,
    output: TableOut,
    fitting: Fitting = DEFAULTS,
    save: Annotated[
        Path | None, Written((ENDING,)), option(FILES, "Calibrator to write, too.", "FILE")
    ] = None,
) -> Result:
    """Combine several judges of the same texts; calibrate all texts that one of them has read.

    READINGS has a row for each text and judge, named in the column `reader`, or a column of ratings
    for each judge. Judges need not have read every text.
    """
    from cordial_ppl.cli.calibrate import say_labels, take_labelled
    from cordial_ppl.tables import match_labels, read_labels, read_several

    settings = fitting.settings
    with doing("reading"):
        paths = [tables.readings, *tables.also]
        readers = (*tables.reader, *(tables.readers or ())) or None
        readings = {"options": tables.options, "readers": readers, "rating": tables.rating}
        table = read_several(paths, **readings, **tables.choice)
        labels = read_labels(tables.labels, table.scale, **tables.choice, **tables.labelling)
        labels, rows = match_labels(table, labels)
    texts = take_labelled(Read(table, labels, rows), fitting.channel)
    with doing("loading"), leaving_at_once():
        from cordial_ppl.decisions import answers
        from cordial_ppl.estimators.bulk.predictor import predict_table
        from cordial_ppl.estimators.fusion import Fusion

        fusion = Fusion(table.scale, readers=table.readers, **settings)
        fusion.fit(
            texts.logits,
            table.scale.decode(texts.labels),
            texts.covariates,
            sample_weight=texts.weights,
            texts=texts.texts,
        )
    if save is not None:
        fusion.save(save)
    predict_table(fusion, table, output)
    verdict = answers.verdict(fusion.fit_)
    fits = fusion.fit_.fits
    content = {
        "output": str(output),
        "texts": len(table),
        "labels": len(texts.labels),
        "weights": fusion.weights_,
        "shares": fusion.shares_,
        "expected": fusion.fit_.expected._asdict(),
        "readers": {name: answers.describe(fit).to_dict() for name, fit in fits.items()},
        "verdict": verdict and verdict.to_dict(),
    }
    done = f"wrote {output}: {count(len(table), 'text')}, calibrated on {say_labels(labels)}"
    saved = "" if save is None else f", and the calibrator to {save}"
    return Result(content, text=fusion.summary(), done=[done + saved])
