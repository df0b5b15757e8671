"""An estimate as values: rows of a table, and all of it as JSON can express it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cordial_ppl.decisions.estimates.quantities import TARGETS, Population, name_ends

if TYPE_CHECKING:
    from cordial_ppl.decisions.estimates.estimate import Estimate

COMPARED = "to_best", "to_best_low", "to_best_high", "p_best"
"""Columns of the comparison with the best group."""


def list_rows(made: "Estimate") -> list[dict[str, Any]]:
    """List a row for the corpus and one for each group, the highest mean first."""
    none: dict[str, Any] = dict.fromkeys(COMPARED) if made.groups else {}
    rates: dict[str, Any] = {}
    if made.passing is not None:
        rates = name_ends("tpr", made.passing.tpr) | name_ends("tnr", made.passing.tnr)

    def compare(name: str) -> dict[str, Any]:
        if made.alike:
            return none
        difference = made.difference(name, made.ranking[0])
        return name_ends("to_best", difference) | {"p_best": made.best[name]}

    def row(name: str, each: Population, more: Mapping[str, Any]) -> dict[str, Any]:
        columns = name_ends("mean", each.mean)
        for option, share in each.at_least.items():
            columns |= name_ends(f"at_least_{option}", share)
        if each.passing is not None:
            columns |= name_ends("pass", each.passing)
        columns |= {f"share_{option}": share for option, share in each.shares.items()}
        head = {"group": name, "of": made.of, "texts": each.texts, "labels": each.labels}
        return {**head, **columns, **more}

    groups = [
        row(name, made.groups[name], dict.fromkeys(rates) | compare(name)) for name in made.ranking
    ]
    return [row("all", made.overall, rates | none), *groups]


def as_dict(made: "Estimate") -> dict[str, Any]:
    """Return everything but the draws as values that JSON can express."""
    total, resolved, wrong = made.pairs
    orders = [sorted(pair, key=made.ranking.index) for *pair, _ in made.resolved]
    return {
        "level": made.level,
        "of": made.of,
        "populations": list_rows(made),
        "rectified": made.rectified._asdict(),
        "other": made.other
        and {
            "of": TARGETS[made.of == TARGETS[0]],
            "mean": made.other[0]._asdict(),
            "rectified": made.other[1]._asdict(),
        },
        "clusters": made.clusters,
        "passing": made.passing and made.passing.to_dict(),
        "effects": {
            name: group.effect._asdict() for name, group in made.groups.items() if group.effect
        },
        "best": made.best,
        "differences": {
            "pairs": total,
            "resolved": resolved,
            "expected_wrong": wrong,
            "orders": [
                {"higher": a, "lower": b, **name_ends("difference", made.difference(a, b))}
                for a, b in orders
            ],
        },
        "warnings": list(made.warnings),
    }
