"""What sets users apart: what their earlier labels say of how they differ from the population."""

from cordial_ppl.personal.users import UserShift, load

__all__ = ["UserShift", "load"]
