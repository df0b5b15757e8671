"""Users who differ from the population, as far as their earlier labels tell."""

from cordial_ppl.estimators.users.users import UserShift as UserShift
from cordial_ppl.estimators.users.users import load as load
