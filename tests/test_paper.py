"""The paper's own tables and figures: what was planted is found, and one program makes them all."""

from dataclasses import replace

import known_gap
import make
import numpy as np
import pytest
from averaging import averaging_gain
from excess import ExcessLosses
from planted import drawn, row, rows, sweep, two_tasks
from readers import reader_table
from reversals import reversal_shares

from cordial_ppl.errors import InputError
from cordial_ppl.sweep import read_config


def test_reversals_are_shares_of_fits():
    losses = {"raw": 2.0, "vector": 0.9, "shots": 0.9, "cordial": 0.5}
    reversed_ = {"vector": [1, 1, 0, 1], "shots": np.nan}
    results = sweep(
        {("music", "main", n): {"losses": losses, "reversed": reversed_} for n in (5, 20)}
    )
    product = reversal_shares(results)
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
    product = averaging_gain(results)
    assert [r["difference"] for r in product.table.records()] == pytest.approx([0.1, 0.1])
    (axis,) = drawn(product).axes
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    np.testing.assert_allclose(lines["mode"], 0.1)
    assert len(axis.collections) == 1
    other = averaging_gain(results, other="plain")
    assert row(other, n=5)["difference"] == pytest.approx(0.3)


def test_averaging_says_what_to_add_to_the_file():
    results = two_tasks()
    with pytest.raises(InputError, match=r'\[method.mode\] with base = "cordial" and inference'):
        averaging_gain(results)
    with pytest.raises(InputError, match="got 'raw' for both"):
        averaging_gain(results, ours="raw", other="raw")


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
    assert large in product.shown.rows
    assert "4 methods in 7 of 9 settings" in product.notes[0]


def test_the_known_gap_shows_the_parameters_and_the_crossover(monkeypatch):
    def exact(delta, options, draws, seed):
        """What theory says: d / (2 n), whence the lines cross where they should."""
        budgets = np.round((options * (options - 1) - 4) / (2 * delta) * 2.0 ** np.arange(-3, 3))
        cost = np.full((len(budgets), draws), 1 / (2 * budgets[:, None]))
        full = options * (options - 1)
        return ExcessLosses(delta, options, budgets.astype(int), 4 * cost, full * cost, 2 * cost)

    monkeypatch.setattr(known_gap, "around_crossover", exact)
    product = known_gap.gap_table((3,), deltas=(0.01,))
    found = product.table.records()
    assert {own["fit"] for own in found} == {"affine", "full", "shrunk"}
    dimensions = {"affine": 4, "full": 6, "shrunk": 2}
    for own in found:
        assert own["d"] == pytest.approx(dimensions[own["fit"]])
        gap = 0.01 if own["fit"] == "affine" else 0.0
        assert own["over_truth"] == pytest.approx(own["excess"] + gap, rel=1e-3)
    assert "over_truth, which the figure shows, has delta besides" in product.notes[-1]
    (shown,) = product.shown.records()
    assert (shown["K"], shown["n*"], shown["d, full"]) == (3, "100", "6.0")
    assert float(shown["full overtakes, / n*"]) == pytest.approx(1, abs=0.03)
    assert float(shown["full, shrunk overtakes, / n*"]) < 0.2
    assert product.draw is not None
    figure = product.draw()
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    np.testing.assert_allclose(lines["affine"].get_ydata(), lines["gap + d / (2 n)"].get_ydata())


def test_one_program_makes_every_product(tmp_path, monkeypatch, capsys):
    cells = {
        key: dict(zip(own.methods, own.losses.mean((1, 2)), strict=True)) | {"mode": 0.6}
        for key, own in two_tasks().cells.items()
    }
    full, asked = sweep(cells, {"mode": "cordial"}), []

    def run(config, folder, show):
        asked.append((config, folder))
        return full

    monkeypatch.setattr(make, "run_sweep", run)
    monkeypatch.setattr(make, "gap_table", lambda: replace(reversal_shares(full), name="known-gap"))
    monkeypatch.setattr(make, "write_product", lambda product, folder: [product.name])
    assert make.main(["-o", str(tmp_path)]) == 0
    ((config, folder),) = asked
    assert (config.draws, folder) == (20, tmp_path) and "mode" in [m.name for m in config.methods]
    names = [*make.OF_A_SWEEP, "known-gap"]
    assert capsys.readouterr().out.splitlines() == [f"{name}: {name}" for name in names]


def test_a_product_that_cannot_be_made_is_said_and_the_others_are_made(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(make, "run_sweep", lambda *_: two_tasks())
    assert make.main(["--only", "averaging", "reversals", "-o", str(tmp_path)]) == 1
    assert "averaging: this needs a variant" in capsys.readouterr().err
    assert (tmp_path / "reversals.md").exists()


def test_the_known_gap_needs_no_sweep(tmp_path, monkeypatch):
    monkeypatch.delattr(make, "run_sweep")
    monkeypatch.setattr(make, "gap_table", lambda: reversal_shares(two_tasks()))
    assert make.main(["--only", "known-gap", "-o", str(tmp_path)]) == 0


def test_the_papers_whole_grid_can_be_read():
    config = read_config(make.HERE / "grid.toml")
    assert len(config.tasks) == 4 and len(config.methods) == 9 and config.draws == 20
