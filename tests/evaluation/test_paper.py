"""The paper's own tables and figures: what was planted is found, and one program makes them all."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import known_gap
import make
import numpy as np
import pytest
from averaging import averaging_gain
from crossover_table import crossover_table
from differences_table import loss_differences
from equivalents import equivalent_labels
from excess import ExcessLosses
from further_scores import further_scores
from in_context import in_context
from loss_table import loss_table
from planted import DRAWS, SIZE, drawn, row, rows, sweep, two_tasks
from readers import reader_table
from reversals import reversal_shares
from stated_classes import stated_classes

from cordial_ppl import scores
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.subsets import Texts
from cordial_ppl.evaluation.sweep import read_config
from cordial_ppl.evaluation.sweep.tasks import Reading


@pytest.fixture(scope="module")
def results():
    return two_tasks()


def test_differences_are_in_table_and_figure(results):
    product = loss_differences(results)
    film = next(r for r in product.shown.rows() if r[0] == "film" and r[2] == "Dirichlet")
    assert film[3:6] == ("**+0.800**", "**+0.400**", "**+0.100**")
    figure = drawn(product)
    assert [axis.get_title() for axis in figure.axes] == ["music", "film"]
    lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
    np.testing.assert_allclose(lines["Dirichlet"].get_ydata(), [0.8, 0.4, 0.1, -0.05])
    np.testing.assert_array_equal(lines["Dirichlet"].get_xdata(), [5, 20, 100, 200])
    np.testing.assert_allclose(lines["CORDIAL, default (ours)"].get_ydata(), 0)
    low, high = figure.axes[1].get_ylim()
    assert low < -0.05 and high > 1.5


def test_differences_leave_other_forms_of_ours_out_of_the_figure_and_cut_what_is_far():
    losses = {"cordial": 0.5, "paper": 0.4, "raw": 9.0, "odds": 0.7, "vector": 0.8, "batch": 0.9}
    product = loss_differences(sweep({("music", "main", n): losses for n in (5, 20)}))
    assert row(product, n=5, method="paper")["difference"] == pytest.approx(-0.1)
    figure = drawn(product)
    (axis,) = figure.axes
    assert "CORDIAL, literal" not in [line.get_label() for line in axis.get_lines()]
    assert 0.4 < axis.get_ylim()[1] < 1
    assert len(axis.collections) == 3
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Raw reading" not in named and "Ordinal regression" in named
    assert product.caption.endswith("nothing in sight of Raw reading.")


def test_the_first_table_counts_wins_up_to_100_labels_and_not_against_other_forms_of_ours():
    losses = {"cordial": 0.5, "paper": 0.1, "fast": 0.1, "raw": 0.6}
    cells = {("music", "main", n): dict(losses) for n in (2, 100, 200)}
    cells["music", "main", 50] = losses | {"raw": 0.4}
    results = sweep(cells, {"fast": "cordial"})
    product = loss_table(results)
    assert product.shown.columns == ["reader", "method", "music, 200"]
    assert product.shown.rows()[1] == ("main", "CORDIAL, literal", "**0.100**")
    notes = product.notes
    assert "has the lowest log loss of 2 calibrators in 2 of 3 settings" in notes[0]
    assert notes[0].endswith("Not lowest, by nats behind: music, main, 50 (0.100).")
    assert notes[1].startswith("CORDIAL, literal has the lowest log loss of 2 calibrators in 3")
    assert notes[3].startswith("CORDIAL, default is at most as high as CORDIAL, literal in 0")
    assert "Higher, by nats: music, main, 2 (0.400); music, main, 100 (0.400); " in notes[3]
    assert "of 4 calibrators in 0 of 3" in loss_table(results, ours="raw").notes[0]
    chosen = loss_table(results, budgets=[2, 50])
    assert set(chosen.table["n"]) == {2, 50}


def test_further_scores_are_by_method_and_ours_minus_the_stacks_is_paired():
    losses = {"logit-stack": 0.5, "cordial": 0.4, "raw": 1.0}
    rps = {"logit-stack": [0.1, 0.2, 0.3, 0.4], "cordial": [0.05, 0.15, 0.25, 9.0]}
    plan = {"losses": losses, "rps": rps, "failed": [("logit-stack", 3)]}
    product = further_scores(sweep({("music", "main", 20): plan}))
    assert row(product, metric="rps", method="cordial")["value"] == pytest.approx(0.15)
    difference = row(product, metric="rps", method="cordial - logit-stack")
    assert difference["value"] == pytest.approx(-0.05) and difference["draws"] == 3
    assert difference["standard_error"] == pytest.approx(0, abs=1e-12)
    assert set(product.table["metric"]) == {"rps", "accuracy", "qwk", "mae"}
    named = "CORDIAL, default minus Logit stack (LS)"
    assert ("music", "main", "rps", named, "-0.050") in product.shown.rows()


def test_the_crossover_is_predicted_from_the_gap_and_observed_when_resolved():
    gaps = {5: -1.0, 20: 0.1, 50: 0.3, 100: 0.01, 200: 0.0175}
    cells = {
        ("music", "main", n): {
            "losses": {"paper": 0.5, "dirichlet": 0.5 - gap},
            "noise": ["dirichlet"] if n == 20 else [],
            "failed": [("dirichlet", draw) for draw in (1, 3)] if n == 50 else [],
        }
        for n, gap in gaps.items()
    }
    cells |= {("film", "main", n): {"paper": 0.5, "dirichlet": 0.6} for n in gaps}
    product = crossover_table(sweep(cells))
    music = row(product, task="music")
    assert music["delta"] == pytest.approx(0.0175) and music["options"] == SIZE
    assert music["predicted"] == pytest.approx(scores.crossover(12, 5, 0.0175))
    assert music["crosses"] == pytest.approx(5 * 4 ** (1 / 1.1))
    assert music["observed"] == 100 and music["ratio"] == pytest.approx(0.5)
    assert "fewer than 3 shared draws" in product.notes[0]
    film = row(product, task="film")
    assert film["predicted"] == film["observed"] == np.inf and film["ratio"] is None
    assert product.shown.rows()[1] == (
        "film",
        "main",
        3,
        200,
        "-0.100",
        "never",
        "> 200",
        "> 200",
        "–",
    )


@pytest.mark.parametrize(
    ("make", "losses", "settings", "message"),
    [
        (further_scores, {"cordial": 1.0}, {}, "needs the method 'logit-stack': add it to methods"),
        (crossover_table, {"cordial": 1.0}, {}, "needs the method 'dirichlet': add it to methods"),
        (loss_table, {"cordial": 0.5, "paper": 0.5}, {}, "the sweep has none"),
        (loss_differences, {"cordial": 0.5, "paper": 0.5}, {}, "the sweep has none"),
        *(
            (make, {"cordial": 0.5, "logit-stack": 0.5}, {"n": 50}, "needs fits to 50 labels, whi")
            for make in (stated_classes, equivalent_labels, reader_table)
        ),
        (averaging_gain, {"cordial": 0.5}, {}, r'\[method.mode\] with base = "paper" and inf'),
        (averaging_gain, {"raw": 0.5}, {"ours": "raw", "other": "raw"}, "got 'raw' for both"),
    ],
)
def test_what_is_missing_is_named(make, losses, settings, message):
    with pytest.raises(InputError, match=message):
        make(sweep({("music", "main", 20): losses}), **settings)


def test_equivalents_of_curves_straight_in_log_n_are_exact():
    def losses(n):
        curve = 1.0 - 0.1 * np.log(n)
        return {"paper": curve, "logit-stack": curve + 0.05, "raw": 3.0, "odds": 0.1}

    results = sweep({("music", "main", n): losses(n) for n in (5, 10, 20, 50)})
    product = equivalent_labels(results)
    assert row(product, method="logit-stack")["labels"] == pytest.approx(20 * np.exp(0.5))
    assert row(product, method="raw")["labels"] == np.inf
    assert row(product, method="odds")["labels"] == 5
    assert product.shown["music, main"].to_list() == ["33", "> 50", "≤ 5"]


def test_a_curve_is_read_where_a_method_has_one():
    def results(failing):
        failed = [(failing, draw) for draw in range(DRAWS)]
        return sweep(
            {
                ("music", "main", n): {"losses": {"cordial": 0.5, "odds": loss}}
                | {"failed": failed if n == 20 else []}
                for n, loss in {5: 0.9, 20: 0.8, 50: 0.4}.items()
            }
        )

    for n in (5, 20):
        found = row(equivalent_labels(results("odds"), n=n), method="odds")
        assert found["labels"] == pytest.approx(5 * 10**0.8)
    without = equivalent_labels(results("cordial"), n=20)
    assert row(without, method="odds")["labels"] is None
    assert without.shown.rows() == [("Ordinal regression", "–")]


def test_reliability_shows_the_mean_tables_and_their_divergence():
    losses = {"raw": 2.0, "logit-stack": 0.75, "dirichlet": 0.75, "paper": 0.5}
    kl = {"paper": [0.1, 0.3, 0.2, 0.2], "raw": 0.625}
    results = sweep({("music", "main", 20): {"losses": losses, "class_weighted_kl": kl}})
    probs = results.cells["music", "main", 20]["paper"].given_stated
    probs[:, 0] = [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    product = stated_classes(results)
    first = rows(product, method="paper", stated="a")
    assert [(r["label"], r["probability"]) for r in first] == [("a", 0.5), ("b", 0.5), ("c", 0.0)]
    assert first[0]["class_weighted_kl"] == pytest.approx(0.2) and first[0]["texts"] == 4
    people = rows(product, method="empirical")
    assert [r["probability"] for r in people[3:]] == [None] * 3 + [0.0, 0.25, 0.75]
    assert people[3]["texts"] == 0
    assert ("music", "main", "Raw reading", "0.625", 4) in product.shown.rows()
    empirical, raw, ours, stack, dirichlet, _ = drawn(product).axes
    assert raw.get_title().endswith("KL 0.62") and ours.get_title().endswith("KL 0.20")
    shown = np.ma.filled(ours.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown[[0, 2]], [[0.5, 0.5, 0], [0, 0, 1]])
    for axis in (empirical, raw, ours, stack, dirichlet):
        assert [patch.get_hatch() for patch in axis.patches] == ["/////"]


def test_reversals_are_shares_of_fits():
    losses = {"raw": 2.0, "vector": 0.9, "shots": 0.9, "cordial": 0.5}
    reversed_ = {"vector": [1, 1, 0, 1], "shots": np.nan}
    results = sweep(
        {("music", "main", n): {"losses": losses, "reversed": reversed_} for n in (5, 20)}
    )
    product = reversal_shares(results)
    assert row(product, n=5, method="vector")["reversed"] == 0.75
    shown = {line[2]: line[3:] for line in product.shown.rows()}
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
    product = averaging_gain(results)
    assert [r["difference"] for r in product.table.to_dicts()] == pytest.approx([0.1, 0.1])
    (axis,) = drawn(product).axes
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    np.testing.assert_allclose(lines["mode"], 0.1)
    assert len(axis.collections) == 1
    other = averaging_gain(results, other="plain")
    assert row(other, n=5)["difference"] == pytest.approx(0.3)


def test_readers_have_gains_wins_and_the_most_that_ours_trails():
    def losses(best):
        return {"raw": 2.0, "logit-stack": 0.6, "odds": best, "cordial": 0.5}

    plan = {4: 0.1, 5: 0.47, 20: 0.49, 100: 0.5, 200: 0.1}
    cells = {("music", "small", n): losses(best) for n, best in plan.items()}
    cells |= {("film", "small", n): losses(0.7) for n in plan}
    cells |= {("music", "large", n): losses(0.7) for n in plan}
    product = reader_table(sweep(cells))
    music = row(product, reader="small", task="music")
    assert (music["settings"], music["best"]) == (3, 1)
    assert music["trails_by_at_most"] == pytest.approx(0.03)
    assert music["gain"] == pytest.approx(0.1) and music["resolved"]
    both = row(product, reader="small", task="all")
    assert (both["settings"], both["best"]) == (6, 4)
    assert both["trails_by_at_most"] == pytest.approx(0.03)
    assert [r["task"] for r in rows(product, reader="large")] == ["music"]
    large = ("large", "music", "0.500", "+0.100", "[+0.100, +0.100]", "3 of 3", "–")
    assert large in product.shown.rows()
    assert "3 calibrators in 7 of 9 settings" in product.notes[0]


def test_the_known_gap_shows_the_parameters_and_the_crossover(monkeypatch):
    def exact(delta, options, draws, seed):
        """What theory says: d / (2 n), whence the lines cross where they should."""
        budgets = np.round((options * (options - 1) - 4) / (2 * delta) * 2.0 ** np.arange(-3, 3))
        cost = np.full((len(budgets), draws), 1 / (2 * budgets[:, None]))
        full = options * (options - 1)
        return ExcessLosses(delta, options, budgets.astype(int), 4 * cost, full * cost, 2 * cost)

    monkeypatch.setattr(known_gap, "around_crossover", exact)
    product = known_gap.gap_table((3,), deltas=(0.01,))
    found = product.table.to_dicts()
    assert {own["fit"] for own in found} == {"affine", "full", "shrunk"}
    dimensions = {"affine": 4, "full": 6, "shrunk": 2}
    for own in found:
        assert own["d"] == pytest.approx(dimensions[own["fit"]])
        gap = 0.01 if own["fit"] == "affine" else 0.0
        assert own["over_truth"] == pytest.approx(own["excess"] + gap, rel=1e-3)
    assert "over_truth, which the figure shows, has delta besides" in product.notes[-1]
    (shown,) = product.shown.to_dicts()
    assert (shown["K"], shown["n*"], shown["d, full"]) == (3, "100", "6.0")
    assert float(shown["full overtakes, / n*"]) == pytest.approx(1, abs=0.03)
    assert float(shown["full, shrunk overtakes, / n*"]) < 0.2
    assert product.draw is not None
    figure = product.draw()
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    np.testing.assert_allclose(lines["affine"].get_ydata(), lines["gap + d / (2 n)"].get_ydata())


def test_demonstrations_are_compared_on_the_same_labels(monkeypatch):
    """Readings that say nothing, and demonstrations of one option: the stand-in is their shares."""
    pool, report = Texts(np.zeros((30, SIZE))), Texts(np.zeros((4, SIZE)))
    labels, truth = np.full(30, 2), np.array([2, 2, 2, 0])
    scale, ids = Scale.default(SIZE), ("a", "b")
    reading = Reading("music", "main", scale, pool, labels, report, truth, ids, ids)
    monkeypatch.setattr("in_context.load_tasks", lambda config: [reading])
    config: Any = SimpleNamespace(methods=(), draws=DRAWS, seed=0)
    product = in_context(sweep({("music", "main", 20): {"cordial": 0.5}}), config)
    found = row(product, n=20)
    assert found["accuracy_difference"] == pytest.approx(0.75 - 0.5)
    loss = -np.mean(np.log(np.array([21, 21, 21, 1]) / 23))
    assert found["loss_ratio"] == pytest.approx(loss / 0.5) and found["draws"] == DRAWS
    assert "No language model" in product.notes[0]


def test_one_program_makes_every_product(tmp_path, monkeypatch, capsys):
    cells = {
        key: {m: outcome.losses.mean() for m, outcome in plan.items()} | {"mode": 0.6}
        for key, plan in two_tasks().cells.items()
    }
    full, asked = sweep(cells, {"mode": "cordial"}), []

    def run(config, folder):
        asked.append(config)
        return full

    monkeypatch.setattr(make, "run_sweep", run)
    monkeypatch.setattr(make, "write_product", lambda product, folder: [product.name])
    for name in ("gap_table", "fusion_gains", "user_gains", "prior_gains", "in_context"):
        monkeypatch.setattr(make, name, lambda *args, **settings: reversal_shares(full))
    names = [*make.list_makers(tmp_path, None, False)]
    for more in ([], ["--quick"]):
        assert make.main(["-o", str(tmp_path), *more]) == 0
        assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == names
    table, grid, fast, _ = asked
    assert (table.draws, table.budgets[-1], grid.budgets[-1]) == (20, 2000, 100)
    assert "mode" in [m.name for m in table.methods] and grid.tasks["music"].readers is None
    assert fast.draws == 3 and fast.budgets == (5, 20, 100, 200, 500, 2000) and len(fast.tasks) == 2


def test_a_product_that_cannot_be_made_is_said_and_the_others_are_made(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(make, "run_sweep", lambda *_: two_tasks())
    assert make.main(["--only", "averaging", "reversals", "-o", str(tmp_path)]) == 1
    assert "averaging: this needs a variant" in capsys.readouterr().err
    assert (tmp_path / "reversals.md").exists()
    # The known gap needs no sweep.
    monkeypatch.delattr(make, "run_sweep")
    monkeypatch.setattr(make, "gap_table", lambda: replace(crossover_table(two_tasks()), name="k"))
    assert make.main(["--only", "known-gap", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "k.md").exists()
    config = read_config(make.HERE / "grid.toml")
    assert len(config.tasks) == 4 and len(config.methods) == 9 and config.draws == 20
