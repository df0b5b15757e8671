"""What the labels tell while they are made, and how often stopping by it is wrong."""

import numpy as np
import pytest
from labelling_pages import OPTIONS, TEXTS, open_page

import cordial_ppl as cp
from cordial_ppl.decisions.estimates.requirement import parse
from cordial_ppl.decisions.planning import expected_scores, score_strata
from cordial_ppl.errors import InputError
from cordial_ppl.label import advice
from cordial_ppl.label.advice import FIRST, Goal, level_at_all_looks, look

GOAL = Goal([parse("mean >= 1.5")], within=2.0)


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    """What is said after so many labels."""
    with open_page(tmp_path_factory.mktemp("looks"), number=TEXTS) as opened:
        result, work = {}, opened.page.work
        for count in (FIRST - 1, FIRST, 20, 40):
            while len(opened.log.standing) < count:
                opened.label()
            result[count] = look(work.table, opened.log.path, GOAL)
        labels = {row["item_id"]: row["label"] for row in opened.log.standing}
        yield result, work.table, labels


def test_what_is_said_grows_with_the_labels(looks):
    result, _, _ = looks
    assert result[FIRST - 1]["wait"].endswith(": 1.")
    assert result[FIRST]["mean"]["lower"] < result[FIRST]["mean"]["upper"]
    assert not result[FIRST]["enough"] and result[FIRST]["lack"] == 15 and not result[20]["lack"]
    assert "more" not in result[FIRST] and result[20]["more"]["labels"] == 30
    assert result[20]["enough"] and "1.5: yes" in result[20]["requirements"][0]
    assert result[40]["half"] < result[20]["half"] < result[FIRST]["half"]
    assert result[20]["more"]["half"] < result[20]["half"]


def test_it_is_the_estimate_of_the_same_labels_with_a_wider_interval(looks):
    result, table, labels = looks
    rows = [table.item_ids.index(item) for item in labels]
    fit = cp.Cordial(OPTIONS).fit(table.logits[rows], [*labels.values()], corpus=table.logits)
    strata = score_strata(expected_scores(table.logits, table.scale), 40)
    made = fit.estimate(table.logits, rows, strata=strata)
    assert result[40]["mean"]["mean"] == pytest.approx(made.overall.mean.mean, abs=1e-6)
    half = (made.overall.mean.upper - made.overall.mean.lower) / 2
    assert 1.3 * half < result[40]["half"] < 2.2 * half


@pytest.mark.parametrize(
    "level", [0.9, *(pytest.param(level, marks=pytest.mark.nightly) for level in (0.8, 0.95))]
)
def test_the_interval_holds_at_all_looks(level):
    """Of running means with known error, as many leave it as may, at some look; fewer at one."""
    rng, looks = np.random.default_rng(0), np.arange(1, 2001)
    means = rng.standard_normal((4000, 2000)).cumsum(axis=1) / looks
    levels = np.array([level_at_all_looks(int(n), level) for n in looks])
    from scipy.special import ndtri

    outside = np.abs(means) * np.sqrt(looks) > ndtri((1 + levels) / 2)
    ever = outside[:, 19:].any(axis=1).mean()
    # The standard error of such a share is .006.
    assert 0.1 * (1 - level) < ever < 1 - level
    fixed = (np.abs(means) * np.sqrt(looks) > ndtri((1 + level) / 2))[:, 19:].any(axis=1).mean()
    assert fixed > 2 * (1 - level), "the interval of one look does not"


def test_labels_that_are_all_alike_are_not_enough(tmp_path):
    with open_page(tmp_path) as opened:
        for _ in range(20):
            opened.label("3")
        made = look(opened.page.work.table, opened.log.path, GOAL)
    assert made["half"] < 2 and not made["enough"]


def test_the_thread_answers_about_the_newest_labels(tmp_path):
    with open_page(tmp_path, goal=Goal()) as opened:
        for _ in range(FIRST):
            opened.label()
        wait_for(lambda: opened.client.get("/advice").json().get("answers") == FIRST)
        assert opened.client.get("/advice").json()["labels"] == FIRST
        opened.page.adviser.end()


def test_what_cannot_be_answered_is_told_on_the_page(tmp_path):
    goal = Goal([parse("oka >= 1")])
    with open_page(tmp_path, goal=goal) as opened:
        for _ in range(FIRST):
            opened.label()
        with pytest.raises(InputError, match="'oka'"):
            look(opened.page.work.table, opened.log.path, goal)
        wait_for(lambda: "'oka'" in opened.client.get("/advice").json().get("wait", ""))
        opened.label()
        assert opened.log.count == FIRST + 1, "people go on"
        opened.page.adviser.end()


def test_a_fault_of_the_package_is_no_advice(tmp_path, monkeypatch):
    """It is told as a fault, and people go on."""

    def fail(*_):
        raise IndexError("out of bounds")

    monkeypatch.setattr(advice, "look", fail)
    with open_page(tmp_path, goal=Goal()) as opened:
        opened.label()
        wait_for(lambda: "report this error" in opened.client.get("/advice").json().get("wait", ""))
        assert opened.label() and opened.log.count == 2
        opened.page.adviser.end()


def wait_for(met, seconds=120):
    """Wait until something is so."""
    import time

    for _ in range(10 * seconds):
        if met():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come")
