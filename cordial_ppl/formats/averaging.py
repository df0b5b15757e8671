r"""One reading from several of the same text, as with the options in several orders.

Log-probabilities are averaged as they are, :math:`\ell_k = \frac{1}{P} \sum_p \ell_{pk}`: a reader
who adds a number for each place to an option's logit does so in every order, and what it adds
cancels when every option has stood in every place equally often.  A mean of probabilities would
keep it.  Counts of sampled answers add up.
"""

from collections.abc import Sequence

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.formats.reading import Reading


def average(readings: Sequence[Reading | None]) -> Reading | None:
    """Average readings of one text.

    Args:
        readings: The readings, of one kind; None where an answer names no option.

    Returns:
        Their mean over those that name one, which keeps them all as its orders; an option is
        floored where any of them floored it.  None if there is none.

    Raises:
        InputError: They are of different kinds.
    """
    found = [reading for reading in readings if reading is not None]
    if not found:
        return None
    kinds = sorted({reading.kind for reading in found})
    if len(kinds) > 1:
        raise InputError(f"readings of one text must be of one kind; found {', '.join(kinds)}.")
    values = np.stack([reading.values for reading in found])
    return Reading(
        kind=kinds[0],
        values=values.sum(axis=0) if kinds == ["n"] else values.mean(axis=0),
        parts=[[] for _ in found[0].parts],
        floored=sorted({k for reading in found for k in reading.floored}),
        guessed=sorted({k for reading in found for k in reading.guessed}),
        share=float(np.mean([reading.share for reading in found])),
        unread=sum(reading.unread for reading in found),
        several=sum(reading.several for reading in found),
        orders=tuple(readings),
    )
