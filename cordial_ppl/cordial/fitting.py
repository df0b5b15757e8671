"""All members of a stack, fitted side by side."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.compilation import workers
from cordial_ppl.cordial.members import Fitted, fit_calibrators, fit_channel_member
from cordial_ppl.inference.lanes import Lanes
from cordial_ppl.inference.state import Effort
from cordial_ppl.inference.target import Prior, Target


def fit_members(
    targets: Sequence[Target],
    priors: Sequence[Prior | None],
    calibrators: tuple[str, ...],
    lanes: Lanes,
    smoothed: Lanes,
    *,
    seed: int,
    method: str,
    effort: Effort,
) -> tuple[dict[str, Fitted], Float[np.ndarray, "n K M"]]:
    """Fit channels and logit-space calibrators to every lane, each as soon as there is a thread.

    Args:
        targets: the channels' densities.
        priors: for each, location and scale that replace the channel's own.
        calibrators: names of the calibrators.
        lanes: the data.
        smoothed: the same with the label histograms that go with a prior that is given.
        seed: the estimator's seed.
        method: name of the channels' inference method.
        effort: how much work the default method does.

    Returns:
        The fits to the first lane by name, channels first, and what each says of texts that it has
        not seen, in that order.
    """
    families = {
        each.size: tuple(other for other in targets if other.size == each.size) for each in targets
    }

    def fit(place: int) -> tuple[Fitted, np.ndarray]:
        target, prior = targets[place], priors[place]
        own, family = lanes if prior is None else smoothed, families[target.size]
        return fit_channel_member(target.channel, own, (seed, place), method, prior, effort, family)

    with ThreadPoolExecutor(max_workers=workers(len(targets) + 1)) as pool:
        # The slowest first, those with the most parameters.  All but one of a family wait for
        # its program, so they come last, lest they keep the calibrators from a thread.
        waits = [families[each.size].index(each) > 0 for each in targets]
        order = sorted(range(len(targets)), key=lambda place: -targets[place].size)
        running = {place: pool.submit(fit, place) for place in order if not waits[place]}
        others = pool.submit(fit_calibrators, calibrators, lanes)
        running |= {place: pool.submit(fit, place) for place in order if waits[place]}
        found: dict[str, Any] = {
            target.channel.name: running[place].result() for place, target in enumerate(targets)
        }
        found |= others.result()
    fits, held_out = zip(*found.values(), strict=True)
    return dict(zip(found, fits, strict=True)), np.stack(held_out, axis=-1)
