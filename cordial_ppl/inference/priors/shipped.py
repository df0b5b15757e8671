"""The prior that comes with the package, learned from four public sets of readings."""

from functools import lru_cache
from importlib.resources import as_file, files

from cordial_ppl.inference.priors.learned import LearnedPrior

FILE = "shipped.cordial"


@lru_cache(maxsize=1)
def shipped_prior() -> LearnedPrior:
    """The prior that ``Cordial`` has by default.

    It is what :func:`learn_prior` makes of 44 pairs of task and reader with three, four, five and
    seven options (``benchmarks/ship_prior.py``).  Parameters of single options are not learned, so
    that it serves scales of any length.

    Returns:
        The learned prior; ``shipped_prior().leave_out([...])`` is it without some of its tasks,
        ``prior.join(shipped_prior())`` one from these and from other tasks.
    """
    with as_file(files("cordial_ppl.inference.priors") / FILE) as path:
        return LearnedPrior.load(path)
