"""Agreement is what the libraries compute, intervals cover it, and bounds for a judge hold."""

from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

import cordial_ppl as cp
from cordial_ppl.decisions.agreement import MEASURES
from cordial_ppl.errors import InputError

WORDS = "poor", "fair", "good", "great"


pytestmark = pytest.mark.usefixtures("few_resamples")


def rate(rng, texts, people, size, noise=1.0, shift=0.0) -> Any:
    """Let people rate texts on a scale: the truth, and the labels."""
    truth = rng.normal((size - 1) / 2, size / 4, texts)
    lean = shift * (np.arange(people) - (people - 1) / 2)
    labels = truth[:, None] + lean + noise * rng.normal(size=(texts, people))
    return truth, np.clip(np.rint(labels), 0, size - 1).astype(int)


def leave_gaps(rng, labels, share=0.3) -> Any:
    """Take some labels away; every text keeps its first."""
    gone = rng.random(labels.shape) < share
    gone[:, 0] = False
    return np.where(gone, None, labels.astype(object)), gone


@pytest.mark.parametrize("seed", range(10))
def test_people_agree_as_libraries_say(seed):
    """Tables with gaps, of two to five people and two to seven options."""
    rng = np.random.default_rng(seed)
    people, size = 2 + seed % 4, 2 + seed % 6
    _, labels = rate(rng, 60, people, size)
    table, gone = leave_gaps(rng, labels)
    made = cp.agreement(table, size).values["people"]
    reliability = np.where(gone, np.nan, labels).T
    metrics: Any = {"alpha": "ordinal", "linear": "interval"}
    for name, metric in metrics.items():
        known = krippendorff.alpha(reliability, level_of_measurement=metric)
        assert made[name].mean == pytest.approx(known, abs=1e-9)
    both = np.flatnonzero(~gone[:, 1])
    pair = cp.agreement(table[both][:, :2], size).values["people"]
    one, other = labels[both, :2].T
    known = cohen_kappa_score(one, other, weights="quadratic", labels=range(size))
    assert pair["kappa"].mean == pytest.approx(known, abs=1e-9)
    assert pair["exact"].mean == pytest.approx(np.mean(one == other), abs=1e-9)
    assert pair["within_one"].mean == pytest.approx(np.mean(abs(one - other) < 2), abs=1e-9)


def test_a_judge_agrees_as_libraries_say():
    rng = np.random.default_rng(0)
    truth, labels = rate(rng, 80, 1, 5)
    probs = np.exp(-((truth[:, None] - np.arange(5)) ** 2))
    probs /= probs.sum(axis=1, keepdims=True)
    probs[3] = np.nan
    made = cp.agreement(labels, 5, predictions={"judge": probs}).values
    assert made.keys() == {"judge"}
    stated, given = np.delete(probs, 3, axis=0), np.delete(labels[:, 0], 3)
    rating = stated.argmax(axis=1)
    known = {
        "kappa": cohen_kappa_score(rating, given, weights="quadratic", labels=range(5)),
        "spearman": spearmanr(stated @ np.arange(5), given).statistic,
        "exact": np.mean(rating == given),
        "within_one": np.mean(abs(rating - given) < 2),
    }
    means = {name: made["judge"][name].mean for name in known}
    assert means == pytest.approx(known, abs=1e-9)


def test_numbers_that_fall_agree_as_those_that_rise():
    rng = np.random.default_rng(2)
    _, labels = rate(rng, 60, 2, 5)
    probs = rng.dirichlet(np.ones(5), 60) + 2 * np.eye(5)[labels[:, 0]]
    rise, fall = (
        cp.agreement(np.array(options)[labels], options, predictions={"judge": probs / 3})
        for options in (range(1, 6), range(5, 0, -1))
    )
    assert fall.to_dict() == rise.to_dict() and "spearman" in str(rise.to_dict())


def test_a_text_counts_once_whoever_labels_it():
    """Twice the labels of a text change nothing of what a judge agrees with."""
    rng = np.random.default_rng(1)
    truth, labels = rate(rng, 50, 1, 5)
    probs = np.eye(5)[np.clip(np.rint(truth), 0, 4).astype(int)]
    twice = np.where(rng.random(50) < 0.5, labels[:, 0], -1)
    one = cp.agreement(labels, 5, predictions={"judge": probs}).values["judge"]
    other = cp.agreement(np.stack([labels[:, 0], twice], 1), 5, predictions={"judge": probs})
    for name, interval in one.items():
        assert other.values["judge"][name] == pytest.approx(interval, abs=1e-9)
    people = other.values["people"]
    assert people["exact"] == people["alpha"] == pytest.approx((1, 1, 1))


def test_of_people_who_disagree_no_ceiling_is_told(few_resamples):
    """A judge may well agree with each more than chance where they do not with one another."""
    labels = np.array([[k % 5, 4 - k % 5] for k in range(40)])
    found = cp.agreement(labels, 5)
    assert found.values["people"]["kappa"].mean < 0
    assert not {"kappa", "spearman"} & {*found.values["at most"]}
    assert len({len(row) for row in found.rows}) == 1 and "at most" in str(found)


@pytest.mark.nightly
def test_intervals_cover_what_is_true_of_many_texts():
    """90 % intervals of 40 texts: of 40, four standard deviations below 36 are 28 or fewer."""
    rng = np.random.default_rng(2)

    def ask(texts):
        truth, labels = rate(rng, texts, 3, 5)
        judge = np.eye(5)[np.clip(np.rint(truth + 0.5), 0, 4).astype(int)]
        return cp.agreement(labels, 5, predictions={"judge": judge}).values

    true, covered = ask(4000), dict.fromkeys([("people", "alpha"), ("judge", "kappa")], 0)
    for _ in range(40):
        made = ask(40)
        for of, name in covered:
            _, lower, upper = made[of][name]
            covered[of, name] += lower <= true[of][name].mean <= upper
    assert min(covered.values()) > 28


def test_texts_that_are_alike_are_drawn_together():
    """Ten texts of each of twelve conversations, all of a conversation with the same labels."""
    rng = np.random.default_rng(3)
    labels = np.repeat(rate(rng, 12, 2, 5)[1], 10, axis=0)
    names = np.repeat([f"c{k}" for k in range(12)], 10)
    alone, together = (cp.agreement(labels, 5, clusters=each) for each in (None, names))
    assert (alone.clusters, together.clusters) == (120, 12)
    widths = [
        each.values["people"]["exact"].upper - each.values["people"]["exact"].lower
        for each in (alone, together)
    ]
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize(
    ("people", "shift"),
    [(2, 0.0), pytest.param(4, 0.0, marks=pytest.mark.nightly), (2, 2.0), (3, 1.0)],
)
def test_no_judge_passes_the_ceiling(people, shift):
    """Judges that know the truth, spread as much as labels are, against people of known noise.

    People who differ only by chance leave what their agreement says; of two or three whose labels
    are shifted a judge may know more, up to the upper end.
    """
    rng = np.random.default_rng(4)
    size, texts = 9, 3000
    truth, labels = rate(rng, texts, people, size, noise=1.2, shift=shift)
    spread = labels.std() / truth.std()
    rating = np.clip(np.rint((truth - truth.mean()) * spread + labels.mean()), 0, size - 1)
    sure = np.eye(size)[rating.astype(int)]
    # The option that most people give to texts near this one is the best guess.
    order = np.argsort(truth)
    votes = np.zeros((texts, size))
    for rows in np.array_split(order, 40):
        votes[rows] = np.bincount(labels[rows].ravel(), minlength=size) / labels[rows].size
    made = cp.agreement(labels, size, predictions={"ideal": sure, "oracle": votes}).values
    ceiling = made["at most"]
    for name in ("kappa", "spearman", "exact", "within_one"):
        reached = max(made[of][name].mean for of in ("ideal", "oracle"))
        assert reached <= ceiling[name].upper + 0.01
        if not shift:
            assert reached <= ceiling[name].mean + 0.01
    if not shift:
        # The reliability of one label is known: that of the truth, seen through one noise.
        reliability = truth.var() / (truth.var() + 1.2**2)
        assert ceiling["kappa"].mean == pytest.approx(np.sqrt(reliability), abs=0.02)
        assert (
            max(made[of]["kappa"].mean for of in ("ideal", "oracle")) > ceiling["kappa"].mean - 0.03
        )
        assert (
            max(made[of]["spearman"].mean for of in ("ideal", "oracle"))
            > ceiling["spearman"].mean - 0.03
        )


def test_differences_are_of_the_same_draws():
    """Two judges that are one differ by nothing, whatever the texts."""
    rng = np.random.default_rng(5)
    truth, labels = rate(rng, 30, 2, 5)
    judge = np.eye(5)[np.clip(np.rint(truth), 0, 4).astype(int)]
    made = cp.agreement(labels, 5, predictions={"one": judge, "two": judge})
    assert set(made.gains["two minus one"].values()) == {(0, 0, 0)}
    assert made.gains["one minus people"]["exact"].mean == pytest.approx(
        made.values["one"]["exact"].mean - made.values["people"]["exact"].mean
    )
    assert "two minus one: 0.00 (0.00 to 0.00)" in str(made)
    assert made.to_dict()["gains"]["two minus one"]["kappa"] == {"mean": 0, "lower": 0, "upper": 0}


def test_a_judge_may_have_any_name():
    """Also one that reads as a difference of others."""
    judge, name = np.eye(3)[[0, 1, 2, 1]], "gpt less mini"
    made = cp.agreement([[0, 1], [1, 1], [2, 1], [1, 1]], 3, predictions={name: judge})
    assert made.rows[0] == ("", "people", name, "at most") and name in str(made)


def test_predictions_and_clusters_are_matched_by_their_index():
    """Labels, predictions and clusters of pandas are of the texts that their indexes name."""
    rng = np.random.default_rng(0)
    _, labels = rate(rng, 60, 2, 5)
    names = [f"text {row}" for row in range(60)]
    votes = pd.DataFrame(labels, index=names)
    stated = pd.DataFrame(np.eye(5)[labels[:, 0]] * 0.6 + 0.08, index=names)
    clusters = pd.Series(np.arange(60) // 4, index=names)
    expected = cp.agreement(labels, 5, predictions={"c": stated.to_numpy()}, clusters=[*clusters])
    turned = {"predictions": {"c": stated[::-1]}, "clusters": clusters[::-1]}
    assert cp.agreement(votes, 5, **turned) == expected
    with pytest.raises(InputError, match="c and .* different indexes"):
        cp.agreement(votes, 5, predictions={"c": stated.rename(index={"text 0": "other"})})


def test_what_has_no_value_is_left_empty():
    """Too few texts that two people share for kappa; labels of one option for everything else."""
    few = cp.agreement([[0, 1], [1, 1], [0, None]], 3)
    assert np.isnan(few.values["people"]["kappa"].mean) and few.apart == [0] and few.several == 2
    alike = cp.agreement(np.ones((12, 2), int), 3).values["people"]
    assert alike["exact"] == (1, 1, 1) and np.isnan([*alike["alpha"], *alike["kappa"]]).all()
    assert "nan" not in str(few) and MEASURES["kappa"] not in str(few)
    nothing = {"judge": np.full((2, 3), np.nan)}
    assert cp.agreement([[0], [1]], 3, predictions=nothing).values == {}
    single = cp.agreement([["good"], ["poor"]], WORDS)
    assert single.values == {} and single.apart == [] and single.texts == 2


@pytest.mark.parametrize(
    ("facts", "changed"),
    [
        ("found 4 in row 0, column 1[.]", {"labels": [[0, 4], [1, 1]]}),
        ("found 4 in row 0, column 1 and 2 more[.]", {"labels": [[0, 4], [4, 4]]}),
        (r"judge.*\(2, 3\)", {"predictions": {"judge": np.ones((2, 2)) / 2}}),
        ("sum to one.*row 1", {"predictions": {"judge": [[1, 0, 0], [1, 1, 1]]}}),
        ("clusters.*2 texts; got 1", {"clusters": ["a"]}),
        ("level", {"level": 2}),
    ],
)
def test_wrong_arguments_are_refused(facts, changed):
    with pytest.raises(InputError, match=facts):
        cp.agreement(**{"labels": [[0, 1], [1, 1]], "options": 3} | changed)
