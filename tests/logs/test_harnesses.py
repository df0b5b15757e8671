"""Logs of evaluations: lm-evaluation-harness, with its targets, and Inspect."""

import json

import numpy as np
import pytest
from logs_of_reviews import LOGS, read, table
from typer.testing import CliRunner

from cordial_ppl.cli.app import app
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs import collect, find_format, inspect_ai, of_scorer
from cordial_ppl.logs.inspect_ai import zipfile

BEST_FOURTH = (-4.0, -3.0, -2.0, -1.0, -5.0)
PAIRS = [["Stars:", f" {k}"] for k in range(1, 6)]


def sample(scores=BEST_FOURTH, target="3", **fields):
    """A sample whose target is the position of the best choice."""
    asked = {f"gen_args_{k}": {"arg_0": a, "arg_1": b} for k, (a, b) in enumerate(PAIRS)}
    given = [[str(score), "False"] for score in scores]
    row = {"doc_id": 0, "doc": {}, "target": target, "filter": "none", "acc": 1.0}
    row["arguments"] = dict(list(asked.items())[: len(scores)])
    return {**row, "resps": [[one] for one in given], "filtered_resps": given} | fields


def samples(targets, **fields):
    """Samples whose best choice is "1", of five."""
    return [
        sample((-1.0, -2.0, -3.0, -4.0, -5.0), target, doc_id=i, **{"acc": None, **fields})
        for i, target in enumerate(targets)
    ]


def test_log_likelihoods_as_strings_or_numbers(log):
    numbers = [[score, False] for score in BEST_FOURTH]
    old = sample(doc_id=1, arguments=PAIRS, filtered_resps=numbers)
    found = read(log(sample(), old), scale=None)
    assert found.options == ("1", "2", "3", "4", "5")
    np.testing.assert_array_equal(*table(found, "logprob"))
    assert found.labels == {"item_id": ["0", "1"], "label": ["4", "4"]}
    alone = sample(arguments=[["", choice] for _, choice in PAIRS])
    assert table(read(log(alone)), "logprob")[0, 3] == -1.0


def test_one_filter_is_taken_and_texts_go_by_their_hash(log):
    rows = [
        sample(doc_hash=digest, doc_id=k, filter=name)
        for name in ("strict", "loose")
        for k, digest in enumerate(("aa", "bb", "aa"))
    ]
    assert read(log(*rows)).readings["item_id"] == ["aa", "bb", "aa-2"]


@pytest.mark.parametrize("delimiter", ["", " "])
@pytest.mark.parametrize("first", [False, True])
def test_a_choice_scored_without_its_prompt_does_not_count(log, delimiter, first):
    pairs = PAIRS + [["", f"{delimiter}{k}"] for k in range(1, 6)]
    given = [[score, False] for score in (*BEST_FOURTH, *[-0.1] * 5)]
    if first:
        pairs, given = pairs[5:] + pairs[:5], given[5:] + given[:5]
    found = read(log(sample(arguments=pairs, filtered_resps=given)))
    assert table(found, "logprob").tolist() == [[*BEST_FOURTH]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"filtered_resps": [["low", 0]] * 5}], "must be log-likelihoods; found 'low'"),
        (
            [{"arguments": [["A", "x"], ["B", "x"]]}],
            "line 1: choices must be different .*'x' again",
        ),
        (
            [{"arguments": [["A", "x"], ["A", "x"]]}],
            "line 1: choices must be different .*'x' again",
        ),
        ([{"arguments": [["A", " 1"]]}], "at least two options"),
        (
            [{}, {"scores": (-1.0, -2.0, -3.0), "doc_id": 1}],
            "line 2: expected scores of the options 1, 2, 3, 4, 5; found 3, of 1, 2, 3.*--task",
        ),
    ],
)
def test_samples_that_have_no_options(log, rows, message):
    with pytest.raises(InputError, match=message):
        read(log(*(sample(**fields) for fields in rows)), scale=None)


def labels(path):
    return read(path, scale=None).labels["label"]


NAMED, COUNTED = ["5", "4", "2", "3"], ["4", "3", "1", "2"]


@pytest.mark.parametrize("settings", [{}, {"acc_norm": 0.0}, {"acc": 0.0}])
def test_a_target_beyond_the_choices_proves_names_and_zero_positions(log, settings):
    # None of these is right by its name or by its position, so that no accuracy tells.
    assert labels(log(*samples(NAMED, **settings))) == NAMED
    assert labels(log(*samples([*COUNTED, "0"], **settings))) == ["5", "4", "2", "3", "1"]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
@pytest.mark.parametrize(("right", "label"), [(1.0, "1"), (0.0, "2")])
def test_accuracies_tell_in_any_row(log, metric, right, label):
    told = samples(["2", "3", "1"], **{metric: 0.0})
    told[2][metric] = right
    assert labels(log(*told))[2] == label


def test_the_normed_accuracy_is_by_character(log):
    asked = [["Stars:", f" {name}"] for name in ("1", "22222222", "3")]
    row = sample((-2.0, -4.0, -9.0), "1", arguments=asked, acc=None, acc_norm=1.0)
    # By character the second is the best, and that is right: the target is its position.
    assert labels(log(row)) == ["22222222"]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["1", "2"], 'such as "3" may be names .* leave --labels out'),
        (["x"], "line 1: a label must"),
    ],
)
def test_labels_that_cannot_be_told_are_refused_to_who_wants_them(log, targets, message):
    path = log(*samples(targets))
    assert len(read(path, labels=False)) == len(targets)
    with pytest.raises(InputError, match=message):
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
    path = log(*samples(["2"], doc={"stars": stars}), name=f"samples_tone_{date}.jsonl")
    assert labels(path) == [expected]


@pytest.fixture
def archive(tmp_path):
    def write(packing=zipfile.ZIP_DEFLATED, **members):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", packing) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
        return path

    return write


def members():
    with zipfile.ZipFile(LOGS / "inspect.eval") as packed:
        assert {member.compress_type for member in packed.infolist()} == {93}
        return {name: packed.read(name) for name in packed.namelist()}


def test_archives_with_either_packing(archive):
    found, original = read(archive(**members())), read(LOGS / "inspect.eval")
    np.testing.assert_array_equal(table(found, "logprob"), table(original, "logprob"))
    assert found.labels == original.labels


def test_a_run_that_was_broken_off_is_read_as_far_as_it_came(archive):
    kept = ("_journal/start.json", "samples/review-03_epoch_1.json")
    path = archive(**{name: content for name, content in members().items() if name in kept})
    assert read(path).readings["item_id"] == ["review-03"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 200_000, "samples/a_epoch_1.json is not JSON, or nested"),
        ("{", "samples/a_epoch_1.json is not JSON"),
        (" " * 200_001, "samples/a_epoch_1.json must unpack to at most 0 MB; it has more"),
        (None, "must be a log of Inspect; found no header.json"),
    ],
)
def test_archives_that_cannot_be_read(monkeypatch, archive, content, message):
    monkeypatch.setattr(inspect_ai, "LARGEST", 200_000)
    files = {"header.json": '{"eval": {}}', "samples/a_epoch_1.json": content}
    with pytest.raises(FileError, match=message):
        read(archive(**({"notes.txt": "no log"} if content is None else files)))


def test_archives_that_are_damaged(tmp_path):
    whole, path = (LOGS / "inspect.eval").read_bytes(), tmp_path / "log.eval"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="must be a zip archive; it is not, or was cut off"):
        read(path)
    start = whole.index(b"samples/review-02") + 60
    path.write_bytes(whole[:start] + bytes(200) + whole[start + 200 :])
    with pytest.raises(FileError, match="samples/review-02_epoch_1.json cannot be unpacked"):
        read(path)


def test_logs_of_inspect_in_json(log):
    one = {"id": 1, "epoch": 1, "target": ["4", "5"], "attachments": {"f00": "Score: 4"}}
    parts = [{"type": "reasoning", "reasoning": "2"}, {"type": "text", "text": "Score: 4"}]
    contents = ["Score: 4", parts, "attachment://f00", ""]
    choices = [{"message": {"content": content}} for content in contents]
    whole = {"eval": {"model": "m", "task": "t"}, "plan": {}}
    found = read(log({**whole, "samples": [{**one, "output": {"choices": choices}}]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 0]]
    assert found.count("unread") == 1 and not found.labels["item_id"]
    with pytest.raises(InputError, match="holds no samples"):
        read(log({**whole, "samples": None}))


GRADED = LOGS / "inspect_graded.eval"
GRADES = Scale(("I", "P", "C"))


def grades(path, name, scale=GRADES, **settings):
    return collect(of_scorer(find_format(path), name).read(path), scale=scale, **settings)


def call(text, *tops, model="m/grader", span: str | None = "a"):
    """A call of a grader, as Inspect logs it."""
    tokens = [
        {"token": next(iter(top)), "logprob": next(iter(top.values())), "top_logprobs": entries}
        for top in tops
        for entries in [[{"token": token, "logprob": score} for token, score in top.items()]]
    ]
    choice = {"message": {"content": text}, "stop_reason": "stop"}
    choice |= {"logprobs": {"content": tokens}} if tokens else {}
    output = {"model": model, "choices": [choice]}
    return {"event": "model", "model": model, "span_id": span, "output": output}


BEGUN = {"event": "span_begin", "id": "a", "type": "scorer", "name": "qa"}
CORRECT = [{"GRADE": -0.1}, {":": -0.1}, {" C": -0.2, " I": -1.8}]


def graded(*events, value: str | float = "C", item="one", epoch=1, answer="Answer: C", **score):
    """A sample whose answer a scorer graded."""
    return {
        "id": item, "epoch": epoch, "target": "C", "scores": {"qa": {"value": value, **score}},
        "output": {"choices": [{"message": {"content": answer}}]}, "events": events,
    }  # fmt: skip


def inspected(*samples):
    return {"eval": {"model": "m/tested", "task": "t"}, "plan": {}, "samples": samples}


def test_grades_are_read_with_the_log_probabilities_of_the_grader():
    found = grades(GRADED, "model_graded_qa")
    assert found.readings["reader"] == found.readings["reader_model"] == ["mockllm/grader"] * 6
    given = ["C", "I", "P", "C", "C", "I"]
    best = table(found, "logprob").argmax(axis=1)
    assert [GRADES.options[k] for k in best] == given
    # The grader's distances between letters are those that the log was made with.
    np.testing.assert_allclose(np.diff(table(found, "logprob")[0]), 1.2, atol=1e-3)
    assert not found.labels["item_id"] and not found.scored


@pytest.mark.parametrize(
    ("name", "less"), [("stars", 0), ("rubric.clarity", 0), ("rubric.style", 1)]
)
def test_values_of_scorers_are_hard_readings(name, less):
    found = grades(GRADED, name, Scale(tuple("12345")))
    stars = read(LOGS / "inspect.eval").labels["label"][:6]
    assert (table(found, "n").argmax(axis=1) + 1).tolist() == [
        max(1, int(label) - less) for label in stars
    ]
    assert set(found.readings["reader"]) == {name.partition(".")[0]}


def test_a_log_whose_answers_are_no_ratings_says_which_scores_it_has():
    names = "model_graded_qa or rubric.clarity or rubric.style or stars"
    with pytest.raises(InputError, match=f"none of its 6 answers .* read by --score {names}"):
        read(GRADED)
    with pytest.raises(
        InputError, match=f"which answers were possible. .* read by --score {names}"
    ):
        read(GRADED, scale=None)


def test_the_answers_of_a_graded_model_are_not_taken_for_grades(log):
    found = read(log(inspected(graded(BEGUN, call("GRADE: I"), value="I"))), scale=GRADES)
    # They are read, but the log says that it has grades.
    assert found.scored == {"qa": True} and table(found, "n").tolist() == [[0, 0, 1]]


def test_epochs_of_a_grade_are_several_answers(log):
    path = log(inspected(graded(), graded(epoch=2, value="I"), graded(epoch=3, value=float("nan"))))
    found = grades(path, "qa")
    assert table(found, "n").tolist() == [[1, 0, 1]] and found.count("unread") == 1
    assert found.readings["reader"] == ["qa"] and "reader_model" not in found.readings


def test_the_grader_is_known_by_its_message_too(log):
    asked = {"grading": [{"role": "user"}, {"role": "assistant", "model": "m/g"}]}
    assert grades(log(inspected(graded(metadata=asked))), "qa").readings["reader"] == ["m/g"]


def test_the_last_call_within_the_scorer_counts(log):
    inner = {"event": "span_begin", "id": "b", "parent_id": "a", "type": "agent", "name": "x"}
    other = call("GRADE: I", *[{"GRADE": -0.1}, {":": -0.1}, {" I": -0.1}], span="elsewhere")
    draft = call("GRADE: I", *[{"GRADE": -0.1}, {":": -0.1}, {" I": -0.1}])
    events = [BEGUN, draft, inner, call("GRADE: C", *CORRECT, span="b"), other]
    found = grades(log(inspected(graded(*events))), "qa")
    assert table(found, "logprob")[0, 2] == -0.2
    # Before there were spans, steps marked where a scorer begins and ends.
    step = {"event": "step", "type": "scorer", "name": "qa", "action": "begin"}
    events = [step, call("", *CORRECT, span=None), {**step, "action": "end"}, other]
    old = grades(log(inspected(graded(*events))), "qa")
    np.testing.assert_array_equal(table(old, "logprob"), table(found, "logprob"))


def test_several_graders_are_several_readers(log):
    both = [call("", *CORRECT), call("", *CORRECT, model="m/other")]
    found = grades(log(inspected(graded(BEGUN, *both))), "qa")
    assert found.readings["reader"] == ["m/grader", "m/other"]
    hard = grades(log(inspected(graded(BEGUN, call(""), call("", model="m/other")))), "qa")
    assert hard.readings["reader"] == ["qa"]


def test_an_answer_other_than_the_value_that_the_scorer_took_is_not_counted(log):
    path = log(
        inspected(
            graded(BEGUN, call("", *CORRECT)),
            graded(BEGUN, call("", *CORRECT), item="two", value="I"),
        )
    )
    found = grades(path, "qa")
    assert found.readings["item_id"] == ["one"] and found.answers["off"] == 1


def test_a_graded_log_names_its_scores_and_says_if_their_calls_are_lost(log):
    for answer in ("It is Lyon.", "C"):
        path = log(inspected({**graded(answer=answer), "target": "Paris"}))
        asked_for = ["read", str(path), "--options", "I,P,C", "--dry-run"]
        ended = CliRunner().invoke(app, asked_for)
        assert "read by --score qa" in f"{ended.exception}{ended.stderr}"
        wanted = [*asked_for[:-1], "--labels", str(path.with_name("l.csv"))]
        told = CliRunner().invoke(app, wanted).stderr
        assert told.count("read by --score qa") == 1 and told.count("\n") == 1
    asked = {"grading": [{"role": "user"}, {"role": "assistant", "model": "m/g"}]}
    elsewhere = {**BEGUN, "name": "other"}
    for events, lost in [((elsewhere, call("")), True), ((BEGUN, call("")), False)]:
        path = log(inspected(graded(*events, metadata=asked)))
        ended = CliRunner().invoke(
            app, ["read", str(path), "--options", "I,P,C", "--score", "qa", "--dry-run"]
        )
        said = " ".join(ended.stderr.split())
        assert ("no call of the scorer 'qa' was found" in said) == lost
        assert ("the log has no log-probabilities" in said) != lost


def test_scores_that_are_not_there(log):
    path = log(
        inspected(graded(), {**graded(item="two"), "scores": None, "error": {"message": "!"}})
    )
    assert grades(path, "qa").failed == ["sample two (!)"]
    for name, message in [
        ("other", "has no score 'other'; it has 'qa'"),
        ("qa.style", "has no score 'qa.style'"),
    ]:
        with pytest.raises(InputError, match=message):
            grades(path, name)
    with pytest.raises(InputError, match="'rubric' gives 2 values: .* --score rubric.clarity"):
        grades(GRADED, "rubric")
    with pytest.raises(InputError, match="--score is for Inspect's logs; these are responses"):
        of_scorer(find_format(LOGS / "openai_chat.jsonl"), "qa")
