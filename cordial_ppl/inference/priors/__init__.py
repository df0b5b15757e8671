"""Priors learned from other tasks: what channels look like where labels abound (Section 2.7)."""

from cordial_ppl.inference.priors.fits import RelativePrior as RelativePrior
from cordial_ppl.inference.priors.fits import reading_spread as reading_spread
from cordial_ppl.inference.priors.learned import LearnedPrior as LearnedPrior
from cordial_ppl.inference.priors.learned import shipped_prior as shipped_prior
from cordial_ppl.inference.priors.sources import ChannelPrior as ChannelPrior
from cordial_ppl.inference.priors.sources import NamedPrior as NamedPrior
from cordial_ppl.inference.priors.sources import Priors as Priors
from cordial_ppl.inference.priors.sources import as_priors as as_priors
from cordial_ppl.inference.priors.sources import resolve as resolve
from cordial_ppl.inference.target import Prior as Prior
