"""The logs in tests/recorded, what they hold, and logs that tests write."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs import collect
from cordial_ppl.logs.evidence import Answer, Position, Record
from cordial_ppl.logs.finder import Finder
from cordial_ppl.logs.spellings import Spellings

LOGS = Path(__file__).parent / "recorded"
REVIEWS = [json.loads(line) for line in (LOGS / "reviews.jsonl").read_text().splitlines()]
LABELS = {review["id"]: str(review["stars"]) for review in REVIEWS}
DUMMY = next((LOGS / "lm_eval" / "ours__dummy").glob("samples_*"))
REVIEWER = next((LOGS / "lm_eval" / "ours__reviewer").glob("samples_*"))


def finder(options, **settings):
    return Finder(Spellings(Scale(tuple(options.split(",")))), **settings)


def tokens(*tops, ended=False):
    """An answer by its log-probabilities; the first token of each position is the chosen one."""
    return [Answer("", [Position(next(iter(top)), top) for top in tops], ended)]


def reading(options, evidence, **settings) -> Any:
    """The reading of one text; None if it names no option."""
    try:
        record = Record("here", "a", evidence)
        collected = collect([record], Scale(tuple(options.split(","))), **settings)
        (one,) = collected.values
        one.values = collected.table[1][0]
        return one
    except InputError as error:
        if "names an option" not in str(error):
            raise
        return None


def table(collected):
    """The numbers of readings, [n, K]."""
    return np.asarray(collected.table[1])


def chat(*tops, choices=1, **wrapping):
    content = [
        {
            "token": next(iter(top)),
            "logprob": next(iter(top.values())),
            "top_logprobs": [{"token": t, "logprob": s} for t, s in top.items()],
        }
        for top in tops
    ]
    text = "".join(entry["token"] for entry in content)
    choice = {"message": {"content": text}, "logprobs": {"content": content} if content else None}
    return {**wrapping, "choices": [choice] * choices}
