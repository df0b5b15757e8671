"""Scales of which few options are used, and judges whose scale is not that of the labels.

``odd-scales``: eleven options, of which seven are ever the label, and a reader with hard ratings
that states the label of another text, or the right one in a quarter or half of the texts.  The log
loss less that of the label histogram, smoothed as the verdict's, in nats on 1,000 further texts: of
the default and of the stack without channels.

``rating-ranges``: judges of real sets rate from 0 to 10 (their expected option, rounded), people
label 3 or 5 options.  How much lower the log loss is where the ratings are split between options
(`rating_range`) than where they are rounded to the nearest one, and than where the labels are taken
for some of eleven options.
"""

from itertools import product

import numpy as np
from accuracy import score
from measurement import Line, Means, Measurement
from real import list_tasks, split_task, trained_without
from scipy.special import softmax

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.smoothing import smooth_histogram

OPTIONS = list(range(11))
USED, SHARES = [0, 2, 3, 5, 7, 8, 10], [0.05, 0.1, 0.25, 0.2, 0.25, 0.1, 0.05]
TEXTS, REPORT = 3000, 1000
RIGHT = {"shuffled": 0.0, "weak": 0.25, "half": 0.5}
BUDGETS = 5, 10, 20, 50, 100
SETS = "summeval_logits", "topical_chat_gpt35", "hanna"
WAYS = "range", "rounding", "options of the judge"


def run(draw: int, kind: str, n: int) -> Line:
    """Make readings and fit: what each stack loses beyond the histogram."""
    rng = np.random.default_rng(3)
    truth = rng.choice(USED, TEXTS, p=SHARES)
    stated = {  # Readers are made one after the other.
        name: np.where(rng.random(TEXTS) < right, truth, rng.permutation(truth))
        for name, right in RIGHT.items()
    }
    logits = as_logits(cp.readings_from_ratings(stated[kind], options=OPTIONS))
    order, texts = np.random.default_rng([draw, n]).permutation(TEXTS), Labelled(logits, truth)
    histogram = smooth_histogram(truth[order[:n]], len(OPTIONS))
    report = texts.take(order[-REPORT:])
    stacks = {"default": cp.Cordial(OPTIONS), "without channels": cp.LogitStack(OPTIONS)}
    losses = score(stacks, texts, order[:n], draw, report)
    return {name: loss + np.log(histogram[report.labels]).mean() for name, loss in losses.items()}


def compare_ways(draw: int, source: str, task: str, reader: str, n: int) -> Line:
    """Fit to labels of a task and ratings from 0 to 10: what a range gains over other ways."""
    texts, losses = split_task(source, task, reader), dict[str, float]()
    rows = np.random.default_rng([draw, n]).permutation(len(texts.pool.labels))[:n]
    for way in WAYS:
        pool, report = (rate(each, way) for each in (texts.pool, texts.report))
        losses |= score({way: cp.Cordial(prior=trained_without(source))}, pool, rows, draw, report)
    return {f"gain over {way}": losses[way] - losses["range"] for way in WAYS[1:]}


def rate(texts: Labelled, way: str) -> Labelled:
    """Make ratings from 0 to 10 of the judge's probabilities, and readings of them."""
    size = texts.logits.shape[1]
    ratings = np.rint(softmax(texts.logits, axis=1) @ np.linspace(0, 10, size))
    if way == "options of the judge":
        return Labelled(as_logits(cp.readings_from_ratings(ratings, OPTIONS)), texts.labels + 1)
    how = {"range": "split", "rounding": "half-up"}[way]
    logits = cp.readings_from_ratings(ratings, range(size), round=how, rating_range=(0, 10))
    return Labelled(as_logits(logits), texts.labels)


MEASUREMENTS = (
    Measurement(
        "odd-scales",
        lambda draw: product(RIGHT, BUDGETS),
        run,
        Means("reader labels", "reader labels"),
        5,
        needs_data=False,
    ),
    Measurement(
        "rating-ranges",
        lambda draw: ((*task, n) for task in list_tasks(SETS) for n in (20, 50)),
        compare_ways,
        Means("set task reader labels", "labels", lowest=[f"gain over {way}" for way in WAYS[1:]]),
        5,
    ),
)
