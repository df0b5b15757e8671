"""Priors learned from other tasks: what channels look like where labels abound (Section 2.7)."""

from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.learning import learn_prior
from cordial_ppl.priors.sources import Source, as_source, pseudo_counts_of, resolve, source_of

__all__ = [
    "LearnedPrior",
    "Source",
    "as_source",
    "learn_prior",
    "pseudo_counts_of",
    "resolve",
    "source_of",
]
