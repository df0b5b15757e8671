"""Whether what summary and verdict say of a reader is true, on real readings.

Every set in the folder is taken.  Readings are made hard ratings: of log-probabilities the most
probable option, of counts the mean, rounded; or stay as they are (``words-graded``).  The default
calibrator, with a prior that does not know the set, is fitted to 200 labels, and what its summary
says is compared with all labels of the set:

* the bias of all ratings, and at each option that 30 texts or more are given: its error, its sign
  where it exceeds .3 classes, and the share of 90 % intervals that hold it.  The N labels of a set
  include the n of the fit, which makes errors too small: they are divided by sqrt(1 - n/N);
* each sentence with a direction: too high, too low, over- or under-confident, whether the
  calibrator beats the label histogram (on the texts without a label), and advice not to go by the
  top choice (wrong if that beats the commonest label by .025).

``words-made`` takes made judges: noise alike, of a class or so, and a bias of half a class, or
none: how many are told right.
"""

import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from measurement import Key, Line, Means, Measurement
from real import list_pairs, list_sources, read, trained_without

import cordial_ppl as cp
from cordial_ppl.data.conversion import readings_from_counts
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.judge import score_points
from cordial_ppl.decisions.verdict import NOT_THE_TOP, Advice
from cordial_ppl.stack.fit import fit_stack

LABELS, TEXTS, READERS = 200, 30, 2
"""Labels of a fit, texts of an option that is looked at, and readers of a task at most."""

NEAR, CLEAR = 0.25, 0.3
"""Classes that a bias may be off, and a bias whose sign has to be right."""

CELL = "set task reader"


class Judge(NamedTuple):
    """A reader of a task: the options, one rating a text, labels, and the readings as they are."""

    scale: Scale
    ratings: np.ndarray
    labels: np.ndarray
    logits: np.ndarray

    @property
    def hard(self) -> "Judge":
        """The reader as one that states one number."""
        counts = np.eye(self.scale.size)[self.ratings]
        return self._replace(logits=as_logits(readings_from_counts(counts)))


def list_judges(draw: int, most: int = READERS) -> Iterator[Key]:
    """List every task of every set, by some readers that take turns."""
    for source in list_sources():
        pairs = list_pairs(source)
        for index, task in enumerate(dict.fromkeys(task for task, _ in pairs)):
            readers = [reader for of, reader in pairs if of == task]
            for turn in range(min(most, len(readers))):
                yield source, task, readers[(most * index + turn) % len(readers)]


def load_judge(source: str, task: str, reader: str) -> Judge:
    """Load a task as a reader reads it."""
    texts = read(source, task, reader)
    scale, shares = texts.table.scale, state(texts.logits)[0]
    means = np.rint(shares @ np.arange(scale.size)).astype(int)
    ratings = means if texts.table.kind == "n" else shares.argmax(axis=1)
    return Judge(scale, ratings, texts.labels, texts.logits)


def run(draw: int, source: str, task: str, reader: str, graded: bool = False) -> Iterator[Line]:
    """Fit the default calibrator to some of the labels, and compare what it says with all."""
    judge = load_judge(source, task, reader)
    judge = judge if graded else judge.hard
    rows = np.random.default_rng(draw).permutation(len(judge.labels))[:LABELS]
    texts = Labelled(judge.logits[rows], judge.labels[rows], {}, texts=rows)
    stack = cp.Cordial(judge.scale.options, prior=trained_without(source), seed=draw)
    stack.fit_ = fit_stack(texts, judge.scale, stack.settings)
    return compare(judge, stack)


def compare(judge: Judge, stack: cp.Cordial) -> Iterator[Line]:
    """Compare what is said with all labels: each bias, and each sentence."""
    summary, verdict = answers.describe(stack.fit_), answers.verdict(stack.fit_)
    assert summary.reader is not None and verdict is not None
    shares, _ = state(judge.logits)
    size, classes = judge.scale.size, np.arange(judge.scale.size)
    stated = shares @ classes
    nearest = np.rint(stated).astype(int)
    off, sentences = judge.labels - stated, []
    truths = {option: off[nearest == option].mean() for option in np.unique(nearest).tolist()}
    whole, rest = summary.reader.overall, ~np.isin(np.arange(len(off)), stack.fit_.labelled.texts)
    unseen = float(np.sqrt(rest.mean()))
    yield from rate(["on average"], off.mean(), whole, unseen)
    for option, bias in enumerate(summary.reader.bias):
        texts = int((nearest == option).sum())
        if bias is not None and texts >= TEXTS:
            many = summary.reader.texts[option] >= TEXTS
            kinds = ["options", f"options with {TEXTS} labels"][: 1 + many]
            yield from rate(kinds, truths[option], bias, unseen)
    spread = np.sqrt(np.mean((off - np.array([truths.get(k, 0.0) for k in nearest])) ** 2))
    for fault in summary.faults:
        _, *option = fault.name.split("'")
        truth = truths[judge.scale.options.index(option[0])] if option else off.mean()
        if side := re.search("too (low|high)", fault.words):
            kind = "" if option else " on average"
            sentences.append((side[0] + kind, (truth > 0) == (side[1] == "low")))
        elif side := re.search("labels are .* (higher|lower)", fault.words):
            kind = side[1] + ("" if option else ", possibly by chance")
            sentences.append((kind, (truth > 0) == (side[1] == "higher")))
        elif sure := re.match("(over|under)-confident", fault.words):
            right = (spread > summary.reader.stated_spread) == (sure[1] == "over")
            sentences.append((sure[0], right))
    labels, probs = judge.labels[rest], stack.predict_proba(judge.logits[rest])
    histogram = np.tile(smooth_histogram(stack.fit_.labelled.labels, size), (len(labels), 1))
    calibrated, guessed = (
        score_points(each, by_text(labels, size), judge.scale) for each in (probs, histogram)
    )
    gain = (guessed.loss or 0.0) - (calibrated.loss or 0.0)
    if verdict.advice is Advice.USE:
        sentences.append(("beats the histogram", gain > 0))
    elif verdict.advice is Advice.REJECT:
        sentences.append(("hardly beats it", gain < 0.04))
    if NOT_THE_TOP in verdict.text:
        sentences.append(("not the top choice", calibrated.accuracy <= guessed.accuracy + 0.025))
    for kind, right in sentences:
        for name in (kind, "all sentences"):
            yield {"of": name, "right": right}


def rate(names: Collection[str], truth: float, bias: Any, unseen: float) -> Iterator[Line]:
    """Rate an interval of a bias, for each of the lines that it is counted in.

    The truth is of labels of which a share was fitted to; `unseen` is the root of what remains.
    """
    error = (bias.value - truth) / unseen
    for name in names:
        yield {
            "of": name,
            f"within {NEAR}": abs(error) <= NEAR,
            "error": error,
            "covers": bias.low <= bias.value - error <= bias.high,
            "sign right": (bias.value > 0) == (truth > 0) if abs(truth) > CLEAR else None,
        }


def make_judge(seed: int, bias: float) -> Line:
    """Make a judge, and compare whether it is called biased with whether it is."""
    rng = np.random.default_rng([seed, round(2 * bias) + 2])
    truth = rng.choice(5, LABELS, p=[0.15, 0.2, 0.3, 0.2, 0.15])
    noise = rng.choice([-2, -1, 0, 1, 2], LABELS, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    noise += (np.sign(bias) * (rng.random(LABELS) < abs(bias))).astype(int)
    ratings = np.clip(truth + noise, 0, 4)
    stack = cp.Cordial(seed=seed).fit(cp.readings_from_ratings(ratings, range(5)), truth)
    side = re.search("too (low|high)", answers.describe(stack.fit_).faults[0].words)
    return {"told right": ({"low": -0.5, "high": 0.5}[side[1]] if side else 0.0) == bias}


tabulate = Means(CELL, "set* of", alike="", squared=("error",))
MEASUREMENTS = (
    Measurement("words", list_judges, run, tabulate, 2),
    Measurement("words-graded", list_judges, partial(run, graded=True), tabulate, 2),
    Measurement(
        "words-made",
        lambda draw: [(0.0,), (0.5,), (-0.5,)],
        make_judge,
        Means("bias", "bias*"),
        60,
        needs_data=False,
    ),
)
