"""Requirements: what they may say, and that what may mean two things is refused."""

from dataclasses import replace

import numpy as np
import pytest

from cordial_ppl.decisions.estimates.estimate import Estimate, PassRate, Population
from cordial_ppl.decisions.estimates.rectified import RectifiedMean
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.errors import InputError
from cordial_ppl.scores import Interval

OVERALL, RATE = Interval(2.0, 1.9, 2.1), Interval(0.85, 0.81, 0.9)


@pytest.fixture
def make():
    def make(**means):
        whole = Population(9, 9, ("0", "1"), OVERALL, {"1": RATE}, passing=RATE)
        ends = {name: Interval(mean, mean - 0.1, mean + 0.1) for name, mean in means.items()}
        groups = {name: whole._replace(mean=mean) for name, mean in ends.items()}
        draws = np.tile([*means.values()], (9, 1))
        rates, rectified = PassRate(("1",), RATE, 0.5, RATE, RATE), RectifiedMean(*OVERALL, 0.0)
        return Estimate(0.9, whole, groups, rectified, draws, passing=rates)

    return make


@pytest.mark.parametrize(
    ("quantity", "meanings"),
    [
        ("mean", "the mean of all texts or the group 'mean'"),
        ("pass", "the share that passes or the group 'pass'"),
        ("A - B", "the group 'A - B' or 'A' less 'B'"),
        ("A - B - C", "'A' less 'B - C' or 'A - B' less 'C'"),
    ],
)
def test_what_may_mean_two_things_is_refused(make, quantity, meanings):
    names = ("mean", "pass", "A", "B", "C", "A - B", "B - C")
    made = make(**{name: float(k) for k, name in enumerate(names)})
    with pytest.raises(InputError, match=f"'{quantity}' may be {meanings}"):
        parse(f"{quantity} > 0").answer(made)


def test_names_in_quotes_are_groups(make):
    made = make(**{"mean": 4.0, "pass": 5.0, "A": 1.0, "B": 3.0, "A - B": 6.0})
    for text in ('"mean" >= 3', '"pass" >= 3', '"A - B" >= 5', '"A" - "B" < 0', '"A" - B < 0'):
        assert parse(text).answer(made).answer == "yes"


def test_a_share_may_be_in_percent(make):
    made = make()
    assert [parse(f"pass >= {b}").answer(made).answer for b in ("80%", "80 %", ".8")] == ["yes"] * 3
    assert parse("pass > 90%").answer(made).answer == "no" and parse("pass <= 1").bound == 1


@pytest.mark.parametrize("text", ["pass >= 30", "pass >= 120%", "pass > -1", "mean >= 80%"])
def test_a_bound_of_another_unit_is_refused(text):
    with pytest.raises(InputError, match=f"pass.*found '{text}'"):
        parse(text)


def test_labels_that_are_all_alike_do_not_answer(make):
    """Thirty texts that pass do not show that .8 of all do, whatever a model's interval says."""
    assert parse("pass >= .8").answer(make()).answer == "yes"
    alike = replace(make(), alike=True)
    assert parse("pass >= .8").answer(alike).answer == "cannot say"
    assert any("all labels are alike" in text for text in alike.warnings)
    # Of just these texts, with every one labelled, nothing is open.
    assert parse("pass >= .8").answer(replace(make(A=1.0), alike=True, of="these")).answer == "yes"
