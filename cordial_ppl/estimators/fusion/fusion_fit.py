"""A fit of a fusion as one record: what it predicts with, and its out-of-fold predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.estimators.fusion.joint import AVERAGE, JOINT
from cordial_ppl.estimators.fusion.panel import as_reader_logits, check_frames, pool, read_by
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.stack.fit import AnyFit, Fit
from cordial_ppl.stack.members import Fitted
from cordial_ppl.stack.stacking import MIN_LABELS
from cordial_ppl.stack.weighing import shares_of


@dataclass(frozen=True, eq=False, kw_only=True)
class FusionFit(AnyFit):
    """What a fit of several readers leaves, beside what any fit does; ``columns`` is None.

    Attributes:
        settings: arguments of the fusion in plain data, without ``prior`` and ``channels``.
        readers: names of the R readers.
        spreads: spread of each reader's logits, nats.
        trust: weight of each reader in their average, at most 1.
        members: fitted members by name: the fit of a stack for each reader and for "average
            reading", and the posterior of "joint channel"; a single reader has neither of these.
        options: names of the options in the columns of readers' data frames.
    """

    settings: Mapping[str, Any]
    readers: tuple[str, ...]
    spreads: Float[np.ndarray, " R"]
    trust: Float[np.ndarray, " R"]
    members: Mapping[str, Fit | Posterior]
    options: tuple[str, ...] | None = None

    @property
    def fits(self) -> dict[str, Fit]:
        """Fit of each reader's stack by name."""
        return {name: fit for name in self.readers if isinstance(fit := self.members[name], Fit)}

    @property
    def judged(self) -> bool:
        """True unless all labelled texts are of readers with fewer than eight labels."""
        return self.out_of_fold is not None or self.expected.labels < MIN_LABELS

    @property
    def levels(self) -> dict[str, int]:
        """Levels of covariates, which all stacks share."""
        return self.fits[self.readers[0]].levels

    def read(self, logits: Any) -> Float[np.ndarray, "m R K"]:
        """Validate and centre readings by the readers of the fit."""
        readings, _ = as_reader_logits(logits, self.readers, self.scale.size)
        check_frames(logits, self.options or self.scale.options)
        return readings

    def mixture(
        self, logits: Float[np.ndarray, "m R K"]
    ) -> tuple[list[tuple[Fitted, np.ndarray]], Float[np.ndarray, "m M"]]:
        """Return all members' channels and calibrators, what each sees, and its weights."""
        views, present = view(logits, tuple(self.members), self.spreads, self.trust)
        shares = shares_of(np.array(list(self.weights.values())), present)
        members: list[tuple[Fitted, np.ndarray]] = []
        weights = []
        for fit, seen, share in zip(self.members.values(), views, shares.T, strict=True):
            if isinstance(fit, Posterior):
                members.append((fit, seen))
                weights.append(share)
            else:
                # A missing reading has no weight, whatever stands in its place.
                members += fit.mixture(np.nan_to_num(seen))[0]
                weights += [weight * share for weight in fit.weights.values()]
        return members, np.stack(weights, axis=1)


def view(
    logits: Float[np.ndarray, "n R K"],
    members: Sequence[str],
    spreads: Float[np.ndarray, " R"],
    trust: Float[np.ndarray, " R"],
) -> tuple[list[np.ndarray], Bool[np.ndarray, "n M"]]:
    """Return what each member sees of the readings, and of which texts it sees anything."""
    shared = {AVERAGE: pool(logits, spreads, trust), JOINT.name: logits}
    more = [shared[name] for name in members[logits.shape[1] :]]
    present = np.hstack([read_by(logits), np.ones((len(logits), len(more)), bool)])
    return [*logits.swapaxes(0, 1), *more], present
