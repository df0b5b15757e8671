"""A fitted fusion in plain words: each reader's errors, the weights, and the loss to expect."""

import math
from collections.abc import Mapping

from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.summary import Summary


def summarise(
    readers: Mapping[str, Summary], weights: Mapping[str, float], expected: ExpectedLoss
) -> str:
    """Describe a fusion in blocks of short lines.

    Args:
        readers: summary of each reader's stack.
        weights: weight of each member of the fusion.
        expected: out-of-fold log losses of the fusion.
    """
    losses = {name: own.expected["cordial"] for name, own in readers.items()}
    lines = []
    for name, own in readers.items():
        labels = own.expected["labels"]
        known = f"{labels:.0f} {'label' if labels == 1 else 'labels'}"
        known += "" if losses[name] is None else f", by itself {losses[name]:.2f}"
        lines.append(f"  {name} ({known}): {own.brief}")
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    blocks = [
        ["The readers", *lines],
        ["Weights", *(f"  {weight:5.2f}  {name}" for name, weight in ranked)],
    ]
    if math.isfinite(expected.cordial):
        few = ", ".join(name for name, loss in losses.items() if loss is None)
        few = f" (without {few}: fewer than eight labels)" if few else ""
        line = (
            f"  fused {expected.cordial:.2f}, label histogram {expected.histogram:.2f}, "
            f"readings as they are, averaged {expected.raw:.2f}{few}"
        )
        blocks.append(["Expected log loss (out-of-fold, nats)", line])
        if expected.cordial >= expected.histogram:
            advice = "Label more texts, or take other readers."
            blocks.append([f"Warning: the readers add nothing to the label histogram. {advice}"])
    else:
        blocks.append(
            [
                f"Warning: too few labels for folds ({expected.labels}): the weights are those of "
                "the prior, and the loss to expect is not known."
            ]
        )
    doubtful = [
        f"{name}: {channel}"
        for name, own in readers.items()
        for channel, diagnostics in own.diagnostics.items()
        if not diagnostics["trusted"]
    ]
    if doubtful:
        blocks.append([f"Warning: these posteriors are not reliable: {'; '.join(doubtful)}."])
    return "\n\n".join("\n".join(block) for block in blocks)
