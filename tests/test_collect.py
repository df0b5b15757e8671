"""What is said of readings from several orders of the options, and of what a log lacks."""

import numpy as np
import pytest
from logs_of_reviews import STARS

from cordial_ppl.cli.reading import explain_text, warn
from cordial_ppl.errors import InputError
from cordial_ppl.formats import collect
from cordial_ppl.formats.evidence import Failed, Position, Record, Several, Tokens, Unlabelled

ANSWER = Tokens([Position("4", {"4": -0.1, "5": -3.0})])
WHOLE = Tokens([Position("4", {str(k): -0.1 - abs(4 - k) for k in range(1, 6)})])
MUTE = Tokens([Position("", {})])


def record(*orders, item="a", **fields):
    return Record(item, Several(orders), item, **fields)


@pytest.mark.parametrize("dropped", [0, 1, 4])
def test_an_order_without_an_answer_is_counted_and_said(capsys, dropped):
    orders = [MUTE] * dropped + [WHOLE] * (5 - dropped)
    found = collect([record(*orders), record(*[WHOLE] * 5, item="b")], scale=STARS)
    assert (found.dropped, found.incomplete) == (dropped, dropped > 0)
    np.testing.assert_allclose(found.readings["logprob_4"], -0.1)
    warn(found)
    said = capsys.readouterr().err
    assert (f"{dropped} answer" in said and "about 1 text name no option in some" in said) == (
        dropped > 0
    )


def test_an_option_floored_in_any_order_is_floored(capsys):
    found = collect([record(ANSWER, *[WHOLE] * 4)], scale=STARS, explain=1)
    assert found.floored == {"1": 1, "2": 1, "3": 1} and not found.lone
    text = explain_text(found.explained[0], found)
    assert text.startswith("a (a): the mean of 5 orders\n  order 1\n  1 ")
    assert text.count("the smallest returned") == 3 and text.count("'4' -0.1") == 5


def test_no_order_with_an_answer_is_no_reading():
    found = collect([record(MUTE, MUTE), record(WHOLE, WHOLE, item="b")], scale=STARS)
    assert found.unread == ["a"] and not found.dropped


def test_labels_that_cannot_be_told_matter_to_who_wants_them():
    entries = [Unlabelled("names or positions?"), Record("a", WHOLE, "line 1")]
    assert len(collect(entries, scale=STARS, labels=False)) == 1
    with pytest.raises(InputError, match="names or positions"):
        collect(entries, scale=STARS)


def test_failures_of_other_tasks_are_not_counted():
    failed = [Failed("line 1", "x", task="b"), Failed("line 2", "y", task="a")]
    entries = [*failed, record(WHOLE, task="a")]
    assert collect(entries, scale=STARS, task="a").failed == ["line 2 (y)"]
    with pytest.raises(InputError, match="there is no reading of 'c' in it"):
        collect(entries, scale=STARS, task="c")
    with pytest.raises(InputError, match="there is neither a reading nor a label in it"):
        collect([], scale=STARS)
