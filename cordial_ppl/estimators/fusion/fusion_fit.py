"""A fit of a fusion as one record: what it predicts with, and its out-of-fold predictions.

Beside the readers' stacks it has the joint channel, and a stack on the readers' average.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.forms import location_readers
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.summary import join_blocks, warn, weight_lines
from cordial_ppl.estimators.fusion.panel import as_reader_logits, check_frames, pool, read_by
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.priors import NamedPrior, Priors
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.stack.fit import AnyFit, Fit
from cordial_ppl.stack.members import Fitted
from cordial_ppl.stack.stacking import MIN_LABELS
from cordial_ppl.stack.weighing import shares_of

JOINT = Channel("joint channel", location_readers)
"""The location channel over all readers."""

AVERAGE = "average reading"
"""The member whose stack sees the readers' average."""

COUNTS = {AVERAGE: 3.0, JOINT.name: 0.5}
READER_COUNT = 0.25
"""Dirichlet pseudo-counts of the weights, chosen on real readings: most on the average."""


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
        members, weights = list[tuple[Fitted, np.ndarray]](), list[np.ndarray]()
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


def joint_prior(
    priors: Priors, size: int, spreads: Sequence[float], covariates: tuple[str, ...]
) -> Prior | None:
    """Make the prior of the joint channel, as far as those of single channels say it.

    Args:
        priors: the fusion's.
        size: number of options K.
        spreads: of each reader's readings, nats.
        covariates: names of the texts' covariates.

    Returns:
        Location and scale; None if no prior is given for any parameter of the joint channel.
    """
    target = build_target(JOINT, size, covariates, len(spreads))
    single = build_target(CHANNELS["location"], size, covariates)
    start, learned, source = target.prior, priors.learned, priors.of(JOINT.name)
    if learned is not None and single.channel.name in learned.channels:
        loc, scale = map(np.array, start)
        each = [learned.of(single, spread) for spread in spreads]
        places = {site.name: site.slice for site in single.sites}
        for site in (site for site in target.sites if site.name in places):
            # A vector has one number for each reader; a scalar is the same for all.
            of, position = each if site.shape else each[:1], places[site.name]
            loc[site.slice] = np.concatenate([prior.loc[position] for prior in of])
            scale[site.slice] = np.concatenate([prior.scale[position] for prior in of])
        start = Prior(loc, scale)
    if isinstance(source, NamedPrior):
        return source.over(target, start)
    return None if start is target.prior else start


def summarize(fusion: FusionFit) -> str:
    """Write the summary of a fitted fusion."""
    readers = {name: answers.describe(fit) for name, fit in fusion.fits.items()}
    lines, few = [], []
    for name, summary in readers.items():
        labels, loss = summary.expected["labels"], summary.expected["cordial"]
        note = f"{labels:.0f} {'label' if labels == 1 else 'labels'}"
        note += "" if loss is None else f", own log loss {loss:.2f}"
        few += [name] if (labels or 0) < MIN_LABELS else []
        lines.append(f"  {name} ({note}): {summary.brief}")
    blocks = [["The judges", *lines], ["Weights", *weight_lines(fusion.weights)]]
    expected = fusion.expected
    if math.isfinite(expected.cordial):
        line = f"  fused {expected.cordial:.2f}, label histogram {expected.histogram:.2f}"
        if not all(summary.reader and summary.reader.hard for summary in readers.values()):
            line += f", average of the raw readings {expected.raw:.2f}"
        line += f" (excluding {', '.join(few)}: fewer than eight labels)" if few else ""
        blocks.append(["Expected log loss (out-of-fold, nats)", line])
    posteriors = {
        f"{name}, {channel}": figures
        for name, summary in readers.items()
        for channel, figures in summary.diagnostics.items()
    }
    verdict = answers.verdict(fusion)
    if verdict is not None and verdict.alike:
        return join_blocks([], warn(None, posteriors), [verdict.text])
    return join_blocks(blocks, warn(expected, posteriors), [verdict.text] if verdict else [])
