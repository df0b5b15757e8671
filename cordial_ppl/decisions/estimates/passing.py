"""Pass or fail: the share of texts that people pass, and how often the judge agrees."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import SettingNeeded, list_names, quote

LEAST = 1e-9
"""Share of the texts below which there are none."""


def as_passing(passing: Any, scale: Scale) -> Bool[np.ndarray, " K"]:
    """Mark the options that pass.

    Args:
        passing: names of options, or None for none.
        scale: the options.

    Raises:
        SettingNeeded: a name is no option, or all or none of the options pass.
    """
    names = [passing] if np.ndim(passing) == 0 else list(passing)
    positions = {str(name): scale.named(str(name)) for name in names}
    unknown = [name for name, position in positions.items() if position is None]
    marks = np.array([position in positions.values() for position in range(scale.size)])
    if unknown or marks.all() or not marks.any():
        options, came = list_names(scale.options), quote(unknown.pop() if unknown else names)
        problem = f"the passing options must be some, but not all, of the options {options}"
        advice = "Name the passing options, for example"
        best = scale.options[-(scale.size // 2) :]
        raise SettingNeeded(f"{problem}; got {came}.", advice, "passing", best)
    return marks


def rate_judge(
    table: Float[np.ndarray, "S C K"],
    verdicts: Int[np.ndarray, " C"],
    marks: Bool[np.ndarray, " K"],
    seed: int,
) -> Float[np.ndarray, "2 S"]:
    r"""Draw how often the judge passes what people pass, and fails what they fail: TPR and TNR.

    With the share of texts in each cell of judge and people, TPR is
    :math:`n_{11} / (n_{11} + n_{01})`, TNR :math:`n_{00} / (n_{00} + n_{10})`.

    Args:
        table: draws of the shares of texts by cell and option.
        verdicts: 1 for cells that the judge passes, else 0.
        marks: the options that pass.
        seed: seed of the draws.
    """
    cells = np.eye(2)[verdicts].T @ table
    passed, failed = cells @ marks, cells @ ~marks
    right = np.stack([passed[:, 1], failed[:, 0]])
    total = np.stack([passed.sum(axis=1), failed.sum(axis=1)])
    # A draw where people pass all texts tells nothing of how a judge fails them.
    unknown = np.random.default_rng([seed, len(table), 2]).beta(0.5, 0.5, total.shape)
    return np.divide(right, total, out=unknown, where=total > LEAST)
