"""A requirement such as "mean >= 4", and whether an estimate says that it is met."""

import math
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from cordial_ppl.data.checks import check_number
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.forecasting import Range, say_decided
from cordial_ppl.errors import InputError, count, list_names, quote
from cordial_ppl.scores import Interval

FORM = re.compile(r"(.*)([<>]=?)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)")

MEAN, PASS = "mean", "pass"
YES, NO, OPEN = "yes", "no", "cannot say"
STATUS: Mapping[str, int] = {YES: 0, NO: 3, OPEN: 4}
"""Exit status of a program that asks, by answer."""


class Requirement(NamedTuple):
    """What a quantity must be.

    Attributes:
        text: the requirement as it was written.
        quantity: "mean", "pass", a group's name, or two with " - " between; double quotes around a
            name say that it is a group's.
        sign: ">=", ">", "<=" or "<".
        bound: the number on its right.
    """

    text: str
    quantity: str
    sign: str
    bound: float

    def answer(self, made: Estimate) -> "Answer":
        """Compare the interval of an estimate with the bound.

        Args:
            made: the estimate; of texts of which nothing is known nothing can be said.

        Raises:
            InputError: it has no such quantity, or the bound is beyond the scale.
        """
        parts = {part.strip().strip('"') for part in re.split(r"\s-\s", self.quantity)}
        if parts & {*made.unheard}:
            return Answer(self.text, OPEN, Interval(*[math.nan] * 3))
        scale, passing = Scale(made.overall.options), made.passing
        groups = self.find(made.groups, passing is not None, scale)
        if len(groups) == 2:
            interval = made.difference(*groups)
        elif groups:
            interval = made.groups[groups[0]].mean
        else:
            interval = passing.rate if passing and self.quantity == PASS else made.overall.mean
        # The interval's ends, turned so that the requirement asks for much.
        side = 1 if self.sign.startswith(">") else -1
        ends = sorted(side * (end - self.bound) for end in (interval.lower, interval.upper))
        strict = "=" not in self.sign
        # Without a counterexample intervals are too narrow to pass or fail a pipeline.
        if made.unsettled or made.unknown:
            texts = f"{count(made.unknown, 'text')} without a reading or a label"
            why = f"nothing is known about {texts}" if made.unknown else "all labels are identical"
            return Answer(self.text, OPEN, interval, why=why)
        if ends[0] > 0 or (ends[0] == 0 and not strict):
            return Answer(self.text, YES, interval)
        if ends[1] < 0 or (strict and ends[1] == 0):
            return Answer(self.text, NO, interval)
        return Answer(self.text, OPEN, interval, made.needed(interval, self.bound, groups), groups)

    def find(self, groups: Collection[str], passing: bool, scale: Scale) -> tuple[str, ...]:
        """Find the groups whose quantity it is.

        Args:
            groups: names of the groups that there are.
            passing: whether it is known which options pass.
            scale: the options, whose numbers the bound must lie between.

        Returns:
            The name of the group whose mean it is, or of the two that differ; none of all texts.

        Raises:
            InputError: there is no such quantity, or more than one, or the bound is off the scale.
        """
        quantity, matches = self.quantity, dict[str, tuple[str, ...]]()
        spelt = {word: name for name in groups for word in (name, f'"{name}"')}
        if quantity == MEAN:
            matches["the mean of all texts"] = ()
        if quantity == PASS and passing:
            matches["the share that passes"] = ()
        if quantity in spelt:
            matches[f"the group {quote(spelt[quantity])}"] = (spelt[quantity],)
        for cut in re.finditer(r"\s-\s", quantity):
            pair = quantity[: cut.start()].strip(), quantity[cut.end() :].strip()
            if pair[0] in spelt and pair[1] in spelt:
                first, second = spelt[pair[0]], spelt[pair[1]]
                matches[f"{quote(first)} minus {quote(second)}"] = (first, second)
        if len(matches) == 1:
            named = matches.popitem()[1]
            if named or quantity == MEAN:
                low, *_, high = sorted(scale.values)
                ends = (low - high, high - low) if len(named) == 2 else (low, high)
                check_number(f"the bound in {quote(self.text)}", self.bound, *ends)
            return named
        if matches:
            raise InputError(
                f"{quote(quantity)} is ambiguous: it may mean {' or '.join(matches)}. Put group "
                "names in double quotes. For a requirement on all texts, do not pass groups."
            )
        if quantity == PASS:
            raise InputError("a requirement on 'pass' needs the passing options (--pass).")
        names = list_names([MEAN, *([PASS] if passing else []), *groups])
        raise InputError(
            f"unknown quantity {quote(quantity)}. Use {names}, or a difference between two groups, "
            "such as 'A - B', with spaces around the minus sign."
        )


class Answer(NamedTuple):
    """Whether a requirement is met.

    Attributes:
        requirement: the requirement as it was written.
        answer: "yes" where the whole interval meets it, "no" where none of it does, else "cannot
            say".
        interval: the quantity, with its interval.
        needed: labels of its texts that would likely decide, with a range, if that can be said.
        groups: the groups whose labels these are; all if none.
        why: why an interval does not answer, if it does not.
    """

    requirement: str
    answer: str
    interval: Interval
    needed: Range | None = None
    groups: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        """Return the answer as one line."""
        mean, lower, upper = self.interval
        line = f"{self.requirement}: {self.answer} ({mean:.3g}, {lower:.3g} to {upper:.3g})"
        of = f" for {' and '.join(map(quote, self.groups))}" if self.groups else ""
        more = say_decided(self.needed, of) if self.needed else self.why
        return f"{line}; {more}" if more else line


def parse(text: str) -> Requirement:
    """Read a requirement: a quantity, a sign and a number.

    Args:
        text: such as "mean >= 4.0", "pass >= .8", "pass >= 80%", "A - B > 0".

    Raises:
        InputError: it has another form, or its bound is no share where one is needed.
    """
    parts = FORM.fullmatch(text.strip())
    quantity = parts[1].strip() if parts else ""
    if not parts or not quantity or quantity[-1] in "<=>":
        raise InputError(
            "a requirement must be a quantity, an operator (>=, >, <=, <) and a number, such as "
            f'"mean >= 4.0", "pass >= .8" or "A - B > 0"; got {quote(text)}.'
        )
    bound = float(parts[3]) / (100 if parts[4] else 1)
    if quantity == PASS and not 0 <= bound <= 1:
        raise InputError(f"pass must be a share from 0 to 1, such as .3 or 30%; got {quote(text)}.")
    if parts[4] and quantity != PASS:
        raise InputError(f"only 'pass' can be a percentage; got {quote(text)}. Remove the %.")
    return Requirement(text.strip(), quantity, parts[2], bound)
