"""One thread of BLAS while a fit runs, and what there was before when the last one has ended."""

from threading import Barrier, Thread

from threadpoolctl import threadpool_info

from cordial_ppl.blas import on_one_core


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_functions_that_overlap_give_the_threads_back():
    before, met, seen = threads(), Barrier(2), []

    @on_one_core
    def first():
        met.wait()
        seen.append(threads())
        met.wait()

    @on_one_core
    def second():
        met.wait()

    one = Thread(target=first)
    other = Thread(target=second)
    one.start()
    other.start()
    other.join()
    Thread(target=met.wait).start()
    one.join()
    assert seen == [[1] * len(before)] and threads() == before
