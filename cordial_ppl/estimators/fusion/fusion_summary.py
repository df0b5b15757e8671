"""Summary of a fusion: each reader's errors, the weights and the expected log loss, in words."""

import math

from cordial_ppl.decisions import answers
from cordial_ppl.decisions.summary import join_blocks, warn, weight_lines
from cordial_ppl.estimators.fusion.fusion_fit import FusionFit
from cordial_ppl.stack.stacking import MIN_LABELS


def summarize(fusion: FusionFit) -> str:
    """Write the summary of a fitted fusion."""
    readers = {name: answers.describe(fit) for name, fit in fusion.fits.items()}
    lines, few = [], []
    for name, summary in readers.items():
        labels, loss = summary.expected["labels"], summary.expected["cordial"]
        note = f"{labels:.0f} {'label' if labels == 1 else 'labels'}"
        note += "" if loss is None else f", by itself {loss:.2f}"
        few += [name] if (labels or 0) < MIN_LABELS else []
        lines.append(f"  {name} ({note}): {summary.brief}")
    blocks = [["The judges", *lines], ["Weights", *weight_lines(fusion.weights)]]
    expected = fusion.expected
    if math.isfinite(expected.cordial):
        line = f"  fused {expected.cordial:.2f}, label histogram {expected.histogram:.2f}"
        if not all(summary.reader and summary.reader.hard for summary in readers.values()):
            line += f", readings as they are, averaged {expected.raw:.2f}"
        line += f" (without {', '.join(few)}: fewer than eight labels)" if few else ""
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
