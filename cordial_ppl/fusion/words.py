"""A fitted fusion in plain words: each reader's faults, the weights, and what to expect."""

import math
from collections.abc import Mapping

from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.summary import Summary


def put_into_words(
    readers: Mapping[str, Summary], weights: Mapping[str, float], expected: ExpectedLoss
) -> str:
    """Say what a fusion found, in blocks of short lines.

    Args:
        readers: the summary of each reader's own stack.
        weights: weight of each member of the fusion.
        expected: out-of-fold log losses of the fusion.
    """
    lines = []
    for name, own in readers.items():
        labels, loss = own.expected["labels"], own.expected["cordial"]
        known = f"{labels:.0f} {'label' if labels == 1 else 'labels'}"
        known += "" if loss is None else f", by itself {loss:.2f}"
        lines.append(f"  {name} ({known}): {own.brief}")
    blocks = [["The readers", *lines]]
    heaviest = sorted(weights.items(), key=lambda item: -item[1])
    blocks.append(["Weights", *(f"  {weight:5.2f}  {name}" for name, weight in heaviest)])
    if math.isfinite(expected.cordial):
        losses = (
            f"fused {expected.cordial:.2f}, label histogram {expected.histogram:.2f}, "
            f"readings as they are, averaged {expected.raw:.2f}"
        )
        few = [name for name, own in readers.items() if own.expected["cordial"] is None]
        losses += f" (without {', '.join(few)}: fewer than eight labels)" if few else ""
        blocks.append(["Expected log loss (out-of-fold, nats)", f"  {losses}"])
        if expected.cordial >= expected.histogram:
            blocks.append(
                [
                    "Warning: the readers add nothing over the label histogram. Label more texts, "
                    "or take other readers."
                ]
            )
    else:
        blocks.append(
            [
                f"Warning: too few labels for folds ({expected.labels}): the members are weighted "
                "equally, and what to expect is not known."
            ]
        )
    doubtful = [
        f"{name}: {channel}"
        for name, own in readers.items()
        for channel, found in own.diagnostics.items()
        if not found["trusted"]
    ]
    if doubtful:
        blocks.append([f"Warning: posteriors that are not to be trusted: {'; '.join(doubtful)}."])
    return "\n\n".join("\n".join(block) for block in blocks)
