"""The numbers that the paper states, and ours beside them."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from embedded import TASKS
from product import NOTHING, Record
from styles import label

STATED = Path(__file__).with_name("stated.toml")

APART = 2 * 2**0.5
"""Standard errors of ours within which a number is reproduced: two of the difference, as if the
paper's had the same."""

NEAR = 0.1
"""Share of the paper's number within which ours is near it."""

BUDGETS = (20, 200)
"""Numbers of labels in the paper's Table 1."""

ERRORS = {"accuracy_difference": "difference_error", "loss_ratio": "ratio_error"}
"""Columns with the standard error of a value, where it is called neither `VALUE_error` nor
`standard_error`."""

UNKNOWN = (
    *("best", "trails_by_at_most", "observed", "ratio", "largest", "pool", "report", "wins"),
    *("change", "gains", "loses"),
)
"""Values without a standard error."""


class Ours(NamedTuple):
    """A number of ours with its standard error, NaN where there is none."""

    value: float
    error: float = np.nan


class Row(NamedTuple):
    """A row of the page: where the paper says what, its number, ours, and a verdict."""

    place: str
    what: str
    paper: str
    ours: str
    verdict: str


class Products(NamedTuple):
    """Tables of a folder that `make.py` has written."""

    folder: Path

    def take(
        self,
        name: str,
        value: str,
        where: Record | None = None,
        but: Record | None = None,
        *,
        by: Sequence[str] = ("task",),
        within: str = "mean",
        times: float = 1,
    ) -> dict[str, Ours]:
        """Return values of a product with their standard errors, by the columns of `by`.

        Args:
            name: name of the product.
            value: a column.
            where: values of columns, or lists of them, of the rows that are taken.
            but: the same of rows that are not.
            by: columns that tell values apart; several rows are averaged.
            within: "sum" for their sum instead.
            times: what values are multiplied by.

        Raises:
            LookupError: there is none.
        """
        path = self.folder / f"{name}.csv"
        if not path.exists():
            raise LookupError(f"{name} was not made.")
        table = _derive(name, pl.read_csv(path))
        for column, wanted in (where or {}).items():
            table = table.filter(pl.col(column).is_in(_list(wanted)))
        for column, others in (but or {}).items():
            table = table.filter(~pl.col(column).is_in(_list(others)))
        made = {}
        for key, rows in table.drop_nulls(value).group_by(by, maintain_order=True):
            values = rows[value].cast(pl.Float64).to_numpy()
            total = values.sum() if within == "sum" else values.mean()
            # Readers of a task share their labels.
            tasks = rows["task"].n_unique() if "task" in rows.columns else 1
            error = abs(times) * np.mean(_errors(rows, value)) / tasks**0.5
            made[", ".join(map(str, key))] = Ours(times * float(total), float(error))
        if not made:
            raise LookupError(f"{name} has no {value} of {where}, without {but}.")
        return made


def state_numbers(products: Products) -> Iterator[Row]:
    """Set ours beside every number of the paper's text, a row each."""
    for entry in tomllib.loads(STATED.read_text("utf-8"))["number"]:
        yield from _compare(products, entry)


def state_table(products: Products) -> Iterator[Row]:
    """Set ours beside every cell of the paper's Table 1."""
    cells = [f"{task}, {n}" for task in TASKS for n in BUDGETS]
    for method, numbers in tomllib.loads(STATED.read_text("utf-8"))["table"].items():
        entry = {"place": "Table 1", "what": label(method), "product": "table", "value": "log_loss"}
        entry |= {"where": {"method": method}, "by": ["task", "n"]}
        yield from _compare(products, entry | {"paper": dict(zip(cells, numbers, strict=True))})


def write(value: float, error: float = np.nan) -> str:
    """Write a number with as many digits as are of use, and its standard error."""
    if np.isinf(value):
        return "never"
    if value == round(value) and not error > 0:
        return f"{value:.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 3
    more = f" ± {error:.{digits}f}" if np.isfinite(error) and error > 0 else ""
    return f"{value:.{digits}f}{more}"


def _compare(products: Products, entry: dict[str, Any]) -> Iterator[Row]:
    """Set ours beside what the paper states, which is one number, or several by their names."""
    names = "where", "but", "by", "within", "times"
    how = {name: entry[name] for name in names if name in entry}
    try:
        ours = products.take(entry["product"], entry["value"], **how)
    except LookupError:
        ours = {}
    paper, place, why = entry["paper"], entry["place"], entry.get("why", "")
    if isinstance(paper, dict) and not {"most", "least", "count"} & {*paper}:
        for name, number in paper.items():
            one = {name: ours[name]} if name in ours else {}
            unit = " labels" if name.split(", ")[-1].isdecimal() else ""
            yield _row(place, f"{entry['what']}: {name}{unit}", number, one, why)
    else:
        yield _row(place, entry["what"], paper, _total(ours, entry.get("take")), why)


def _row(place: str, what: str, paper: Any, ours: dict[str, Ours], why: str = "") -> Row:
    shown, low, high = _read(paper)
    what += f" ({why})" if why else ""
    if not ours:
        return Row(place, what, shown, NOTHING, "not made")
    least, most = (choose(ours.values(), key=lambda each: each.value) for choose in (min, max))
    text = " to ".join(dict.fromkeys((write(*least), write(*most))))
    return Row(place, what, shown, text, _judge(low, high, [*ours.values()]))


def _read(paper: Any) -> tuple[str, float, float]:
    """Read what the paper states: in words, and the ends of the range where ours should be."""
    match paper:
        case {"count": count, "of": of}:
            return f"{count} of {of}", count, np.inf
        case {"most": most}:
            return f"at most {most:g}", -np.inf, most
        case {"least": least}:
            return f"at least {least:g}", least, np.inf
        case [low, high]:
            return f"{low:g} to {high:g}" if low != high else f"{low:g}", low, high
    return f"{paper:g}", paper, paper


def _judge(low: float, high: float, ours: Sequence[Ours]) -> str:
    """Say whether all of ours are in a range, up to its rounding and their errors."""
    low, high = low - _round(low), high + _round(high)
    beyond = np.array([max(low - each.value, each.value - high, 0.0) for each in ours])
    errors = np.nan_to_num([each.error for each in ours])
    if (beyond <= APART * errors + 1e-9).all():
        return "yes"
    ends = np.array([low if each.value < low else high for each in ours])
    return "near" if (beyond <= np.maximum(NEAR * abs(ends), APART * errors)).all() else "no"


def _round(number: float) -> float:
    """Return half a unit of the last digit of a number; 0, which stands for "nothing", is exact."""
    if number == 0 or not np.isfinite(number):
        return 0.0
    digits = 0 if isinstance(number, int) else max(2, len(f"{number}".partition(".")[2]))
    return 0.5 / 10**digits


def _total(ours: dict[str, Ours], take: str | None) -> dict[str, Ours]:
    if not ours or take is None:
        return ours
    if take == "most":
        return {take: max(ours.values(), key=lambda each: each.value)}
    values, errors = (np.array(each) for each in zip(*ours.values(), strict=True))
    count = 1 if take == "sum" else len(values)
    return {take: Ours(float(values.sum()) / count, float(np.sqrt((errors**2).sum())) / count)}


def _errors(table: pl.DataFrame, value: str) -> np.ndarray:
    """Return standard errors of a column."""
    names = ERRORS.get(value, f"{value}_error"), "standard_error"
    name = next((each for each in names if each in table.columns), None)
    if value == "difference":  # Of a paired 95 % interval.
        return ((table["upper"] - table["lower"]) / 3.92).to_numpy()
    if name is None or value in UNKNOWN:
        return np.full(len(table), np.nan)
    return table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _derive(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Add what the paper states and a product has only in other columns."""
    full = pl.col("options") * (pl.col("options") - 1)
    distance = (pl.col("n").log() - pl.col("predicted").log()).abs()
    difference, sure = pl.col("difference"), pl.col("resolved").cast(pl.String) == "true"
    stack = pl.col("log_loss").filter(pl.col("method") == "logit-stack").first()
    columns = {
        "table": {"change": pl.col("log_loss") - stack.over("task", "reader", "n")},
        "known-gap": {
            "near": distance == distance.min().over("options", "delta", "fit"),
            "share": pl.col("d") / full,
            "share_error": pl.col("d_error") / full,
            "overtakes": pl.col("overtaking") / pl.col("predicted"),
            "overtakes_error": pl.col("overtaking_error") / pl.col("predicted"),
        },
        "learned-prior": {"gains": sure & (difference > 0), "loses": sure & (difference < 0)},
        "fusion": {"wins": pl.col("gain") > 0},
        "readers": {
            "trails_by_at_most": pl.col("trails_by_at_most").cast(pl.Float64).fill_null(0.0)
        },
        "crossover": {
            "predicted_error": pl.col("predicted") * pl.col("standard_error") / pl.col("delta")
        },
    }
    return table.with_columns(**columns.get(name, {}))


def _list(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]
