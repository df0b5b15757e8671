"""The logs in tests/recorded, what they hold, and logs that tests write."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs import collect, find_format
from cordial_ppl.logs.answers import Finder
from cordial_ppl.logs.evidence import Answer, Position
from cordial_ppl.logs.spellings import Spellings

LOGS = Path(__file__).parent / "recorded"
STARS = Scale(("1", "2", "3", "4", "5"))
REVIEWS = [json.loads(line) for line in (LOGS / "reviews.jsonl").read_text().splitlines()]
LABELS = {review["id"]: str(review["stars"]) for review in REVIEWS}
DUMMY = next((LOGS / "lm_eval" / "ours__dummy").glob("samples_*"))
REVIEWER = next((LOGS / "lm_eval" / "ours__reviewer").glob("samples_*"))

FILES = {
    "openai_chat.jsonl": ("openai", "logprob", 20),
    "openai_batch.jsonl": ("openai", "logprob", 8),
    "openai_responses.jsonl": ("openai", "logprob", 8),
    "openai_completions.jsonl": ("openai", "logprob", 8),
    "vllm.jsonl": ("vllm", "logprob", 8),
    "llama_cpp.jsonl": ("llama-cpp", "logprob", 8),
    "llama_cpp_2024.jsonl": ("llama-cpp", "logprob", 8),
    "inspect.eval": ("inspect", "logprob", 20),
    "inspect.json": ("inspect", "n", 5),
    "samples.jsonl": ("samples", "n", 20),
    "ratings.csv": ("samples", "n", 8),
    "arrays.npz": ("npz", "logit", 20),
    str(DUMMY.relative_to(LOGS)): ("lm-eval", "logprob", 20),
    str(REVIEWER.relative_to(LOGS)): ("lm-eval", "n", 20),
}
if find_spec("inspect_ai") is None:
    FILES = {name: form for name, form in FILES.items() if form[0] != "inspect"}
LABELS_ALONE = ["argilla.json", "argilla_flat.json", "label_studio.json"]
ONE_READER = [
    "openai_batch.jsonl", "openai_responses.jsonl", "openai_completions.jsonl", "vllm.jsonl",
    "llama_cpp.jsonl", "llama_cpp_2024.jsonl",
]  # fmt: skip


def finder(options, **settings):
    return Finder(Spellings(Scale(tuple(options.split(",")))), **settings)


def tokens(*tops, ended=False):
    """An answer by its log-probabilities; the first token of each position is the chosen one."""
    return [Answer("", [Position(next(iter(top)), top) for top in tops], ended)]


def gather(name, **settings):
    return read(LOGS / name, **settings)


def table(found, kind):
    return np.stack([found.readings[f"{kind}_{option}"] for option in found.options], axis=1)


def read(path, form="auto", **settings):
    return collect(find_format(path, form).read(path), **{"scale": STARS, **settings})


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
