"""Jobs on Ray: on the machines of a cluster, or on this one, a core each.

Ray connects to the cluster that ``RAY_ADDRESS`` names; where there is none, it is started on this
machine.  When a worker dies, Ray repeats its job.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from cordial_ppl.errors import CordialError, InputError


def run_on_ray[R](
    function: Callable[[Any, int], R], shared: Any, jobs: Iterable[int]
) -> Iterator[tuple[int, R]]:
    """Run jobs on the Ray cluster there is, or on one that is started on this machine.

    Args:
        function: takes ``shared`` and the number of a job; may run more than once, when a worker
            dies.
        shared: what all jobs share; it is sent to a machine once.
        jobs: numbers of the jobs, in the order in which they begin.

    Yields:
        The number of each job and what it returned, as they are done.

    Raises:
        InputError: Ray is not installed.
        CordialError: a job raised it, or Ray could not finish the work.
    """
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise InputError('--engine ray needs Ray. Run pip install "cordial-ppl[ray]".') from error
    if started := not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    try:
        task, stored = ray.remote(_run), ray.put(shared)
        waiting = {task.remote(function, stored, job): job for job in jobs}
        while waiting:
            (done,), _ = ray.wait(list(waiting))
            result, fault = ray.get(done)
            if fault:
                raise CordialError(fault)
            yield waiting.pop(done), result
    except ray.exceptions.RayError as error:
        raise CordialError(f"Ray failed: {str(error).strip().splitlines()[-1]}") from error
    finally:
        if started:
            ray.shutdown()


def _run(function: Callable[[Any, int], Any], shared: Any, job: int) -> tuple[Any, str]:
    """Run a job in a worker: its result, and what went wrong; Ray would print a traceback."""
    try:
        return function(shared, job), ""
    except CordialError as error:
        return None, str(error)
