"""Analyses of sweeps whose outcome was planted: differences, wins and curves known beforehand."""

import builtins
import csv
import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from cordial_ppl import scores
from cordial_ppl.analyses import paired_interval
from cordial_ppl.cli.sweep import _shown
from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.products import ALL, PRODUCTS, Table, known_gap, write_product
from cordial_ppl.products.differences import intervals
from cordial_ppl.products.figure import looking
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.gap import ExcessLosses

DRAWS, TEXTS, SIZE = 4, 12, 3
SCORES = ("log_loss", "rps", "accuracy", "qwk", "mae", "class_weighted_kl", "reversed")


def cell(key, losses, noise=(), failed=(), **planted):
    """A cell in which methods lose what they are told to, one value or one a draw."""
    methods, (task, reader, n) = tuple(losses), key
    texts = np.linspace(-0.2, 0.2, TEXTS)
    means = np.stack([np.broadcast_to(np.array(losses[m], float), DRAWS) for m in methods])
    per_text = means[:, :, None] + texts
    for method in noise:
        per_text[methods.index(method)] += 5 * np.resize([1.0, -1.0], TEXTS)
    values = {name: means.copy() for name in SCORES} | {"reversed": np.zeros_like(means)}
    for name, own in planted.items():
        for method, row in own.items():
            values[name][methods.index(method)] = row
    given = np.zeros((len(methods), DRAWS, SIZE, SIZE))
    given[:] = np.eye(SIZE)
    given[:, :, 1] = np.nan
    empirical = np.array([[0.5, 0.5, 0.0], [np.nan] * 3, [0.0, 0.25, 0.75]])
    for method, draw in failed:
        row = methods.index(method), draw
        per_text[row], given[row] = np.nan, np.nan
        for own in values.values():
            own[row] = np.nan
    reasons = dict.fromkeys(failed, "no fit")
    stated = np.array([4, 0, TEXTS - 4])
    saturated = np.nan_to_num(given)
    return Cell(
        task, reader, n, methods, per_text, values, given, saturated, empirical, stated, reasons, 1
    )


def sweep(cells, bases=()):
    """Results of cells given by (task, reader, n) as losses, or as keywords of `cell`."""
    made = {
        key: cell(key, **(own if "losses" in own else {"losses": own}))
        for key, own in cells.items()
    }
    bases = {m: m for m in next(iter(made.values())).methods} | dict(bases)
    config = {
        "methods": [{"name": name, "base": base} for name, base in bases.items()],
        "cells": [{"task": t, "reader": r, "n": n, "options": list("abc")} for t, r, n in made],
    }
    return Results(config, made)


@pytest.fixture
def results():
    """Two tasks: ours leads the stack by 0.1, 0.05, 0 and trails Dirichlet from 200 labels on."""
    plan = {5: (0.1, 0.8), 20: (0.05, 0.4), 100: (0.0, 0.1), 200: (0.01, -0.05)}
    return sweep(
        {
            (task, "main", n): {
                "raw": 2.0,
                "logit-stack": 0.5 + stack,
                "dirichlet": 0.5 + other,
                "cordial": 0.5,
            }
            for task in ("music", "film")
            for n, (stack, other) in plan.items()
        }
    )


def drawn(product):
    assert product.draw is not None
    return product.draw()


def rows(product, **wanted):
    found = [r for r in product.table.records() if wanted.items() <= r.items()]
    assert found
    return found


def row(product, **wanted):
    (found,) = rows(product, **wanted)
    return found


def test_every_product_goes_by_its_name(results):
    cells = {
        key: dict(zip(own.methods, own.losses.mean((1, 2)), strict=True)) | {"mode": 0.6}
        for key, own in results.cells.items()
    }
    full = sweep(cells, {"mode": "cordial"})
    for name in ALL:
        make = PRODUCTS[name]
        product = make(full)
        assert product.name == name
        assert product.caption.endswith(".") and ". " not in product.caption
        assert all(len(line) == len(product.shown.header) for line in product.shown.rows)
        assert product.notes[-1].startswith("None of the ")


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
    with_stack = sweep({k: c | {"logit-stack": 0.7} for k, c in cells.items()}, {"fast": "cordial"})
    assert "3 methods in 1 of 2 settings" in PRODUCTS["readers"](with_stack, n=50).notes[0]
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
    curves = PRODUCTS["curves"](results)
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
    assert row(PRODUCTS["curves"](results), method="one")["draws"] == 1
    assert row(PRODUCTS["equivalents"](results), method="one")["log_loss"] == 0.5


def test_an_unknown_lead_is_no_loss():
    losses = {"raw": 1.0, "logit-stack": 0.7, "paper": 0.4, "cordial": 0.5}
    gone = [("cordial", draw) for draw in range(DRAWS)]
    cells = {
        ("music", "main", n): {"losses": losses, "failed": gone if n == 20 else []} for n in (5, 20)
    }
    cells["music", "main", 5]["losses"] = losses | {"paper": 0.6}
    results = sweep(cells)
    first, _, forms, _ = PRODUCTS["table"](results).notes
    assert "3 methods in 1 of 1 settings" in first
    assert first.endswith("Unknown, with too few shared draws: music, main, 20.")
    assert "in 1 of 1 of them. Unknown" in forms
    readers = PRODUCTS["readers"](results)
    assert "in 1 of 1 settings" in readers.notes[0] and "Unknown" in readers.notes[0]
    assert (rows(readers)[0]["settings"], rows(readers)[0]["best"]) == (1, 1)


def test_the_printed_table_says_failed_only_of_methods_that_did():
    failed = [("shots", draw) for draw in range(3)]
    own = cell(("music", "main", 5), {"raw": 1.0, "shots": 1.0}, failed=failed)
    assert _shown(1.0, own, "raw") == "1.000"
    assert _shown(None, own, "shots") == "3 failed"
    assert _shown(None, own, "raw") == "-"


def test_curves_have_planted_differences_in_table_and_figure(results):
    product = PRODUCTS["curves"](results)
    at_20 = row(product, task="film", n=20, method="logit-stack")
    assert at_20["difference"] == pytest.approx(0.05)
    assert [at_20["lower"], at_20["upper"]] == pytest.approx([0.05, 0.05])
    assert at_20["resolved"]
    assert ("film", "main", "Dirichlet", *(f"**{d}**" for d in ("+0.800", "+0.400", "+0.100"))) == (
        next(r for r in product.shown.rows if r[0] == "film" and r[2] == "Dirichlet")[:6]
    )
    figure = drawn(product)
    assert [axis.get_title() for axis in figure.axes] == ["music", "film"]
    lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
    np.testing.assert_allclose(lines["Dirichlet"].get_ydata(), [0.8, 0.4, 0.1, -0.05])
    np.testing.assert_array_equal(lines["Dirichlet"].get_xdata(), [5, 20, 100, 200])
    np.testing.assert_allclose(lines["CORDIAL, default (ours)"].get_ydata(), 0)
    assert figure.axes[1].get_xscale() == "log"
    low, high = figure.axes[1].get_ylim()
    assert low < -0.05 and high > 1.5


def test_curves_leave_other_forms_of_ours_out_of_the_figure_and_cut_what_is_far():
    losses = {"cordial": 0.5, "paper": 0.4, "raw": 9.0, "odds": 0.7, "vector": 0.8, "batch": 0.9}
    product = PRODUCTS["curves"](sweep({("music", "main", n): losses for n in (5, 20)}))
    assert row(product, n=5, method="paper")["difference"] == pytest.approx(-0.1)
    figure = drawn(product)
    (axis,) = figure.axes
    assert "CORDIAL, literal" not in [line.get_label() for line in axis.get_lines()]
    assert 0.4 < axis.get_ylim()[1] < 1
    assert len(axis.collections) == 3
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Raw reading" not in named and "Ordinal regression" in named
    assert product.caption.endswith("nothing in sight of Raw reading.")


def test_one_wild_curve_leaves_the_others_their_range_and_is_named_where_it_is_hidden():
    wild = {5: 4.0, 10: 0.3, 20: 0.1}
    cells = {
        (task, "main", n): {
            "losses": {"cordial": 0.5, "logit-stack": 0.63, "dirichlet": 0.5 + own, "raw": raw},
            "noise": ["dirichlet"] if n == 5 else [],
        }
        for n, own in wild.items()
        for task, raw in (("film", 0.55), ("music", 7.0))
    }
    product = PRODUCTS["curves"](sweep(cells))
    assert product.caption.endswith("nothing in sight of Raw reading (in music).")
    figure = drawn(product)
    for axis in figure.axes:
        low, high = axis.get_ylim()
        assert 0.13 > 0.05 * (high - low)
    assert "Raw reading" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_who_leads_ours_is_in_sight_however_far():
    losses = {"cordial": 5.0, "logit-stack": 5.1, "odds": 5.1, "vector": 5.2, "raw": 0.5}
    results = sweep({("music", "main", n): losses | {"raw": 9.0 - n} for n in (1, 2, 8)})
    (axis,) = drawn(PRODUCTS["curves"](results)).axes
    assert axis.get_ylim()[0] < -4 and axis.get_ylim()[1] < 4


def test_a_row_of_panels_holds_one_tasks_readers():
    pairs = [("music", "a"), ("music", "b"), ("music", "c"), ("film", "d"), ("books", "e")]
    losses = {"raw": 1.0, "cordial": 0.5}
    figure = drawn(PRODUCTS["reversals"](sweep({(*pair, 20): losses for pair in pairs})))
    found = {}
    for axis in figure.axes:
        place = axis.get_subplotspec()
        found.setdefault(place.rowspan.start, []).append(axis.get_title())
    assert list(found.values()) == [["music, a", "music, b", "music, c"], ["film, d"], ["books, e"]]
    single = drawn(PRODUCTS["reversals"](sweep({(t, "a", 5): losses for t in "abcde"})))
    assert [axis.get_subplotspec().rowspan.start for axis in single.axes] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("name", ["curves", "reliability", "reversals"])
@pytest.mark.parametrize("readers", [2, 3])
def test_long_names_are_whole_and_apart(name, readers):
    losses = {"raw": 2.0, "logit-stack": 0.6, "dirichlet": 0.7, "cordial": 0.5}
    long = "coherence-of-the-whole", "deepseek-r1-distill-qwen-32b"
    pairs = [(long[0] + task, f"{long[1]}{k}") for task in ("", "s") for k in range(readers)]
    figure = drawn(PRODUCTS[name](sweep({(*pair, 20): losses for pair in pairs})))
    with looking():
        figure.draw_without_rendering()
    texts = [t for axis in figure.axes for t in (axis.title, axis.yaxis.label) if t.get_text()]
    boxes = [text.get_window_extent() for text in (*texts, *figure.legends)]
    for k, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_intervals_are_those_of_one_method_at_a_time():
    rng = np.random.default_rng(0)
    own = cell(("music", "main", 5), {"cordial": 0.0, "raw": 0.0, "odds": 0.0, "vector": 0.0})
    losses = rng.normal(0, [[[1.0]], [[2.0]], [[0.5]], [[1.0]]], own.losses.shape)
    losses[2, 1], own.scores["log_loss"][2, 1] = np.nan, np.nan
    results = Results({}, {("music", "main", 5): dataclasses.replace(own, losses=losses)})
    found = intervals(results, ("music", "main", 5), "cordial")
    for k, method in enumerate(("raw", "odds", "vector"), start=1):
        draws = [0, 2, 3] if method == "odds" else slice(None)
        expected = paired_interval((losses[k] - losses[0])[draws])
        np.testing.assert_allclose(found[method], expected, rtol=1e-9)
    assert intervals(results, ("music", "main", 5), "cordial") is found


def test_a_difference_that_noise_hides_is_not_resolved():
    losses = {"cordial": 0.5, "raw": 0.51, "odds": 0.51}
    results = sweep({("music", "main", 5): {"losses": losses, "noise": ["odds"]}})
    product = PRODUCTS["curves"](results)
    assert row(product, method="raw")["resolved"]
    odds = row(product, method="odds")
    assert odds["lower"] < 0 < odds["upper"] and not odds["resolved"]
    assert product.shown.rows[1][-1] == "+0.010"


def test_few_draws_resolve_nothing():
    losses = {"logit-stack": 0.6, "dirichlet": 0.4, "cordial": 0.5}
    failed = [(m, draw) for m in ("logit-stack", "dirichlet") for draw in (1, 3)]
    plan = {"losses": losses, "failed": failed}
    results = sweep({("music", "main", 20): plan, ("music", "main", 50): plan | {"failed": []}})
    curves = PRODUCTS["curves"](results)
    assert [r["resolved"] for r in rows(curves, method="logit-stack")] == [False, True]
    assert [line[-2:] for line in curves.shown.rows][0] == ("+0.100", "**+0.100**")
    assert not rows(PRODUCTS["readers"](results))[0]["resolved"]
    assert row(PRODUCTS["crossover"](results))["observed"] == 50
    for name in ("curves", "readers", "crossover"):
        assert "fewer than 3 shared draws" in PRODUCTS[name](results).notes[-2]
    single = sweep({("music", "main", 20): plan})
    assert row(PRODUCTS["crossover"](single))["observed"] is None
    assert "report texts only" in PRODUCTS["averaging"](single, other="dirichlet").notes[0]


def test_reliability_shows_the_mean_tables_and_their_divergence():
    losses = {"raw": 2.0, "logit-stack": 0.75, "dirichlet": 0.75, "paper": 0.5}
    kl = {"paper": [0.1, 0.3, 0.2, 0.2], "raw": 0.625}
    results = sweep({("music", "main", 20): {"losses": losses, "class_weighted_kl": kl}})
    given = results.cells["music", "main", 20].given_stated
    given[3, :, 0] = [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    product = PRODUCTS["reliability"](results)
    first = rows(product, method="paper", stated="a")
    assert [r["probability"] for r in first] == [0.5, 0.5, 0.0]
    assert [r["label"] for r in first] == ["a", "b", "c"]
    assert first[0]["class_weighted_kl"] == pytest.approx(0.2) and first[0]["texts"] == 4
    people = rows(product, method="empirical")
    assert [r["probability"] for r in people[-3:]] == [0.0, 0.25, 0.75]
    assert people[3]["probability"] is None and people[3]["texts"] == 0
    assert ("music", "main", "Raw reading", "0.625", 4) in product.shown.rows
    figure = drawn(product)
    empirical, raw, ours, stack, dirichlet, _ = figure.axes
    assert raw.get_title().endswith("KL 0.62") and ours.get_title().endswith("KL 0.20")
    shown = np.ma.filled(ours.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown[[0, 2]], [[0.5, 0.5, 0], [0, 0, 1]])
    for axis in (empirical, raw, ours, stack, dirichlet):
        assert [patch.get_hatch() for patch in axis.patches] == ["/////"]


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


def test_reversals_are_shares_of_fits():
    losses = {"raw": 2.0, "vector": 0.9, "shots": 0.9, "cordial": 0.5}
    reversed_ = {"vector": [1, 1, 0, 1], "shots": np.nan}
    results = sweep(
        {("music", "main", n): {"losses": losses, "reversed": reversed_} for n in (5, 20)}
    )
    product = PRODUCTS["reversals"](results)
    assert row(product, n=5, method="vector")["reversed"] == 0.75
    shown = {line[2]: line[3:] for line in product.shown.rows}
    assert shown["Vector scaling"] == ("75 %", "75 %")
    assert shown["CORDIAL, default"] == ("0 %", "0 %") and shown["shots"] == ("–", "–")
    (axis,) = drawn(product).axes
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    assert lines.keys() == {"Vector scaling", "CORDIAL, default"}
    np.testing.assert_array_equal(lines["Vector scaling"], 0.75)
    np.testing.assert_array_equal(lines["CORDIAL, default"], 0)


def test_averaging_compares_a_variant_with_its_base():
    losses = {"cordial": 0.4, "paper": 0.3, "mode": 0.5, "plain": 0.6}
    bases = {"mode": "cordial", "plain": "paper"}
    results = sweep({("music", "main", n): losses for n in (5, 20)}, bases)
    product = PRODUCTS["averaging"](results)
    assert [r["difference"] for r in product.table.records()] == pytest.approx([0.1, 0.1])
    (axis,) = drawn(product).axes
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    np.testing.assert_allclose(lines["mode"], 0.1)
    assert len(axis.collections) == 1
    other = PRODUCTS["averaging"](results, other="plain")
    assert row(other, n=5)["difference"] == pytest.approx(0.3)


def test_averaging_says_what_to_add_to_the_file(results):
    with pytest.raises(InputError, match=r'\[method.mode\] with base = "cordial" and inference'):
        PRODUCTS["averaging"](results)
    with pytest.raises(InputError, match="got 'raw' for both"):
        PRODUCTS["averaging"](results, ours="raw", other="raw")


def test_readers_have_gains_wins_and_the_most_that_ours_trails():
    def losses(best):
        return {"raw": 2.0, "logit-stack": 0.6, "odds": best, "cordial": 0.5}

    plan = {4: 0.1, 5: 0.47, 20: 0.49, 100: 0.5, 200: 0.1}
    cells = {("music", "small", n): losses(best) for n, best in plan.items()}
    cells |= {("film", "small", n): losses(0.7) for n in plan}
    cells |= {("music", "large", n): losses(0.7) for n in plan}
    product = PRODUCTS["readers"](sweep(cells))
    music = row(product, reader="small", task="music")
    assert (music["settings"], music["best"]) == (3, 1)
    assert music["trails_by_at_most"] == pytest.approx(0.03)
    assert music["gain"] == pytest.approx(0.1) and music["resolved"]
    both = row(product, reader="small", task="all")
    assert (both["settings"], both["best"]) == (6, 4)
    assert both["trails_by_at_most"] == pytest.approx(0.03)
    assert [r["task"] for r in rows(product, reader="large")] == ["music"]
    large = ("large", "music", "0.500", "+0.100", "[+0.100, +0.100]", "3 of 3", "–")
    assert large in product.shown.rows
    assert "4 methods in 7 of 9 settings" in product.notes[0]


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


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("reliability", "raw"),
        ("reliability", "dirichlet"),
        ("scores", "logit-stack"),
        ("readers", "logit-stack"),
        ("crossover", "dirichlet"),
    ],
)
def test_a_missing_method_is_named(results, name, method):
    cells = {
        key: {m: 1.0 for m in own.methods if m != method} for key, own in results.cells.items()
    }
    with pytest.raises(InputError, match=f"needs the method '{method}': add it to methods"):
        PRODUCTS[name](sweep(cells))


@pytest.mark.parametrize("name", [name for name in ALL if name != "averaging"])
def test_a_sweep_without_ours_is_refused(results, name):
    cells = {
        key: {m: 1.0 for m in own.methods if m != "cordial"} for key, own in results.cells.items()
    }
    with pytest.raises(InputError, match="none of the methods cordial, paper, paper-one-count"):
        PRODUCTS[name](sweep(cells))
    with pytest.raises(InputError, match="needs the method 'own'"):
        PRODUCTS[name](results, ours="own")


@pytest.mark.parametrize("name", ["table", "curves", "equivalents", "readers"])
def test_ours_alone_is_compared_with_nothing(name):
    losses = {"cordial": 0.5, "paper": 0.5, "logit-stack": 0.6}
    alone = {m: losses[m] for m in ("cordial", "paper")} if name != "readers" else losses
    results = sweep({("music", "main", 20): alone}, {"logit-stack": "cordial"})
    with pytest.raises(InputError, match="the sweep has none"):
        PRODUCTS[name](results)


@pytest.mark.parametrize("name", ["reliability", "equivalents", "readers"])
def test_a_missing_budget_is_named(results, name):
    with pytest.raises(InputError, match="needs fits to 50 labels, which 'music' read by 'main'"):
        PRODUCTS[name](results, n=50)
    with pytest.raises(InputError, match="add 50 to budgets"):
        PRODUCTS["table"](results, budgets=[20, 50])


def test_the_table_has_all_budgets_where_the_papers_are_missing():
    results = sweep({("music", "main", n): {"raw": 1.0, "cordial": 0.5} for n in (4, 9)})
    assert PRODUCTS["table"](results).shown.header[2:] == ("music, 4", "music, 9")


def test_files_hold_the_table_the_page_and_the_figure(results, tmp_path):
    product = PRODUCTS["reversals"](results)
    written = write_product(product, tmp_path)
    assert [path.name for path in written] == [
        "reversals.csv",
        "reversals.md",
        "reversals.png",
        "reversals.pdf",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    with written[0].open(newline="", encoding="utf-8") as file:
        header, first, *rest = csv.reader(file)
    assert tuple(header) == product.table.header and len(rest) + 1 == len(product.table.rows)
    assert first[:4] == ["music", "main", "5", "raw"]
    page = written[1].read_text("utf-8")
    assert page.startswith(f"# {product.title}\n\n{product.caption}\n\n![")
    assert "| music | main | Raw reading | 0 % | 0 % | 0 % | 0 % |" in page
    assert written[2].read_bytes().startswith(b"\x89PNG")
    assert written[3].read_bytes().startswith(b"%PDF")
    before = written[3].read_bytes()
    write_product(product, tmp_path)
    assert written[3].read_bytes() == before


def test_nothing_is_left_behind_where_a_file_cannot_be_written(results, tmp_path):
    (tmp_path / "reversals.pdf").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write_product(PRODUCTS["reversals"](results), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["reversals.pdf"]
    with pytest.raises(FileError, match="nowhere"):
        write_product(PRODUCTS["table"](results), tmp_path / "nowhere")


def test_without_matplotlib_tables_are_written_and_figures_left_out(results, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    product = PRODUCTS["reversals"](results)
    with pytest.warns(CordialWarning, match=r'pip install "cordial-ppl\[plots\]"'):
        written = write_product(product, tmp_path)
    assert [path.name for path in written] == ["reversals.csv", "reversals.md"]
    assert "| Raw reading |" in written[1].read_text() and "![" not in written[1].read_text()
    assert len(write_product(PRODUCTS["table"](results), tmp_path)) == 2
    with pytest.raises(InputError, match=r'pip install "cordial-ppl\[plots\]"'):
        drawn(product)


def test_a_table_in_markdown_keeps_its_cells_apart():
    table = Table.of(
        [{"name": "a | b\nc", "value": 0.12345, "sure": True, "n": 7, "none": float("nan")}]
    )
    assert table.markdown().splitlines()[2] == "| a \\| b c | 0.123 | yes | 7 | – |"
    assert table.rows[0][-1] is None


def test_the_known_gap_shows_the_parameters_and_the_crossover(monkeypatch):
    def exact(delta, options, draws, seed):
        """What theory says: d / (2 n), whence the lines cross where they should."""
        budgets = np.round((options * (options - 1) - 4) / (2 * delta) * 2.0 ** np.arange(-3, 3))
        cost = np.full((len(budgets), draws), 1 / (2 * budgets[:, None]))
        full = options * (options - 1)
        return ExcessLosses(delta, options, budgets.astype(int), 4 * cost, full * cost, 2 * cost)

    monkeypatch.setattr(known_gap, "around_crossover", exact)
    product = known_gap.gap_table(sweep({("music", "main", 20): {"cordial": 0.5}}), deltas=(0.01,))
    found = product.table.records()
    assert {row["fit"] for row in found} == {"affine", "full", "shrunk"}
    dimensions = {"affine": 4, "full": 6, "shrunk": 2}
    for row in found:
        assert row["d"] == pytest.approx(dimensions[row["fit"]])
        gap = 0.01 if row["fit"] == "affine" else 0.0
        assert row["over_truth"] == pytest.approx(row["excess"] + gap, rel=1e-3)
    assert "over_truth, which the figure shows, has delta besides" in product.notes[-1]
    (shown,) = product.shown.records()
    assert (shown["K"], shown["n*"], shown["d, full"]) == (3, "100", "6.0")
    assert float(shown["full overtakes, / n*"]) == pytest.approx(1, abs=0.03)
    assert float(shown["full, shrunk overtakes, / n*"]) < 0.2
    assert product.draw is not None
    figure = product.draw()
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    np.testing.assert_allclose(lines["affine"].get_ydata(), lines["gap + d / (2 n)"].get_ydata())


def test_two_options_have_no_known_gap():
    results = sweep({("music", "main", 20): {"cordial": 0.5}})
    (key,) = results.cells
    own = results.cells[key]
    tables = {
        name: getattr(own, name)[..., :2, :2] for name in ("given_stated", "saturated", "empirical")
    }
    two = replace(own, stated=own.stated[:2], **tables)
    with pytest.raises(InputError, match="three options or more"):
        known_gap.gap_table(Results(results.config, {key: two}))
