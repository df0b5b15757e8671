"""One thread of BLAS while a fit runs, and what there was before when the last one has ended."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from threadpoolctl import threadpool_info

from cordial_ppl.runtime.blas import on_one_core


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("leaving", [(0, 1), (1, 0)])
def test_functions_that_overlap_give_the_threads_back(leaving):
    before, entered, leave = threads(), (Event(), Event()), (Event(), Event())
    one = [1] * len(before)

    @on_one_core
    def stay(place):
        entered[place].set()
        assert leave[place].wait(60)

    # A thread that set the limit before, and lives on, stands in nobody's way.
    assert on_one_core(threads)() == one
    # Nor do those of the pool, which outlive what they run.
    with ThreadPoolExecutor(2) as pool:
        running = []
        for place, event in enumerate(entered):
            running.append(pool.submit(stay, place))
            assert event.wait(60)
        seen = [threads()]
        for place in leaving:
            leave[place].set()
            running[place].result()
            seen.append(threads())
    assert seen == [one, one, before]
