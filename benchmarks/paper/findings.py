"""Tests of what the paper finds, which `stated.toml` lists: criteria are computed from products."""

import tomllib
from collections.abc import Callable, Sized
from typing import Any, NamedTuple

import numpy as np
from stated import STATED, TASKS, Ours, Products, write


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


Outcome = tuple[bool | np.bool_ | None, str]
Test = Callable[[Products], Outcome]


def list_findings(products: Products) -> list[Finding]:
    """Test every finding of the paper on the products that were made."""
    findings = []
    for entry in tomllib.loads(STATED.read_text("utf-8"))["finding"]:
        place, text, criterion, name = entry.values()
        try:
            held, ours = TESTS[name](products)
            held = None if held is None else bool(held)
        except LookupError:  # A product, or a row of it, was not made.
            held, ours = None, "not made"
        findings.append(Finding(place, text, criterion, held, ours))
    return findings


def _best(products: Products) -> Outcome:
    where = {"reader": "main", "task": "all"}
    (count,), (tried,) = (_take(products, "readers", of, where) for of in ("best", "settings"))
    return count == tried, f"{count:.0f} of {tried:.0f}"


def _labels(products: Products) -> Outcome:
    stack = _each(products, "equivalents", "labels", method="logit-stack")
    dirichlet = _each(products, "equivalents", "labels", method="dirichlet")
    held = np.all((stack >= 28) & (dirichlet > stack))
    return held, f"logit stack: {_range(stack)}; Dirichlet calibration: {_range(dirichlet)}"


def _gains(products: Products) -> Outcome:
    where, by = {"method": "logit-stack", "n": [20, 50, 100]}, ("task", "n")
    but = "software, 50", "software, 100"
    needed = [key for task in TASKS for n in where["n"] if (key := f"{task}, {n}") not in but]
    gains = products.take("differences", "difference", where, by=by)
    sure = products.take("differences", "resolved", where, by=by)
    return _resolve({key: gains[key] for key in sorted(needed)}, sure)


def _structure(products: Products) -> Outcome:
    where, by = {"method": ["full-stack", "scalar-stack"], "n": 20}, ("task", "method")
    ours = products.take("differences", "difference", where, by=by)
    sure = products.take("differences", "resolved", where, by=by)
    losses = products.take("table", "log_loss", {"n": 20}, by=by)
    changes = [
        losses[key].value - losses[f"{key.split(',')[0]}, logit-stack"].value for key in ours
    ]
    _need(ours, 8)
    held, shown = _resolve(ours, sure)
    return held, (
        f"gains of {_range(_values(ours))}, {shown}; these channels change the logit stack's loss "
        f"by {min(changes):+.3f} to {max(changes):+.3f}"
    )


def _averaging(products: Products) -> Outcome:
    few, many = (
        _take(products, "averaging", "difference", {"n": n}, by=("task", "n"))
        for n in ([5, 10], [100, 200, 500, 1000, 2000])
    )
    held = np.all(few > 0) and np.all(abs(many) < 0.005)
    return held, f"{_range(few)} with 5 and 10 labels, {_range(many)} with 100 or more"


def _rps(products: Products) -> Outcome:
    where = {"method": "paper - logit-stack", "n": 20}
    rps = _each(products, "scores", "value", metric="rps", **where)
    accuracy = _each(products, "scores", "value", metric="accuracy", **where)
    held = np.all(rps < 0) and np.all(abs(accuracy) <= 0.02)
    return held, f"differences in RPS: {_range(rps)}; in accuracy: {_range(accuracy)}"


def _closest(products: Products) -> Outcome:
    kl = {
        method: _each(products, "reliability", "class_weighted_kl", method=method)
        for method in ("paper", "logit-stack", "dirichlet", "raw")
    }
    best = [min(kl, key=lambda m: kl[m][i]) == "paper" for i in range(len(TASKS))]
    return all(best), f"lowest on {sum(best)} of {len(best)} tasks: {_ranges(kl)}"


def _shifts(products: Products) -> Outcome:
    amazon = _each(products, "tasks", "shift", reader="main")[:3]
    mosei = _each(products, "tasks", "inward", reader="main")[3]
    return min(amazon) > 0 and mosei > 0, (
        f"higher by {min(amazon):.2f} to {max(amazon):.2f} classes on the three Amazon tasks, "
        f"nearer to the middle by {mosei:.2f} on MOSEI"
    )


def _order(products: Products) -> Outcome:
    ordered = _each(products, "tasks", "ordered", reader="main")
    shares = {
        method: _each(products, "reversals", "reversed", method=method, n=20)
        for method in ("paper", "vector", "dirichlet")
    }
    others = min(*shares["vector"], *shares["dirichlet"])
    held = ordered.all() and max(shares["paper"]) <= 0.1 and others >= 0.45
    return held, (
        f"labels rise on {ordered.sum():.0f} of 4 tasks; shares of fits: {_ranges(shares)}"
    )


def _overtakes(products: Products) -> Outcome:
    observed = _each(products, "crossover", "observed")
    return np.isfinite(observed).all(), f"labels by task: {', '.join(map(write, observed))}"


def _crossover(products: Products) -> Outcome:
    predicted = _each(products, "crossover", "predicted")
    observed = _each(products, "crossover", "observed")
    ratio = observed / predicted
    pairs = [(i, j) for i in range(4) for j in range(4) if predicted[i] < predicted[j]]
    ordered = all(observed[i] <= observed[j] for i, j in pairs)
    held = ordered and (ratio >= 0.5).all() and (ratio <= 2).all()
    shown = ", ".join(NEVER if not np.isfinite(each) else f"{each:.2f}" for each in ratio)
    return held, f"{'same' if ordered else 'different'} order; ratios by task: {shown}"


NEVER = "none within 2,000 labels"


def _known_gap(products: Products) -> Outcome:
    def near(fit: str, value: str) -> np.ndarray:
        where, by = {"fit": fit, "near": True}, ("options", "delta")
        return _take(products, "known-gap", value, where, by=by)

    affine, full, over = near("affine", "d"), near("full", "share"), near("full", "overtakes")
    held = abs(affine.mean() - 4) <= 1 and all((full >= 0.9) & (full <= 1.5))
    return held and all((over >= 0.5) & (over <= 3)), (
        f"d = {_range(affine)} for the affine channel, {_range(full)} K (K - 1) for the full "
        f"channel, which overtakes at {_range(over)} n*"
    )


def _readers(products: Products) -> Outcome:
    where, but = {"task": "all"}, {"reader": "main"}
    best, tried, trails = (
        _take(products, "readers", value, where, but, by=("reader",))
        for value in ("best", "settings", "trails_by_at_most")
    )
    _need(best, 3)
    held = best.sum() >= 56 / 60 * tried.sum() > 0 and trails.max() <= 0.006
    shown = f"lowest in {best.sum():.0f} of {tried.sum():.0f}, else within {trails.max():.3f}"
    return held, shown


def _reader_gains(products: Products) -> Outcome:
    but, by = {"reader": "main", "task": "all"}, ("reader", "task")
    gains = products.take("readers", "gain", None, but, by=by)
    _need(gains, 12)
    held, shown = _resolve(gains, products.take("readers", "resolved", None, but, by=by))
    return held, f"gains of {_range(_values(gains))}, {shown}"


def _prior(products: Products) -> Outcome:
    but = {"task": "mosei"}
    mean, gains, loses = (
        products.take("learned-prior", value, None, but, by=("n",), within=within)
        for value, within in (("difference", "mean"), ("gains", "sum"), ("loses", "sum"))
    )
    _need(mean, 5)
    held = all(each.value > 0 for each in mean.values())
    return held and not any(each.value for each in loses.values()), "; ".join(
        f"{n} labels: {write(*mean[n])}, {gains[n].value:.0f} pairs gain, {loses[n].value:.0f} lose"
        for n in mean
    )


def _fusion(products: Products) -> Outcome:
    shown, held = [], True
    for method, least, name in (
        ("reader main", 28, "the main reader"),
        ("best reader by CV", 28, "the reader chosen by cross-validation"),
        ("without channels", 27, "the fusion without channels"),
    ):
        gains = _take(products, "fusion", "gain", {"method": method}, by=("task", "n"))
        _need(gains, 28)
        wins = sum(gains > 0)
        held &= wins >= least
        shown.append(f"{name} in {wins} of {len(gains)}")
    return held, "beats " + ", ".join(shown)


def _users(products: Products) -> Outcome:
    gains = _each(products, "users", "gain", effect=SHIFT, texts="late")
    held = _each(products, "users", "lower", effect=SHIFT, texts="late") > 0
    return all(held), f"gains of {_range(gains)}, {sum(held)} of 4 resolved"


def _other_effects(products: Products) -> Outcome:
    shown, held = [], True
    for other in ("reliability", "temperature", "intercept"):
        where = {"effect": f"{SHIFT} - {other}, mode", "texts": "all"}
        low = _each(products, "users", "lower", **where)
        held &= all(low[: 3 if other == "intercept" else 4] > 0)
        shown.append(f"{other} {_range(_each(products, 'users', 'gain', **where))}")
    return held, "gains over these: " + ", ".join(shown)


SHIFT = "shift, the paper's"


def _batch(products: Products) -> Outcome:
    raw = _each(products, "table", "log_loss", method="raw", n=20)
    changes = _each(products, "table", "log_loss", method="batch", n=20) - raw
    return min(changes) >= 0, f"the log loss changes by {min(changes):+.3f} to {max(changes):+.3f}"


def _demonstrations(products: Products) -> Outcome:
    return None, "no language model can read synthetic texts"


NAMES = {"paper": "CORDIAL", "logit-stack": "logit stack", "vector": "vector scaling"}
NAMES |= {"dirichlet": "Dirichlet calibration", "raw": "raw reading"}
"""What the outcomes call methods."""

TESTS: dict[str, Test] = {
    test.__name__.removeprefix("_"): test
    for test in (
        *(_best, _labels, _gains, _structure, _averaging, _rps),
        *(_closest, _shifts, _order, _overtakes, _crossover, _known_gap),
        *(_readers, _reader_gains, _demonstrations, _prior, _fusion, _users),
        *(_other_effects, _batch),
    )
}
"""Tests, by what `stated.toml` calls them."""


def _need(values: Sized, count: int) -> None:
    """Raise a `LookupError` where some of the values were not made."""
    if len(values) < count:
        raise LookupError


def _values(ours: dict[str, Ours]) -> np.ndarray:
    return np.array([each.value for each in ours.values()])


def _take(products: Products, *which: Any, **how: Any) -> np.ndarray:
    """Return the values that `Products.take` has, without their names and errors."""
    return _values(products.take(*which, **how))


def _each(products: Products, name: str, value: str, **where: Any) -> np.ndarray:
    """Return what a product has for the four tasks, all of which must be there."""
    ours = products.take(name, value, where)
    return _values({task: ours[task] for task in TASKS})


def _resolve(gains: dict[str, Ours], sure: dict[str, Ours]) -> tuple[bool, str]:
    """Return whether all gains are positive and resolved, and which are not."""
    missing = [key for key, gain in gains.items() if not sure[key].value or gain.value <= 0]
    named = f" (not {'; '.join(missing)})" if missing else ""
    return not missing, f"{len(gains) - len(missing)} of {len(gains)} resolved{named}"


def _ranges(values: dict[str, np.ndarray]) -> str:
    return ", ".join(f"{NAMES[name]} {_range(each)}" for name, each in values.items())


def _range(values: np.ndarray) -> str:
    least, most = values.min(), values.max()
    return write(least) if least == most else f"{write(least)} to {write(most)}"
