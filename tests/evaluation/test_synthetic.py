"""Made-up readings are as advertised, and follow their seeds."""

import numpy as np
import pytest
from embedded import SPLITS, benchmark
from scipy.special import softmax

from cordial_ppl import scores
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.synthetic import reviews

# The paper's main reader: accuracy and raw log loss (nats).
PAPER = {
    "music": (0.75, 1.339),
    "beauty": (0.66, 2.052),
    "software": (0.68, 2.093),
    "mosei": (0.32, 5.806),
}


def test_reviews_are_read_as_advertised():
    made = reviews(n=4000)
    probs, stated = softmax(made.logits, axis=1), made.logits.argmax(axis=1)
    shares = np.bincount(made.labels, minlength=5) / 4000
    histogram_loss = scores.log_loss(np.tile(shares, (4000, 1)), made.labels)
    # Over 20 seeds .934 (sd .0015), .714 (.008), 1.44 (.044), .65 (.017), .644 (.009), 1.07 (.017).
    assert 0.92 < probs.max(axis=1).mean() < 0.96
    assert 0.65 < scores.accuracy(probs, made.labels) < 0.75
    assert 1.25 < scores.log_loss(probs, made.labels) < 1.7
    assert 0.5 < (made.labels - stated)[stated < 4].mean() < 0.75
    assert 0.55 < shares[4] < 0.69 and 1.0 < histogram_loss < 1.2
    assert made.options == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("size", [2, 5, 11])
def test_scales_of_two_to_eleven_options(size):
    made = reviews(3000, options=size)
    assert made.logits.shape == (3000, size) and len(made.options) == size
    assert np.isfinite(made.logits).all() and set(made.labels) == set(range(size))
    # .67 (sd .02) of two options; a label has 60 (sd 5) of 11, over 20 seeds.
    assert np.corrcoef(made.logits.argmax(axis=1), made.labels)[0, 1] > 0.5


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (reviews, {"n": 0}, "at least 1 text and 2 options"),
        (reviews, {"options": 1}, "at least 1 text and 2 options"),
        (benchmark, {"name": "books"}, "music, beauty, software, mosei; got 'books'"),
    ],
)
def test_what_cannot_be_made_is_refused(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(**arguments)


def test_the_same_seed_makes_the_same_and_another_seed_others():
    for make in (lambda seed: reviews(50, seed=seed), lambda seed: benchmark("music", seed)):
        first, again, other = make(3), make(3), make(4)
        for one, two in zip(first, again, strict=True):
            np.testing.assert_equal(one, two)
        assert not np.array_equal(first.labels[:50], other.labels[:50])


@pytest.fixture(scope="module", params=PAPER)
def task(request):
    return benchmark(request.param)


def test_a_task_has_the_papers_shape_and_its_main_reader_errs_as_often(task):
    size = 7 if task.name == "mosei" else 5
    assert list(task.logits) == ["main", "small", "large", "other"] and len(task.options) == size
    pool = 18_135 if task.name == "mosei" else 2000
    assert [len(task.rows(split)) for split in SPLITS[:2]] == [pool, 4000]
    for logits in task.logits.values():
        assert logits.shape == (len(task.labels), size) and np.isfinite(logits).all()
    assert set(task.labels) == set(range(size))
    (accuracy, raw), found = PAPER[task.name], []
    for made in (benchmark(task.name, seed) for seed in range(4)):
        rows = made.rows("report")
        probs, labels = softmax(made.logits["main"][rows], axis=1), made.labels[rows]
        losses = scores.accuracy(probs, labels), scores.log_loss(probs, labels)
        found.append((*losses, probs.max(axis=1).mean()))
    # Beauty .677, 1.99; sd .004, .027 (mosei's .04), .0009 over 20 seeds of a mean of four.
    right, loss, sure = np.mean(found, axis=0)
    assert right == pytest.approx(accuracy, abs=0.03) and loss == pytest.approx(raw, rel=0.08)
    assert 0.92 < sure < 0.965
    # Noise of the label alone would make errors agree; the texts' ambiguity must do so too.
    first, second = (task.logits[name].argmax(axis=1) for name in ("main", "large"))
    common = task.labels == np.bincount(task.labels).argmax()
    assert np.corrcoef(first[common], second[common])[0, 1] > 0.3  # .71, sd .013 over 20 seeds.


def test_people_who_come_back_wrote_several_texts_in_order(task):
    single = task.split < SPLITS.index("users")
    assert (np.unique(task.users[single], return_counts=True)[1] == 1).all()
    assert (task.time[single] == 0).all()
    _, counts = np.unique(task.users[~single], return_counts=True)
    assert len(counts) == 400 and counts.min() >= 8 and counts.max() <= 16
    assert not set(task.users[single]) & set(task.users[~single])
    np.testing.assert_array_equal(task.time[~single], np.concatenate(list(map(np.arange, counts))))
