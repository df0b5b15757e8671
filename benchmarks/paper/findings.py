"""What the paper finds, each with a criterion that is computed from products."""

from collections.abc import Callable, Iterable, Sized
from typing import Any, NamedTuple

import numpy as np
from stated import TASKS, Ours, Products, write


class Finding(NamedTuple):
    """A finding of a section: what the paper says, and when it counts as reproduced.

    Attributes:
        held: whether that is so; None where it could not be tested.
        ours: the numbers that say so.
    """

    place: str
    text: str
    criterion: str
    held: bool | None
    ours: str


Test = Callable[[Products], tuple[bool | None, str]]


def list_findings(products: Products) -> list[Finding]:
    """Test every finding of the paper on the products that were made."""
    findings = []
    for (place, text, criterion), test in FINDINGS.items():
        try:
            held, ours = test(products)
        except LookupError:  # A product, or a row of it, was not made.
            held, ours = None, "not made"
        findings.append(Finding(place, text, criterion, held, ours))
    return findings


def _best(products: Products) -> tuple[bool, str]:
    where = {"reader": "main", "task": "all"}
    ((count,), (tried,)) = (
        products.take("readers", value, where).values() for value in ("best", "settings")
    )
    return count.value == tried.value, f"{count.value:.0f} of {tried.value:.0f}"


def _labels(products: Products) -> tuple[bool, str]:
    stack, dirichlet = (
        _each(products, "equivalents", "labels", method=method)
        for method in ("logit-stack", "dirichlet")
    )
    both = zip(stack, dirichlet, strict=True)
    held = all(one.value >= 28 and other.value > one.value for one, other in both)
    return held, f"logit stack {_range(stack)}, Dirichlet {_range(dirichlet)}"


def _gains(products: Products) -> tuple[bool, str]:
    where, by = {"method": "logit-stack", "n": [20, 50, 100]}, ("task", "n")
    gains, sure = (
        products.take("differences", value, where, by=by) for value in ("difference", "resolved")
    )
    but = "software, 50", "software, 100"
    needed = [key for task in TASKS for n in where["n"] if (key := f"{task}, {n}") not in but]
    return _resolve({key: gains[key] for key in sorted(needed)}, sure)


def _structure(products: Products) -> tuple[bool, str]:
    where, by = {"method": ["full-stack", "scalar-stack"], "n": 20}, ("task", "method")
    ours, sure = (
        products.take("differences", value, where, by=by) for value in ("difference", "resolved")
    )
    losses = products.take("table", "log_loss", {"n": 20}, by=by)
    changes = [
        losses[key].value - losses[f"{key.split(',')[0]}, logit-stack"].value for key in ours
    ]
    _need(ours, 8)
    held, shown = _resolve(ours, sure)
    return held, (
        f"changes the logit stack by {min(changes):+.3f} to {max(changes):+.3f}; trails ours by "
        f"{_range(ours.values())}, {shown}"
    )


def _averaging(products: Products) -> tuple[bool, str]:
    few, many = (
        products.take("averaging", "difference", {"n": n}, by=("task", "n")).values()
        for n in ([5, 10], [100, 200, 500, 1000, 2000])
    )
    held = all(each.value > 0 for each in few) and all(abs(each.value) < 0.005 for each in many)
    return held, f"{_range(few)} with 5 and 10 labels, {_range(many)} from 100 on"


def _rps(products: Products) -> tuple[bool, str]:
    where = {"method": "paper - logit-stack", "n": 20}
    rps, accuracy = (
        _each(products, "scores", "value", metric=metric, **where) for metric in ("rps", "accuracy")
    )
    held = all(each.value < 0 for each in rps) and all(abs(a.value) <= 0.02 for a in accuracy)
    return held, f"RPS {_range(rps)}, accuracy {_range(accuracy)}"


def _closest(products: Products) -> tuple[bool, str]:
    kl = {
        method: _each(products, "reliability", "class_weighted_kl", method=method)
        for method in ("paper", "logit-stack", "dirichlet", "raw")
    }
    best = [min(kl, key=lambda m: kl[m][i].value) == "paper" for i in range(len(TASKS))]
    return all(best), f"closest on {sum(best)} of {len(best)}: {_ranges(kl)}"


def _shifts(products: Products) -> tuple[bool, str]:
    shift, inward = (
        _each(products, "tasks", value, reader="main") for value in ("shift", "inward")
    )
    amazon, mosei = [each.value for each in shift[:3]], inward[3].value
    return min(amazon) > 0 and mosei > 0, (
        f"up by {min(amazon):.2f} to {max(amazon):.2f} classes on the three tasks of five options, "
        f"inward by {mosei:.2f} on mosei"
    )


def _order(products: Products) -> tuple[bool, str]:
    ordered = _each(products, "tasks", "ordered", reader="main")
    shares = {
        method: _each(products, "reversals", "reversed", method=method, n=20)
        for method in ("paper", "vector", "dirichlet")
    }
    ours = max(each.value for each in shares["paper"])
    others = min(each.value for method in ("vector", "dirichlet") for each in shares[method])
    held = all(each.value for each in ordered) and ours <= 0.1 and others >= 0.45
    count = sum(each.value for each in ordered)
    return held, f"labels ordered on {count:.0f} of 4 tasks; {_ranges(shares)}"


def _overtakes(products: Products) -> tuple[bool, str]:
    observed = _each(products, "crossover", "observed")
    return all(np.isfinite(each.value) for each in observed), (
        "from " + ", ".join(write(each.value) for each in observed) + " labels"
    )


def _crossover(products: Products) -> tuple[bool, str]:
    predicted, observed = (
        np.array([each.value for each in _each(products, "crossover", value)])
        for value in ("predicted", "observed")
    )
    ratio = observed / predicted
    pairs = [(i, j) for i in range(4) for j in range(4) if predicted[i] < predicted[j]]
    ordered = all(observed[i] <= observed[j] for i, j in pairs)
    held = bool(ordered and (ratio >= 0.5).all() and (ratio <= 2).all())
    shown = ", ".join(NEVER if not np.isfinite(each) else f"{each:.2f}" for each in ratio)
    return held, f"order {'kept' if ordered else 'not kept'}; observed over predicted {shown}"


NEVER = "not within 2,000 labels"


def _known_gap(products: Products) -> tuple[bool, str]:
    def near(fit: str, value: str) -> list[Ours]:
        where, by = {"fit": fit, "near": True}, ("options", "delta")
        return [*products.take("known-gap", value, where, by=by).values()]

    affine, full, over = near("affine", "d"), near("full", "share"), near("full", "overtakes")
    mean = np.mean([each.value for each in affine]) if affine else np.nan
    held = abs(mean - 4) <= 1 and all(0.9 <= each.value <= 1.5 for each in full)
    return bool(held and all(0.5 <= each.value <= 3 for each in over)), (
        f"d = {_range(affine)} for the affine channel, {_range(full)} K (K - 1) for the full one, "
        f"which overtakes at {_range(over)} n*"
    )


def _readers(products: Products) -> tuple[bool, str]:
    where, but = {"task": "all"}, {"reader": "main"}
    best, tried, trails = (
        products.take("readers", value, where, but, by=("reader",)).values()
        for value in ("best", "settings", "trails_by_at_most")
    )
    count, most = sum(each.value for each in best), max((t.value for t in trails), default=0.0)
    total = sum(each.value for each in tried)
    _need(best, 3)
    held = count >= 56 / 60 * total > 0 and most <= 0.006
    return held, f"{count:.0f} of {total:.0f}, trails by at most {most:.3f}"


def _reader_gains(products: Products) -> tuple[bool, str]:
    but, by = {"reader": "main", "task": "all"}, ("reader", "task")
    gains, sure = (
        products.take("readers", value, None, but, by=by) for value in ("gain", "resolved")
    )
    _need(gains, 12)
    held, shown = _resolve(gains, sure)
    return held, f"{_range(gains.values())}, {shown}"


def _prior(products: Products) -> tuple[bool, str]:
    but = {"task": "mosei"}
    mean, gains, loses = (
        products.take("learned-prior", value, None, but, by=("n",), within=within)
        for value, within in (("difference", "mean"), ("gains", "sum"), ("loses", "sum"))
    )
    _need(mean, 5)
    held = all(each.value > 0 for each in mean.values())
    return held and not any(each.value for each in loses.values()), "; ".join(
        f"{n}: {write(*mean[n])}, {gains[n].value:.0f} gain, {loses[n].value:.0f} lose"
        for n in mean
    )


def _fusion(products: Products) -> tuple[bool, str]:
    shown, held = [], True
    for method, least in (("reader main", 28), ("best reader by CV", 28), ("without channels", 27)):
        gains = products.take("fusion", "gain", {"method": method}, by=("task", "n")).values()
        _need(gains, 28)
        wins = sum(each.value > 0 for each in gains)
        held &= wins >= least
        shown.append(f"{method} in {wins} of {len(gains)}")
    return held, "beats " + ", ".join(shown)


def _users(products: Products) -> tuple[bool, str]:
    gains, low = (
        _each(products, "users", value, effect=SHIFT, texts="late") for value in ("gain", "lower")
    )
    held = [each.value > 0 for each in low]
    return all(held), f"{_range(gains)}, {sum(held)} of 4 resolved"


def _other_effects(products: Products) -> tuple[bool, str]:
    shown, held = [], True
    for other in ("reliability", "temperature", "intercept"):
        where = {"effect": f"{SHIFT} - {other}, mode", "texts": "all"}
        gains, low = (_each(products, "users", value, **where) for value in ("gain", "lower"))
        held &= all(each.value > 0 for each in low[: 3 if other == "intercept" else 4])
        shown.append(f"{other} {_range(gains)}")
    return held, "by " + ", ".join(shown)


SHIFT = "shift, the paper's"


def _batch(products: Products) -> tuple[bool, str]:
    raw, batch = (
        _each(products, "table", "log_loss", method=method, n=20) for method in ("raw", "batch")
    )
    changes = [b.value - r.value for r, b in zip(raw, batch, strict=True)]
    return min(changes) >= 0, f"changes it by {min(changes):+.3f} to {max(changes):+.3f}"


def _demonstrations(products: Products) -> tuple[None, str]:
    return None, "no language model reads made-up texts"


FINDINGS: dict[tuple[str, str, str], Test] = {
    (
        "3.1",
        "Ours has the lowest log loss of nine calibrators at every number of labels from 5 to 100.",
        "lowest mean in every setting of the main reader",
    ): _best,
    (
        "3.1",
        "20 labels do for ours what others need more for, Dirichlet calibration most.",
        "the logit stack needs at least 28 on all four tasks, Dirichlet calibration more than it",
    ): _labels,
    (
        "3.1",
        "The gains over the logit stack are resolved, except on Software beyond 20 labels.",
        "95 % intervals with 20, 50 and 100 labels exclude zero, but for these two",
    ): _gains,
    (
        "3.1",
        "The gain comes from the structure, not from more members.",
        "stacks with full and scalar channels trail ours with resolved margins on all four tasks",
    ): _structure,
    (
        "3.1",
        "Averaging over the posterior helps with ten labels or fewer and not from 100 on.",
        "every mean gain with 5 and 10 labels is positive, every one from 100 on below .005",
    ): _averaging,
    (
        "3.1",
        "The RPS agrees, and accuracy matches the logit stack.",
        "lower RPS on all four tasks with 20 labels, accuracy within .02",
    ): _rps,
    (
        "3.1, Fig. 2",
        "Grouped by the reader's stated class, ours is closest to the labels.",
        "least class-weighted KL of four methods on all four tasks",
    ): _closest,
    (
        "Fig. 2",
        "Labels shift up on Amazon and toward neutral on MOSEI.",
        "mean label above the mean mode, and nearer to the middle",
    ): _shifts,
    (
        "3.1",
        "Labels are ordered by stated class; vector scaling and Dirichlet calibration reverse it.",
        "ordered on all four tasks; ours reverses in at most 10 % of fits, the others in 45 %",
    ): _order,
    (
        "3.1, crossover",
        "With enough labels unrestricted calibration overtakes.",
        "Dirichlet calibration leads with a resolved interval on all four tasks",
    ): _overtakes,
    (
        "3.1, crossover",
        "The predicted crossover has the observed scale and ordering.",
        "observed over predicted between 1/2 and 2 on all four tasks, in the same order",
    ): _crossover,
    (
        "3.1, known gap",
        "Excess losses follow d / (2 n), and the full channel overtakes near n*.",
        "d within 1 of 4, and .9 to 1.5 K (K - 1); overtakes at .5 to 3 n*",
    ): _known_gap,
    (
        "3.1, readers",
        "With other readers ours is nearly always best.",
        "lowest in 56 of 60 settings, elsewhere within .006",
    ): _readers,
    (
        "3.1, readers",
        "It leads the logit stack with every other reader.",
        "resolved with 20 labels for all twelve pairs",
    ): _reader_gains,
    (
        "3.1, in context",
        "The same labels as demonstrations in the prompt have a higher log loss.",
        "higher on all four tasks with 20 to 100 labels",
    ): _demonstrations,
    (
        "3.2, prior",
        "A learned prior gains with few labels and costs nothing.",
        "mean gain positive at every number of labels, no pair of twelve with a resolved loss",
    ): _prior,
    (
        "3.2, fusion",
        "Four readers together beat one, the reader chosen by cross-validation, and the same "
        "fusion without channels.",
        "lower mean loss in 28, 28 and 27 of 28 settings",
    ): _fusion,
    (
        "3.2, users",
        "A shift for each user gains after eleven texts.",
        "resolved on all four tasks",
    ): _users,
    (
        "3.2, users",
        "It beats a reliability, a temperature and, on Amazon, an intercept for each user.",
        "95 % intervals of paired differences over all texts exclude zero",
    ): _other_effects,
    (
        "3, protocol",
        "Batch calibration does not lower the raw log loss.",
        "not lower on any of the four tasks",
    ): _batch,
}


def _need(values: Sized, count: int) -> None:
    """Raise a `LookupError` where some of the values were not made."""
    if len(values) < count:
        raise LookupError


def _each(products: Products, name: str, value: str, **where: Any) -> list[Ours]:
    """Return what a product has for the four tasks, all of which must be there."""
    values = products.take(name, value, where)
    return [values[task] for task in TASKS]


def _resolve(gains: dict[str, Ours], sure: dict[str, Ours]) -> tuple[bool, str]:
    """Return whether all gains are positive and resolved, and which are not."""
    missing = [key for key, gain in gains.items() if not sure[key].value or gain.value <= 0]
    named = f" (not {'; '.join(missing)})" if missing else ""
    return not missing, f"{len(gains) - len(missing)} of {len(gains)} resolved{named}"


def _ranges(values: dict[str, list[Ours]]) -> str:
    return ", ".join(f"{name} {_range(each)}" for name, each in values.items())


def _range(values: Iterable[Ours]) -> str:
    numbers = [each.value for each in values]
    if not numbers:
        raise LookupError
    least, most = min(numbers), max(numbers)
    return write(least) if least == most else f"{write(least)} to {write(most)}"
