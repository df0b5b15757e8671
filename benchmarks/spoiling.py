"""Tasks made of real ones: readings that say nothing, options that nobody uses, labels in heaps."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits

AT_ENDS = 0.9
"""Share of the labels that lie at the ends of the scale, where they are in heaps."""

Spoil = Callable[[Labelled, np.random.Generator], Labelled]


def shuffle(texts: Labelled, rng: np.random.Generator, share: float = 1.0) -> Labelled:
    """Give a share of the texts the reading of another, which says nothing of them."""
    rows = np.arange(len(texts.labels))
    some = np.flatnonzero(rng.random(len(rows)) < share)
    rows[some] = rng.permutation(some)
    covariates = {name: column[rows] for name, column in texts.covariates.items()}
    return replace(texts, logits=texts.logits[rows], covariates=covariates)


def stretch(texts: Labelled, rng: np.random.Generator) -> Labelled:
    """Put an option that nobody uses between any two."""
    size = texts.logits.shape[1]
    logits = np.repeat(texts.logits.min(axis=1, keepdims=True), 2 * size - 1, axis=1)
    logits[:, ::2] = texts.logits
    return replace(texts, logits=as_logits(logits), labels=2 * texts.labels)


def pad(texts: Labelled, rng: np.random.Generator) -> Labelled:
    """Put two options that nobody uses at each end."""
    ends = np.repeat(texts.logits.min(axis=1, keepdims=True) - 1, 2, axis=1)
    logits = np.concatenate([ends, texts.logits, ends], axis=1)
    return replace(texts, logits=as_logits(logits), labels=texts.labels + 2)


def merge(texts: Labelled, rng: np.random.Generator) -> Labelled:
    """Have people say the last option for the last but one, which the reader tells apart."""
    top = texts.logits.shape[1] - 1
    return replace(texts, labels=np.where(texts.labels == top - 1, top, texts.labels))


def heap(texts: Labelled, rng: np.random.Generator) -> Labelled:
    """Put most labels at the nearer end of the scale, those of the middle at either."""
    top = texts.logits.shape[1] - 1
    side = np.sign(2 * texts.labels - top + rng.choice([-0.5, 0.5], len(texts.labels)))
    moved = rng.random(len(texts.labels)) < AT_ENDS
    return replace(texts, labels=np.where(moved, top * (side > 0), texts.labels))


KINDS: dict[str, tuple[Spoil, ...]] = {
    "shuffled": (shuffle,),
    "unused between": (stretch,),
    "unused between, half shuffled": (partial(shuffle, share=0.5), stretch),
    "unused between, shuffled": (shuffle, stretch),
    "unused at the ends": (pad,),
    "unused at the ends, shuffled": (shuffle, pad),
    "heaps": (heap,),
    "heaps, shuffled": (heap, shuffle),
    "merged": (merge,),
}
"""Kinds of made tasks, by what is done to a real one in turn."""

TRAINED_ON = "shuffled", "unused between"


def make(texts: Labelled, kind: str, rng: np.random.Generator) -> Labelled:
    """Make a task of a kind."""
    for spoil in KINDS[kind]:
        texts = spoil(texts, rng)
    return texts
