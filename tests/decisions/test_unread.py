"""Texts that the judge did not read: their labels count, and nothing is said of them without."""

import re

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.requirement import parse

STARS = [1, 2, 3, 4, 5]
REFUSED = np.array([0.7, 0.4, 0.1, 0.05, 0.05])


def corpus(seed, labelled=60, texts=400):
    """A judge that fails most on texts that people call bad."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(5, texts)
    rated = np.clip(truth + rng.choice([-1, 0, 0, 0, 1], texts), 0, 4) + 1
    fails = rng.random(texts) < REFUSED[truth]
    logits = cp.readings_from_ratings(rated, STARS)
    logits[fails] = np.nan
    return logits, truth, fails, rng.choice(texts, labelled, replace=False)


def fit(logits, truth, rows, **settings):
    return cp.Cordial(STARS, **settings).fit(logits[rows], truth[rows] + 1, corpus=logits)


@pytest.fixture(scope="module")
def world():
    logits, truth, fails, rows = corpus(0)
    return logits, truth, fails, rows, fit(logits, truth, rows)


# Of 4 or 12 intervals of 90 %, fewer hold once in 270 or 200 times.
@pytest.mark.parametrize(
    ("seeds", "least"), [(2, 2), pytest.param(6, 8, marks=pytest.mark.nightly)]
)
def test_the_mean_of_all_texts_holds_where_bad_ones_are_not_read(seeds, least):
    held, systems = [], []
    for seed in range(seeds):
        logits, truth, fails, rows = corpus(seed)
        # A system whose texts are worse is the one that is read less often.
        names = np.where((truth + np.random.default_rng(seed).integers(0, 3, 400)) > 3, "A", "B")
        made = fit(logits, truth, rows).estimate(logits, rows, of="these", groups=names)
        mean, alone = made.overall.mean, made.rectified
        held += [low <= truth.mean() + 1 <= high for _, low, high in (mean, alone[:3])]
        assert truth[~fails].mean() + 1 > mean.upper
        systems.append(made.difference("A", "B").lower > 0)
        assert made.unread == (fails.sum(), fails[rows].sum()) and not made.unknown
    assert sum(held) >= least and all(systems)


def test_texts_without_a_reading_change_nothing_of_the_others(world):
    logits, truth, fails, rows, calibrator = world
    read = rows[~fails[rows]]
    other = cp.Cordial(STARS).fit(logits[read], truth[read] + 1, corpus=logits[~fails])
    np.testing.assert_array_equal(
        calibrator.predict_proba(logits)[~fails], other.predict_proba(logits[~fails])
    )
    assert calibrator.summary() == other.summary()
    np.testing.assert_array_equal(calibrator.fit_.sketch, other.fit_.sketch)


def test_predictions_of_unread_texts_are_of_the_labels_of_such_texts(world, tmp_path):
    logits, truth, fails, rows, calibrator = world
    probs = calibrator.predict_proba(logits)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    counts = np.bincount(truth[rows][fails[rows]], minlength=5)
    histogram = (np.bincount(truth[rows][~fails[rows]], minlength=5) + 1) / (
        (~fails[rows]).sum() + 5
    )
    expected = (counts + 2 * histogram) / (counts.sum() + 2)
    np.testing.assert_allclose(probs[fails], np.tile(expected, (fails.sum(), 1)))
    low, high = calibrator.predict_interval(logits)
    mean = calibrator.predict_mean(logits)
    assert (low[fails] < mean[fails]).all() and (mean[fails] < high[fails]).all()
    draws, weights = cp.predict_draws(calibrator, logits)
    drawn = (weights @ draws[:, fails][:, 0]) / weights.sum()
    np.testing.assert_allclose(drawn, expected, atol=0.05)
    calibrator.save(tmp_path / "c.cordial")
    loaded = cp.load(tmp_path / "c.cordial")
    np.testing.assert_array_equal(loaded.predict_proba(logits), probs)
    assert str(loaded.estimate(logits, rows)) == str(calibrator.estimate(logits, rows))


def test_nothing_is_said_of_unread_texts_without_a_label(world):
    logits, truth, fails, rows, _ = world
    read = rows[~fails[rows]]
    groups = np.where(np.arange(400) % 3, "A", "B")
    calibrator = fit(logits, truth, read)
    places = np.cumsum(~fails) - 1
    made = calibrator.estimate(logits, read, groups=groups, passing=[4, 5])
    alone = calibrator.estimate(logits[~fails], places[read], groups=groups[~fails], passing=[4, 5])
    assert made.unknown == fails.sum()
    for found, expected in ((made.overall, alone.overall), (made.groups, alone.groups)):
        figures, wanted = (re.split(r"(\d+\.\d+)", repr(each)) for each in (found, expected))
        assert figures[::2] == wanted[::2]
        numbers, same = (np.array(each[1::2], float) for each in (figures, wanted))
        np.testing.assert_allclose(numbers, same, rtol=1e-12)
    first, *rest = str(made).splitlines()
    assert str(fails.sum()) in first and "judge rates" in rest[0]
    for text in ("mean >= 1", "pass >= 0", "A - B > -4"):
        opened = parse(text).answer(made)
        assert opened.answer == "cannot say" and f"{fails.sum()} texts" in str(opened)
        assert parse(text).answer(alone).answer == "yes"


def test_rates_add_up_and_groups_do_to_the_whole(world):
    logits, _, fails, rows, calibrator = world
    groups = np.arange(400) % 3
    whole, rest = (
        calibrator.estimate(logits, rows, groups=groups, passing=p) for p in ([4, 5], [1, 2, 3])
    )
    assert whole.passing.rate.mean + rest.passing.rate.mean == pytest.approx(1, abs=1e-9)
    assert sum(each.texts for each in whole.groups.values()) == 400
    sizes = [each.texts / 400 for each in whole.groups.values()]
    these = calibrator.estimate(logits, rows, groups=groups, of="these")
    means = [each.mean.mean for each in these.groups.values()]
    assert np.dot(sizes, means) == pytest.approx(these.overall.mean.mean, abs=1e-9)
    # What the judge passes is of the texts that it read.
    read = logits[~fails].argmax(axis=1)
    assert whole.passing.judged == pytest.approx((read >= 3).mean())


@pytest.mark.nightly
def test_unlike_systems_are_not_drawn_to_each_other():
    """Half of the texts of a good and of a bad system are unread at random."""
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        good = np.arange(400) % 2
        truth = np.where(good, rng.choice([3, 4], 400), rng.choice([0, 1], 400))
        logits = cp.readings_from_ratings(truth + 1, STARS)
        logits[rng.random(400) < 0.5] = np.nan
        rows = rng.choice(400, 60, replace=False)
        made = fit(logits, truth, rows).estimate(logits, rows, groups=good, of="these")
        for name, group in made.groups.items():
            mean = truth[good == int(name)].mean() + 1
            held.append(group.mean.lower <= mean <= group.mean.upper)
    # Of 16 intervals of 90 % fewer than 11 hold once in 150 times.
    assert sum(held) >= 11


def test_labels_of_small_and_of_large_groups_count_in_each(world):
    """A plan by groups: one of few texts has as many labels as the other."""
    rng = np.random.default_rng(3)
    small = np.repeat([1, 0], [100, 1000])
    truth = np.where(small, rng.choice([3, 4], 1100), rng.choice([0, 1], 1100))
    logits = cp.readings_from_ratings(truth + 1, STARS)
    logits[rng.random(1100) < 0.5] = np.nan
    rows = np.concatenate([np.arange(0, 100, 2)[:40], rng.choice(np.arange(100, 1100), 40)])
    rows = np.unique(rows)
    chance = np.where(rows < 100, 0.4, 0.04)
    made = fit(logits, truth, rows).estimate(
        logits, rows, groups=small, of="these", probabilities=chance, strata=small
    )
    mean, here = made.groups["1"].mean, truth[small == 1].mean() + 1
    assert abs(mean.mean - here) < 0.25 and mean.upper - mean.lower < 0.6
    # The survey estimate keeps read and unread texts apart.
    assert abs(made.rectified.mean - truth.mean() - 1) < 0.4


def test_a_group_without_reading_and_label_is_named(world):
    logits, truth, fails, rows, _ = world
    logits, groups = logits.copy(), np.where(np.arange(400) < 40, "lost", "kept")
    logits[:40] = np.nan
    read = rows[~np.isnan(logits[rows, 0])]
    made = fit(logits, truth, read).estimate(logits, read, groups=groups)
    assert made.unheard == ("lost",) and any("lost" in text for text in made.warnings)
    assert parse("lost < 4").answer(made).answer == "cannot say"
    assert parse("kept - lost > 0").answer(made).answer == "cannot say"


def test_clusters_and_pairs_may_hold_unread_texts(world):
    logits, truth, _, _, _ = world
    clusters = np.arange(400) // 4
    rows = np.flatnonzero(np.isin(clusters, np.arange(0, 100, 6)))
    made = fit(logits, truth, rows).estimate(logits, rows, clusters=clusters, of="these")
    assert made.clusters == 17 and made.overall.mean.lower < made.overall.mean.upper
    assert abs(made.overall.mean.mean - truth.mean() - 1) < 0.5


def test_people_decide_what_was_not_read(world):
    logits, _, fails, rows, calibrator = world
    made = calibrator.decide(logits, rows, passing=[4, 5], person=0.3)
    free = fails.copy()
    free[rows] = False
    assert (made.decision[free] == "person").all() and made.unread == free.sum()
    assert made.asked[free].all() and not made.asked[rows].any()


def test_a_plan_draws_unread_texts_by_their_share(world):
    logits, _, fails, _, _ = world
    made = cp.plan(logits, 100)
    drawn = fails[made.rows]
    assert abs(drawn.mean() - fails.mean()) < 0.03
    assert set(made.stratum[drawn]).isdisjoint(made.stratum[~drawn])
    # Whatever is labelled first is spread likewise.
    assert abs(fails[made.rows[:30]].mean() - fails.mean()) < 0.1


def test_forecasts_checks_and_monitors_are_of_what_was_read(world):
    logits, truth, fails, rows, calibrator = world
    read = calibrator.forecast(logits[~fails])
    assert str(calibrator.forecast(logits)) == str(read)
    others = np.setdiff1d(np.arange(400), rows)
    check = cp.check_labels(calibrator, logits[others], truth[others] + 1)
    some = others[~fails[others]]
    assert check == cp.check_labels(calibrator, logits[some], truth[some] + 1)
    again = logits.copy()
    again[::40] = np.nan
    made = cp.monitor(calibrator, logits, again)
    assert made.answer == "yes" and not np.isnan(made.evidence).any()
    # What was unread at first and is read now is a new text.
    before = logits.copy()
    before[~fails] = np.where(rng_mask(fails)[:, None], np.nan, logits[~fails])
    with pytest.warns(cp.CordialWarning, match="have no reading in the last table"):
        made = cp.monitor(calibrator, before, logits)
    assert made.answer == "cannot say" and made.unread_changed


def rng_mask(fails):
    """Two in three of the texts that were read."""
    return np.arange((~fails).sum()) % 3 > 0


def test_a_fit_needs_a_label_of_a_text_that_was_read():
    with pytest.raises(cp.InputError):
        cp.Cordial(STARS).fit(np.full((3, 5), np.nan), [1, 2, 3])
    with pytest.raises(cp.InputError, match="row 1"):
        cp.Cordial(STARS).fit([[0.0, 1, 2, 3, 4], [np.nan, 1, 2, 3, 4]], [1, 2])


def test_a_row_of_nan_is_a_text_without_a_reading_in_every_form():
    gone = [np.nan] * 3
    for make, row in (
        (cp.readings_from_counts, [0, 2, 1]),
        (cp.readings_from_probabilities, [0.2, 0.3, 0.5]),
    ):
        found = make([row, gone])
        np.testing.assert_array_equal(found[:1], make([row]))
        assert np.isnan(found[1]).all()
        with pytest.raises(cp.InputError):
            make([row, [np.nan, *row[1:]]])
