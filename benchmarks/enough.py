"""Whether the number of labels that `--require` names decides as often as it says.

Of each task and reader some texts are a corpus, and a random sample of them is labelled. A bound
lies some way from the mean towards an end of its interval, so that the answer is open. The sample
is then continued, at random, to each of the three numbers that the answer names: where the median
is named half of the cases should be decided, and a tenth and nine tenths where the ends of the
range are. Numbers above 300 are not tried.
"""

from collections.abc import Iterator

import numpy as np
from measurement import Line, Means, Measurement
from real import SOURCES, list_names, load, trained_without

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.requirement import OPEN, parse

TEXTS, FIRST, MOST = 600, 30, 300
SHARES = 0.2, 0.6
ENDS = {"low": 0.1, "value": 0.5, "high": 0.9}


def follow(draw: int, source: str, task: str) -> Iterator[Line]:
    """Follow a sample: whether each number of labels that is named decides, and its aim."""
    readers = SOURCES[source].readers
    logits, labels = load(source, task, readers[draw % 2])
    rng, options = np.random.default_rng(draw), [*map(str, range(logits.shape[1]))]
    order = rng.permutation(len(labels))[:TEXTS]
    logits, labels = logits[order], labels[order]
    made: dict[int, cp.Estimate] = {}

    def ask(count: int, text: str) -> str:
        if count not in made:
            fit = cp.Cordial(options, prior=trained_without(source), seed=draw)
            fit.fit(logits[:count], labels[:count])
            made[count] = fit.estimate(logits, np.arange(count))
        return parse(text).answer(made[count]).answer

    ask(FIRST, "mean > 0")
    mean, lower, upper = made[FIRST].overall.mean
    for share in SHARES:
        text = f"mean >= {mean + share * (rng.choice([lower, upper]) - mean)}"
        needed = parse(text).answer(made[FIRST]).needed
        for end, count in needed._asdict().items() if needed else ():
            if count <= min(MOST, len(labels)):
                decided = ask(int(count), text) != OPEN
                yield {"end": end, "aim": ENDS[end], "decided": decided}


TABLE = Means("set task", "end aim", alike="")
MEASUREMENTS = (Measurement("enough", list_names, follow, TABLE, 2),)
