"""Priors learned from other tasks: what channels look like where labels abound (Section 2.7)."""

from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.learning import learn_prior
from cordial_ppl.priors.named import NamedPrior
from cordial_ppl.priors.sources import (
    Given,
    Source,
    as_source,
    check_given,
    pseudo_counts_of,
    resolve,
    source_of,
)

__all__ = [
    "Given",
    "LearnedPrior",
    "NamedPrior",
    "Source",
    "as_source",
    "check_given",
    "learn_prior",
    "pseudo_counts_of",
    "resolve",
    "source_of",
]
