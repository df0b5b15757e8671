"""Priors learned from other tasks: what channels look like where labels abound (Section 2.7)."""

from cordial_ppl.inference.priors.fits import reading_spread
from cordial_ppl.inference.priors.learned import LearnedPrior, shipped_prior
from cordial_ppl.inference.priors.sources import (
    ChannelPrior,
    NamedPrior,
    Priors,
    as_priors,
    resolve,
)
from cordial_ppl.inference.target import Prior

__all__ = [
    "LearnedPrior",
    "NamedPrior",
    "Prior",
    "Priors",
    "ChannelPrior",
    "as_priors",
    "reading_spread",
    "resolve",
    "shipped_prior",
]
