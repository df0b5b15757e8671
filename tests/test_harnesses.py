"""Logs of evaluations: lm-evaluation-harness, with its targets, and Inspect."""

import json

import numpy as np
import pytest
from logs_of_reviews import LOGS, gather, read, table

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats.inspect_ai import zipfile


def harness_row(scores=(-4.0, -3.0, -2.0, -1.0, -5.0), target="3", **fields):
    asked = {f"gen_args_{k}": {"arg_0": "Stars:", "arg_1": f" {k + 1}"} for k in range(len(scores))}
    given = [[str(score), "False"] for score in scores]
    row = {"doc_id": 0, "doc": {}, "target": target, "arguments": asked, "filter": "none"}
    # The best choice is the fourth: the target is its position.
    row["acc"] = 1.0
    return {**row, "resps": [[one] for one in given], "filtered_resps": given} | fields


def test_log_likelihoods_as_strings_or_numbers(log):
    pairs = [["Stars:", f" {k}"] for k in range(1, 6)]
    numbers = [[score, False] for score in (-4.0, -3.0, -2.0, -1.0, -5.0)]
    old = harness_row(doc_id=1, arguments=pairs, filtered_resps=numbers)
    found = read(log(harness_row(), old), scale=None)
    assert found.options == ("1", "2", "3", "4", "5")
    np.testing.assert_array_equal(*table(found, "logprob"))
    assert found.labels == {"item_id": ["0", "1"], "label": ["4", "4"]}


def test_one_filter_is_taken_and_texts_go_by_their_hash(log):
    rows = [
        harness_row(doc_hash=digest, doc_id=k, filter=name)
        for name in ("strict", "loose")
        for k, digest in enumerate(("aa", "bb", "aa"))
    ]
    assert read(log(*rows)).readings["item_id"] == ["aa", "bb", "aa-2"]


@pytest.mark.parametrize("delimiter", ["", " "])
@pytest.mark.parametrize("first", [False, True])
def test_a_choice_scored_without_its_prompt_counts_nothing(log, delimiter, first):
    row = harness_row()
    again = {f"gen_args_{k + 5}": {"arg_0": "", "arg_1": f"{delimiter}{k + 1}"} for k in range(5)}
    row["arguments"] |= again
    row["filtered_resps"] = row["filtered_resps"] + [["-0.1", "False"]] * 5
    if first:
        for name, order in (("arguments", dict), ("filtered_resps", list)):
            own = row[name].items() if order is dict else row[name]
            row[name] = order(list(own)[5:] + list(own)[:5])
    assert table(read(log(row)), "logprob").tolist() == [[-4.0, -3.0, -2.0, -1.0, -5.0]]


def test_choices_after_no_prompt_at_all(log):
    pairs = [["", f" {k}"] for k in range(1, 6)]
    assert table(read(log(harness_row(arguments=pairs))), "logprob")[0, 3] == -1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"filtered_resps": [["low", "False"]] * 5}, "must be log-likelihoods; found 'low'"),
        (
            {"arguments": [["A", "x"], ["B", "x"]]},
            "line 1: choices must be different continuations of one",
        ),
        (
            {"arguments": [["A", "x"], ["A", "x"]]},
            "line 1: choices must be different .*; found 'x' again",
        ),
        ({"arguments": [["A", " 1"]]}, "at least two options"),
    ],
)
def test_samples_that_have_no_options(log, fields, message):
    with pytest.raises(InputError, match=message):
        read(log(harness_row(**fields)), scale=None)


def test_documents_of_fewer_choices_are_another_scale(log):
    with pytest.raises(
        InputError, match="line 2: expected scores of the options 1, 2, 3, 4, 5; found 3, of"
    ):
        read(log(harness_row(), harness_row((-1.0, -2.0, -3.0), doc_id=1)), scale=None)


def test_archives_with_either_packing(tmp_path):
    source, path = LOGS / "inspect.eval", tmp_path / "deflated.eval"
    with zipfile.ZipFile(source) as packed:
        assert {member.compress_type for member in packed.infolist()} == {93}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        zipfile.ZipFile(source) as whole,
    ):
        for name in whole.namelist():
            archive.writestr(name, whole.read(name))
    found, original = read(path), gather("inspect.eval")
    np.testing.assert_array_equal(table(found, "logprob"), table(original, "logprob"))
    assert found.labels == original.labels


def test_archives_that_are_damaged(tmp_path):
    whole = (LOGS / "inspect.eval").read_bytes()
    path = tmp_path / "log.eval"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="must be a zip archive; it is not, or was cut off"):
        read(path)
    start = whole.index(b"samples/review-02") + 60
    path.write_bytes(whole[:start] + bytes(200) + whole[start + 200 :])
    with pytest.raises(FileError, match="samples/review-02_epoch_1.json cannot be unpacked"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no log")
    with pytest.raises(FileError, match="must be a log of Inspect; found no header.json"):
        read(path)


def test_a_run_that_was_broken_off_is_read_as_far_as_it_came(tmp_path):
    source, path = LOGS / "inspect.eval", tmp_path / "log.eval"
    kept = ("_journal/start.json", "samples/review-03_epoch_1.json")
    with zipfile.ZipFile(path, "w") as archive, zipfile.ZipFile(source) as whole:
        for name in kept:
            archive.writestr(name, whole.read(name))
    assert read(path).readings["item_id"] == ["review-03"]


def test_logs_of_inspect_in_json(log):
    sample = {"id": 1, "epoch": 1, "target": ["4", "5"], "attachments": {"f00": "Score: 4"}}
    parts = [{"type": "reasoning", "reasoning": "2"}, {"type": "text", "text": "Score: 4"}]
    contents = ["Score: 4", parts, "attachment://f00", ""]
    choices = [{"message": {"content": content}} for content in contents]
    whole = {"eval": {"model": "m", "task": "t"}, "plan": {}}
    found = read(log({**whole, "samples": [{**sample, "output": {"choices": choices}}]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 0]]
    assert found.count("unread") == 1 and not found.labels["item_id"]
    with pytest.raises(InputError, match="holds no samples"):
        read(log({**whole, "samples": None}))


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
