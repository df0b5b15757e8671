"""Differences between methods, what they are worth in labels, and where curves cross."""

import msgspec
import numpy as np
import pytest
from make import OF_A_SWEEP as PRODUCTS
from planted import DRAWS, SIZE, cell, row, rows, sweep

from cordial_ppl import scores
from cordial_ppl.analyses import paired_interval
from cordial_ppl.products.differences import intervals
from cordial_ppl.sweep import Results


def test_intervals_are_those_of_one_method_at_a_time():
    rng = np.random.default_rng(0)
    own = cell(("music", "main", 5), {"cordial": 0.0, "raw": 0.0, "odds": 0.0, "vector": 0.0})
    losses = rng.normal(0, [[[1.0]], [[2.0]], [[0.5]], [[1.0]]], own.losses.shape)
    losses[2, 1], own.scores["log_loss"][2, 1] = np.nan, np.nan
    results = Results({}, {("music", "main", 5): msgspec.structs.replace(own, losses=losses)})
    found = intervals(results, ("music", "main", 5), "cordial")
    for k, method in enumerate(("raw", "odds", "vector"), start=1):
        draws = [0, 2, 3] if method == "odds" else slice(None)
        expected = paired_interval((losses[k] - losses[0])[draws])
        np.testing.assert_allclose(found[method], expected, rtol=1e-9)
    assert intervals(results, ("music", "main", 5), "cordial") is found


def test_a_difference_that_noise_hides_is_not_resolved():
    losses = {"cordial": 0.5, "raw": 0.51, "odds": 0.51}
    results = sweep({("music", "main", 5): {"losses": losses, "noise": ["odds"]}})
    product = PRODUCTS["differences"](results)
    assert row(product, method="raw")["resolved"]
    odds = row(product, method="odds")
    assert odds["lower"] < 0 < odds["upper"] and not odds["resolved"]
    assert product.shown.rows[1][-1] == "+0.010"


def test_few_draws_resolve_nothing():
    losses = {"logit-stack": 0.6, "dirichlet": 0.4, "cordial": 0.5}
    failed = [(m, draw) for m in ("logit-stack", "dirichlet") for draw in (1, 3)]
    plan = {"losses": losses, "failed": failed}
    results = sweep({("music", "main", 20): plan, ("music", "main", 50): plan | {"failed": []}})
    curves = PRODUCTS["differences"](results)
    assert [r["resolved"] for r in rows(curves, method="logit-stack")] == [False, True]
    assert [line[-2:] for line in curves.shown.rows][0] == ("+0.100", "**+0.100**")
    assert row(PRODUCTS["crossover"](results))["observed"] == 50
    for name in ("differences", "crossover"):
        assert "fewer than 3 shared draws" in PRODUCTS[name](results).notes[-2]
    single = sweep({("music", "main", 20): plan})
    assert row(PRODUCTS["crossover"](single))["observed"] is None
    assert "report texts only" in PRODUCTS["differences"](single).notes[0]


def test_equivalents_of_curves_straight_in_log_n_are_exact():
    budgets = (5, 10, 20, 50)
    results = sweep(
        {
            ("music", "main", n): {
                "paper": 1.0 - 0.1 * np.log(n),
                "logit-stack": 1.0 - 0.1 * np.log(n) + 0.05,
                "raw": 3.0,
                "odds": 0.1,
            }
            for n in budgets
        }
    )
    product = PRODUCTS["equivalents"](results)
    assert row(product, method="logit-stack")["labels"] == pytest.approx(20 * np.exp(0.5))
    assert row(product, method="raw")["labels"] == np.inf
    assert row(product, method="odds")["labels"] == 5
    assert [line[1] for line in product.shown.rows] == ["33", "> 50", "≤ 5"]


def test_a_curve_is_read_where_a_method_has_one():
    def results(failing):
        failed = [(failing, draw) for draw in range(DRAWS)]
        losses = {5: 0.9, 20: 0.8, 50: 0.4}
        return sweep(
            {
                ("music", "main", n): {
                    "losses": {"cordial": 0.5, "odds": loss},
                    "failed": failed if n == 20 else [],
                }
                for n, loss in losses.items()
            }
        )

    for n in (5, 20):
        found = row(PRODUCTS["equivalents"](results("odds"), n=n), method="odds")
        assert found["labels"] == pytest.approx(5 * 10**0.8)
    without = PRODUCTS["equivalents"](results("cordial"), n=20)
    assert row(without, method="odds")["labels"] is None
    assert without.shown.rows == (("Ordinal regression", "–"),)


def test_the_crossover_is_predicted_from_the_gap_and_observed_when_resolved():
    gaps = {5: -1.0, 20: 0.1, 100: 0.01, 200: 0.0175}
    cells = {
        ("music", "main", n): {
            "losses": {"paper": 0.5, "dirichlet": 0.5 - gap},
            "noise": ["dirichlet"] if n == 20 else [],
        }
        for n, gap in gaps.items()
    }
    cells |= {("film", "main", n): {"paper": 0.5, "dirichlet": 0.6} for n in gaps}
    product = PRODUCTS["crossover"](sweep(cells))
    music = row(product, task="music")
    assert music["delta"] == pytest.approx(0.0175) and music["options"] == SIZE
    assert music["predicted"] == pytest.approx(scores.crossover(12, 5, 0.0175))
    assert music["predicted"] == pytest.approx(200)
    assert music["observed"] == 100 and music["ratio"] == pytest.approx(0.5)
    film = row(product, task="film")
    assert film["predicted"] == film["observed"] == np.inf and film["ratio"] is None
    assert product.shown.rows[1] == ("film", "main", 3, 200, "-0.100", "never", "> 200", "–")
