"""Per-user effects: what users' earlier labels say of how they differ from the population."""

from cordial_ppl.personal.users import (
    UserEffect,
    UserIntercept,
    UserReliability,
    UserShift,
    UserTemperature,
)

__all__ = ["UserEffect", "UserIntercept", "UserReliability", "UserShift", "UserTemperature"]
