"""Plots: what is drawn is what was computed, on an axis that is given or on one of its own."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TRUTH
from scipy.special import softmax
from scipy.stats import beta

import cordial_ppl as cp
from cordial_ppl import plots
from cordial_ppl.plots.figure import OURS
from cordial_ppl.plots.reliability import MARKS

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

CURVE = "calibrated, 90 % intervals"


@pytest.fixture(autouse=True)
def closed():
    """No figure outlives its test."""
    yield
    pyplot.close("all")


def lines(axis) -> dict:
    """Lines of an axis by their label."""
    return {line.get_label(): line.get_xydata() for line in axis.get_lines()}


def marked(axis) -> list:
    """The points of each threshold."""
    return [line.get_xydata() for line in axis.get_lines() if line.get_marker() in tuple(MARKS)]


def words(labels) -> list:
    return [text.get_text() for text in labels]


def test_transfer_curve_is_what_texts_get_by_their_stated_mean(judge):
    axis = plots.transfer_curve(judge, TEST, judge.fit_.scale.decode(TRUTH))
    found, values = lines(axis), judge.fit_.scale.values
    said = softmax(TEST, axis=1) @ values
    mean, (low, high) = judge.predict_mean(TEST), judge.predict_interval(TEST)
    curve = found[CURVE]
    assert 1 < len(curve) <= 10 and (np.diff(curve[:, 0]) > 0).all()
    # Groups are runs of the stated mean, so their sizes follow from the means one by one.
    ranked, parts = np.argsort(said), []
    for x in curve[:, 0]:
        start = sum(map(len, parts))
        means = np.cumsum(said[ranked[start:]]) / np.arange(1, len(said) - start + 1)
        ends = np.flatnonzero(np.isclose(means, x, rtol=0, atol=1e-9))
        parts.append(ranked[start : start + 1 + ends[-1]])
    assert sum(map(len, parts)) == len(said)
    np.testing.assert_allclose(curve[:, 1], [mean[part].mean() for part in parts])
    band = axis.collections[0].get_paths()[0].vertices
    for ends, keep in ((low, min), (high, max)):
        shown = [keep(band[np.isclose(band[:, 0], x), 1]) for x in curve[:, 0]]
        np.testing.assert_allclose(shown, [ends[part].mean() for part in parts], rtol=1e-6)
    x, y = found["labelled texts"].T
    order, expected = np.lexsort([y.round(), x]), np.lexsort([values[TRUTH], said])
    np.testing.assert_allclose(x[order], said[expected])
    np.testing.assert_allclose(y[order].round(), values[TRUTH][expected])
    assert words(axis.get_xticklabels()) == list(STARS)
    # Means that all differ make ten groups of four.
    even = np.linspace(0, 1, len(TEST))[:, None] * np.arange(5)
    for logits, count in ((even, 10), (TEST[:1], 1)):
        axis = plots.transfer_curve(judge, logits, judge.fit_.scale.decode(TRUTH[: len(logits)]))
        assert len(lines(axis)[CURVE]) == count


def test_label_shares_are_means(judge):
    axis = plots.label_shares(judge, TEST, judge.fit_.scale.decode(TRUTH))
    found, said = lines(axis), softmax(TEST, axis=1)
    np.testing.assert_allclose(found["calibrated"][:, 1], judge.predict_proba(TEST).mean(axis=0))
    np.testing.assert_allclose(found["as stated"][:, 1], said.mean(axis=0))
    heights = [bar.get_height() for bar in axis.patches]
    np.testing.assert_allclose(heights, np.bincount(TRUTH, minlength=5) / len(TRUTH))
    weights = np.where(TRUTH > 2, 0.25, 2.0)
    names = judge.fit_.scale.decode(TRUTH)
    heavy = plots.label_shares(judge, TEST, names, sample_weight=weights).patches
    counts = np.bincount(TRUTH, weights, 5)
    np.testing.assert_allclose([bar.get_height() for bar in heavy], counts / counts.sum())
    pyplot.close("all")
    figure, given = pyplot.subplots()
    before = dict(matplotlib.rcParams)
    axis = plots.weights(judge, ax=given)
    assert axis is given and dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == [figure.number]
    names = words(axis.get_yticklabels())[::-1]
    assert names == sorted(judge.weights_, key=lambda name: -judge.weights_[name])
    assert sum(bar.get_width() for bar in axis.patches) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:labels fall as")
def test_names_of_options_are_drawn_as_they_stand():
    """Signs of formulas, numbers in another order, long names, and part of many."""
    names = ["far below $expectations", r"below $\frac$ b", "$", "above expectations", "\ud800"]
    stack = cp.LogitStack(names).fit(LOGITS, LABELS)
    axis = plots.label_shares(stack, TEST)
    axis.figure.draw_without_rendering()
    said = [text.replace("\\", "") for text in words(axis.get_xticklabels())]
    assert said[2:] == ["$", said[3], "?"] and said[1][:9] == "below $fr"
    assert {text.get_rotation() for text in axis.get_xticklabels()} == {35.0}
    numbers = ("1", "3", "2", "5", "4")
    with pytest.warns(cp.CordialWarning, match="not in order"):
        judge = cp.LogitStack(numbers).fit(LOGITS, [numbers[z] for z in LABELS])
    axis = plots.transfer_curve(judge, TEST, judge.fit_.scale.decode(TRUTH))
    assert words(axis.get_xticklabels()) == list(STARS)
    many = [f"{k} %" for k in range(101)]
    logits, truth = np.random.default_rng(0).normal(size=(300, 101)), np.arange(300) % 101
    judge = cp.TemperatureScaling(many).fit(logits, truth)
    assert 5 <= len(plots.label_shares(judge, logits).get_xticks()) <= 11
    curves = plots.thresholds(softmax(logits, axis=1), truth, options=many)
    assert len(curves.get_legend().get_texts()) == 8


def test_of_ratings_there_is_a_bar_for_each_label(judge, tmp_path):
    ratings = np.repeat([0, 1, 4], [10, 1, 20])
    labels = np.repeat([1, 0, 1, 3, 4], [6, 4, 1, 5, 15])
    hard = np.log(np.eye(5)[ratings] * 0.96 + 0.008)
    axis = plots.transfer_curve(judge, hard, judge.fit_.scale.decode(labels))
    bars = {
        (round(bar.get_x() + bar.get_width() / 2), round(bar.get_y() + bar.get_height() / 2)): width
        for bar in axis.patches
        if (width := bar.get_width())
    }
    longest = {(1, 2): 0.8, (2, 2): 0.8, (5, 5): 0.8}
    assert bars == pytest.approx(longest | {(1, 1): 0.8 * 4 / 6, (5, 4): 0.8 / 3})
    weights = np.where(labels == 1, 0.5, 2.0)
    decoded = judge.fit_.scale.decode(labels)
    heavy = plots.transfer_curve(judge, hard, decoded, sample_weight=weights)
    widths = [bar.get_width() for bar in heavy.patches]
    np.testing.assert_allclose(widths[:2], [0.8, 0.8 * 6 * 0.5 / (4 * 2.0)])
    (means,) = (
        line for line in axis.lines if line.get_color() == OURS and line.get_marker() == "o"
    )
    x, y = means.get_data()
    assert x.tolist() == [1, 2, 5] and axis.get_xlabel() == "rating"
    np.testing.assert_allclose(y, judge.predict_mean(hard[[0, 10, 11]]), atol=1e-6)
    judge.save(tmp_path / "judge.cordial")
    loaded = cp.load(tmp_path / "judge.cordial")
    with pytest.raises(cp.InputError, match="fitted without labels"):
        plots.transfer_curve(cp.RawReading().fit(LOGITS))
    given = lines(plots.transfer_curve(loaded, LOGITS, judge.fit_.scale.decode(LABELS)))
    for other in (judge, loaded):
        for name, line in lines(plots.transfer_curve(other)).items():
            np.testing.assert_allclose(given[name], line, atol=1e-6)


def test_heatmaps_and_thresholds_compare_labels_with_predictions():
    axis = plots.stated_classes(np.eye(5)[TRUTH], TEST, options=STARS, title="labels")
    shown, said = np.asarray(axis.images[0].get_array()), TEST.argmax(axis=1)
    for y in set(said):
        counts = np.bincount(TRUTH[said == y], minlength=5)
        np.testing.assert_allclose(shown[y], counts / counts.sum())
    assert axis.get_title() == "labels" and axis.images[0].get_clim() == (0, np.nanmax(shown))
    beyond = plots.stated_classes(np.eye(5)[TRUTH], TEST, most=0.2)
    assert beyond.images[0].get_clim() == (0, 0.2)
    with pytest.raises(cp.InputError, match="must have the same shape"):
        plots.stated_classes(np.eye(5)[TRUTH], TEST[:-1])
    rng = np.random.default_rng(3)
    said = rng.permutation(np.linspace(0.05, 0.95, 60))
    labels = (rng.random(60) > said).astype(int)
    (shown,) = marked(plots.thresholds(np.column_stack([said, 1 - said]), labels))
    ranked = np.argsort(said).reshape(3, 20)
    np.testing.assert_allclose(shown[:, 0], said[ranked].mean(axis=1))
    np.testing.assert_allclose(shown[:, 1], (labels[ranked] == 0).mean(axis=1))
    probs, weights = np.column_stack([said, 1 - said]), rng.uniform(0.2, 2, 60)
    (heavy,) = marked(plots.thresholds(probs, labels, sample_weight=weights))
    each = [np.average(labels[rows] == 0, weights=weights[rows]) for rows in ranked]
    np.testing.assert_allclose(heavy[:, 1], each)
    # The same predictions stay together, with the intervals of the beta distribution.
    axis = plots.thresholds(np.tile([0.3, 0.7], (100, 1)), np.repeat([0, 1], [20, 80]))
    np.testing.assert_allclose(marked(axis), [[[0.3, 0.2]]])
    low, high = axis.collections[0].get_segments()[0][:, 1]
    np.testing.assert_allclose([low, high], beta.ppf([0.05, 0.95], 20.5, 80.5))
    # More than half are the last option, so that no threshold has a second bin at 0 or 1.
    truth = np.repeat(np.arange(5), [1, 2, 4, 9, 24])
    certain = marked(plots.thresholds(np.eye(5)[truth], truth))
    assert len(certain) == 4
    for points in certain:
        np.testing.assert_allclose(points[:, 0], points[:, 1])
    with pytest.raises(cp.InputError, match="rows of probabilities but 3 labels"):
        plots.thresholds(np.eye(5)[truth], truth[:3])


def test_decisions_and_groups_are_drawn_and_what_cannot_be(judge):
    made = judge.decide(TEST, passing=["4", "5"], person=0.3)
    axis = plots.decisions(made)
    assert np.array_equal(lines(axis)["agreement on the rest"][:, 1], made.curve["agreement"])
    assert np.array_equal(lines(axis.figure.axes[1])["cost per text"][:, 1], made.curve["cost"])
    assert f"as decided: {made.ways['as decided'][0]:.0%}" in words(axis.get_legend().get_texts())
    kept = plots.decisions(judge.decide(TEST, within=1, agree=0.9))
    assert len(kept.figure.axes) == 1
    logits = np.concatenate([LOGITS, TEST, TEST[::-1]])
    names = [f"g{k % 70:02d}" for k in range(len(logits))]
    made = judge.estimate(logits, np.arange(len(LABELS)), groups=names)
    shown = [text.split()[0] for text in words(plots.groups(made).get_yticklabels())]
    assert shown == [*made.ranking[::-1][:30], *made.ranking[::-1][-30:]]
    for plot in (plots.transfer_curve, plots.weights):
        with pytest.raises(cp.NotFittedError):
            plot(cp.Fusion())


def test_a_forecast_has_bands_of_the_loss_and_of_what_labels_do(judge):
    ahead = judge.forecast(np.concatenate([LOGITS, TEST]))
    last, now = ahead.at(ahead.counts[-1]), ahead.loss
    ends = [last.loss.low, last.loss.high], [now.value - last.gain.high, now.value - last.gain.low]
    axis = plots.forecast(ahead)
    line = axis.lines[0].get_ydata()
    np.testing.assert_allclose([line[0], line[-1]], [now.value, last.loss.value])
    assert [text.split()[0] for text in words(axis.get_xticklabels())][:2] == ["20", "40"]
    for band, expected in zip(axis.collections, ends, strict=False):
        points = band.get_paths()[0].vertices
        heights = points[points[:, 0] == ahead.counts[-1], 1]
        np.testing.assert_allclose([heights.min(), heights.max()], expected)
    with pytest.raises(cp.InputError, match="a forecast needs at least 20 labels"):
        plots.forecast(replace(ahead, loss=None))
