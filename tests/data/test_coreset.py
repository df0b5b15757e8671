"""Few weighted texts in place of many: no label is lost, and equal ones are one."""

import numpy as np

from cordial_ppl.data.coreset import build_coreset
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.evaluation.synthetic import reviews

TEXTS = reviews(600, seed=5)
LOGITS, LABELS = as_logits(TEXTS.logits), TEXTS.labels


def test_labels_and_mean_readings_keep_their_weight():
    weights = np.random.default_rng(0).integers(1, 4, 600).astype(float)
    few = build_coreset(Labelled(LOGITS, LABELS, {}, weights))
    assert len(few.labels) == 128
    for label in range(5):
        sums = [
            each.weights[each.labels == label] @ each.logits[each.labels == label]
            for each in (few, Labelled(LOGITS, LABELS, {}, weights))
        ]
        np.testing.assert_allclose(*sums, rtol=1e-9)
    np.testing.assert_allclose(
        np.bincount(few.labels, few.weights), np.bincount(LABELS, weights), rtol=1e-12
    )


def test_equal_readings_are_exact_and_few_texts_stay():
    rows = np.arange(600) % 40
    few = build_coreset(Labelled(LOGITS[rows], LABELS[rows]))
    assert len(few.labels) == 40
    np.testing.assert_allclose(few.weights, 15.0)
    for texts in (
        Labelled(LOGITS[:150], LABELS[:150]),
        Labelled(LOGITS, LABELS, {"length": np.arange(600.0)}),
        Labelled(np.stack([LOGITS, LOGITS], axis=1), LABELS),
    ):
        assert build_coreset(texts) is texts
