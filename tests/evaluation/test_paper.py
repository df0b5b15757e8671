"""The paper's own tables and figures: what was planted is found, and one program makes them all."""

from dataclasses import replace

import make
import matplotlib
import numpy as np
import polars as pl
import pytest
from comparison import measure_intervals
from crossover_table import crossover_table
from differences_table import averaging_gain, loss_differences
from equivalents import equivalent_labels
from further_scores import further_scores
from in_context import in_context
from ledger import Ledger
from loss_table import loss_table
from planted import DRAWS, SIZE, drawn, row, rows, sweep, two_tasks
from product import Product
from readers import reader_table
from reversals import reversal_shares
from scipy.special import softmax
from stated_classes import stated_classes
from sweep_files import make_parts, tasks_of, write_sweep

from cordial_ppl import scores
from cordial_ppl.evaluation.methods import NINE, make_methods
from cordial_ppl.evaluation.sweeps import list_jobs

matplotlib.use("Agg")
KEY = "music", "main", 20


@pytest.fixture(scope="module")
def results():
    return two_tasks()


def test_differences_are_in_table_and_figure(results):
    product, planted = loss_differences(results), [0.8, 0.4, 0.1, -0.05]
    film = rows(product, task="film", method="dirichlet")
    np.testing.assert_allclose([r["difference"] for r in film], planted)
    lines = {line.get_label(): line for line in drawn(product).axes[1].get_lines()}
    np.testing.assert_allclose(lines["Dirichlet"].get_ydata(), planted)
    np.testing.assert_array_equal(lines["Dirichlet"].get_xdata(), [5, 20, 100, 200])


def test_the_first_table_counts_wins_up_to_100_labels_and_not_against_other_forms_of_ours():
    losses = {"paper": 0.5, "cordial": 0.1, "mode": 0.1, "raw": 0.6}
    cells = {("music", "main", n): dict(losses) for n in (2, 100, 200)}
    cells["music", "main", 50] = losses | {"raw": 0.4}
    results = sweep(cells)
    product = loss_table(results)
    ours, default, _, against, *_ = product.notes
    assert "of 2 calibrators in 2 of 3 settings" in ours and "music, main, 50 (0.100)" in ours
    assert "of 2 calibrators in 3 of 3" in default
    assert "music, main, 2 (0.400); music, main, 100 (0.400); " in against
    assert "of 4 calibrators in 0 of 3" in loss_table(results, ours="raw").notes[0]


def test_means_are_over_the_draws_that_all_share():
    losses = {"raw": [9.0, 1.0, 1.0, 5.0], "odds": 1.0, "paper": [7.0, 2.0, 4.0, 9.0]}
    failed = [("paper", 0), ("raw", 3), *(("odds", draw) for draw in range(DRAWS))]
    results = sweep({KEY: {"losses": losses, "failed": failed}})
    product = loss_table(results)
    assert product.table["log_loss"].to_list() == [1.0, None, 3.0]
    assert product.table["standard_error"].to_list() == [0.0, None, 1.0]
    assert "6 of the 12 fits" in product.notes[-1]
    differences = loss_differences(results)
    assert row(differences, method="raw")["difference"] == pytest.approx(-2.0)
    odds = row(differences, method="odds")
    assert odds["difference"] is odds["lower"] is odds["resolved"] is None and odds["draws"] == 0


def test_intervals_are_those_of_one_method_at_a_time():
    rng = np.random.default_rng(0)
    losses = {method: rng.normal(0, 1, (4, 12)) for method in ("paper", "raw", "odds", "none")}
    losses["odds"][1] = losses["none"][:] = np.nan
    intervals = measure_intervals(losses, "paper")
    assert intervals.keys() == {"raw", "odds"}
    for method, draws in {"raw": [0, 1, 2, 3], "odds": [0, 2, 3]}.items():
        expected = scores.paired_bootstrap((losses[method] - losses["paper"])[draws])
        np.testing.assert_allclose(intervals[method], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("make_product", "which", "expected"),
    [
        (
            further_scores,
            {"method": "paper", "metric": "rps"},
            {"value": 0.15, "standard_error": 0.1 / 3**0.5, "draws": 3},
        ),
        (
            further_scores,
            {"method": "paper - logit-stack", "metric": "rps"},
            {"value": -0.05, "standard_error": 0.0},
        ),
        (reversal_shares, {"method": "vector"}, {"reversed": 2 / 3, "standard_error": 1 / 3}),
        (reversal_shares, {"method": "paper"}, {"reversed": 0.0}),
        (averaging_gain, {"method": "mode"}, {"difference": 0.1, "standard_error": 0.0}),
    ],
)
def test_a_product_has_what_was_planted(make_product, which, expected):
    losses = dict.fromkeys(("raw", "vector", "logit-stack"), 0.9)
    losses |= {"cordial": 0.3, "mode": 0.5, "paper": 0.4}
    rps = {"logit-stack": [0.1, 0.2, 0.3, 0.4], "paper": [0.05, 0.15, 0.25, 9.0]}
    plan = {"losses": losses, "rps": rps, "reversed": {"vector": [1, 1, 0, 1]}}
    plan |= {"failed": [("logit-stack", 3), ("vector", 3)]}
    product = make_product(sweep({("music", "main", n): plan for n in (5, 20)}))
    found = row(product, n=20, **which)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert product.draw is None or product.draw().axes


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
    film = row(product, task="film")
    assert film["predicted"] == film["observed"] == np.inf and film["ratio"] is None


def test_equivalents_of_curves_straight_in_log_n_are_exact():
    def losses(n):
        curve = 1.0 - 0.1 * np.log(n)
        return {"paper": curve, "logit-stack": curve + 0.05, "raw": 3.0, "odds": 0.1}

    results = sweep({("music", "main", n): losses(n) for n in (5, 10, 20, 50)})
    product = equivalent_labels(results)
    assert row(product, method="logit-stack")["labels"] == pytest.approx(20 * np.exp(0.5))
    assert row(product, method="raw")["labels"] == np.inf
    assert row(product, method="odds")["labels"] == 5


def test_an_equivalent_has_the_error_of_its_draws():
    """Draws that move the whole curve by a factor of n move the labels by it."""
    paths = 0.01 * np.array([-3.0, 1.0, 1.0, 1.0])

    def losses(n):
        curve = 1.0 - 0.1 * np.log(n)
        return {"paper": curve, "logit-stack": curve + 0.05 + paths}

    results = sweep({("music", "main", n): losses(n) for n in (5, 10, 20, 50)})
    found = row(equivalent_labels(results), method="logit-stack")
    without = 20 * np.exp(0.5 + np.array([np.delete(paths, k).mean() for k in range(4)]) / 0.1)
    error = np.sqrt(3 / 4 * np.sum((without - without.mean()) ** 2))
    assert found["standard_error"] == pytest.approx(error) and error > 0.5
    shown = equivalent_labels(results).shown["music, main"].to_list()
    assert f"33 ± {error:.0f}" in shown


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
    shown = np.ma.filled(drawn(product).axes[2].images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown[[0, 2]], [[0.5, 0.5, 0], [0, 0, 1]])


def test_readers_have_gains_wins_and_the_most_that_ours_trails():
    def losses(best):
        return {"raw": 2.0, "logit-stack": 0.6, "odds": best, "paper": 0.5}

    plan = {4: 0.1, 5: 0.47, 20: 0.49, 100: 0.5, 200: 0.1}
    cells = {("music", "small", n): losses(best) for n, best in plan.items()}
    cells |= {("film", "small", n): losses(0.7) for n in plan}
    cells |= {("music", "large", n): losses(0.7) for n in plan}
    product = reader_table(sweep(cells))
    music = row(product, reader="small", task="music")
    assert (music["settings"], music["best"]) == (3, 1)
    assert music["trails_by_at_most"] == pytest.approx(0.03)
    assert music["gain"] == pytest.approx(0.1) and music["resolved"]
    noisy = np.linspace(0.45, 0.75, 4)
    cells |= {("film", "small", 20): {"logit-stack": noisy, "odds": 0.7, "raw": 2.0, "paper": 0.5}}
    gain = row(reader_table(sweep(cells)), reader="small", task="all")
    assert gain["gain_error"] == pytest.approx(noisy.std(ddof=1) / 2 / 2)
    both = row(product, reader="small", task="all")
    assert (both["settings"], both["best"]) == (6, 4)
    assert both["trails_by_at_most"] == pytest.approx(0.03)
    assert [r["task"] for r in rows(product, reader="large")] == ["music"]


def test_demonstrations_are_compared_on_the_same_labels():
    """Demonstrations of one option, by readings that say nothing: the stand-in moves to it."""
    results = sweep({KEY: {"paper": 0.5}})
    found = row(in_context(results), n=20)
    task = results.tasks["music", "main"]
    factor = (np.array([1, 1, 21]) / 23) / ((20 / 3 + 1) / 23)
    shares = softmax(task.report.logits, axis=1) * factor
    shares /= shares.sum(axis=1, keepdims=True)
    accuracy, loss = (f(shares, task.report.labels) for f in (scores.accuracy, scores.log_loss))
    assert found["accuracy_difference"] == pytest.approx(accuracy - 0.5)
    assert found["loss_ratio"] == pytest.approx(loss / 0.5) and found["draws"] == DRAWS


def test_a_ledger_keeps_what_parts_say_and_goes_on_from_it(tmp_path, monkeypatch):
    write_sweep(tmp_path)
    tasks = tasks_of(tmp_path)
    methods = make_methods(["raw", "histogram"]) | {"paper": make_methods(["odds"])["odds"]}
    sweep = tasks, methods, [4, 20], 3
    lost = make_parts(*sweep, tmp_path / "parts")[1]  # Of a, 4 labels, raw, draw 1.
    pl.read_parquet(lost).with_columns(
        pl.when(False).then(pl.exclude("task", "reader", "method", "n", "draw"))
    ).write_parquet(lost)
    ledger = Ledger(tmp_path, tmp_path / "parts")
    results = ledger.sweep(*sweep)
    assert results.pairs == (("stars", "a"), ("stars", "b")) and [*results.methods] == [*methods]
    assert results.budgets("stars", "a") == (4, 20)
    for job in list_jobs(*sweep, tmp_path / "parts"):
        outcome = results.cells["stars", job.task.reader, job.n][job.method]
        part, kept = pl.read_parquet(job.path).row(0, named=True), job.n == 20
        if job.path == lost:
            assert np.isnan([outcome.scores["log_loss"][1], outcome.scores["rps"][1]]).all()
            continue
        for score in ("log_loss", "rps", "accuracy", "reversed"):
            assert outcome.scores[score][job.draw] == pytest.approx(part[score], abs=6e-5)
        shares = outcome.given_stated[job.draw].ravel()
        if kept and job.method != "histogram":
            np.testing.assert_allclose(shares, np.array(part["given_stated"], float), atol=6e-5)
        if job.method != "paper":
            assert outcome.interval and outcome.interval.lower < outcome.interval.upper
    # What is finished needs neither fits nor parts; another number of draws is not finished.
    with monkeypatch.context() as patch:
        patch.setattr("ledger.fit_jobs", lambda *_, **__: pytest.fail("fitted again"))
        again = Ledger(tmp_path, tmp_path / "nowhere").sweep(*sweep)
    np.testing.assert_equal(again.cells, results.cells)
    more = ledger.sweep(tasks, methods | make_methods(["batch"]), [4], 4)
    for cell in more.cells.values():
        assert {len(each.scores["rps"]) for each in cell.values()} == {4}


def test_the_grid_is_the_papers_and_what_a_sweep_takes(tmp_path, cordial):
    size = make.read_grid(make.GRID, quick=False)
    assert sorted(size.methods) == sorted(NINE) and (size.draws, len(size.tasks)) == (20, 4)
    assert size.budgets == (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    write_sweep(tmp_path)
    less = "--budgets", "9", "--draws", 2, "--methods", "raw", "--report", 30
    tables = tmp_path / "stars.parquet", tmp_path / "labels.csv"
    cordial("sweep", *tables, "--config", make.GRID, *less, "-o", tmp_path / "o.csv")
    assert pl.read_csv(tmp_path / "o.csv")["method"].unique().to_list() == ["raw"]


def test_one_program_makes_every_product(tmp_path, monkeypatch, capsys):
    cells = {
        key: {m: outcome.scores["log_loss"].mean() for m, outcome in plan.items()} | {"mode": 0.6}
        for key, plan in two_tasks().cells.items()
    }
    full, asked = sweep(cells), []
    monkeypatch.setattr(Ledger, "sweep", lambda ledger, *sweep: asked.append(sweep) or full)
    for name in ("gap_table", "fusion_gains", "user_gains", "prior_gains", "timings"):
        monkeypatch.setattr(make, name, lambda *args, **settings: reversal_shares(full))
    monkeypatch.setattr(Product, "write", lambda product, folder: [folder / product.name])
    ledger, results = Ledger(tmp_path, tmp_path), ["--results", str(tmp_path)]
    names = [*make.list_makers(ledger, make.read_grid(make.GRID, quick=True))]
    for more in (results, ["--quick"]):
        assert make.main(["-o", str(tmp_path), *more]) == 0
        assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == names
    table, grid, fast, fewer = asked
    assert (table[3], table[2][-1], grid[2][-1], fewer[2]) == (20, 2000, 2000, (5, 20, 100))
    assert len(table[0]) == 4 and len(grid[0]) == 16 and len(grid[1]) == 9
    assert "mode" in table[1] and fast[2:] == ((5, 20, 100, 200, 500, 2000), 3)
    assert {task.name for task in fast[0]} == {"music", "mosei"}


def test_a_product_that_cannot_be_made_is_said_and_the_others_are_made(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(Ledger, "sweep", lambda *_: two_tasks())
    assert make.main(["--quick", "--only", "averaging", "reversals", "-o", str(tmp_path)]) == 1
    assert "averaging: " in capsys.readouterr().err
    endings = {path.suffix for path in tmp_path.glob("reversals.*")}
    assert endings == {".csv", ".md", ".pdf", ".png"}
    page = (tmp_path / "reversals.md").read_text("utf-8")
    assert "| music | main | Raw reading | 0 % | 0 % | 0 % | 0 % |" in page
    # The known gap needs no sweep.
    monkeypatch.delattr(Ledger, "sweep")
    made = replace(crossover_table(two_tasks()), name="k")
    monkeypatch.setattr(make, "gap_table", lambda ledger, **_: made)
    assert make.main(["--quick", "--only", "known-gap", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "k.md").exists()
