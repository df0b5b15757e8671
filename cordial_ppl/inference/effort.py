"""Numbers of particles, proposals and moves of the default inference."""

from typing import NamedTuple


class Effort(NamedTuple):
    """How much work the default inference does.

    Attributes:
        particles: number of particles S, and number of draws returned.
        proposals: number of points proposed at a time, as a multiple of the particles; half as many
            at first.
        moves: moves of every particle at each temperature, in blocks of four; up to eight times as
            many if the steps are short.
        last_moves: moves after the importance step, in blocks of four, if the effective sample size
            is below the number of particles.
        least_ess: effective sample size below which the proposals are repeated.
        repairs: maximum number of repetitions.
    """

    particles: int = 1024
    proposals: int = 8
    moves: int = 1
    last_moves: int = 2
    least_ess: float = 100.0
    repairs: int = 12


DEFAULT_EFFORT = Effort()
