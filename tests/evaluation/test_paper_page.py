"""The page of the paper's figures and ours: what counts as reproduced, and that all is there."""

import tomllib

import make
import numpy as np
import polars as pl
import pytest
from findings import list_findings
from ledger import Ledger
from paper_page import write_page
from stated import STATED, TASKS, Products, state_numbers, state_table
from task_table import task_table

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.scale import Scale
from cordial_ppl.evaluation.tasks import Task

STACKS = ("full-stack", "scalar-stack")
LEADS = {"music": 0.046, "beauty": 0.057, "software": 0.024, "mosei": 0.053}


def plant(folder, **products):
    """Write products, and read them as the page does."""
    for name, rows in products.items():
        pl.DataFrame(rows).write_csv(folder / f"{name.replace('_', '-')}.csv")
    return Products(folder)


def differences(gains, error=0.001, methods=("logit-stack",), budgets=(20,)):
    return [
        {"task": task, "n": n, "method": method, "difference": gain, "resolved": gain > 2 * error}
        | {"lower": gain - 1.96 * error, "upper": gain + 1.96 * error}
        for task, gain in gains.items()
        for method in methods
        for n in budgets
    ]


def verdicts(products, what):
    return {row.what: row.verdict for row in state_numbers(products) if row.what.startswith(what)}


def outcome(products, start):
    (found,) = (each for each in list_findings(products) if each.text.startswith(start))
    return found.held, found.ours


def test_a_number_is_reproduced_within_its_errors_and_near_within_a_tenth(tmp_path):
    gains = LEADS | {"music": 0.0492, "beauty": 0.061, "software": 0.04}
    found = verdicts(
        plant(tmp_path, differences=differences(gains)), "gain over the logit stack, 20"
    )
    assert [*found.values()] == ["yes", "near", "no", "yes"]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [((0.0, 0.05), "yes"), ((0.05, 0.12), "yes"), ((0.0, 0.2), "no")],
)
def test_a_bound_holds_for_all_of_ours(tmp_path, shares, expected):
    rows = [
        {"task": task, "n": 20, "method": "paper", "reversed": share, "standard_error": 0.01}
        for task, share in zip(TASKS, shares, strict=False)
    ]
    found = verdicts(plant(tmp_path, reversals=rows), "share of CORDIAL fits")
    assert [*found.values()] == [expected]


def test_counts_and_sums(tmp_path):
    rows = [
        {"reader": reader, "task": task, "best": best, "settings": 20, "trails_by_at_most": trails}
        | {"gain": 0.02, "gain_error": 0.001, "resolved": True}
        for reader, best, trails in (
            ("main", 20, None),
            ("a", 20, None),
            ("b", 19, 0.004),
            ("c", 18, 0.0),
        )
        for task in ("all", "music")
    ]
    products = plant(tmp_path, readers=rows)
    assert [*verdicts(products, "largest excess of CORDIAL").values()] == ["yes"]
    (row,) = (r for r in state_numbers(products) if r.what.startswith("settings (all four"))
    assert (row.paper, row.ours) == ("76 of 80", "77") and row.verdict == "yes"
    assert outcome(products, "CORDIAL has the lowest") == (True, "20 of 20")
    held, shown = outcome(products, "With other readers")
    assert held and "57 of 60" in shown and "0.004" in shown


def test_findings_are_tested_on_products_and_on_nothing_else(tmp_path):
    assert {each.held for each in list_findings(Products(tmp_path))} == {None}
    losses = [
        {"task": task, "reader": "main", "n": 20, "method": method}
        | {"log_loss": loss, "standard_error": 0.01}
        for task in TASKS
        for method, loss in (("logit-stack", 0.6), ("full-stack", 0.61), ("scalar-stack", 0.59))
    ]
    rows = differences(LEADS, methods=("logit-stack", *STACKS), budgets=(20, 50, 100))
    products = plant(tmp_path, table=losses, differences=rows)
    held, shown = outcome(products, "The gain comes from the structure")
    assert held and "-0.010 to +0.010" in shown and "8 of 8" in shown
    assert outcome(products, "The gains over the logit stack")[0]
    unsure = [row | {"resolved": row["task"] != "mosei"} for row in rows]
    products = plant(tmp_path, differences=unsure)
    held, shown = outcome(products, "The gains over the logit stack")
    assert not held and "mosei, 20" in shown and "7 of 10" in shown
    assert not outcome(products, "The gain comes from the structure")[0]


def test_the_crossovers_scale_and_ordering(tmp_path):
    def rows(observed):
        each = zip(TASKS, (700, 565, 297, 2746), observed, strict=True)
        return [
            {"task": t, "predicted": p, "observed": o, "delta": 0.02, "standard_error": 0.001}
            for t, p, o in each
        ]

    for observed, expected in (
        ((1000, 500, 500, 2000), True),
        ((500, 1000, 500, 2000), False),
        ((1000, 500, 500, float("inf")), False),
    ):
        products = plant(tmp_path, crossover=rows(observed))
        assert outcome(products, "The predicted and observed")[0] is expected
        assert outcome(products, "With enough labels")[0] is (observed[-1] == 2000)


def test_the_page_has_every_number_and_names_what_was_not_made(tmp_path):
    content = tomllib.loads(STATED.read_text("utf-8"))
    grid, ledger = make.read_grid(make.GRID, quick=False), Ledger(tmp_path, tmp_path)
    assert {each["product"] for each in content["number"]} <= {*make.list_makers(ledger, grid)}
    assert len([*state_table(Products(tmp_path))]) == 72
    numbers = [*state_numbers(Products(tmp_path))]
    assert len(numbers) > 70 and {row.verdict for row in numbers} == {"not made"}
    ledger.rows("timings", ["music", 5], lambda *_: [{"fit_seconds": 1.0}])
    write_page(tmp_path, ledger, 20, tmp_path / "paper.md")
    page = (tmp_path / "paper.md").read_text("utf-8")
    assert "synthetic" in page and "| 1.339 / –, not made |" in page and "0.0 CPU hours" in page
    assert all(each["what"] in page for each in content["number"])


def test_tasks_are_described_as_they_are(tmp_path):
    """Two modes whose labels lie above them, and a third of which there are too few."""
    stated = np.repeat([0, 1, 3], [40, 50, 3])
    labels = np.repeat([0, 1, 1, 3, 0], [20, 20, 25, 25, 3])
    texts = Labelled(4.0 * np.eye(5)[stated], labels)
    product = task_table([Task("music", "main", Scale(tuple("abcde")), texts, texts)])
    (row,) = product.table.to_dicts()
    assert (row["pool"], row["report"], row["ordered"]) == (93, 93, True)
    assert row["accuracy"] == pytest.approx(45 / 93)
    assert row["shift"] == pytest.approx((20 + 50 - 9) / 93)
    turned = Labelled(texts.logits, labels[::-1].copy())
    product = task_table([Task("music", "main", Scale(tuple("abcde")), texts, turned)])
    assert not product.table["ordered"][0] and "| no |" in product.write(tmp_path)[1].read_text()
