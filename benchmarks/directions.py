"""How often is a fit warned that labels fall as ratings rise, rightly and wrongly?

    CORDIAL_DATA=path python benchmarks/directions.py

Every task and judge of the public sets, random texts of each: labels as they are, where a warning
is a false alarm, and turned round, of the judges whose ratings correlate with all labels by more
than .4.  Ratings are as they came, or the likeliest option of each.
"""

import argparse
import os
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import words
from real import FOLDER
from scipy.stats import spearmanr

from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits, readings_from_ratings
from cordial_ppl.errors import CordialWarning
from cordial_ppl.stack.fit import warn_if_reversed


def is_warned(logits: np.ndarray, labels: np.ndarray, scale: Any) -> bool:
    """Whether a fit to these labels would be warned of their direction."""
    texts = SimpleNamespace(logits=logits)
    per_text = by_text(labels, scale.size)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_if_reversed(SimpleNamespace(scale=scale, text_labels=per_text, labelled=texts))  # type: ignore
    return any(issubclass(each.category, CordialWarning) for each in seen)


def main() -> None:
    """Count warnings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--labels", type=int, nargs="+", default=[10, 20, 50])
    args = parser.parse_args()
    words.READERS = 1000
    folders = sorted(path.parent for path in Path(os.environ[FOLDER]).glob("*/labels.csv"))
    rng, counts = np.random.default_rng(0), dict[tuple[str, int], list[list[bool]]]()
    warnings.simplefilter("ignore")
    for judge in (judge for folder in folders for judge in words.load_judges(folder)):
        hard = as_logits(readings_from_ratings(judge.ratings, range(judge.scale.size)))
        for kind, logits in (("as they came", as_logits(judge.logits)), ("hard", hard)):
            stated = state(logits)[0] @ judge.scale.values
            clear = spearmanr(stated, judge.labels)[0] > 0.4  # pyright: ignore
            for n in args.labels:
                alarms, found = counts.setdefault((kind, n), [[], []])
                for _ in range(args.draws if n <= len(stated) else 0):
                    rows = rng.choice(len(stated), n, replace=False)
                    some, labels = logits[rows], judge.labels[rows]
                    alarms.append(is_warned(some, labels, judge.scale))
                    if clear:
                        turned = judge.scale.size - 1 - labels
                        found.append(is_warned(some, turned, judge.scale))
    for (kind, n), (alarms, found) in counts.items():
        print(
            f"{kind:14s}{n:4d} labels: false alarms {np.mean(alarms):.4f} of {len(alarms):,}, "
            f"found {np.mean(found):.3f} of {len(found):,}"
        )


if __name__ == "__main__":
    main()
