"""The soak in small: what many fits keep, and what killed commands leave."""

import pytest


@pytest.mark.nightly
def test_nothing_is_left_of_threads_and_killed_commands():
    from soak import check_kills, check_threads

    assert [*check_threads(), *check_kills(9)] == []


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_what_many_fits_hold_is_counted():
    from soak import check_fits

    # Too few to level off: each kind of fit compiles programs of its own.
    assert not [fault for fault in check_fits(40) if "descriptors" in fault]
