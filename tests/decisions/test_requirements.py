"""Requirements: what they may ask for, their answers, and whose labels a forecast counts."""

from dataclasses import replace

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.estimates.quantities import PassRate, Population
from cordial_ppl.decisions.estimates.rectified import RectifiedMean
from cordial_ppl.decisions.estimates.requirement import Answer, parse
from cordial_ppl.decisions.forecasting import Range
from cordial_ppl.scores import Interval

OVERALL, RATE = Interval(2.0, 1.9, 2.1), Interval(0.85, 0.81, 0.9)


@pytest.fixture
def make():
    def make(**means):
        whole = Population(9, 9, ("0", "6"), OVERALL, {"6": RATE}, passing=RATE)
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
        ("A - B", "the group 'A - B' or 'A' minus 'B'"),
        ("A - B - C", "'A' minus 'B - C' or 'A - B' minus 'C'"),
    ],
)
def test_what_may_mean_two_things_is_refused(make, quantity, meanings):
    names = ("mean", "pass", "A", "B", "C", "A - B", "B - C")
    made = make(**{name: float(k) for k, name in enumerate(names)})
    with pytest.raises(cp.InputError, match=f"'{quantity}' .* may mean {meanings}"):
        parse(f"{quantity} > 0").answer(made)


def test_quotes_percent_and_labels_that_do_not_answer(make):
    made = make(**{"mean": 4.0, "pass": 5.0, "A": 1.0, "B": 3.0, "A - B": 6.0})
    for text in ('"mean" >= 3', '"pass" >= 3', '"A - B" >= 5', '"A" - "B" < 0', '"A" - B < 0'):
        assert parse(text).answer(made).answer == "yes"
    made = make()
    assert [parse(f"pass >= {b}").answer(made).answer for b in ("80%", "80 %", ".8")] == ["yes"] * 3
    assert parse("pass > 90%").answer(made).answer == "no" and parse("pass <= 1").bound == 1
    # Thirty texts that pass do not show that .8 of all do, whatever a model's interval says.
    assert parse("pass >= .8").answer(make()).answer == "yes"
    alike = replace(make(), alike=True)
    opened = parse("pass >= .8").answer(alike)
    assert opened.answer == "cannot say" and "identical" in str(opened)
    assert any("all labels are identical" in text for text in alike.warnings)
    # Of just these texts, with every one labelled, nothing is open.
    for settled in (make(A=1.0), make()):
        settled = replace(settled, alike=True, of="these")
        assert parse("pass >= .8").answer(settled).answer == "yes" and settled.warnings == ()
    some = replace(alike, of="these", overall=alike.overall._replace(texts=10))
    assert parse("pass >= .8").answer(some).answer == "cannot say" and some.warnings


@pytest.mark.parametrize("text", ["mean >= 6.5", "A < -1", "A - B > 7", "A - B <= -6.1"])
def test_a_bound_beyond_the_scale_is_refused(make, text):
    with pytest.raises(cp.InputError, match=f"'{text}' .* from (0|-6) to 6; got"):
        parse(text).answer(make(A=1.0, B=3.0))


def test_groups_that_are_numbers_are_found_by_them(make):
    made = make(**{"1": 1.0, "2": 3.0})
    assert made.difference(1, np.int64(2)) == made.difference("1", "2") == (-2, -2, -2)
    assert made.is_resolved(1, 2) and made.is_resolved("1", "2") and not made.is_resolved(1, 3)


def test_a_forecast_says_whose_labels_it_counts():
    needed, groups = Range(60, 40, 110), [(), ("a",), ("a", "b")]
    lines = [str(Answer("x > 0", "cannot say", OVERALL, needed, named)) for named in groups]
    whose = ["in total", "in total for 'a'", "in total for 'a' and 'b'"]
    assert all(f"60 labels {of} (40 to 110)" in x for of, x in zip(whose, lines, strict=True))


@pytest.mark.parametrize("text", ["pass >= 30", "pass >= 120%", "pass > -1", "mean >= 80%"])
def test_a_bound_of_another_unit_is_refused(text):
    with pytest.raises(cp.InputError, match=f"pass.*got '{text}'"):
        parse(text)
