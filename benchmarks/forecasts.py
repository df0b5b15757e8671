"""Whether forecasts of more labels come true, and verdicts are right, on real readings.

The default calibrator, with a prior that does not know the set, is fitted to nested subsets of
labels.  What 20 and 50 labels forecast is compared with the loss on held-out texts that 40 and 100
labels reach: bias, error, and how often 80 % ranges hold it.  Verdicts are right if the
calibrator's loss on held-out texts is below the label histogram's ("use it"), or no more than .02
nats below it ("do not use it").  Readings that say nothing, or little, are made by shuffling those
of all texts, of 70 % or of half of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from measurement import Key, Line, Means, Measurement
from real import EMBEDDED, SOURCES, half_of, list_tasks, split_task, trained_without
from spoiling import shuffle

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.decisions.forecasting import forecast
from cordial_ppl.decisions.outlook import expected_loss_and_gap
from cordial_ppl.decisions.verdict import Advice, judge
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.scores import log_loss
from cordial_ppl.stack.entering import predict
from cordial_ppl.stack.fit import fit_stack

COUNTS = 20, 40, 50, 100
STEPS = (20, 40), (20, 100), (50, 100)
SHUFFLED = 0.0, 0.5, 0.7, 1.0
CELL = "set task reader shuffled"
WORTH = 0.02
"""Gain over the histogram, nats, above which advice not to use a calibrator was wrong."""


def list_cells(draw: int) -> Iterator[Key]:
    """List every task and reader, and every third one with shuffled readings: those are alike."""
    for share in SHUFFLED:
        for sources in (SOURCES, (EMBEDDED,)):
            for index, pair in enumerate(list_tasks(sources)):
                if share == 0 or (index + draw) % 3 == 0:
                    yield *pair, share


def run(draw: int, source: str, task: str, reader: str, share: float) -> dict[str, Any]:
    """Fit to nested subsets of the labels, and compare what each foretells with the others."""
    pairs = list_tasks((EMBEDDED,) if source == EMBEDDED else SOURCES)
    rng = np.random.default_rng([draw, pairs.index((source, task, reader)), round(10 * share)])
    reading = split_task(source, task, reader)
    pool, held_out = (shuffle(texts, rng, share) for texts in (reading.pool, reading.report))
    order, scale, truth = rng.permutation(len(pool.labels)), reading.scale, held_out.labels
    settings = Cordial(prior=trained_without(source), seed=draw).settings
    losses, ahead, verdicts = {}, {}, []
    for count in COUNTS:
        rows = order[:count]
        labels = pool.labels[rows]
        fit = fit_stack(Labelled(pool.logits[rows], labels, {}), scale, settings)
        assert fit.out_of_fold is not None
        losses[count] = log_loss(predict(fit, held_out)[0], truth)
        histogram = np.tile(smooth_histogram(labels, scale.size), (len(truth), 1))
        per_text, probs = by_text(labels, scale.size), fit.out_of_fold
        outlook = expected_loss_and_gap(fit, held_out)
        steps = [step for step in COUNTS if step > count]
        ahead[count] = forecast(per_text, probs, scale.values, outlook, steps or None)
        verdict: Any = judge(per_text, probs, scale)
        gain = log_loss(histogram, truth) - losses[count]
        verdicts.append(
            {"labels": count}
            | {each.value: verdict.advice is each for each in Advice}
            | {"use right": gain > 0 if verdict.advice is Advice.USE else None}
            | {"reject right": gain < WORTH if verdict.advice is Advice.REJECT else None}
            | {"gain covered": verdict.gain.low <= gain <= verdict.gain.high}
            | {"error now": ahead[count].at(count).loss.value - losses[count]}
            | {"out of fold": verdict.calibrated and verdict.calibrated.loss - losses[count]}
        )
    forecasts = (compare(ahead[n].at(more), losses[n], losses[more]) for n, more in STEPS)
    where = {"half": half_of(source, task) or source}
    steps = [{"from": n, "to": more} | where for n, more in STEPS]
    lines = [step | line for step, line in zip(steps, forecasts, strict=True)] if share == 0 else []
    return {"forecasts": lines, "verdicts": verdicts}


def compare(step: Any, now: float, then: float) -> Line:
    """Bias, error and coverage of the loss and of the gain."""
    (loss, low, high), (gain, least, most), came = step.loss, step.gain, now - then
    return {
        "bias": then - loss,
        "error": then - loss,
        "covers": low <= then <= high,
        "gain bias": came - gain,
        "gain error": came - gain,
        "gain covers": least <= came <= most,
    }


FORECASTS = Means(
    CELL,
    "from to half* set*",
    alike="set task reader",
    squared=("error", "gain error"),
    part="forecasts",
)
VERDICTS = Means(
    CELL, "shuffled labels", alike="", squared=("error now", "out of fold"), part="verdicts"
)
MEASUREMENTS = (
    Measurement("forecasts", list_cells, run, FORECASTS, 4),
    Measurement("verdicts", list_cells, run, VERDICTS, 4, kept_as="forecasts"),
)
