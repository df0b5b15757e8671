"""Per-user effects: what users' earlier labels say of how they differ from the population."""

from cordial_ppl.personal.estimator import UserEffect
from cordial_ppl.personal.users import UserShift, load

__all__ = ["UserEffect", "UserShift", "load"]
