"""Tables of sweeps: means, wins and leads that were planted."""

import numpy as np
import pytest
from make import OF_A_SWEEP as PRODUCTS
from planted import DRAWS, cell, row, sweep

from cordial_ppl.cli.sweep import _shown
from cordial_ppl.products import Table


def test_the_table_has_means_errors_and_the_lowest_in_bold():
    results = sweep(
        {
            ("music", "main", 20): {"logit-stack": [1.0, 2.0, 3.0, 4.0], "cordial": 2.25},
            ("music", "main", 200): {"logit-stack": 0.125, "cordial": 0.25},
        }
    )
    product = PRODUCTS["table"](results)
    stack = row(product, n=20, method="logit-stack")
    assert stack["log_loss"] == 2.5 and not stack["best"]
    assert stack["standard_error"] == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)
    assert row(product, n=200, method="logit-stack")["best"]
    assert product.shown.header == ("reader", "method", "music, 20", "music, 200")
    assert product.shown.rows == (
        ("main", "Logit stack (LS)", "2.500", "**0.125**"),
        ("main", "CORDIAL, default", "**2.250**", "0.250"),
    )
    assert "2 methods in 1 of 1 settings" in product.notes[0]
    chosen = PRODUCTS["table"](results, budgets=[200])
    assert {r["n"] for r in chosen.table.records()} == {200}


def test_wins_are_counted_up_to_100_labels_and_not_against_other_forms_of_ours():
    losses = {"cordial": 0.5, "paper": 0.1, "fast": 0.1, "raw": 0.6}
    cells = {("music", "main", n): dict(losses) for n in (2, 100, 200)}
    cells["music", "main", 50] = losses | {"raw": 0.4}
    results = sweep(cells, {"fast": "cordial"})
    product = PRODUCTS["table"](results)
    assert "has the lowest log loss of 2 methods in 2 of 3 settings" in product.notes[0]
    assert product.notes[0].endswith("Not lowest, by nats behind: music, main, 50 (0.100).")
    assert product.notes[1].startswith("CORDIAL, literal has the lowest log loss of 2 methods in 3")
    assert product.notes[3].startswith(
        "CORDIAL, default is at most as high as CORDIAL, literal in 0"
    )
    assert "Higher, by nats: music, main, 2 (0.400); music, main, 100 (0.400); " in product.notes[3]
    of_raw = PRODUCTS["table"](results, ours="raw")
    assert "of 4 methods in 0 of 3" in of_raw.notes[0]


def test_means_are_over_the_draws_that_all_share():
    losses = {"raw": [9.0, 1.0, 1.0, 5.0], "shots": 1.0, "cordial": [7.0, 2.0, 4.0, 9.0]}
    failed = [("cordial", 0), ("raw", 3), *(("shots", draw) for draw in range(DRAWS))]
    results = sweep({("music", "main", 20): {"losses": losses, "failed": failed}})
    product = PRODUCTS["table"](results)
    assert [r["log_loss"] for r in product.table.records()] == [1.0, None, 3.0]
    assert [r["draws"] for r in product.table.records()] == [2, 0, 2]
    note = product.notes[-1]
    assert "6 of the 12 fits failed (Raw reading 1, shots 4, CORDIAL, default 1)" in note
    curves = PRODUCTS["differences"](results)
    assert row(curves, method="raw")["difference"] == pytest.approx(-2.0)
    assert row(curves, method="shots") == {
        "task": "music",
        "reader": "main",
        "n": 20,
        "method": "shots",
        "difference": None,
        "lower": None,
        "upper": None,
        "resolved": None,
        "draws": 0,
    }
    assert ("music", "main", "shots", "–") in curves.shown.rows


def test_a_method_that_lacks_many_draws_takes_them_from_nobody():
    losses = {"raw": [1, 2, 3, 4], "zero": 5.0, "one": 5.0, "most": 5.0, "cordial": 0.5}
    only = {"zero": [0, 3], "one": [1], "most": [0, 1, 2]}
    failed = [(m, draw) for m, own in only.items() for draw in range(DRAWS) if draw not in own]
    results = sweep({("music", "main", 20): {"losses": losses, "failed": failed}})
    product = PRODUCTS["table"](results)
    means = {r["method"]: r["log_loss"] for r in product.table.records()}
    assert means == {"raw": 2.0, "zero": None, "one": None, "most": 5.0, "cordial": 0.5}
    assert "half of them or fewer" in product.notes[-1]
    assert row(PRODUCTS["differences"](results), method="one")["draws"] == 1
    assert row(PRODUCTS["equivalents"](results), method="one")["log_loss"] == 0.5


def test_the_printed_table_says_failed_only_of_methods_that_did():
    failed = [("shots", draw) for draw in range(3)]
    own = cell(("music", "main", 5), {"raw": 1.0, "shots": 1.0}, failed=failed)
    assert _shown(1.0, own, "raw") == "1.000"
    assert _shown(None, own, "shots") == "3 failed"
    assert _shown(None, own, "raw") == "-"


def test_scores_are_by_method_and_ours_minus_the_stacks_is_paired():
    losses = {"logit-stack": 0.5, "cordial": 0.4, "raw": 1.0}
    rps = {"logit-stack": [0.1, 0.2, 0.3, 0.4], "cordial": [0.05, 0.15, 0.25, 9.0]}
    failed = [("logit-stack", 3)]
    results = sweep({("music", "main", 20): {"losses": losses, "rps": rps, "failed": failed}})
    product = PRODUCTS["scores"](results)
    assert row(product, metric="rps", method="cordial")["value"] == pytest.approx(0.15)
    difference = row(product, metric="rps", method="cordial - logit-stack")
    assert difference["value"] == pytest.approx(-0.05) and difference["draws"] == 3
    assert difference["standard_error"] == pytest.approx(0, abs=1e-12)
    assert {r["metric"] for r in product.table.records()} == {"rps", "accuracy", "qwk", "mae"}
    assert (
        "music",
        "main",
        "rps",
        "CORDIAL, default minus Logit stack (LS)",
        "-0.050",
    ) in product.shown.rows


def test_a_table_in_markdown_keeps_its_cells_apart():
    table = Table.of(
        [{"name": "a | b\nc", "value": 0.12345, "sure": True, "n": 7, "none": float("nan")}]
    )
    assert table.markdown().splitlines()[2] == "| a \\| b c | 0.123 | yes | 7 | – |"
    assert table.rows[0][-1] is None
