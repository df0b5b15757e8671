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
        limits = dict.fromkeys(("false_pass", "false_fail", "person"), DEAREST)
        for name, high in (limits | {"agree": 1, "audit": 1}).items():
            if name not in ("person", "agree") or getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, high)
        check_level(self.level)
        clashes = {
            ("passing", "within"): self.passing is not None,
            ("false_pass", "within"): self.false_pass != 1,
            ("false_fail", "within"): self.false_fail != 1,
            ("agree", "person"): self.agree is not None,
        }
        for (name, other), there in clashes.items():
            if there and getattr(self, other) is not None:
                raise SettingsClash(name, other)
        if self.passing is None and self.within is None:
            advice = "Set the passing options, or the largest acceptable error (in classes)"
            pair = "passing", ("OPTION", "..."), "within", 1
            raise SettingNeeded("it is unclear which decisions count as right.", advice, *pair)
        if self.person is None and self.agree is None:
            advice = "Set the cost of asking a person, or the required agreement with people"
            pair = "person", 0.5, "agree", 0.9
            raise SettingNeeded("it is unclear when to ask a person.", advice, *pair)
