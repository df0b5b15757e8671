"""Do intervals of a mean, of systems, of their differences and of pass rates hold?

Texts are drawn, with replacement, from a set whose labels are all known; some of them are labelled,
the default calibrator is fitted, and 90 % intervals are compared with the truth: that of the set
(texts like these), or of the drawn texts (these).  By default the sets are real, six folders that
CORDIAL_DATA has, and made ones, in which the judge errs alike for all systems or favours one.  A
draw takes the next task and judge of each set, up to eight of its systems, and 120 to 2,000 texts.

* random: labels of random texts; plan: of those that a plan chooses;
* 1:1, 5:1, 25:1: a plan by systems, one of which has so many times the texts of another; the
  systems are named, or only the labels' probabilities are ("no groups");
* clusters: whole clusters of texts, each a tenth of the labels at most, are drawn and labelled;
* pairs: prompts that four systems answer are drawn; all answers to some are labelled.

For each: coverage on average over the sets and in the worst of them, width in units of the scale,
and how many resolved differences have the wrong sign.  `estimates-rivals` measures the packages of
`peers.py` on the same draws: coverage, width as a share of ours, refusals.
"""

import functools
import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from embedded import benchmark
from measurement import Key, Line, Measurement, Row, average, group, list_lowest
from peers import PEERS, Task, installed, measure_peer
from real import SOURCES, mark_passing, read, shuffle_pairs, trained_without

import cordial_ppl as cp
from cordial_ppl.decisions import estimating
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.judge import state
from cordial_ppl.decisions.question import TARGETS

OURS, SYSTEMS, BUDGETS = "cordial_ppl", 8, (20, 50, 100)
RIVALS = 2  # Draws on which other packages are measured too.
RATIOS = {"1:1": 1, "5:1": 5, "25:1": 25}
DESIGNS = ("random", "plan", *RATIOS, "clusters", "pairs")
COLUMNS = {
    "summeval_logits": ("system", ["doc_id"], ["doc_id"]),
    "topical_chat_gpt35": ("system", ["conv"], None),
    "trec_dl_umbrela": ("query", ["query"], None),
    "wmt23_esa_users": ("system", ["doc"], None),
    "hanna": ("system", ["prompt_id"], ["prompt_id"]),
    "wmt23_mqm": ("system", ["doc"], ["doc", "seg"]),
}
MADE = ("made: errs alike", "made: favours one")
FAVOURED = (MADE[1], "systems", "3")
Names = tuple[str, ...]
Cells = dict[Names, list[list[float]]]


class Corpus(NamedTuple):
    """Texts with all their labels; the judge's stated probabilities, systems, clusters, prompts."""

    logits: np.ndarray
    labels: np.ndarray
    stated: np.ndarray
    systems: np.ndarray
    clusters: np.ndarray | None
    prompts: np.ndarray | None

    @property
    def passing(self) -> np.ndarray:
        """Mark the options that pass."""
        return mark_passing(self.labels, self.logits.shape[1])


class Sample(NamedTuple):
    """A draw: texts, each one's chance in the population, the labelled ones and how they came."""

    texts: np.ndarray  # Rows of the set, [N].
    chance: np.ndarray  # Of each text of the set, up to a factor, [M].
    rows: np.ndarray  # The labelled ones among the N.
    probability: np.ndarray | None = None  # To be labelled, [N]; None if all have the same.
    units: np.ndarray | None = None  # Clusters or prompts, [N].


@functools.cache
def list_pairs(source: str) -> list[Names]:
    """Tasks and readers of a set, in the order in which they take their turn."""
    if source in MADE:
        return [("beauty",), ("software",), ("mosei",)]
    if source in SOURCES:
        readers, tasks = SOURCES[source].readers, SOURCES[source].tasks
        turns = range(2 * len(tasks))
        return [
            (tasks[i % len(tasks)], readers[(i + i // len(tasks)) % len(readers)]) for i in turns
        ]
    return [*shuffle_pairs(source)]


@functools.cache
def load(source: str, task: str, reader: str) -> Corpus:
    """A task of a real set as one reader reads it."""
    texts, columns = read(source, task, reader), COLUMNS[source]
    logits, extras = texts.logits, texts.labelled.extras

    def name(chosen: list[str] | None) -> np.ndarray | None:
        cells = chosen and zip(*(extras[column] for column in chosen), strict=True)
        return np.array(["|".join(map(str, cell)) for cell in cells]) if cells else None

    systems = np.array(extras[columns[0]], str)
    named = name(columns[1]), name(columns[2])
    return Corpus(logits, texts.labels, state(logits)[0], systems, *named)


@functools.cache
def make(case: str, name: str) -> Corpus:
    """An embedded task, whose texts are dealt to systems of differing quality and to clusters."""
    task, rng = benchmark(name), np.random.default_rng(1)
    rows = task.rows("report")[:2000]
    logits, labels = task.logits["main"][rows], task.labels[rows]
    order = np.argsort(np.argsort(labels + rng.normal(0, 3, len(rows))))
    systems = (order * SYSTEMS // len(rows)).astype(str)
    if case == MADE[1]:
        labels = np.where(systems == FAVOURED[2], np.maximum(labels - 1, 0), labels)
    clusters = np.argsort(np.argsort(labels + rng.normal(0, 2, len(rows)))) // 10
    return Corpus(logits, labels, state(logits)[0], systems, clusters.astype(str), None)


def draw_sample(corpus: Corpus, design: str, n: int, seed: int, draw: int) -> Sample | None:
    """Draw texts and those to label; None where a set has no such design."""
    rng = np.random.default_rng([seed, n, draw])
    names = rng.permutation(np.unique(corpus.systems))[:SYSTEMS]
    if design in ("clusters", "pairs"):
        return draw_units(corpus, design, names, n, rng)
    chance = np.isin(corpus.systems, names).astype(float)
    size, grouped = int(rng.choice([120, 400, 2000])), design in RATIOS
    if grouped:
        size = int(rng.choice([400, 2000]))
        for name in names:
            share = RATIOS[design] if name == names[0] else 1
            chance[corpus.systems == name] = share / np.sum(corpus.systems == name)
    texts = rng.choice(len(chance), size, p=chance / chance.sum())
    if design == "random":
        return Sample(texts, chance, rng.permutation(size)[:n])
    systems = corpus.systems[texts]
    plan = cp.plan(corpus.logits[texts], n, groups=systems if grouped else None, seed=draw)
    of_system = dict(zip(systems[plan.rows], plan.probability, strict=True))
    probability = np.array([of_system.get(name, np.nan) for name in systems]) if grouped else None
    return Sample(texts, chance, plan.rows, probability)


def draw_units(
    corpus: Corpus, design: str, names: np.ndarray, n: int, rng: np.random.Generator
) -> Sample | None:
    """Draw whole clusters, or prompts with an answer of each of four systems."""
    units, cap, size = corpus.clusters, max(2, n // 10), int(rng.choice([240, 480, 960]))
    among = np.isin(corpus.systems, names) | (corpus.systems == units).all()
    if design == "pairs":
        units, cap, among = corpus.prompts, 4, np.isin(corpus.systems, names[:4])
    if units is None:
        return None
    of = np.unique(units[among], return_inverse=True)[1]
    members = np.split(np.flatnonzero(among)[np.argsort(of)], np.bincount(of).cumsum()[:-1])
    if design == "pairs":
        members = [t for t in members if len(t) == len(set(corpus.systems[t])) == cap]
    chance = np.zeros(len(units))
    for texts in members:
        chance[texts] = min(cap, len(texts)) / len(texts)
    drawn: list[np.ndarray] = []
    while sum(map(len, drawn)) < size:
        drawn.append(rng.permutation(members[rng.integers(len(members))])[:cap])
    sizes = np.array([len(texts) for texts in drawn])
    order, codes = rng.permutation(len(drawn)), np.repeat(np.arange(len(drawn)), sizes)
    labelled = order[: np.searchsorted(sizes[order].cumsum(), n) + 1]
    rows = np.flatnonzero(np.isin(codes, labelled))
    return Sample(np.concatenate(drawn), chance, rows, None, codes.astype(str))


def find_truth(corpus: Corpus, sample: Sample, of: str) -> dict[Names, float]:
    """The true value of all that is estimated."""
    weights, labels = sample.chance, corpus.labels
    if of == "these":
        weights = np.bincount(sample.texts, minlength=len(labels)).astype(float)

    def mean(values: np.ndarray, some: Any = True) -> float:
        part = weights * some
        return float(part @ values / part.sum()) if part.sum() else np.nan

    top = corpus.logits.shape[1] - 1
    passed, judged = corpus.passing[labels], corpus.passing[corpus.stated.argmax(axis=1)]
    truth: dict[Names, float] = {("TPR",): mean(judged, passed), ("TNR",): mean(~judged, ~passed)}
    truth["pass rate",] = mean(passed)
    truth["all texts",] = truth["from sampling alone",] = mean(labels) / top
    members = {name: corpus.systems == name for name in np.unique(corpus.systems[sample.texts])}
    for k in range(1, top + 1):
        truth["shares", str(k)] = mean(labels >= k)
        for name, rows in members.items():
            truth["shares of systems", name, str(k)] = mean(labels >= k, rows)
    means = {name: mean(labels, rows) / top for name, rows in members.items()}
    truth |= {("systems", name): value for name, value in means.items()}
    for a, b in itertools.combinations(means, 2):
        truth["differences", a, b] = means[a] - means[b]
    return truth


def list_intervals(estimate: Estimate) -> dict[Names, Any]:
    """All intervals of an estimate on the scale 0 to 1; of a difference, whether it is resolved."""
    top, whole, rates = len(estimate.overall.options) - 1, estimate.overall, estimate.passing
    ends: dict[Names, Any] = {("shares", k): share for k, share in whole.at_least.items()}
    ends["all texts",] = np.array(whole.mean) / top
    ends["from sampling alone",] = np.array(estimate.rectified[:3]) / top
    if rates is not None:
        ends |= {("pass rate",): rates.rate, ("TPR",): rates.tpr, ("TNR",): rates.tnr}
    for name, each in estimate.groups.items():
        ends["systems", name] = np.array(each.mean) / top
        ends |= {("shares of systems", name, k): x for k, x in each.at_least.items()}
    resolved = {frozenset(pair[:2]) for pair in estimate.resolved}
    for pair in itertools.combinations(sorted(estimate.groups), 2):
        interval = np.array(estimate.difference(*pair)) / top
        ends["differences", *pair] = (*interval, frozenset(pair) in resolved)
    return ends


def pose(corpus: Corpus, sample: Sample, draw: int) -> tuple[Task, Task]:
    """What other packages are told: scores and labels on the scale 0 to 1, and those of passing."""
    stated, marks = corpus.stated[sample.texts], corpus.passing
    options, labels = np.arange(len(marks)) / (len(marks) - 1), corpus.labels[sample.texts]
    blank = np.isin(np.arange(len(labels)), sample.rows, invert=True)
    means, passed = (np.where(blank, np.nan, value[labels]) for value in (options, marks))
    task = Task(stated @ options, means, (0, 1), sample.units, sample.probability, None, draw)
    verdicts = marks[stated.argmax(axis=1)].astype(int)
    return task, task._replace(scores=stated @ marks, labels=passed, verdicts=verdicts)


def estimate_both(
    fit: cp.Cordial, logits: np.ndarray, rows: np.ndarray, **settings: Any
) -> dict[str, Estimate]:
    """Estimate both targets from one set of draws; the results equal those of two calls."""
    slow = "fit_by_cluster", "sum_draws", "draw_shares"
    repeated: Any = {name: once(getattr(estimating, name)) for name in slow}
    with patch.multiple(estimating, **repeated):
        return {of: fit.estimate(logits, rows, of=of, **settings) for of in TARGETS}


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that repeats the first result of another."""
    results, calls = list[Any](), itertools.count(1)

    def call(*args: Any) -> Any:
        assert next(calls) <= len(TARGETS), "an estimate called it twice"
        results.extend([] if results else [function(*args)])
        return results[0]

    return call


def measure(
    corpus: Corpus, sample: Sample, source: str, design: str, draw: int, peers: Any
) -> Cells:
    """One draw: whether each interval holds, its width, whether it is resolved, and wrongly."""
    cells: Cells = defaultdict(list)
    systems = corpus.systems[sample.texts]
    logits, rows = corpus.logits[sample.texts], sample.rows
    options = [str(option) for option in range(logits.shape[1])]
    fit = cp.Cordial(options, prior=trained_without(source), seed=draw)
    fit.fit(logits[rows], corpus.labels[sample.texts][rows])
    settings: dict[str, Any] = {
        "passing": [options[k] for k in np.flatnonzero(corpus.passing)],
        "probabilities": None if sample.probability is None else sample.probability[rows],
        "pairs" if design == "pairs" else "clusters": sample.units,
    }
    tasks = (*pose(corpus, sample, draw), systems, design == "pairs")
    answers = {peer: measure_peer(peer, *tasks) for peer in peers}
    grouped, plain = {}, {}
    if len(set(systems)) <= SYSTEMS:
        grouped = estimate_both(fit, logits, rows, groups=systems, **settings)
    if design != "pairs":
        plain = estimate_both(fit, logits, rows, **settings)
    for of in TARGETS:
        truth = find_truth(corpus, sample, of)
        ours: dict[Names, Any] = list_intervals(grouped[of]) if grouped else {}
        others = list_intervals(plain[of]) if plain else {}
        if design in RATIOS:
            for kind in ("all texts", "pass rate"):
                ours[f"{kind}, no groups",] = others[kind,]
                truth[f"{kind}, no groups",] = truth[kind,]
        else:
            ours |= others
        for method, ends in {OURS: ours, **answers}.items():
            for key, interval in ends.items():
                if interval is None or key not in ours or np.isnan(truth[key]):
                    continue
                record = judge(interval, truth[key]) + judge(ours[key], truth[key])[:2]
                cells[of, method, key[0]].append(record)
                if (source, *key) == FAVOURED:
                    cells[of, method, "the favoured one"].append(record)
    return cells


def judge(interval: Any, truth: float) -> list[float]:
    """Whether an interval holds, its width, whether it is resolved, wrongly; NaN of a refusal."""
    if isinstance(interval, Exception) or not np.isfinite(np.array(interval, float)).all():
        return [np.nan] * 4
    mean, low, high, *resolved = interval
    clear = bool(resolved[0]) if resolved else low > 0 or high < 0
    holds = low - 1e-9 <= truth <= high + 1e-9
    return [float(holds), float(high - low), float(clear), float(clear and mean * truth <= 0)]


def tabulate_rivals(rows: Sequence[Row]) -> Iterator[Line]:
    """Average over sets: ours, then other packages, if there are any."""
    lines = [*tabulate(rows, (OURS, *PEERS))]
    yield from lines if any(line["method"] != OURS for line in lines) else ()


def tabulate(rows: Sequence[Row], methods: Sequence[str] = (OURS,)) -> Iterator[Line]:
    """Average over sets, by number of labels, and over all."""
    table: dict[Key, list[tuple[int, str, list[float]]]] = defaultdict(list)
    for draw, (source, design, n), numbers in rows:
        for cell, records in numbers.items():
            each = [(draw, str(source), record) for record in records]
            for key in itertools.product((design, "all"), (n, "all")):
                table[(*cell.split("|"), *key)] += each
    rank = {key: index for index, key in enumerate((*DESIGNS, *BUDGETS, "all", OURS, *PEERS))}
    chosen = [key for key in table if key[1] in methods]
    order = sorted(chosen, key=lambda c: (rank[c[1]], c[0], rank[c[3]], rank[c[4]]))
    for of, method, kind, design, n in order:
        every = table[of, method, kind, design, n]
        kept = [each for each in every if np.isfinite(np.array(each[2], float)[[0, 4]]).all()]
        line: dict[str, Any] = {"method": method, "of": of, "design": design, "labels": n}
        line |= {"quantity": kind, "refused": 1 - len(kept) / len(every), "intervals": len(kept)}
        if kept:
            draws, sources, records = zip(*kept, strict=True)
            holds, width, clear, wrong, ours_holds, ours_width = np.array(records, float).T
            line |= average("covers", holds, draws, sources)
            line |= list_lowest("lowest", holds, sources)
            line |= average("width", width, draws, sources)
            if kind == "differences":
                line |= {"resolved": int(clear.sum()), "wrong": int(wrong.sum())}
                signs = wrong[clear > 0], np.array(sources)[clear > 0]
                line |= list_lowest("most wrong", *signs, best=max) if clear.any() else {}
            if method != OURS:
                means = group(zip(sources, zip(width, ours_width, strict=True), strict=True))
                parts = [np.mean(each, axis=0) for _, each in means]
                line["width of ours"] = float(np.mean([a / b for a, b in parts if b > 0]))
                line |= average("ours covers", ours_holds, draws, sources)
        yield line


def run(draw: int, source: str, design: str, n: int) -> Any:
    """Draw, fit and estimate; nothing where a set has no such design."""
    pairs = list_pairs(source)
    corpus = (make if source in MADE else load)(source, *pairs[draw % len(pairs)])
    seed = zlib.crc32(f"{source} {design}".encode())
    sample = draw_sample(corpus, design, n, seed, draw)
    if sample is None:
        return {}
    cells = measure(corpus, sample, source, design, draw, installed() if draw < RIVALS else [])
    return {"|".join(cell): np.round(records, 5).tolist() for cell, records in cells.items()}


CELLS = [*itertools.product((*COLUMNS, *MADE), DESIGNS, BUDGETS)]
MEASUREMENTS = (
    Measurement("estimates", lambda _: CELLS, run, tabulate, 2),
    Measurement(
        "estimates-rivals", lambda _: CELLS, run, tabulate_rivals, RIVALS, kept_as="estimates"
    ),
)
