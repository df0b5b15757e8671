"""Per-user effects: what users' earlier labels say of how they differ from the population."""

from cordial_ppl.personal.estimator import UserEffect
from cordial_ppl.personal.users import (
    UserIntercept,
    UserReliability,
    UserShift,
    UserTemperature,
    load,
)

__all__ = ["UserEffect", "UserIntercept", "UserReliability", "UserShift", "UserTemperature", "load"]
