"""What a plan by groups leaves each group."""

from collections import Counter
from collections.abc import Sequence

from cordial_ppl.errors import list_names


def count_groups(
    groups: Sequence[str], labelled: Sequence[int], rows: Sequence[int]
) -> dict[str, dict[str, int]]:
    """Count texts of each group: all, labelled before, and planned."""
    sizes, before = Counter(groups), Counter(groups[row] for row in labelled)
    planned = Counter(groups[row] for row in rows)
    return {
        name: {"texts": texts, "labelled": before[name], "planned": planned[name]}
        for name, texts in sizes.items()
    }


def list_doubts(counts: dict[str, dict[str, int]]) -> list[str]:
    """Say which groups are left without labels, or have fewer texts than their share."""
    labels = {name: each["labelled"] + each["planned"] for name, each in counts.items()}
    most = max(labels.values())
    none = [name for name, number in labels.items() if number == 0]
    short = [name for name, number in labels.items() if number == counts[name]["texts"] < most - 1]
    doubts = (
        (none, f"get no label: plan for more, {len(labels)} give one each"),
        (short, "have fewer texts than their share: the others get more labels"),
    )
    return [
        f"{len(names)} of {len(labels)} groups {problem} ({list_names(names)})."
        for names, problem in doubts
        if names
    ]
