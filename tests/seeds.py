"""Seeds of all tests shifted at once: what holds for one draw alone fails with another."""

import os

import jax
import numpy as np

VARIABLE = "CORDIAL_TEST_SEED"
"""Environment variable; 0 or unset, seeds are those that the tests name."""

_shift = int(os.environ.get(VARIABLE, "0"))
_pinned = False


def pin(pinned: bool) -> None:
    """Leave the seeds as they are, for tests of values that one seed gives, or shift them again."""
    global _pinned
    _pinned = pinned


def is_pinned() -> bool:
    """Whether the seeds are those that the tests name."""
    return _pinned


def shift_seeds() -> None:
    """Shift what NumPy and JAX make of a seed, in tests and in the package, if the variable asks.

    Generators are made of more than 200 seeds in tests and package: one place shifts them all, but
    for programs that a test runs as a process of their own.
    """
    if not _shift:
        return
    make_generator, make_key = np.random.default_rng, jax.random.key
    make_bits = np.random.SFC64

    def default_rng(seed=None):
        if _pinned or seed is None or isinstance(seed, np.random.Generator):
            return make_generator(seed)
        return make_generator([_shift, *np.ravel(seed).tolist()])

    def bits(seed):
        return make_bits(seed if _pinned else [_shift, *np.ravel(seed).tolist()])

    def key(seed, **settings):
        made = make_key(seed, **settings)
        return made if _pinned else jax.random.fold_in(made, _shift)

    np.random.default_rng, np.random.SFC64, jax.random.key = default_rng, bits, key
