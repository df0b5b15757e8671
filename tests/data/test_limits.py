"""Limits: what a file or an argument may ask for, refused by name beyond."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale


def test_a_scale_has_201_options_at_most() -> None:
    assert Scale.default(201).size == 201
    many = np.full((3, 10_000), 1 / 10_000)
    for use in (
        lambda: cp.RawReading().fit(many, [0, 1, 2]),
        lambda: cp.readings_from_probabilities(many),
        lambda: cp.readings_from_counts(np.ceil(many)),
    ):
        with pytest.raises(cp.InputError, match="201 options at most; found 10,000"):
            use()


def test_options_that_floats_do_not_hold_are_refused() -> None:
    with pytest.raises(cp.InputError, match="must lie below 2\\^53"):
        Scale.of([2**63, 2**63 + 1])
    exact = Scale.of([2**63, 2**64])
    assert exact.encode([2**64, 2**63]).tolist() == [1, 0]
    with pytest.raises(cp.InputError, match="must be among the options"):
        exact.encode(["9223372036854775809"])
    with pytest.raises(cp.InputError, match="below 2\\^63"):
        cp.RawReading().fit(np.eye(3), [0, 1, 2], texts=np.array([1, 2, 2**63], np.uint64))


def test_a_hard_answer_is_not_one_unread(recwarn: pytest.WarningsRecorder) -> None:
    cp.readings_from_probabilities(np.eye(2)[[0, 1, 1, 0]])
    assert not recwarn.list
    with pytest.raises(cp.InputError, match="every option is below -1e9"):
        cp.RawReading().fit([[-1e30, -2e30], [0.0, 1.0]], [0, 1])


@pytest.mark.nightly
def test_a_long_scale_is_warned_of() -> None:
    settings = cp.Cordial().settings
    settings.check(np.zeros((3, 14)), {})
    for size, problem in (15, "three times as long"), (51, "'mixture-vector' and 'bridge', seldom"):
        with pytest.warns(cp.CordialWarning, match=f"{problem}.* to fewer options, 11"):
            settings.check(np.zeros((3, size)), {})
