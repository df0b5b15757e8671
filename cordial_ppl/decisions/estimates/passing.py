"""Pass or fail: the share of texts that people pass, and how often the judge agrees."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.estimates.means import MeanDraws
from cordial_ppl.errors import SettingNeeded, list_names, quote


def as_passing(passing: Any, scale: Scale) -> Bool[np.ndarray, " K"]:
    """Mark the options that pass.

    Args:
        passing: names of options, or None for none.
        scale: the options.

    Raises:
        SettingNeeded: a name is no option, or all or none of the options pass.
    """
    names = [passing] if np.ndim(passing) == 0 else list(passing)
    chosen = {str(name) for name in names}
    unknown = chosen - set(scale.options)
    marks = np.array([option in chosen for option in scale.options])
    if unknown or marks.all() or not marks.any():
        wrong = quote(unknown.pop()) if unknown else quote(names)
        raise SettingNeeded(
            f"the options that pass must be some of {list_names(scale.options)}, not all; "
            f"found {wrong}.",
            "Name them, such as",
            "passing",
            scale.options[-(scale.size // 2) :],
        )
    return marks


def rate_judge(
    judged: Int[np.ndarray, " N"],
    draws: MeanDraws,
    of: str,
    seed: int,
) -> Float[np.ndarray, "2 D"]:
    r"""Draw how often the judge passes what people pass, and fails what they fail: TPR and TNR.

    With the number of texts in each cell of judge and people, TPR is
    :math:`n_{11} / (n_{11} + n_{01})`, TNR :math:`n_{00} / (n_{00} + n_{10})`.  Of texts like
    these, the shares of the cells are drawn from the Dirichlet distribution of these numbers and
    none or one more each.

    Args:
        judged: 1 for a text that the judge passes, else 0.
        draws: the share that people pass, of the texts that the judge fails, passes, and of all.
        of: "like-these" or "these".
        seed: seed of the draws.
    """
    numbers = np.bincount(judged, minlength=2).astype(float)
    passed = draws.these[:, :-1] * numbers
    table = np.stack([numbers - passed, passed], axis=-1)
    rng = np.random.default_rng([seed, len(judged), 2])
    if of == "like-these":
        share = passed.sum(axis=1).mean() / numbers.sum()
        simple = share * (1 - share) / numbers.sum()
        # Clusters of texts that are alike say less than as many others.
        error = np.var(draws.like_these[:, -1] - draws.these[:, -1])
        alike = max(error / simple, 1.0) if simple > 0 else 1.0
        # Half a count each on average, so that what was never seen may be, or may not.
        table = rng.standard_gamma(table / alike + rng.integers(0, 2, table.shape))
    right, total = np.stack([table[:, 1, 1], table[:, 0, 0]]), table.sum(axis=1).T[::-1]
    # A draw where people pass all texts tells nothing of how a judge fails them.
    unknown = rng.beta(0.5, 0.5, total.shape)
    return np.where(total > 0, right / np.where(total > 0, total, 1.0), unknown)
