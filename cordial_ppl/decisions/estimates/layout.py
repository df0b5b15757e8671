"""An estimate as text, as rows of a table, and as JSON can express it."""

from collections.abc import Mapping
from typing import Any

from cordial_ppl.decisions.estimates.comparison import WRONG, Comparison
from cordial_ppl.decisions.estimates.quantities import (
    RESOLVING,
    Population,
    in_percent,
    in_words,
    name_ends,
)
from cordial_ppl.decisions.forecasting import Range, say_decided
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.decisions.records import as_values
from cordial_ppl.errors import count, quote
from cordial_ppl.runtime.text_table import align
from cordial_ppl.scores import Interval

COMPARED = "to_best", "to_best_low", "to_best_high", "resolved", "p_best"
"""Columns of the comparison with the best group."""


def write_estimate(made: Comparison, by: str) -> str:
    """Write what is known of all texts, and a table of the groups if there are any."""
    parts = [f"{name}: {100 * part:.0f} %" for name, part in made.overall.shares.items()]
    lines = _write_whole(made, ", ".join(parts))
    if made.groups:
        rates = ("pass",) if made.passing else ()
        cells = []
        for name in made.ranking:
            each = made.groups[name]
            passing = (in_percent(each.passing),) if each.passing else ()
            cells.append((name, f"{each.texts:,}", f"{each.labels}", *_cells(each.mean), *passing))
        lines += ["", *align((by, "texts", "labels", "mean", "", *rates), *cells)]
    return "\n".join(lines)


def write_ranking(made: Comparison, by: str) -> str:
    """Write the groups from the best to the worst, with their differences to the best."""
    best, cells = made.ranking[0], []
    for name in made.ranking:
        apart: tuple[str, ...] = ("", "", "")
        if name != best:
            told = "resolved" if _is_resolved(made, name, best) else ""
            apart = (*_cells(made.difference(name, best), "+"), told)
        head = name, f"{made.groups[name].labels}", *_cells(made.groups[name].mean)
        cells.append((*head, *apart, f"{100 * made.best[name]:.0f} %"))
    total, resolved, wrong = made.pairs
    table = align((by, "labels", "mean", "", "vs. best", "", "", "P(best)"), *cells)
    separated = f"The labels separate {resolved} of {count(total, 'pair')}"
    separated += f"; expect {wrong:.1f} of these in the wrong order." if resolved else "."
    rule = (
        f"Resolved: the interval excludes 0, each {by} has at least {RESOLVING} labels, and at "
        f"most one in {1 / WRONG / (1 - made.level):.0f} resolved pairs is expected to be wrong."
    )
    lines = [*_write_whole(made), "", *table, "", separated, rule]
    needed = find_needed(made)
    if needed:
        lines.append(f"{quote(best)} against {quote(made.ranking[1])}: {say_decided(needed)}.")
    return "\n".join(lines)


def find_needed(made: Comparison) -> Range | None:
    """Forecast how many labels of the two best groups tell them apart; None if they are already."""
    pair = made.ranking[:2]
    if len(pair) < 2 or _is_resolved(made, *pair):
        return None
    return made.needed(made.difference(*pair), groups=pair)


def _is_resolved(made: Comparison, a: str, b: str) -> bool:
    return any({a, b} == {*pair} for *pair, _ in made.resolved)


def _write_whole(made: Comparison, shares: str = "") -> list[str]:
    """Say what is labelled, what the intervals are of, and the mean of all texts for both."""
    whole, alone = made.overall, "survey estimate"
    kind, other = "texts like these", "exactly these texts"
    kind, other = (kind, other) if made.of == TARGETS[0] else (other, kind)
    if made.unknown:
        kind, other = f"{kind} that the judge reads", f"{other} that the judge read"
    be = "is" if whole.labels == 1 else "are"
    clusters = "" if made.clusters is None else f", in {count(made.clusters, 'cluster')},"
    unread, labels = made.unread
    every = whole.texts + made.unknown
    lines = [
        f"{whole.labels} of {every:,} texts{clusters} {be} labelled. "
        f"Estimates for {kind} ({100 * made.level:.0f} % intervals):",
        f"  mean {in_words(whole.mean)}; {alone} (no model) {in_words(made.rectified)}",
    ]
    if made.unknown:
        lines.insert(
            0,
            f"Nothing is known about {unread:,} of {every:,} texts, which have neither a reading "
            f"nor a label. All figures below describe the other {whole.texts:,}.",
        )
    elif unread:
        noun = "text" if unread == 1 else "texts"
        lines.append(f"  {unread:,} {noun} without a reading ({labels} labelled)")
    if made.other:
        mean, rectified = map(in_words, made.other)
        lines.append(f"  for {other}: mean {mean}; {alone} {rectified}")
    return [*lines, *(f"  {more}" for more in (shares, made.passing) if more)]


def _cells(result: Interval, sign: str = "") -> tuple[str, str]:
    """Return a mean, and its interval, for a column each."""
    mean, lower, upper = (f"{end:{sign}z.2f}" for end in result)
    return mean, f"({lower} to {upper})"


def list_rows(made: Comparison) -> list[dict[str, Any]]:
    """List a row for the corpus and one for each group, the highest mean first."""
    none: dict[str, Any] = dict.fromkeys(COMPARED) if made.groups else {}
    rates: dict[str, Any] = {}
    if made.passing is not None:
        rates = name_ends("tpr", made.passing.tpr) | name_ends("tnr", made.passing.tnr)

    def row(
        name: str, each: Population, more: Mapping[str, Any], unread: int | None = None
    ) -> dict[str, Any]:
        columns = {"unread": unread} | name_ends("mean", each.mean)
        for option, share in each.at_least.items():
            columns |= name_ends(f"at_least_{option}", share)
        if each.passing is not None:
            columns |= name_ends("pass", each.passing)
        columns |= {f"share_{option}": share for option, share in each.shares.items()}
        head = {"group": name, "of": made.of, "texts": each.texts, "labels": each.labels}
        return {**head, **columns, **more}

    whole = "(all)" if "all" in made.groups else "all"
    rows = [row(whole, made.overall, rates | none, made.unread[0])]
    for name in made.ranking:
        compared = none
        if not made.alike:
            best = made.ranking[0]
            compared = name_ends("to_best", made.difference(name, best))
            compared |= {"resolved": None if name == best else _is_resolved(made, name, best)}
            compared |= {"p_best": made.best[name]}
        rows.append(row(name, made.groups[name], dict.fromkeys(rates) | compared))
    return rows


def as_dict(made: Comparison) -> dict[str, Any]:
    """Return everything but the draws as JSON-compatible values."""
    total, resolved, wrong = made.pairs
    orders = [sorted(pair, key=made.ranking.index) for *pair, _ in made.resolved]
    of = TARGETS[made.of == TARGETS[0]]
    other = made.other and {"of": of, "mean": made.other[0], "rectified": made.other[1]}
    content = {
        "level": made.level,
        "of": made.of,
        "populations": list_rows(made),
        "rectified": made.rectified,
        "other": other,
        "unread": {"texts": made.unread[0], "labels": made.unread[1]},
        "clusters": made.clusters,
        "passing": made.passing,
        "effects": {name: group.effect for name, group in made.groups.items() if group.effect},
        "best": made.best,
        "differences": {
            "pairs": total,
            "resolved": resolved,
            "expected_wrong": wrong,
            "needed": find_needed(made),
            "orders": [
                {"higher": a, "lower": b, **name_ends("difference", made.difference(a, b))}
                for a, b in orders
            ],
        },
    }
    return as_values(content)
