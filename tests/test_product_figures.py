"""Figures of sweeps: what was planted is drawn, in sight, and named."""

import matplotlib
import numpy as np
import pytest
from make import OF_A_SWEEP as PRODUCTS
from planted import drawn, row, rows, sweep, two_tasks

from cordial_ppl import plots
from cordial_ppl.errors import InputError
from cordial_ppl.products.figure import looking

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture
def results():
    return two_tasks()


def test_curves_have_planted_differences_in_table_and_figure(results):
    product = PRODUCTS["differences"](results)
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
    product = PRODUCTS["differences"](sweep({("music", "main", n): losses for n in (5, 20)}))
    assert row(product, n=5, method="paper")["difference"] == pytest.approx(-0.1)
    figure = drawn(product)
    (axis,) = figure.axes
    assert "CORDIAL, literal" not in [line.get_label() for line in axis.get_lines()]
    assert 0.4 < axis.get_ylim()[1] < 1
    assert len(axis.collections) == 3
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Raw reading" not in named and "Ordinal regression" in named
    assert product.caption.endswith("nothing in sight of Raw reading.")


@pytest.mark.parametrize("name", ["differences", "curves", "reliability"])
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


def test_the_learning_curve_of_one_task_and_reader(results):
    axis = plots.learning_curve(results, "film", methods=["dirichlet", "cordial"])
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    assert lines["Dirichlet"] == pytest.approx([1.3, 0.9, 0.6, 0.45]) and len(lines) == 2
    pyplot.close(axis.figure)
    with pytest.raises(InputError, match="name one task and reader"):
        plots.learning_curve(results)
    with pytest.raises(InputError, match="no method 'odds'"):
        plots.learning_curve(results, "film", methods=["odds"])
