"""Estimates of a corpus and its groups: identities, NUTS, the truth of simulations, bad input."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.estimates.bias import find_bias
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.estimates.quantities import Population
from cordial_ppl.decisions.estimates.rectified import RectifiedMean, rectified_means
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.scores import Interval

TEXTS, LABELLED, SYSTEMS = 300, 40, 4
RNG = np.random.default_rng(0)
MADE = reviews(TEXTS, seed=1)
GROUPS = RNG.integers(0, SYSTEMS, TEXTS)
ROWS = RNG.permutation(TEXTS)[:LABELLED]
RECTIFIED = RectifiedMean(0.0, 0.0, 0.0, 0.0)
NAMES = np.array(["a", "b", "c", "d"])[GROUPS]

# With some seeds a posterior is doubtful: that is for tests of diagnostics.
pytestmark = pytest.mark.filterwarnings("ignore:the posteriors? of channel")


@pytest.fixture(scope="module")
def fitted():
    return cp.Cordial(seed=0).fit(MADE.logits[ROWS], MADE.labels[ROWS])


@pytest.fixture(scope="module")
def estimate(fitted):
    return fitted.estimate(MADE.logits, ROWS, groups=NAMES)


def test_draws_average_to_the_prediction(fitted):
    # Off by .0078, sd .0024, and .012, sd .0053, over 20 seeds.
    for histogram, limit in (("fixed", 0.018), ("redrawn", 0.03)):
        probs, weights = answers.predict_draws(
            fitted.fit_, MADE.logits[:30], 512, histogram=histogram
        )
        assert probs.shape == (len(weights), 30, 5) and weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(probs.sum(axis=2), 1, atol=1e-5)
        mean = np.tensordot(weights, probs, axes=1)
        assert np.abs(mean - fitted.predict_proba(MADE.logits[:30])).max() < limit


def test_a_redrawn_histogram_makes_a_corpus_less_certain():
    """Where the reader counts little, so that channels fall back on the histogram."""
    prior, spread = {"strength": (-3.0, 0.2)}, {}
    judge = Stack(channels=("mixture",), calibrators=(), seed=0, prior=prior)
    fitted = judge.fit(MADE.logits[ROWS], MADE.labels[ROWS])
    for histogram in ("fixed", "redrawn"):
        probs, weights = answers.predict_draws(fitted.fit_, MADE.logits, 256, histogram=histogram)
        spread[histogram] = np.sqrt(np.cov((probs @ np.arange(5)).mean(axis=1), aweights=weights))
    # A ratio of 7.6, its logarithm 2.02 and sd .15, over 20 seeds.
    assert spread["redrawn"] > 4 * spread["fixed"]


def test_an_estimate_is_of_the_corpus(estimate, fitted):
    for found in (estimate.overall, *estimate.groups.values()):
        assert found.mean.lower < found.mean.mean < found.mean.upper
        assert sum(found.shares.values()) == pytest.approx(1)
        assert all(share >= 0 for share in found.shares.values())
        reached = sum(share.mean for share in found.at_least.values())
        assert found.mean.mean == pytest.approx(reached, abs=1e-9)
    assert estimate.overall.texts == sum(group.texts for group in estimate.groups.values())
    assert {k: g.labels for k, g in estimate.groups.items()} == {
        name: int((NAMES[ROWS] == name).sum()) for name in estimate.groups
    }
    # .077, sd .045 over 20 seeds.
    assert abs(estimate.overall.mean.mean - MADE.labels.mean()) < 0.3
    order = np.random.default_rng(1).permutation(TEXTS)
    rows = np.argsort(order)[ROWS]
    found = fitted.estimate(MADE.logits[order], rows, groups=NAMES[order])
    assert found.overall.mean.mean == pytest.approx(estimate.overall.mean.mean, abs=0.01)
    for name, group in estimate.groups.items():
        # The worst is off by .01, sd .005 over 20 seeds.
        np.testing.assert_allclose(found.groups[name].mean, group.mean, atol=0.03)
    found = fitted.estimate(MADE.logits, ROWS, groups=NAMES, of="these")
    sizes = np.array([group.texts for group in found.groups.values()])
    means = [group.mean.mean for group in found.groups.values()]
    assert found.overall.mean.mean == pytest.approx(sizes @ means / TEXTS, abs=1e-9)
    alone = fitted.estimate(MADE.logits, ROWS)
    found = alone.to_dict()
    assert found["best"] == found["effects"] == {} and found["differences"]["pairs"] == 0
    assert [row["group"] for row in found["populations"]] == ["all"]
    # Differs by sd .015 over 20 seeds.
    assert alone.overall.mean.mean == pytest.approx(estimate.overall.mean.mean, abs=0.05)


CLUSTERS = np.arange(TEXTS) // 6


@pytest.mark.parametrize(
    ("of", "clusters"),
    [
        ("like-these", None),
        ("these", CLUSTERS),
        pytest.param("like-these", CLUSTERS, marks=pytest.mark.nightly),
        pytest.param("these", None, marks=pytest.mark.nightly),
    ],
)
def test_all_that_is_estimated_agrees(fitted, of, clusters):
    """Pass rates of complements, shares, means, rates of the judge: sums of the same draws."""
    options = fitted.fit_.scale.options

    def ask(*passing):
        question = {"groups": NAMES, "of": of, "clusters": clusters, "passing": passing}
        return fitted.estimate(MADE.logits, ROWS, **question)

    high, low = ask(*options[3:]), ask(*options[:3])
    rate, rest = high.passing.rate, low.passing.rate
    for end, opposite in zip(rate, (rest.mean, rest.upper, rest.lower), strict=True):
        assert end + opposite == pytest.approx(1, abs=1e-9)
    # Who passes what the judge passes is who fails what it fails, turned round.
    np.testing.assert_allclose(high.passing.tpr, low.passing.tnr, atol=1e-9)
    for found in (high.overall, *high.groups.values()):
        ends = np.array([*found.at_least.values()])
        assert (np.diff(ends, axis=0) <= 1e-9).all()
        np.testing.assert_allclose(ends[:, 0].sum(), found.mean.mean, atol=1e-9)
        np.testing.assert_allclose(found.at_least[options[3]].mean, found.passing.mean, atol=1e-9)
        np.testing.assert_allclose(sum(found.shares.values()), 1, atol=1e-9)
    for a, b in (("a", "b"), ("d", "c")):
        difference = high.groups[a].mean.mean - high.groups[b].mean.mean
        np.testing.assert_allclose(high.difference(a, b).mean, difference, atol=1e-9)


def test_groups_of_a_plan_that_are_asked_for_have_one_effect(fitted):
    """Naming the groups as strata, too, changes nothing but what sampling alone says."""
    question = {"groups": NAMES, "probabilities": np.where(NAMES[ROWS] == "a", 0.5, 0.1)}
    one, other = (fitted.estimate(MADE.logits, ROWS, **question, strata=s) for s in (None, NAMES))
    for name in one.groups:
        assert one.groups[name] == other.groups[name]
    assert one.overall == other.overall


def test_where_all_texts_are_labelled_nothing_is_left_to_estimate():
    made = reviews(30, seed=2)
    rows, groups = np.arange(30), np.arange(30) % 3
    fitted = cp.Cordial(channels=(), calibrators=()).fit(made.logits, made.labels)
    found = fitted.estimate(made.logits, rows, groups=groups, of="these")
    for name, population in found.groups.items():
        truth = made.labels[groups == int(name)].mean()
        np.testing.assert_allclose(population.mean, truth, atol=1e-9)
    np.testing.assert_allclose(found.overall.mean, made.labels.mean(), atol=1e-9)
    fitted = cp.Cordial(seed=0).fit(MADE.logits[:60], MADE.labels[:60])
    found = fitted.estimate(MADE.logits[:60], np.arange(60))
    assert found.warnings == () and found.sample is None
    shifted = replace(found, rectified=found.rectified._replace(lower=6.0, mean=6.0, upper=6.0))
    assert "disagree" in shifted.warnings[0]


def test_a_difference_is_known_better_than_its_parts_alone_say(estimate):
    a, b = estimate.ranking[0], estimate.ranking[-1]
    found = estimate.difference(a, b)
    means = (estimate.groups[name].mean for name in (a, b))
    assert found.mean == pytest.approx(next(means).mean - next(means).mean)
    turned = estimate.difference(b, a)
    assert turned.lower == pytest.approx(-found.upper)
    assert sum(estimate.best.values()) == pytest.approx(1)
    assert max(estimate.best, key=lambda name: estimate.best[name]) == a
    pairs, resolved, wrong = estimate.pairs
    assert pairs == SYSTEMS * (SYSTEMS - 1) / 2 and 0 <= wrong <= 0.05 * max(resolved, 1)
    labels = np.where(NAMES == "a", np.minimum(MADE.labels, 1), MADE.labels)
    fitted = cp.Cordial(seed=0).fit(MADE.logits[ROWS], labels[ROWS])
    wide = fitted.estimate(MADE.logits, ROWS, groups=NAMES)
    orders = wide.to_dict()["differences"]["orders"]
    # The least low end is 1.4, sd .3 over 20 seeds; others, which are alike, may be resolved too.
    assert len(orders) == wide.pairs[1] and sum(each["lower"] == "a" for each in orders) == 3
    for each in orders:
        assert each["difference_low"] > 0
        found = wide.difference(each["higher"], each["lower"])
        assert found.lower == each["difference_low"]
    with pytest.raises(cp.InputError, match="'z' is not a group. The groups are"):
        estimate.difference(a, "z")


def test_pairs_count_the_signs_of_draws():
    """Of a hundred draws, b is above a in 97, c above both in all, and d is a."""
    a = np.zeros(100)
    b, c = np.where(np.arange(100) < 97, 1.0, -1.0), np.full(100, 2.0)
    whole = Population(4, 4, ("0", "1"), Interval(0.0, 0.0, 0.0), {})
    groups = dict.fromkeys("abcd", whole)
    found = Estimate(0.9, whole, groups, RECTIFIED, np.stack([a, b, c, a], axis=1))
    pairs, resolved, wrong = found.pairs
    assert (pairs, resolved) == (6, 5) and wrong == pytest.approx(2 * 0.03)
    assert Estimate(0.95, whole, groups, RECTIFIED, -found.draws).pairs[1] == 3
    assert found.best == {"a": 0, "b": 0, "c": 1, "d": 0}
    assert ["".join(pair[:2]) for pair in found.resolved] == ["ab", "ac", "bc", "bd", "cd"]
    groups["b"] = whole._replace(labels=2)  # one or two that are far off would decide alone
    few = Estimate(0.9, whole, groups, RECTIFIED, found.draws)
    assert ["".join(pair[:2]) for pair in few.resolved] == ["ac", "cd"] and few.pairs[0] == 6
    lines = [line.split() for line in few.ranked_text("letter").splitlines()]
    told = {line[0]: "resolved" in line for line in lines if line and line[0] in groups}
    assert told == {"a": False, "b": False, "c": True, "d": False}  # Their means are equal.
    none = Estimate(0.9, whole, dict.fromkeys("abcd", groups["b"]), RECTIFIED, found.draws)
    for made, wrong in ((few, True), (none, False)):
        assert ("expected in the wrong order" in made.ranked_text("letter")) == wrong


def test_the_two_targets_stand_beside_each_other(fitted, estimate):
    these = fitted.estimate(MADE.logits, ROWS, groups=NAMES, of="these")
    assert these.other is not None and estimate.other is not None
    np.testing.assert_allclose(these.other[0], estimate.overall.mean, atol=1e-12)
    np.testing.assert_allclose(estimate.other[0], these.overall.mean, atol=1e-12)
    assert these.other[1] == estimate.rectified and estimate.other[1] == these.rectified
    for kind in ("overall", *these.groups):
        one, other = (
            made.overall if kind == "overall" else made.groups[kind] for made in (these, estimate)
        )
        # The largest ratio is .81, sd .045 over 20 seeds.
        assert one.mean.upper - one.mean.lower < other.mean.upper - other.mean.lower
    assert these.to_dict()["of"] == "these" == estimate.to_dict()["other"]["of"]


@pytest.mark.nightly
def test_what_passes_does_not_make_shares_more_certain():
    """The judge's verdict divides texts into cells, some of which have no text of an option."""
    ratios = []
    for seed in range(4):
        texts = reviews(TEXTS, seed=seed)
        rows = np.random.default_rng(seed).permutation(TEXTS)[:20]
        judge = cp.Cordial(seed=seed).fit(texts.logits[rows], texts.labels[rows])
        without, within = (
            judge.estimate(texts.logits, rows, passing=passing, of="these").overall.at_least
            for passing in (None, ["4"])
        )
        ratios += [np.ptp(within[k][1:]) / np.ptp(without[k][1:]) for k in without]
    # .995, sd .024 over 20 seeds, of the four options of one.
    assert np.mean(ratios) > 0.93


def test_labels_that_are_no_random_sample_are_warned_of():
    rows = np.concatenate([np.flatnonzero(NAMES == "a")[:40], np.flatnonzero(NAMES != "a")[:4]])
    fitted = cp.Cordial().fit(MADE.logits[rows], MADE.labels[rows])
    found = fitted.estimate(MADE.logits, rows, groups=NAMES)
    assert any("'a' has" in text and "the plan's probabilities" in text for text in found.warnings)
    designed = fitted.estimate(MADE.logits, rows, groups=NAMES, probabilities=np.full(44, 0.1))
    assert designed.uneven is None
    order = np.argsort(-(MADE.logits @ np.arange(5)))
    # Every fifth is spread evenly, where a random sample is called none now and then.
    for rows, alarm in ((order[:60], True), (order[::5], False)):
        fitted = cp.Cordial(seed=0).fit(MADE.logits[rows], MADE.labels[rows])
        found = fitted.estimate(MADE.logits, rows)
        assert any("do not look like a random sample" in text for text in found.warnings) == alarm
        designed = fitted.estimate(MADE.logits, rows, strata=np.zeros(TEXTS, int))
        assert designed.sample is None


def test_pass_rates_are_the_judge_against_people(fitted):
    found = fitted.estimate(MADE.logits, ROWS, groups=NAMES, passing=["3", "4"], of="these")
    rates = found.passing
    judged, passed = MADE.logits.argmax(axis=1) >= 3, MADE.labels >= 3
    assert rates is not None and rates.options == ("3", "4")
    assert rates.judged == pytest.approx(judged.mean())
    np.testing.assert_allclose(rates.rate, found.overall.at_least["3"], atol=1e-12)
    for rate, truth in (
        (rates.tpr, (judged & passed).sum() / passed.sum()),
        (rates.tnr, (~judged & ~passed).sum() / (~passed).sum()),
    ):
        # These labels put the interval of the TNR .044 below it, sd .006 over 10 seeds.
        assert rate.lower - 0.08 <= truth <= rate.upper + 0.08
    wider = fitted.estimate(MADE.logits, ROWS, passing=["3", "4"]).passing
    assert wider and wider.tpr.upper - wider.tpr.lower > rates.tpr.upper - rates.tpr.lower
    assert all(group.passing for group in found.groups.values())
    assert "TPR" in found.text() and "pass_low" in found.rows[0]


def test_requirements_are_answered_by_intervals(fitted):
    found = fitted.estimate(MADE.logits, ROWS, groups=NAMES, passing=["4"])
    answered = {
        "yes": ("mean >= 1", "pass >= .01", "a - b > -4", "c < 4"),
        "no": ("mean > 3.9", "mean <= 1"),
        "cannot say": (f"mean >= {found.overall.mean.mean}",),
    }
    for answer, texts in answered.items():
        assert {parse(text).answer(found).answer for text in texts} == {answer}
    with pytest.raises(cp.InputError, match="'a-b - c'"):
        parse("a-b - c > 0").answer(found)
    for text in ("mean", "mean >= x", ">= 4", "mean == 4", ""):
        with pytest.raises(cp.InputError, match="a requirement must be"):
            parse(text)


def test_the_unit_of_the_scale_changes_nothing(fitted, estimate):
    options = [str(2 * option) for option in range(5)]
    double = cp.Cordial(options, seed=0).fit(MADE.logits[ROWS], MADE.labels[ROWS] * 2)
    found = double.estimate(MADE.logits, ROWS, groups=NAMES)
    for name, group in estimate.groups.items():
        ends = 2 * (np.array(group.mean) - fitted.fit_.scale.values[0])
        np.testing.assert_allclose(found.groups[name].mean, ends, atol=1e-6)


def test_a_group_that_the_reader_wrongs_is_found_and_mended():
    made, groups = reviews(1600, seed=4), np.arange(1600) % 8
    wronged = groups == 2
    labels = np.where(wronged, np.minimum(made.labels, 1), made.labels)
    rows = np.arange(0, 1600, 16) + np.arange(100) % 8
    fitted = cp.Cordial().fit(made.logits[rows], labels[rows])
    found = fitted.estimate(made.logits, rows, groups=groups)
    effects = {name: group.effect for name, group in found.groups.items() if group.effect}
    assert min(effects, key=lambda name: effects[name].mean) == "2" and effects["2"].upper < 0
    calibrated = fitted.predict_mean(made.logits)[wronged].mean()
    truth = labels[wronged].mean()
    assert abs(found.groups["2"].mean.mean - truth) < abs(calibrated - truth) / 2
    assert found.ranking[-1] == "2"
    (bias,) = answers.find_bias(fitted.fit_, {"system": groups[rows], "row": rows})
    assert (bias.column, bias.group) == ("system", "2") and bias.residual < -0.5


@pytest.mark.nightly
def test_groups_that_do_not_matter_are_seldom_reported():
    rng, reported = np.random.default_rng(0), 0
    for seed in range(200):
        residuals = np.round(rng.standard_t(4, 40), 1)
        columns = {"a": rng.integers(0, 5, 40), "b": rng.integers(0, 2, 40), "c": np.arange(40)}
        reported += bool(find_bias(residuals, columns, seed))
    assert 1 <= reported <= 19  # 9.4, sd 2.9 over 20 seeds; 5 % of 200 are 10, sd 3.1


def test_a_group_of_one_cluster_is_not_reported():
    clusters = np.repeat(np.arange(10), 10)
    uneven = np.r_[np.repeat(np.arange(24), 5), 24:30]
    rng, reported = np.random.default_rng(0), np.zeros(4)
    for seed in range(40):
        residuals = rng.normal(size=10)[clusters] + rng.normal(size=100)
        topics, systems = rng.integers(0, 3, 10)[clusters], np.tile(["a", "b"], 50)
        wronged = residuals + 2.0 * (systems == "a")
        reported += [
            bool(find_bias(residuals, {"topic": topics}, seed)),
            bool(find_bias(residuals, {"topic": topics}, seed, clusters=clusters)),
            bool(find_bias(wronged, {"system": systems}, seed, clusters=clusters)),
            bool(find_bias(rng.normal(size=126), {"alone": uneven > 23}, seed, clusters=uneven)),
        ]
    blind, careful, found, alone = reported
    assert blind > 20 and careful <= 6 and found > 30 and alone <= 6
    odd = np.where(clusters == 3, 5.0, 0.0) + rng.normal(size=100)
    assert find_bias(odd, {"topic": clusters == 3}, clusters=clusters) == []


def test_groups_by_measurements_are_never_reported():
    residuals = np.repeat([-1.0, 1.0], 15)
    halves = np.repeat(["1.5", "2"], 15)
    assert find_bias(residuals, {"mean": halves}) == []
    told = find_bias(
        residuals, {"system": np.repeat(["b", "a"], 15), "number": np.repeat([1, 2], 15)}
    )
    assert [bias.column for bias in told] == ["system"]
    assert find_bias(residuals, {"price": halves, "system": np.repeat(["1", "2"], 15)})


@pytest.mark.parametrize("labels", [1, pytest.param(5, marks=pytest.mark.nightly)])
def test_with_few_labels_the_groups_have_the_whole_spread(labels):
    rows = ROWS[:labels]
    fitted = cp.Cordial().fit(MADE.logits[rows], MADE.labels[rows])
    found = fitted.estimate(MADE.logits, rows, groups=NAMES)
    for group in found.groups.values():
        assert group.mean.upper - group.mean.lower > 0.8
    assert found.overall.labels == labels
    assert answers.find_bias(fitted.fit_, {"system": NAMES[rows]}) == []


def test_a_group_and_an_option_without_labels_are_not_known():
    rows = ROWS[NAMES[ROWS] != "b"]
    fitted = cp.Cordial().fit(MADE.logits[rows], MADE.labels[rows])
    found = fitted.estimate(MADE.logits, rows, groups=NAMES)
    assert found.groups["b"].labels == 0
    (warning,) = (text for text in found.warnings if "extrapolated" in text)
    assert "'b'" in warning
    widths = {k: g.mean.upper - g.mean.lower for k, g in found.groups.items()}
    assert max(widths, key=lambda name: widths[name]) == "b"
    rows = np.flatnonzero(MADE.labels < 4)[:30]
    found = cp.Cordial(seed=0).fit(MADE.logits[rows], MADE.labels[rows])
    share = found.estimate(MADE.logits, rows).overall.at_least["4"]
    assert share.upper - share.mean > 0.02


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": ROWS[:-1]}, "rows .* .0..299. of the 40 labelled"),
        ({"rows": ROWS + 0.5}, "rows"),
        ({"rows": np.zeros(40, int)}, "the same position for two texts"),
        ({"rows": ROWS + TEXTS}, "rows .* .0..299."),
        ({"rows": np.arange(40)}, r"logits\[0\] .* labelled text 0"),
        ({"groups": NAMES[:-1]}, "groups .* 300 texts; got 299"),
        ({"groups": [*NAMES[:-1], " "]}, "groups are missing in row 299"),
        ({"groups": np.arange(TEXTS)}, "300 groups, but at most 200"),
        ({"level": 1.0}, "level"),
        ({"draws": 1}, "draws"),
        ({"probabilities": np.zeros(40)}, "probabilities"),
        ({"probabilities": [0.5] * 39 + [1.5]}, "one value in .0, 1. .* got 1.5 in row 39"),
        ({"probabilities": [0.5] * 39 + [np.nan]}, "probabilities must be .* finite .* row 39"),
        ({"probabilities": [0.5]}, "for each of the 40 labels; got 1[.]"),
        ({"probabilities": ["likely"] * 40}, "probabilities must be numbers"),
        ({"strata": [0, 1]}, "strata must have one entry per text: expected 300; got 2"),
        ({"of": "all"}, "like-these, these"),
        ({"clusters": NAMES[:-1]}, "clusters .* got 299"),
        ({"clusters": ["x"] * TEXTS}, "clusters .* 'x'"),
        (
            {"clusters": NAMES, "pairs": NAMES},
            "pairs act as clusters, so pairs and clusters cannot be combined",
        ),
        ({"pairs": NAMES}, r"a pair .* '[abcd]' contains \d\d"),
        ({"pairs": np.arange(TEXTS)}, "no pair contains texts from two groups"),
        ({"groups": None, "pairs": NAMES}, "pairs need groups"),
        ({"passing": ["9"]}, "'9'"),
        ({"passing": list("01234")}, "not all"),
    ],
)
def test_bad_input_is_refused(fitted, changes, message, monkeypatch):
    monkeypatch.setattr("cordial_ppl.decisions.estimates.estimate.MOST", 200)
    given = {"rows": ROWS, "groups": NAMES} | changes
    with pytest.raises(cp.InputError, match=message):
        fitted.estimate(MADE.logits, given.pop("rows"), **given)


@pytest.mark.parametrize("kind", [cp.LogitStack(), cp.Cordial(inference="mode")])
def test_without_draws_there_is_no_estimate(kind):
    fitted = kind.fit(MADE.logits[ROWS], MADE.labels[ROWS])
    with pytest.raises(cp.InputError, match="an estimate needs posterior draws"):
        fitted.estimate(MADE.logits, ROWS)


def test_rows_may_be_a_mask_and_groups_have_an_index(fitted):
    pandas = pytest.importorskip("pandas")
    logits = pandas.DataFrame(MADE.logits)
    groups = pandas.Series(NAMES)
    expected = fitted.estimate(logits, ROWS, groups=NAMES).to_dict()
    assert expected == fitted.estimate(logits, ROWS, groups=groups.sort_values()).to_dict()
    with pytest.raises(cp.InputError, match="groups and readings have different indexes"):
        fitted.estimate(logits, ROWS, groups=groups[:-1])
    mask = np.zeros(TEXTS, bool)
    mask[ROWS] = True
    ordered = cp.Cordial(seed=0).fit(MADE.logits[mask], MADE.labels[mask])
    one, other = (ordered.estimate(MADE.logits, rows) for rows in (mask, np.flatnonzero(mask)))
    assert one.to_dict() == other.to_dict()


def test_labels_that_are_all_alike_teach_nothing():
    rows = np.flatnonzero(MADE.labels == 4)[:60]
    for weights in (np.random.default_rng(0).uniform(0.1, 1, 60), None):
        given = MADE.logits[rows], MADE.labels[rows]
        fitted = cp.Cordial(seed=0).fit(*given, sample_weight=weights)
        verdict = answers.verdict(fitted.fit_)
        assert verdict and verdict.alike
        # An estimate of texts whose labels count differently counts each of them once.
        with nullcontext() if weights is None else pytest.warns(match="text once"):
            found = fitted.estimate(MADE.logits[rows], np.arange(60), groups=np.arange(60) % 2)
        assert found.alike and (found.best, found.resolved) == ({}, [])
    others = MADE.logits[np.arange(60)]
    fitted = cp.Cordial(seed=0).fit(others, np.full(60, 2))
    means = np.asarray(fitted.fit_.out_of_fold) @ np.arange(5)
    assert answers.find_bias(fitted.fit_, {"system": means > np.quantile(means, 0.1)}) == []
    told = answers.describe(fitted.fit_)
    assert told.text == verdict.text and "all 60 labels are identical" in verdict.text
    assert (told.faults, told.expected["cordial"], told.losses) == ((), None, {})
    assert {row["p_best"] for row in found.rows} == {None}
    assert "all labels are identical" in found.warnings[0]
    assert "all labels are identical" in found.ranked_text("system")
    few = cp.Cordial(inference="mode").fit(MADE.logits[rows[:5]], MADE.labels[rows[:5]])
    assert "log loss" not in few.summary() and "temperature" not in few.summary()


@pytest.mark.parametrize(("label", "end"), [(0, "lower"), (4, "upper")])
def test_survey_intervals_end_with_the_scale(label, end):
    rows = np.concatenate(
        [np.flatnonzero(MADE.labels == each)[:k] for each, k in ((label, 2), (2, 1))]
    )
    given = MADE.labels[rows]
    fitted = Stack(channels=("mixture",), calibrators=(), seed=0).fit(MADE.logits[rows], given)
    made, alone = fitted.estimate(MADE.logits, rows), rectified_means(0 * MADE.labels, rows, given)
    assert not 0 <= getattr(alone["like-these"], end) <= 4
    assert made.other
    for found in (made.rectified, made.other[1]):
        assert 0 <= found.lower <= found.mean <= found.upper <= 4
        assert getattr(found, end) == label
    one = Stack(channels=("mixture",), calibrators=(), seed=0).fit(MADE.logits[:1], MADE.labels[:1])
    assert np.isinf(one.estimate(np.tile(MADE.logits[:1], (9, 1)), [0]).rectified.upper)


def test_numbers_that_fall_turn_means_and_keep_the_ranking():
    """Options go from the worst to the best, whatever their numbers."""
    found, faults = [], []
    for options in (range(1, 6), range(5, 0, -1)):
        judge = Stack(options, channels=("mixture",), calibrators=(), seed=0)
        judge.fit(MADE.logits[ROWS], np.array(options)[MADE.labels[ROWS]])
        found.append(judge.estimate(MADE.logits, ROWS, groups=NAMES))
        faults.append(answers.describe(judge.fit_).faults[:-1])
    up, down = found
    assert down.ranking == up.ranking and down.best == up.best and down.pairs == up.pairs
    for one, other in ((up.overall.mean, down.overall.mean), (up.rectified, down.rectified)):
        turned = 6 - other.mean, 6 - other.upper, 6 - other.lower
        np.testing.assert_allclose([one.mean, one.lower, one.upper], turned, atol=1e-9)
    for order in down.to_dict()["differences"]["orders"]:
        assert order["difference"] > 0
    for one, other in zip(*faults, strict=True):
        assert one.median == pytest.approx(-other.median) and one.low == pytest.approx(-other.high)
        words = one.words.replace("high", "HIGH").replace("low", "high").replace("HIGH", "low")
        assert other.words == words
