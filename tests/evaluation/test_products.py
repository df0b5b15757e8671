"""Products of sweeps: what was planted is in their tables, their figures and the files."""

import sys

import matplotlib
import numpy as np
import polars as pl
import pytest
from planted import DRAWS, cell, drawn, row, rows, sweep, two_tasks

from cordial_ppl import plots
from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.evaluation.products import PRODUCTS, write_product
from cordial_ppl.evaluation.products.figure import looking
from cordial_ppl.evaluation.products.product import Product, tabulate
from cordial_ppl.evaluation.products.table import paired_intervals
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.scores import paired_bootstrap

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

KEY = "music", "main", 20


@pytest.fixture(scope="module")
def results():
    return two_tasks()


def test_the_table_has_means_errors_and_paired_intervals(results):
    product = PRODUCTS["table"](results)
    at_20 = row(product, task="film", n=20, method="logit-stack")
    assert at_20["log_loss"] == pytest.approx(0.55) and not at_20["best"]
    found = [at_20[name] for name in ("difference", "lower", "upper")]
    assert found == pytest.approx([0.05] * 3) and at_20["resolved"]
    assert row(product, task="film", n=20, method="cordial")["best"]
    shown = {line[2]: line[3:] for line in product.shown.rows() if line[0] == "film"}
    assert shown["Dirichlet"] == ("1.300 ▲", "0.900 ▲", "0.600 ▲", "**0.450** ▼")
    assert shown["Logit stack (LS)"][2] == "**0.500**"
    uneven = sweep({KEY: {"logit-stack": [1.0, 2.0, 3.0, 4.0], "cordial": 2.25}})
    stack = row(PRODUCTS["table"](uneven), method="logit-stack")
    assert stack["log_loss"] == 2.5
    assert stack["standard_error"] == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)


def test_a_sweep_whose_fits_all_failed_has_no_curves():
    lost = {"losses": {"raw": 1.0}, "failed": [("raw", draw) for draw in range(DRAWS)]}
    with pytest.raises(InputError, match="no fit succeeded"):
        PRODUCTS["curves"](sweep({KEY: lost}))


def test_means_are_over_the_draws_that_all_share():
    losses = {"raw": [9.0, 1.0, 1.0, 5.0], "shots": 1.0, "cordial": [7.0, 2.0, 4.0, 9.0]}
    failed = [("cordial", 0), ("raw", 3), *(("shots", draw) for draw in range(DRAWS))]
    product = PRODUCTS["table"](sweep({KEY: {"losses": losses, "failed": failed}}))
    assert product.table["log_loss"].to_list() == [1.0, None, 3.0]
    note = product.notes[-1]
    assert "6 of the 12 fits failed (Raw reading 1, shots 4, CORDIAL, default 1)" in note
    assert row(product, method="raw")["difference"] == pytest.approx(-2.0)
    shots = row(product, method="shots")
    assert shots["difference"] is shots["lower"] is shots["resolved"] is None
    assert shots["draws"] == 0 and ("music", "main", "shots", "–") in product.shown.rows()


def test_a_method_that_lacks_many_draws_takes_them_from_nobody():
    losses = {"raw": [1, 2, 3, 4], "zero": 5.0, "one": 5.0, "most": 5.0, "cordial": 0.5}
    losses["half"] = 5.0  # Two of the four draws that there are, though two of three with "most".
    only = {"zero": [0, 3], "one": [1], "most": [0, 1, 2], "half": [0, 1]}
    failed = [(m, draw) for m, kept in only.items() for draw in range(DRAWS) if draw not in kept]
    product = PRODUCTS["table"](sweep({KEY: {"losses": losses, "failed": failed}}))
    assert product.table["log_loss"].to_list() == [2.0, None, None, 5.0, 0.5, None]
    assert "half of them or fewer" in product.notes[-1]
    assert row(product, method="one")["draws"] == 1


def test_intervals_are_those_of_one_method_at_a_time():
    rng, plan = np.random.default_rng(0), cell(dict.fromkeys(("cordial", "raw", "odds"), 0.0))
    for outcome in plan.values():
        outcome.losses[:] = rng.normal(0, 1, outcome.losses.shape)
    plan["odds"].scores["log_loss"][1] = np.nan
    results = Results({}, {KEY: plan})
    found = paired_intervals(results, KEY, "cordial")
    for method, draws in {"raw": [0, 1, 2, 3], "odds": [0, 2, 3]}.items():
        expected = paired_bootstrap((plan[method].losses - plan["cordial"].losses)[draws])
        np.testing.assert_allclose(found[method], expected, rtol=1e-9)
    assert paired_intervals(results, KEY, "cordial") is found


def test_noise_and_few_draws_resolve_nothing():
    losses = {"cordial": 0.5, "raw": 0.51, "odds": 0.51, "vector": 0.6}
    failed = [("vector", draw) for draw in (1, 3)]
    results = sweep({KEY: {"losses": losses, "noise": ["odds"], "failed": failed}})
    product = PRODUCTS["table"](results)
    resolved = {r["method"]: r["resolved"] for r in rows(product)}
    assert resolved == {"cordial": None, "raw": True, "odds": False, "vector": False}
    odds = row(product, method="odds")
    assert odds["lower"] < 0 < odds["upper"]
    assert product.notes[0].startswith("Intervals from fewer than 3 shared draws (Vector scaling)")


def test_curves_are_the_means_with_their_errors(results):
    product = PRODUCTS["curves"](results)
    assert row(product, task="film", n=5, method="dirichlet")["log_loss"] == pytest.approx(1.3)
    figure = drawn(product)
    assert [axis.get_title() for axis in figure.axes] == ["music", "film"]
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[1].get_lines()}
    assert lines["Dirichlet"] == pytest.approx([1.3, 0.9, 0.6, 0.45])
    assert figure.axes[1].get_ylim()[1] < 2 and figure.axes[1].get_xscale() == "log"
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Dirichlet" in named and "Raw reading" not in named
    assert product.notes[0] == "Above the figure's range: Raw reading."
    axis = plots.learning_curve(results, "film", methods=["dirichlet", "cordial"])
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    assert lines["Dirichlet"] == pytest.approx([1.3, 0.9, 0.6, 0.45]) and len(lines) == 2
    pyplot.close(axis.figure)
    with pytest.raises(InputError, match="name one task and one judge"):
        plots.learning_curve(results)
    with pytest.raises(InputError, match="needs the method 'odds'"):
        plots.learning_curve(results, "film", methods=["odds"])


def test_long_names_are_whole_and_apart():
    losses = {"raw": 2.0, "logit-stack": 0.6, "dirichlet": 0.7, "cordial": 0.5}
    long = "coherence-of-the-whole", "deepseek-r1-distill-qwen-32b"
    pairs = [(long[0] + task, f"{long[1]}{k}") for task in ("", "s") for k in range(3)]
    figure = drawn(PRODUCTS["curves"](sweep({(*pair, 20): losses for pair in pairs})))
    with looking():
        figure.draw_without_rendering()
    texts = [t for axis in figure.axes for t in (axis.title, axis.yaxis.label) if t.get_text()]
    boxes = [text.get_window_extent() for text in (*texts, *figure.legends)]
    for k, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_what_a_sweeps_file_describes_is_in_every_table_and_figure():
    described = {"two_populations": 0.65, "skewed": 0.55, "stack with two_populations": 0.52}
    losses = {"raw": 0.9, "logit-stack": 0.6, "dirichlet": 0.7, "cordial": 0.5, **described}
    results = sweep({(task, "main", n): losses for task in ("music", "film") for n in (20, 50)})
    for name, make in PRODUCTS.items():
        product = make(results)
        assert product.name == name and product.notes[-1].startswith("None of the ")
        assert product.caption.endswith(".") and ". " not in product.caption
        for shown in (product.shown, product.table):
            assert set(described) <= set(shown["method"])
    figure = drawn(PRODUCTS["curves"](results))
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(described) <= set(named) and len(named) == len(losses)
    for axis in (*figure.axes, plots.learning_curve(results, "film")):
        lines = {line.get_label(): line for line in axis.get_lines()}
        colors = {to_hex(line.get_color()) for line in lines.values()}
        assert set(described) <= lines.keys() and len(colors) == len(losses)
    pyplot.close("all")


def test_what_a_sweep_lacks_is_named(results):
    cells = {key: {m: 1.0 for m in plan if m != "cordial"} for key, plan in results.cells.items()}
    with pytest.raises(InputError, match="none of the methods cordial, paper, paper-one-count"):
        PRODUCTS["table"](sweep(cells))
    with pytest.raises(InputError, match="needs the method 'mine': add it to methods"):
        PRODUCTS["table"](results, ours="mine")


def test_files_hold_the_table_the_page_and_the_figure(results, tmp_path):
    product = PRODUCTS["curves"](results)
    written = write_product(product, tmp_path)
    assert [path.name for path in written] == [
        "curves.csv", "curves.md", "curves.png", "curves.pdf"
    ]  # fmt: skip
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert pl.read_csv(written[0]).rows() == product.table.rows()
    page = written[1].read_text("utf-8")
    assert page.startswith(f"# {product.title}\n\n{product.caption}\n\n![")
    assert "| music | main | Raw reading | 2.000 | 2.000 | 2.000 | 2.000 |" in page
    assert written[2].read_bytes().startswith(b"\x89PNG")
    before = written[3].read_bytes()
    assert before.startswith(b"%PDF")
    write_product(product, tmp_path)
    assert written[3].read_bytes() == before
    odd = tabulate([{"a | b": "a | b\nc", "value": 0.12345, "n": 7, "none": np.nan}])
    lines = Product("odd", "", "", odd, odd).markdown().splitlines()
    assert lines[-3:] == [
        "| a \\| b | value | n | none |",
        "| --- | --- | --- | --- |",
        "| a \\| b c | 0.123 | 7 | – |",
    ]


def test_nothing_is_left_behind_where_a_file_cannot_be_written(results, tmp_path):
    (tmp_path / "curves.pdf").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write_product(PRODUCTS["curves"](results), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["curves.pdf"]


def test_without_matplotlib_tables_are_written_and_figures_left_out(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    product = PRODUCTS["curves"](results)
    with pytest.warns(CordialWarning, match=r'pip install -e "\.\[plots\]"'):
        written = write_product(product, tmp_path)
    assert [path.name for path in written] == ["curves.csv", "curves.md"]
    assert "| Raw reading |" in written[1].read_text() and "![" not in written[1].read_text()
    with pytest.raises(InputError, match=r'pip install -e "\.\[plots\]"'):
        drawn(product)
