import numpy as np
import pytest

from cordial_ppl import scores
from cordial_ppl.errors import InputError
from cordial_ppl.synthetic import SPLITS, Raters, Reader, benchmark, reviews


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reviews_are_read_as_advertised(seed):
    made = reviews(n=4000, seed=seed)
    probs, stated = softmax(made.logits), made.logits.argmax(axis=1)
    below_five = stated < 4
    shares = np.bincount(made.labels, minlength=5) / 4000
    histogram_loss = scores.log_loss(np.tile(shares, (4000, 1)), made.labels)
    assert 0.92 < probs.max(axis=1).mean() < 0.96
    assert 0.65 < scores.accuracy(probs, made.labels) < 0.75
    assert 1.3 < scores.log_loss(probs, made.labels) < 1.7
    assert 0.5 < (made.labels - stated)[below_five].mean() < 0.75
    assert 0.55 < shares[4] < 0.68
    assert 1.0 < histogram_loss < 1.2
    assert made.options == ("1", "2", "3", "4", "5")


def test_the_same_seed_makes_the_same_readings_and_another_seed_others():
    first, again, other = reviews(50, seed=3), reviews(50, seed=3), reviews(50, seed=4)
    np.testing.assert_array_equal(first.logits, again.logits)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.logits, other.logits)


@pytest.mark.parametrize("size", [2, 5, 11])
def test_scales_of_two_to_eleven_options(size):
    made = reviews(3000, options=size)
    assert made.logits.shape == (3000, size) and made.labels.shape == (3000,)
    assert len(made.options) == size
    assert np.isfinite(made.logits).all()
    assert set(made.labels) == set(range(size))
    assert np.corrcoef(made.logits.argmax(axis=1), made.labels)[0, 1] > 0.5


@pytest.mark.parametrize("size", [2, 5, 11])
def test_a_severe_reader_rates_lower_than_a_lenient_one(size):
    quality = np.random.default_rng(0).standard_normal(500)
    cuts = Raters(size).cuts()
    severe, lenient = (
        Reader(severity=severity, jitter=0).read(np.random.default_rng(1), quality, cuts)
        for severity in (0.3, -0.3)
    )
    assert (severe.argmax(axis=1) <= lenient.argmax(axis=1)).all()
    assert (severe.argmax(axis=1) < lenient.argmax(axis=1)).any()


def test_labels_follow_the_shares():
    raters = Raters(options=4, skew=1.0)
    weights = np.exp(np.linspace(0, 1, 4) ** 2)
    labels = raters.label(np.random.default_rng(0), np.random.default_rng(1).normal(size=40_000))
    np.testing.assert_allclose(np.bincount(labels) / 40_000, weights / weights.sum(), atol=0.015)


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


# The paper's main reader: accuracy and raw log loss (nats).
PAPER = {
    "music": (0.75, 1.339),
    "beauty": (0.66, 2.052),
    "software": (0.68, 2.093),
    "mosei": (0.32, 5.806),
}


@pytest.fixture(scope="module", params=PAPER)
def task(request):
    return benchmark(request.param)


def report(task, reader="main"):
    rows = task.rows("report")
    return softmax(task.logits[reader][rows]), task.labels[rows]


def test_the_main_reader_is_right_sure_and_wrong_as_often_as_the_papers(task):
    probs, labels = report(task)
    accuracy, raw = PAPER[task.name]
    assert scores.accuracy(probs, labels) == pytest.approx(accuracy, abs=0.025)
    assert 0.92 < probs.max(axis=1).mean() < 0.965
    assert scores.log_loss(probs, labels) == pytest.approx(raw, rel=0.06)


def test_texts_readers_and_options_have_the_papers_shape(task):
    size = 7 if task.name == "mosei" else 5
    assert list(task.logits) == ["main", "small", "large", "other"]
    assert len(task.options) == size
    assert [len(task.rows(split)) for split in SPLITS[:2]] == [2000, 4000]
    for logits in task.logits.values():
        assert logits.shape == (len(task.labels), size)
        assert np.isfinite(logits).all()
    assert set(task.labels) == set(range(size))


def test_given_the_labels_the_readers_still_err_together(task):
    # Noise of the label alone would make errors agree; the texts' ambiguity must do so too.
    first, second = task.logits["main"].argmax(axis=1), task.logits["large"].argmax(axis=1)
    common = task.labels == np.bincount(task.labels).argmax()
    assert np.corrcoef(first[common], second[common])[0, 1] > 0.3


def test_people_who_come_back_wrote_eight_to_sixteen_texts_in_order(task):
    single = task.split < SPLITS.index("users")
    assert (np.unique(task.users[single], return_counts=True)[1] == 1).all()
    assert (task.time[single] == 0).all()
    _, counts = np.unique(task.users[~single], return_counts=True)
    assert len(counts) == 400
    assert counts.min() >= 8 and counts.max() <= 16
    assert not set(task.users[single]) & set(task.users[~single])
    np.testing.assert_array_equal(
        task.time[~single], np.concatenate([np.arange(c) for c in counts])
    )


def test_people_have_offsets(task):
    # Residuals of one person agree: their means vary more than those of shuffled texts.
    rows = task.rows("users")
    stated = task.logits["main"][rows].argmax(axis=1)
    mean = np.array([task.labels[rows][stated == c].mean() for c in range(len(task.options))])
    residual = task.labels[rows] - mean[stated]
    _, person = np.unique(task.users[rows], return_inverse=True)

    def spread(values):
        return np.var(np.bincount(person, values) / np.bincount(person))

    rng = np.random.default_rng(0)
    chance = [spread(rng.permutation(residual)) for _ in range(200)]
    assert spread(residual) > np.quantile(chance, 0.99)


def test_the_same_arguments_make_the_same_task_and_another_seed_another():
    first, again, other = (benchmark("music", seed) for seed in (3, 3, 4))
    for name, logits in first.logits.items():
        np.testing.assert_array_equal(logits, again.logits[name])
    for field in ("labels", "split", "users", "time"):
        np.testing.assert_array_equal(getattr(first, field), getattr(again, field))
    assert not np.array_equal(first.labels[:6000], other.labels[:6000])


def test_logits_saturate_at_the_ceiling():
    cuts, quality = Raters().cuts(), np.random.default_rng(0).standard_normal(500)
    reader = Reader(jitter=0.0, ceiling=6.0)
    bounded = reader.read(np.random.default_rng(1), quality, cuts)
    free = Reader(jitter=0.0).read(np.random.default_rng(1), quality, cuts)
    assert -6 <= bounded.min() < -5.9
    assert (bounded >= free).all()
    np.testing.assert_array_equal(np.argsort(bounded[0]), np.argsort(free[0]))
