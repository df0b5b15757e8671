"""Orders in which options are listed.

Readers prefer options by where they stand.  If that adds a number for each place to an option's
logit, the mean of logits over orders in which every option stands in every place equally often is
free of it.
"""

import math

import numpy as np

from cordial_ppl.errors import InputError

Order = tuple[int, ...]
"""Positions on the scale, in the order in which they are listed."""


def option_orders(size: int, number: int, seed: int = 0) -> list[Order]:
    """Choose orders of options.

    One order is the scale's own.  Several are rotations of random ones: of every K in a row, each
    option stands in each place once.

    Args:
        size: Number of options K.
        number: How many orders, at most K!.
        seed: Seed of the random ones.

    Returns:
        The orders, each once.

    Raises:
        InputError: There are not as many.
    """
    if number > math.factorial(size):
        raise InputError(
            f"{size} options have {math.factorial(size)} orders; --permutations asks for {number}."
        )
    if number == 1:
        return [tuple(range(size))]
    rng = np.random.default_rng(seed)
    found: dict[Order, None] = {}
    while len(found) < number:
        order = rng.permutation(size)
        for turn in range(size):
            found.setdefault(tuple(np.roll(order, -turn).tolist()))
    return list(found)[:number]
