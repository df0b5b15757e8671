import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cordial_ppl import scores
from cordial_ppl.analyses import (
    Interval,
    paired_interval,
    predictions_given_stated,
    saturated_readings,
)
from cordial_ppl.analyses import interval as interval_module
from cordial_ppl.calibrators.vector import fit_vector, vector_log_probs
from cordial_ppl.errors import InputError

REFERENCE = json.loads((Path(__file__).parent / "reference" / "analyses.json").read_text())


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_interval_of_one_subset_or_one_text_is_scipys(axis):
    values = np.random.default_rng(0).gamma(2.0, 0.1, 60) - 0.15
    ours = paired_interval(np.expand_dims(values, axis), draws=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    assert ours.mean == pytest.approx(values.mean())
    assert ours.lower == pytest.approx(theirs.confidence_interval.low, abs=0.03 * values.std())
    assert ours.upper == pytest.approx(theirs.confidence_interval.high, abs=0.03 * values.std())


def test_the_interval_of_texts_and_subsets_is_that_of_resampling_one_by_one():
    rng = np.random.default_rng(2)
    differences = rng.normal(size=(5, 1)) + rng.normal(size=(1, 40)) + rng.normal(size=(5, 40))
    plain = [
        differences[np.ix_(rng.integers(0, 5, 5), rng.integers(0, 40, 40))].mean()
        for _ in range(10_000)
    ]
    ours = paired_interval(differences, level=0.8)
    np.testing.assert_allclose(ours[1:], np.quantile(plain, [0.1, 0.9]), atol=0.05)


def test_chunks_cover_all_draws(monkeypatch):
    differences = np.random.default_rng(3).normal(size=(3, 50))
    whole = paired_interval(differences, draws=1001)
    monkeypatch.setattr(interval_module, "CHUNK", 50 * 10)
    pieces = paired_interval(differences, draws=1001)
    np.testing.assert_allclose(whole, pieces, atol=0.05)


@given(st.floats(-2, 2), st.integers(1, 5), st.integers(1, 30))
def test_a_constant_difference_is_certain(value, subsets, n):
    found = paired_interval(np.full((subsets, n), value), draws=50)
    np.testing.assert_allclose(found, value, atol=1e-12)


def test_an_interval_is_resolved_when_it_excludes_zero():
    resolved = [Interval(0, *ends).resolved for ends in [(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)]]
    assert resolved == [True, True, False]


@pytest.mark.parametrize(
    ("differences", "options"),
    [
        (np.array([[0.0, np.nan]]), {}),
        (np.zeros((0, 3)), {}),
        (np.zeros((1, 3)), {"level": 1.0}),
        (np.zeros((1, 3)), {"draws": 0}),
    ],
)
def test_bad_differences_are_refused(differences, options):
    with pytest.raises(InputError, match="must"):
        paired_interval(differences, **options)


def test_a_class_that_is_never_stated_has_no_distribution():
    table = predictions_given_stated(np.eye(3)[[0, 2, 2]], np.array([0, 2, 2]))
    np.testing.assert_array_equal(table, [[1, 0, 0], [np.nan] * 3, [0, 0, 1]])


def test_the_tables_divergence_is_the_class_weighted_kl():
    probs, labels, stated = (np.array(REFERENCE[k]) for k in ("probs", "labels", "stated"))
    people = predictions_given_stated(np.eye(5)[labels], stated)
    model = np.maximum(predictions_given_stated(probs, stated), 1e-4)
    texts = np.bincount(stated, minlength=5) / len(stated)
    terms = people * np.log(np.where(people > 0, people, 1) / model)
    kl = float((texts * np.nan_to_num(terms.sum(axis=1))).sum())
    assert kl == pytest.approx(REFERENCE["class_weighted_kl"], abs=1e-12)
    assert kl == pytest.approx(scores.class_weighted_kl(probs, labels, stated), abs=1e-12)


def test_saturated_readings_and_their_reversals_match_the_reference():
    readings = saturated_readings(np.array(REFERENCE["logits"]) + 3.0)
    np.testing.assert_allclose(readings, REFERENCE["saturated"], atol=1e-12)
    labels = np.array(REFERENCE["fitted_labels"])
    vector = fit_vector(np.array(REFERENCE["logits"]), labels)
    predictions = np.exp(vector_log_probs(vector, readings))
    np.testing.assert_allclose(predictions, REFERENCE["predictions"], atol=1e-5)
    assert scores.reversals(predictions).tolist() == REFERENCE["reversed"]
    ordered = softmax(readings)
    assert not scores.reversals(ordered).any() and scores.reversals(ordered[::-1]).all()
