"""Whether what summary and verdict say of a reader is true, on real readings.

Needs the sets of readings that benchmarks/real.py describes, and CORDIAL_DATA to name their folder;
every set there is taken.  Readings are made hard ratings: of log-probabilities the most probable
option, of counts the mean, rounded; with ``--graded`` they stay as they are.  The default
calibrator, with a prior that does not know the set, is fitted to 200 labels, and what its summary
says is compared with all labels of the set:

* the bias of all ratings, and at each option that 30 texts or more are given: its error, its sign
  where it exceeds .3 classes, and the share of 90 % intervals that hold it;
* each sentence with a direction: too high, too low, over- or under-confident, whether the
  calibrator beats the label histogram (on the texts without a label), and advice not to go by the
  top choice (wrong if that beats the commonest label by .025).

``--made 200`` takes that many made judges of each kind instead: noise alike, of a class or so, and
a bias of half a class, or none.  Printed is how many are told right.

    CORDIAL_DATA=path python benchmarks/words.py
    python benchmarks/words.py --made 200
"""

import argparse
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from members import trained_without, without
from real import FOLDER, NEEDED

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits, label_histogram, readings_from_counts
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.judge import Points, score_points
from cordial_ppl.decisions.verdict import NOT_THE_TOP, Advice
from cordial_ppl.errors import CordialWarning
from cordial_ppl.stack.fit import fit_stack
from cordial_ppl.tables import match_labels, read_labels, read_readings

LABELS, TEXTS, READERS = 200, 30, 2
"""Labels of a fit, texts of an option that is looked at, and readers of a task at most."""

NEAR, CLEAR = 0.25, 0.3
"""Classes that a bias may be off, and a bias whose sign has to be right."""


class Judge(NamedTuple):
    """A reader of a task.

    Attributes:
        name: set, task and reader.
        scale: the options.
        ratings: one rating a text.
        labels: labels of the same texts, options 0..K-1.
        logits: the readings as they are.
    """

    name: str
    scale: Scale
    ratings: np.ndarray
    labels: np.ndarray
    logits: np.ndarray = np.empty(0)

    @property
    def hard(self) -> "Judge":
        """The reader as one that states one number."""
        counts = np.eye(self.scale.size)[self.ratings]
        return self._replace(logits=as_logits(readings_from_counts(counts)))


class Outcome(NamedTuple):
    """What was said, and the truth.

    Attributes:
        biases: rows of truth, median, ends, texts of the set and labelled ones, an option each.
        sentences: kind of each sentence with a direction, and whether it is right.
    """

    biases: list[tuple[float, ...]]
    sentences: list[tuple[str, bool]]


def main() -> None:
    """Fit, compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, nargs=2, default=(0, 5), metavar=("FIRST", "END"))
    parser.add_argument("--labels", type=int, default=LABELS)
    parser.add_argument("--sources", nargs="+", help="folders; by default all")
    parser.add_argument("--fits", type=Path, help="folder of priors trained without each set")
    parser.add_argument("--graded", action="store_true", help="readings as they are")
    parser.add_argument("--made", type=int, default=0, help="made judges of each kind instead")
    args = parser.parse_args()
    warnings.simplefilter("ignore", CordialWarning)
    if args.made:
        return tell_bias_from_noise(args.made, args.labels)
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    folders = sorted(path.parent for path in Path(os.environ[FOLDER]).glob("*/labels.csv"))
    outcomes = []
    for folder in folders:
        if args.sources is None or folder.name in args.sources:
            first = len(outcomes)
            name = folder.name
            prior = trained_without(name, args.fits) if args.fits else without(name)
            for judge in load_judges(folder):
                read = judge if args.graded else judge.hard
                for draw in range(*args.draws):
                    outcomes.append(measure(read, fit(read, prior, draw, args.labels)))
            report(folder.name, outcomes[first:])
    report("all", outcomes)


def tell_bias_from_noise(count: int, labels: int) -> None:
    """Print how often a judge with a bias, and one with noise alone, are called so."""
    for bias in (0.0, 0.5, -0.5):
        said = []
        for seed in range(count):
            rng = np.random.default_rng([seed, round(2 * bias) + 2])
            truth = rng.choice(5, labels, p=[0.15, 0.2, 0.3, 0.2, 0.15])
            noise = rng.choice([-2, -1, 0, 1, 2], labels, p=[0.1, 0.2, 0.4, 0.2, 0.1])
            noise += (np.sign(bias) * (rng.random(labels) < abs(bias))).astype(int)
            ratings = np.clip(truth + noise, 0, 4)
            stack = cp.Cordial(seed=seed).fit(cp.readings_from_ratings(ratings, range(5)), truth)
            first, *_ = answers.describe(stack.fit_).faults
            side = re.search("too (low|high)", first.words)
            said.append({"low": -0.5, "high": 0.5}[side[1]] if side else 0.0)
        print(
            f"rates {bias:+.1f} classes too high: told right {np.mean(np.array(said) == bias):.3f}"
        )


def load_judges(folder: Path) -> Iterator[Judge]:
    """Every task of a set, by readers that take turns."""
    path = next(folder.glob("readings.*"))
    frame = pl.scan_parquet(path) if path.suffix == ".parquet" else pl.scan_csv(path)
    pairs = frame.select("task", "reader").unique().sort("task", "reader").collect().rows()
    for index, task in enumerate(sorted({task for task, _ in pairs})):
        readers = [reader for of, reader in pairs if of == task]
        for turn in range(min(READERS, len(readers))):
            reader = readers[(READERS * index + turn) % len(readers)]
            table = read_readings(path, task=task, reader=reader)
            labels = read_labels(folder / "labels.csv", table.scale, task=task)
            labels, rows = match_labels(table, labels)
            shares, _ = state(table.logits[rows])
            means = shares @ np.arange(table.scale.size)
            ratings = np.rint(means).astype(int) if table.kind == "n" else shares.argmax(axis=1)
            name = f"{folder.name} {task} {reader}"
            yield Judge(name, table.scale, ratings, labels.labels, table.logits[rows])


def fit(judge: Judge, prior: cp.priors.LearnedPrior, draw: int, count: int) -> cp.Cordial:
    """Fit the default calibrator to some of the labels, with a prior of other sets."""
    rows = np.random.default_rng(draw).permutation(len(judge.labels))[:count]
    texts = Labelled(judge.logits[rows], judge.labels[rows], {}, texts=rows)
    stack = cp.Cordial(judge.scale.options, prior=prior, seed=draw)
    stack.fit_ = fit_stack(texts, judge.scale, stack.settings)
    return stack


def measure(judge: Judge, stack: cp.Cordial) -> Outcome:
    """Compare what is said with all labels."""
    summary, verdict = answers.describe(stack.fit_), answers.verdict(stack.fit_)
    assert summary.reader is not None and verdict is not None
    shares, _ = state(judge.logits)
    size, classes = judge.scale.size, np.arange(judge.scale.size)
    stated = shares @ classes
    nearest = np.rint(stated).astype(int)
    off, biases, sentences = judge.labels - stated, [], []
    truths = {option: off[nearest == option].mean() for option in np.unique(nearest).tolist()}
    whole = summary.reader.overall
    biases.append((off.mean(), whole.value, whole.low, whole.high, len(off), -1))
    for option, bias in enumerate(summary.reader.bias):
        texts = int((nearest == option).sum())
        if bias is not None and texts >= TEXTS:
            seen = summary.reader.texts[option]
            biases.append((truths[option], bias.value, bias.low, bias.high, texts, seen))
    spread = np.sqrt(np.mean((off - np.array([truths.get(k, 0.0) for k in nearest])) ** 2))
    for fault in summary.faults:
        _, *option = fault.name.split("'")
        truth = truths[judge.scale.options.index(option[0])] if option else off.mean()
        if side := re.search("too (low|high)", fault.words):
            kind = "" if option else " on average"
            sentences.append((side[0] + kind, (truth > 0) == (side[1] == "low")))
        elif side := re.search("labels are .* (higher|lower)", fault.words):
            kind = side[1] + ("" if option else ", perhaps by luck")
            sentences.append((kind, (truth > 0) == (side[1] == "higher")))
        elif sure := re.match("(over|under)-confident", fault.words):
            right = (spread > summary.reader.stated_spread) == (sure[1] == "over")
            sentences.append((sure[0], right))
    rest = ~np.isin(np.arange(len(judge.labels)), stack.fit_.labelled.texts)
    labels, probs = judge.labels[rest], stack.predict_proba(judge.logits[rest])
    histogram = np.tile(label_histogram(stack.fit_.labelled.labels, size), (len(labels), 1))
    per_text = by_text(labels, size)

    def score(each: np.ndarray) -> Points:
        return score_points(each, per_text, judge.scale)

    calibrated, guessed = score(probs), score(histogram)
    gain = (guessed.loss or 0.0) - (calibrated.loss or 0.0)
    if verdict.advice is Advice.USE:
        sentences.append(("beats the histogram", gain > 0))
    elif verdict.advice is Advice.REJECT:
        sentences.append(("hardly beats it", gain < 0.04))
    if NOT_THE_TOP in verdict.text:
        sentences.append(("not the top choice", calibrated.accuracy <= guessed.accuracy + 0.025))
    return Outcome(biases, sentences)


def report(name: str, outcomes: list[Outcome]) -> None:
    """Print errors, coverage and sentences."""
    every = np.array([row for outcome in outcomes for row in outcome.biases])
    rows, whole = every[every[:, 5] >= 0], every[every[:, 5] < 0]
    print(f"{name}: {len(outcomes)} fits, {len(rows)} options with {TEXTS} texts or more")
    many = rows[rows[:, 5] >= TEXTS]
    for title, some in (("on average", whole), ("all", rows), ("30 labels or more", many)):
        if not len(some):
            continue
        truth, value, low, high = some[:, :4].T
        clear = np.abs(truth) > CLEAR
        near = np.mean(np.abs(value - truth) <= NEAR)
        print(
            f"  {title}: {len(some)}; off by {NEAR} at most {near:.3f}"
            f", rms {np.sqrt(np.mean((value - truth) ** 2)):.3f}; intervals hold it "
            f"{np.mean((low <= truth) & (truth <= high)):.3f}; sign right "
            f"{np.mean((value > 0) == (truth > 0), where=clear):.3f} of {clear.sum()}"
        )
    kinds = defaultdict(list)
    for kind, right in (sentence for outcome in outcomes for sentence in outcome.sentences):
        kinds[kind].append(right)
    words = "; ".join(f"{kind} {len(r) - sum(r)} of {len(r)}" for kind, r in kinds.items())
    every = [right for each in kinds.values() for right in each]
    print(f"  wrong sentences {1 - np.mean(every):.3f} of {len(every)}: {words}", flush=True)


if __name__ == "__main__":
    main()
