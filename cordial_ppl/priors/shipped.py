"""The prior that comes with the package: fits of public sets of readings, numbers and their source.

It is what :func:`learn_prior` makes of 44 pairs of task and reader from four public sets with
three, four, five and seven options (``benchmarks/ship_prior.py``).  Parameters of single options
are not learned, so that it serves scales of any length.
"""

from functools import lru_cache
from importlib.resources import as_file, files

from cordial_ppl.priors.learned import LearnedPrior

FILE = "shipped.cordial"


@lru_cache(maxsize=1)
def shipped_prior() -> LearnedPrior:
    """The prior that ``Cordial`` has by default.

    Returns:
        The learned prior; ``shipped_prior().leave_out([...])`` is it without some of its tasks,
        ``prior.join(shipped_prior())`` one of these and of tasks of your own.
    """
    with as_file(files("cordial_ppl.priors") / FILE) as path:
        return LearnedPrior.load(path)
