"""`partial_fit`: labels that come in one by one, and stacks from files that learn on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TEXTS, TRUTH, small

import cordial_ppl as cp
from cordial_ppl.channels.channel import Channel, observe
from cordial_ppl.data.readings import as_logits
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.inference.fit import Case, _problem, _whiten
from cordial_ppl.stack.fingerprints import find_places, fingerprints
from cordial_ppl.stack.stacking import assign_folds, extend_folds

FEW = slice(8)


def one_by_one(stack, order, covariates=None):
    for row in order:
        extra = {name: column[row : row + 1] for name, column in (covariates or {}).items()}
        stack.partial_fit(LOGITS[row : row + 1], LABELS[row : row + 1], extra)
    return stack


@pytest.fixture(scope="module")
def updated():
    """Eight labels, and then twelve more, one by one."""
    return one_by_one(small().fit(LOGITS[FEW], LABELS[FEW]), range(8, 20))


def rms(left, right):
    return np.sqrt(np.mean((left - right) ** 2))


def assert_alike(left, right):
    """Posterior means, in standard deviations, and predictions within the noise of two fits."""
    for name, own in left.posteriors_.items():
        other = right.posteriors_[name]
        means = own.weights @ own.draws, other.weights @ other.draws
        spread = np.sqrt(other.weights @ (other.draws - means[1]) ** 2)
        assert np.abs((means[0] - means[1]) / spread).max() < 0.25
        np.testing.assert_allclose(own.histogram, other.histogram, rtol=0, atol=1e-12)
    for name, fit in left.fits_.items():
        given = as_logits(TEST)
        found, expected = (own.predict(given, {})[0] for own in (fit, right.fits_[name]))
        assert rms(found, expected) < 0.015


def test_one_by_one_is_all_at_once(updated, stack):
    assert_alike(updated, stack)
    assert all(fit.diagnostics.trusted for fit in updated.posteriors_.values())
    losses = [cp.scores.log_loss(own.predict_proba(TEST), TRUTH) for own in (updated, stack)]
    assert abs(losses[0] - losses[1]) < 0.02
    np.testing.assert_array_equal(updated.labels_, LABELS)
    np.testing.assert_array_equal(updated.label_counts_, stack.label_counts_)
    np.testing.assert_array_equal(updated.seen_, stack.seen_)
    assert updated.expected_.labels == 20 and updated.out_of_fold_.shape == (20, 5)
    assert updated.expected_.raw == stack.expected_.raw
    assert sum(updated.weights_.values()) == pytest.approx(1)


def test_out_of_fold_predictions_are_those_of_a_fit_with_these_folds(updated, monkeypatch):
    monkeypatch.setattr("cordial_ppl.estimators.stack.assign_folds", lambda *_: updated.folds_)
    fitted = small(seed=3).fit(LOGITS, LABELS)
    losses = [cp.scores.log_loss(own.predict_proba(TEST), TRUTH) for own in (updated, fitted)]
    assert abs(losses[0] - losses[1]) < 0.01
    assert rms(updated.out_of_fold_, fitted.out_of_fold_) < 0.03
    assert updated.expected_.cordial == pytest.approx(fitted.expected_.cordial, abs=0.02)
    assert updated.expected_.histogram == pytest.approx(fitted.expected_.histogram, rel=1e-12)
    for name, weight in fitted.weights_.items():
        assert updated.weights_[name] == pytest.approx(weight, abs=0.05)


def test_any_order_and_any_number_at_once(updated):
    order = np.random.default_rng(1).permutation(20)
    assert_alike(one_by_one(small().fit(LOGITS[order[:1]], LABELS[order[:1]]), order[1:]), updated)
    # So many labels that the draws begin anew.
    both = small().fit(LOGITS[:2], LABELS[:2]).partial_fit(LOGITS[2:], LABELS[2:])
    assert_alike(both, updated)
    assert_alike(small().partial_fit(LOGITS, LABELS), updated)


def test_no_draw_is_moved_or_proposed_while_the_weights_are_good(monkeypatch):
    fitted = small().fit(LOGITS[:7], LABELS[:7])
    before = fitted.posteriors_["mixture"]

    def fail(*_):
        raise AssertionError("more than weights were needed")

    for stage in ("begin", "climb", "weigh"):
        monkeypatch.setattr(f"cordial_ppl.inference.sampler.{stage}", fail)
    fitted.partial_fit(LOGITS[7:8], fitted.predict(LOGITS[7:8]))
    after = fitted.posteriors_["mixture"]
    np.testing.assert_allclose(after.draws, before.draws, rtol=0, atol=1e-5)
    assert np.ptp(after.weights) > 0 and 512 <= after.diagnostics.ess < 1024

    def log_density(fit):
        case = Case(fit.data, prior=fit.target.prior, histogram=fit.histogram)
        points = _whiten(fit.draws, fit.target.prior)
        return np.sum(_problem(fit.target, case).evaluate(points, 1024), axis=0)

    # The tail is smoothed.
    change = np.log(after.weights) - log_density(after) + log_density(before)
    assert np.quantile(np.abs(change - np.median(change)), 0.75) < 1e-3


def test_densities_that_an_update_begins_with_are_those_of_the_draws():
    fitted: Any = cp.Cordial().fit(LOGITS[:9], LABELS[:9])
    for last in range(9, 20):
        for fit in fitted.posteriors_.values():
            case = Case(fit.data, prior=fit.prior, histogram=fit.histogram)
            points = _whiten(fit.draws, fit.prior)
            found = _problem(fit.target, case).evaluate(points, len(points))
            np.testing.assert_array_equal(fit.densities, found)
        one_by_one(fitted, [last])
    # Texts that are attached may have other covariates or weights.
    fitted.attach_texts(LOGITS[::-1], LABELS[::-1])
    assert all(fit.densities is None for fit in fitted.posteriors_.values())


def test_draws_stay_where_they_are_in_the_units_of_another_prior():
    fitted: Any = cp.ChannelCalibrator("mixture", prior=cp.shipped_prior())
    before = fitted.fit(LOGITS[:12], LABELS[:12]).posterior_
    after = fitted.partial_fit(1.3 * LOGITS[12:13], LABELS[12:13]).posterior_
    assert np.abs(after.prior.loc - before.prior.loc).max() > 0.02
    np.testing.assert_allclose(after.draws, before.draws, rtol=0, atol=1e-6)


def test_units_of_the_prior_follow_the_readings():
    wide, narrow = 3 * LOGITS[8:12], LOGITS[:8]
    fitted = cp.ChannelCalibrator("mixture", prior=cp.shipped_prior()).fit(narrow, LABELS[:8])
    first = fitted.posterior_.prior
    fitted.partial_fit(wide, LABELS[8:12])
    then = fitted.posterior_.prior
    again = cp.ChannelCalibrator("mixture", prior=cp.shipped_prior(), seed=1)
    again.fit(np.concatenate([narrow, wide]), LABELS[:12])
    assert first is not None and then is not None
    assert np.abs(then.loc - first.loc).max() > 0.1
    expected = again.posterior_.prior
    assert expected is not None
    np.testing.assert_allclose(then, expected)
    assert_alike(fitted, again)
    fitted.prior = {"magic": (0.0, 1.0)}
    with pytest.raises(InputError, match="'magic', which is no parameter"):
        fitted.partial_fit(wide, LABELS[8:12])


def test_folds_stay_and_are_balanced(updated):
    first = small().fit(LOGITS[FEW], LABELS[FEW])
    np.testing.assert_array_equal(updated.folds_[FEW], first.folds_)
    np.testing.assert_array_equal(np.bincount(updated.folds_), [5] * 4)
    given = assign_folds(9, 4, np.random.default_rng(2))
    together, single = extend_folds(given, 30, 4, 2), given
    for texts in range(10, 31):
        single = extend_folds(single, texts, 4, 2)
        assert np.ptp(np.bincount(single)) <= 1
    np.testing.assert_array_equal(single, together)
    assert (extend_folds(given, 30, 4, 3) != together).any()


def test_no_folds_before_eight_labels():
    fitted = small().fit(LOGITS[:5], LABELS[:5])
    assert fitted.partial_fit(LOGITS[5:7], LABELS[5:7]).folds_ is None
    assert fitted.out_of_fold_ is None and np.isnan(fitted.expected_.cordial)
    found = fitted.partial_fit(LOGITS[7:8], LABELS[7:8]).out_of_fold_
    assert found is not None and found.shape == (8, 5)
    expected = assign_folds(8, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(fitted.folds_, expected)


TRACES = []


def counted(readings, labels=None):
    TRACES.append(readings.logits.shape)
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    tilt = numpyro.sample("tilt", dist.Normal(0.0, 0.5))
    extra = tilt * readings.covariates["length"][:, None] * jnp.linspace(-1.0, 1.0, 5)[None]
    observe(jax.nn.log_softmax(slope * readings.logits + extra), labels)


def test_nothing_is_traced_again():
    length = {"length": np.random.default_rng(0).normal(size=20)}
    first = {"length": length["length"][:9]}
    fitted = Stack(channels=(Channel("counted", counted),), calibrators=("temperature",))
    fitted.fit(LOGITS[:9], LABELS[:9], first).predict_proba(TEST[:9], first)
    traced = len(TRACES)
    one_by_one(fitted, range(9, 20), length).predict_proba(TEST[:20], length)
    assert len(TRACES) == traced
    np.testing.assert_array_equal(fitted.labelled().covariates["length"], length["length"])


BAD = {
    "label": (LOGITS[8:9], [5], None, "label"),
    "nan": (np.where(np.arange(5) == 2, np.nan, LOGITS[8:9]), [1], None, "nan in row 0"),
    "options": (LOGITS[8:9, :4], [1], None, "5 columns; found 4"),
    "counts": (LOGITS[8:10], [1], None, "2 rows came with 1 labels"),
    "none": (LOGITS[:0], [], None, "at least one row"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_changes_nothing(eight, name):
    logits, labels, covariates, message = BAD[name]
    before = dict(vars(eight))
    with pytest.raises(InputError, match=message):
        eight.partial_fit(logits, labels, covariates)
    assert vars(eight).keys() == before.keys()
    assert all(vars(eight)[key] is value for key, value in before.items())


def test_a_failure_within_changes_nothing(monkeypatch):
    fitted = small().fit(LOGITS[FEW], LABELS[FEW])
    before = dict(vars(fitted))

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("cordial_ppl.estimators.stack.weigh", fail)
    with pytest.raises(MemoryError):
        fitted.partial_fit(LOGITS[8:9], LABELS[8:9])
    assert all(vars(fitted)[key] is value for key, value in before.items())


@pytest.mark.parametrize("method", ["mode", "laplace"])
def test_other_methods_fit_anew(method):
    fitted = small(inference=method).fit(LOGITS[:4], LABELS[:4])
    fitted.partial_fit(LOGITS[4:7], LABELS[4:7])
    again = small(inference=method).fit(LOGITS[:7], LABELS[:7])
    found, expected = (own.posteriors_["mixture"] for own in (fitted, again))
    np.testing.assert_array_equal(found.draws, expected.draws)
    np.testing.assert_array_equal(fitted.predict_proba(TEST), again.predict_proba(TEST))


def test_calibrators_are_fitted_anew():
    fitted = cp.TemperatureScaling().fit(LOGITS[:8], LABELS[:8])
    fitted.partial_fit(LOGITS[8:], LABELS[8:])
    again = cp.TemperatureScaling().fit(LOGITS, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(TEST), again.predict_proba(TEST))
    late = Stack(calibrators=("temperature", "vector"))
    late.min_labels = {"vector": 12}
    late.fit(LOGITS[:11], LABELS[:11]).partial_fit(LOGITS[11:12], LABELS[11:12])
    assert list(late.weights_) == ["temperature", "vector"]


def test_what_learns_from_no_labels_or_from_several_readers_has_none():
    for kind in (cp.RawReading, cp.BatchCalibration, cp.Fusion):
        assert not hasattr(kind(), "partial_fit")


def test_a_stack_from_a_file_learns_on_as_if_it_had_never_left(tmp_path):
    stars = [STARS[k] for k in LABELS]
    kept = cp.Cordial(STARS).fit(LOGITS[:9], stars[:9]).partial_fit(LOGITS[9:10], stars[9:10])
    kept.save(tmp_path / "a.cordial")
    loaded = cp.load(tmp_path / "a.cordial")
    with pytest.raises(InputError, match="does not keep the texts.*attach_texts"):
        loaded.partial_fit(LOGITS[10:], stars[10:])
    order = np.random.default_rng(0).permutation(13)
    new = loaded.attach_texts(LOGITS[order], [stars[row] for row in order])
    np.testing.assert_array_equal(new, order >= 10)
    np.testing.assert_array_equal(loaded.labelled().labels, LABELS[:10])
    for own in (kept, loaded):
        own.partial_fit(LOGITS[10:13], stars[10:13])
    np.testing.assert_array_equal(kept.predict_proba(TEST), loaded.predict_proba(TEST))
    np.testing.assert_array_equal(kept.out_of_fold_, loaded.out_of_fold_)
    assert kept.weights_ == loaded.weights_ and kept.expected_ == loaded.expected_
    loaded.save(tmp_path / "b.cordial")
    again = cp.load(tmp_path / "b.cordial")
    np.testing.assert_array_equal(again.folds_, kept.folds_)
    np.testing.assert_array_equal(again.predict_proba(TEST), kept.predict_proba(TEST))


def test_texts_that_are_not_all_there(tmp_path):
    kept = cp.LogitStack().fit(LOGITS[:8], LABELS[:8])
    kept.save(tmp_path / "a.cordial")
    loaded = cp.load(tmp_path / "a.cordial")
    changed = np.where(np.arange(20) == 3, (LABELS + 1) % 5, LABELS)
    with pytest.raises(InputError, match="8 labelled texts, and 1 of them are not among these 20"):
        loaded.attach_texts(LOGITS, changed)
    with pytest.raises(InputError, match="2 of them are not among these 6"):
        loaded.attach_texts(LOGITS[:6], LABELS[:6])
    loaded.seen_ = loaded.seen_[:0]
    with pytest.raises(InputError, match="earlier version"):
        loaded.attach_texts(LOGITS, LABELS)
    with pytest.raises(InputError, match="attach_texts"):
        loaded.partial_fit(LOGITS[8:], LABELS[8:])


def test_places_among_the_texts_of_a_fit():
    logits, order = as_logits(TEXTS.logits[:50]), np.random.default_rng(3).permutation(50)
    seen = fingerprints(logits[:30], TEXTS.labels[:30])
    places = find_places(logits[order], TEXTS.labels[order], seen)
    np.testing.assert_array_equal(places, np.where(order < 30, order, -1))


def test_further_labels_of_texts_that_have_some():
    names = [f"text {row}" for row in range(20)]
    first: Any = small().fit(LOGITS, LABELS, texts=names, sample_weight=np.full(20, 0.5))
    folds = first.folds_
    again = np.maximum(LABELS[:6] - 1, 0)
    first.partial_fit(LOGITS[:6], again, texts=names[:6], sample_weight=np.full(6, 0.5))
    np.testing.assert_array_equal(first.folds_, np.concatenate([folds, folds[:6]]))
    assert first.expected_.labels == 20 and first.label_counts_.sum() == 13
    rows = [*range(20), *range(6)]
    labels = np.concatenate([LABELS, again])
    whole = small().fit(LOGITS[rows], labels, texts=rows, sample_weight=np.full(26, 0.5))
    np.testing.assert_array_equal(whole.folds_, first.folds_)
    assert_alike(first, whole)
    # Without names, texts are others.
    first.partial_fit(LOGITS[:2], LABELS[:2])
    assert first.expected_.labels == 22 and len(np.unique(first.texts_)) == 22


def test_without_weights_labels_of_a_text_share_one_whenever_they_come():
    first: Any = small().fit(LOGITS, LABELS, texts=range(20))
    first.partial_fit(LOGITS[:6], np.maximum(LABELS[:6] - 1, 0), texts=range(6))
    rows = [*range(20), *range(6)]
    whole: Any = small().fit(LOGITS[rows], first.labels_, texts=rows)
    np.testing.assert_array_equal(first.sample_weight_, whole.sample_weight_)
    assert first.sample_weight_.sum() == pytest.approx(20)
    # Weights that were given stay.
    given: Any = small().fit(LOGITS, LABELS, texts=range(20), sample_weight=np.full(20, 2.0))
    given.partial_fit(LOGITS[:2], LABELS[:2], texts=range(2))
    assert given.sample_weight_.tolist() == [2.0] * 20 + [1.0] * 2


def test_texts_without_a_name_are_no_others():
    found: Any = small().fit(LOGITS, LABELS)
    found.partial_fit(LOGITS[:3], LABELS[:3], texts=[0, 1, 2])
    found.partial_fit(LOGITS[:3], LABELS[:3])
    assert found.expected_.labels == len(np.unique(found.texts_)) == 26


def test_weights_come_back_with_the_texts(tmp_path):
    texts, weights = np.repeat(np.arange(10), 2), np.linspace(0.5, 2, 20)
    fitted = cp.LogitStack().fit(LOGITS, LABELS, sample_weight=weights, texts=texts)
    fitted.save(tmp_path / "x.cordial")
    loaded = cp.load(tmp_path / "x.cordial")
    order = np.random.default_rng(0).permutation(20)
    assert not loaded.attach_texts(LOGITS[order], LABELS[order]).any()
    loaded.partial_fit(LOGITS[:1], LABELS[:1], sample_weight=[0.25], texts=[3])
    fitted.partial_fit(LOGITS[:1], LABELS[:1], sample_weight=[0.25], texts=[3])
    np.testing.assert_allclose(loaded.predict_proba(TEST), fitted.predict_proba(TEST), rtol=1e-9)
    np.testing.assert_array_equal(loaded.texts_, [*texts, 3])
