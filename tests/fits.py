"""Fits of channels for commands: of the same labels each worker makes one."""

import pickle
from typing import Any

import seeds

from cordial_ppl.inference.case import CaseFit
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.target import Target

MADE: dict[tuple[Target, bool, bytes], list[CaseFit]] = {}


def fit_once(target: Target, cases: Any, **settings: Any) -> list[CaseFit]:
    """Fit a channel to data sets, or return the fits that were made of the same."""
    key = target, seeds.is_pinned(), pickle.dumps([*cases, settings])
    if key not in MADE:
        MADE[key] = fit_cases(target, cases, **settings)
    return MADE[key]
