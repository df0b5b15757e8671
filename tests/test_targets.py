"""Targets of lm-eval: names of choices, or positions, and what tells."""

import json

import pytest
from logs_of_reviews import read
from test_harnesses import harness_row

from cordial_ppl.errors import InputError

NAMED, COUNTED = ["5", "4", "2", "3"], ["4", "3", "1", "2"]


def rows(targets, **fields):
    """Samples whose best choice is "1", of five."""
    return [
        harness_row((-1.0, -2.0, -3.0, -4.0, -5.0), target, doc_id=i, **{"acc": None, **fields})
        for i, target in enumerate(targets)
    ]


def labels(path):
    return read(path, scale=None).labels["label"]


@pytest.mark.parametrize("settings", [{}, {"acc_norm": 0.0}, {"acc": 0.0}])
def test_a_target_beyond_the_choices_proves_names_and_zero_positions(log, settings):
    # None of these is right by its name or by its position, so that no accuracy tells.
    assert labels(log(*rows(NAMED, **settings))) == NAMED
    assert labels(log(*rows([*COUNTED, "0"], **settings))) == ["5", "4", "2", "3", "1"]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
@pytest.mark.parametrize(("right", "label"), [(1.0, "1"), (0.0, "2")])
def test_accuracies_tell_in_any_row(log, metric, right, label):
    told = rows(["2", "3", "1"], **{metric: 0.0})
    told[2][metric] = right
    assert labels(log(*told))[2] == label


def test_the_normed_accuracy_is_by_character(log):
    names = ["1", "22222222", "3"]
    asked = [["Stars:", f" {name}"] for name in names]
    row = harness_row((-2.0, -4.0, -9.0), "1", arguments=asked, acc=None, acc_norm=1.0)
    # By character the second is the best, and that is right: the target is its position.
    assert labels(log(row)) == ["22222222"]


def test_what_cannot_be_told_is_refused_to_who_wants_labels(log):
    path = log(*rows(["1", "2"]))
    assert len(read(path, labels=False)) == 2
    with pytest.raises(InputError, match='such as "3" may be names .* leave --labels out'):
        read(path)


@pytest.mark.parametrize(
    ("template", "stars", "expected"),
    [("stars", "2", "2"), ("stars", 2, "3"), ("{{stars}}", "2", "3"), (2, "x", "3")],
)
def test_the_settings_of_the_task_tell(tmp_path, log, template, stars, expected):
    config = {"doc_to_target": template, "doc_to_choice": list("12345"), "doc_to_text": "t"}
    date = "2026-01-01T00-00-00"
    results = {"config": {"model": "m"}, "date": 1.0, "configs": {"tone": config}}
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results))
    path = log(*rows(["2"], doc={"stars": stars}), name=f"samples_tone_{date}.jsonl")
    assert labels(path) == [expected]


def test_targets_that_are_texts_of_choices(log):
    # The best choice is " 4", and it is right only if "4" names it.
    path = log(harness_row(target="4", acc=1.0), harness_row(target="2", acc=0.0, doc_id=1))
    assert read(path).labels["label"] == ["4", "2"]
    path = log(harness_row(target="4", acc=0.0), harness_row(target="2", acc=0.0, doc_id=1))
    assert read(path).labels["label"] == ["5", "3"]
    with pytest.raises(InputError, match="line 1: a label must be one of 1, .*; found 'x'"):
        read(log(harness_row(target="x")))
    assert len(read(log(harness_row(target="x")), labels=False)) == 1
