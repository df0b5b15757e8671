"""How texts are decided: what passes, what errors and people cost, or how many are to agree."""

from dataclasses import dataclass
from typing import Any

from cordial_ppl.data.checks import check_level, check_number
from cordial_ppl.errors import SettingNeeded, SettingsClash

DEAREST = 1e9
"""Largest cost."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Keep the settings of a decision, with the meaning that they have in ``Stack.decide``.

    Raises:
        InputError: a cost or a share is invalid, or settings are missing or exclude each other.
    """

    passing: Any = None
    within: int | None = None
    false_pass: float = 1.0
    false_fail: float = 1.0
    person: float | None = None
    agree: float | None = None
    level: float = 0.9
    audit: float = 0.05

    def __post_init__(self):
        """Check what no scale is needed for."""
        costs = {"false_pass": self.false_pass, "false_fail": self.false_fail}
        dear = [name for name, cost in costs.items() if check_number(name, cost, 0, DEAREST) != 1]
        if self.within is not None:
            check_number("within", self.within, whole=True)
            for name in (*(["passing"] if self.passing is not None else []), *dear):
                raise SettingsClash(name, "within")
        if self.person is not None:
            check_number("person", self.person, 0, DEAREST)
            if self.agree is not None:
                raise SettingsClash("person", "agree")
        if self.passing is None and self.within is None:
            advice = "Name the options that pass, or how many classes an option may be off"
            raise SettingNeeded("nothing says which decisions are right.", advice, "within", 1)
        if self.person is None and self.agree is None:
            advice = "Name what a person costs, or the agreement of the rest that is to be kept"
            raise SettingNeeded("nothing says when to ask a person.", advice, "agree", 0.9)
        check_number("agree", 0 if self.agree is None else self.agree, 0, 1)
        check_number("audit", self.audit, 0, 1)
        check_level(self.level)
