"""Logs of evaluations: lm-evaluation-harness, with its targets, and Inspect."""

import json
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from logs_of_reviews import LOGS, read, table

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs import collect, find_format, of_scorer

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
    found = read(log(sample(), old), scale=None, labels=False)
    assert found.options == ("1", "2", "3", "4", "5")
    np.testing.assert_array_equal(*table(found, "logprob"))
    alone = sample(arguments=[["", choice] for _, choice in PAIRS])
    assert table(read(log(alone), labels=False), "logprob")[0, 3] == -1.0


def test_one_filter_is_taken_and_texts_go_by_their_hash(log):
    rows = [
        sample(doc_hash=digest, doc_id=k, filter=name)
        for name in ("strict", "loose")
        for k, digest in enumerate(("aa", "bb", "aa"))
    ]
    assert read(log(*rows), labels=False).readings["item_id"] == ["aa", "bb", "aa-2"]


def test_the_fields_of_a_document_are_passed_on(log):
    doc = {"system": "pine", "meta": {"topic": 3}, "text": "long " * 50, "choices": ["1", "2"]}
    found = read(log(sample(doc=doc)), labels=False)
    assert found.extras == {"doc.system": ["pine"], "doc.meta.topic": [3]}
    # What repeats the labels says nothing else.
    named = {"arguments": None, "resps": [["4"]], "target": "4", "doc": {"stars": 4, "id": "4a"}}
    found = read(log(sample(**{**named, "arguments": [["Stars:", {}]]})))
    assert found.labels["label"] == ["4"] and found.extras == {"doc.id": ["4a"]}


@pytest.mark.parametrize("delimiter", ["", " "])
@pytest.mark.parametrize("first", [False, True])
def test_a_choice_scored_without_its_prompt_does_not_count(log, delimiter, first):
    pairs = PAIRS + [["", f"{delimiter}{k}"] for k in range(1, 6)]
    given = [[score, False] for score in (*BEST_FOURTH, *[-0.1] * 5)]
    if first:
        pairs, given = pairs[5:] + pairs[:5], given[5:] + given[:5]
    found = read(log(sample(arguments=pairs, filtered_resps=given)), labels=False)
    assert table(found, "logprob").tolist() == [[*BEST_FOURTH]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"filtered_resps": [["low", 0]] * 5}],
            "line 1 does not have the form of lm-eval",
        ),
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
        read(log(*(sample(**fields) for fields in rows)), scale=None, labels=False)


def labels(path):
    return read(path, scale=None).labels["label"]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["1", "2"], 'such as "3" may be the name .* leave --labels out'),
        (["x"], "line 1: a label must"),
    ],
)
def test_targets_that_may_be_names_or_positions_are_refused_to_who_wants_them(
    log, targets, message
):
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


class Logged(SimpleNamespace):
    """An object of Inspect's log: fields that are not there are None."""

    def __getattr__(self, name):
        return None

    def model_dump(self, exclude_none=False):
        return vars(self)


def logged_sample(sample):
    """Make a sample as Inspect's package does, as far as it is read."""
    events = [
        Logged(**{**event, "output": Logged(choices=as_choices(event.get("output")))})
        for event in sample.get("events", ())
    ]
    scores = {name: Logged(**score) for name, score in (sample.get("scores") or {}).items()}
    error = sample.get("error") and Logged(**sample["error"])
    output = Logged(choices=as_choices(sample.get("output")))
    return Logged(
        **{**sample, "scores": scores, "events": events, "output": output, "error": error}
    )


def as_choices(output):
    return [Logged(**choice) for choice in (output or {}).get("choices", ())]


@pytest.fixture
def package(monkeypatch):
    """Stand in for Inspect's package, whose own reader may not be installed."""

    def read_eval_log(path: str, resolve_attachments: bool):
        assert resolve_attachments
        with open(path) as file:
            log = json.load(file)
        samples = [*map(logged_sample, log["samples"])]
        error = log.get("error") and Logged(**log["error"])
        return Logged(**{**log, "eval": Logged(**log["eval"]), "samples": samples, "error": error})

    module: Any = ModuleType("inspect_ai.log")
    module.read_eval_log = read_eval_log
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)


@pytest.mark.usefixtures("package")
def test_answers_of_inspect_are_read_by_its_package(log):
    one = {"id": 1, "epoch": 1, "target": ["4", "5"], "metadata": {"system": "pine"}}
    parts = [{"type": "reasoning", "reasoning": "2"}, {"type": "text", "text": "Score: 4"}]
    choices = [{"message": {"content": content}} for content in ("Score: 4", parts, "")]
    table_read = read(log(inspected({**one, "output": {"choices": choices}})))
    assert table(table_read, "n").tolist() == [[0, 0, 0, 2, 0]]
    assert table_read.count("unread") == 1 and not table_read.labels["item_id"]
    assert table_read.readings["reader"] == ["m/tested"]
    assert table_read.extras == {"metadata.system": ["pine"]}
    with pytest.raises(FileError, match="Inspect cannot read .*: JSONDecodeError"):
        broken = log(name="broken.json")
        broken.write_text('{"eval": ')
        read(broken, "inspect")


def test_without_the_package_of_inspect_a_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r'pip install "cordial-ppl\[inspect\]"'):
        read(LOGS / "inspect.eval")


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


def graded(*events, value: Any = "C", item="one", epoch=1, answer="Answer: C", **score):
    """A sample whose answer a scorer graded."""
    return {
        "id": item, "epoch": epoch, "target": "C", "scores": {"qa": {"value": value, **score}},
        "output": {"choices": [{"message": {"content": answer}}]}, "events": events,
    }  # fmt: skip


def inspected(*samples):
    return {"eval": {"model": "m/tested", "task": "t"}, "plan": {}, "samples": samples}


INSTALLED = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="Inspect is not installed")


@INSTALLED
def test_grades_are_read_with_the_log_probabilities_of_the_grader():
    found = grades(GRADED, "model_graded_qa")
    assert found.readings["reader"] == found.readings["reader_model"] == ["mockllm/grader"] * 6
    given = ["C", "I", "P", "C", "C", "I"]
    best = table(found, "logprob").argmax(axis=1)
    assert [GRADES.options[k] for k in best] == given
    # The grader's distances between letters are those that the log was made with.
    np.testing.assert_allclose(np.diff(table(found, "logprob")[0]), 1.2, atol=1e-3)
    assert not found.labels["item_id"] and not found.scored


@INSTALLED
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


@INSTALLED
def test_a_log_whose_answers_are_no_ratings_says_which_scores_it_has():
    names = "model_graded_qa or rubric.clarity or rubric.style or stars"
    with pytest.raises(InputError, match=f"none of its 6 answers .* read them by --score {names}"):
        read(GRADED)
    with pytest.raises(
        InputError, match=f"which answers were possible. .* read them by --score {names}"
    ):
        read(GRADED, scale=None)


@pytest.mark.usefixtures("package")
def test_the_answers_of_a_graded_model_are_not_taken_for_grades(log):
    found = read(log(inspected(graded(BEGUN, call("GRADE: I"), value="I"))), scale=GRADES)
    # They are read, but the log says that it has grades.
    assert found.scored == {"qa": True} and table(found, "n").tolist() == [[0, 0, 1]]


@pytest.mark.usefixtures("package")
def test_a_log_of_an_evaluation_that_failed_says_so(log):
    ended = {"status": "error", "error": {"message": "rate limit"}}
    lost = {"id": "two", "error": {"message": "!"}, "output": None}
    found = read(log(inspected(graded(), lost) | ended), scale=GRADES)
    why = "the evaluation ended with 'error': rate limit"
    assert found.failed == [f"the log ({why})", "sample two (!)"] and len(found) == 1
    with pytest.raises(InputError, match=f"holds no samples; {why}"):
        read(log(inspected() | ended))
    assert not read(log(inspected(graded()) | {"status": "success"}), scale=GRADES).failed


@pytest.mark.usefixtures("package")
def test_epochs_of_a_grade_are_several_answers(log):
    lost = [
        graded(epoch=3, value=float("nan")),
        graded(epoch=4, value="I", explanation="Grade not found in model output: ?"),
    ]
    found = grades(log(inspected(graded(), graded(epoch=2, value="I"), *lost)), "qa")
    assert table(found, "n").tolist() == [[1, 0, 1]] and found.count("unread") == 2
    assert found.readings["reader"] == ["qa"] and "reader_model" not in found.readings


@pytest.mark.usefixtures("package")
def test_the_last_call_within_the_scorer_counts(log):
    inner = {"event": "span_begin", "id": "b", "parent_id": "a", "type": "agent", "name": "x"}
    other = call("GRADE: I", *[{"GRADE": -0.1}, {":": -0.1}, {" I": -0.1}], span="elsewhere")
    draft = call("GRADE: I", *[{"GRADE": -0.1}, {":": -0.1}, {" I": -0.1}])
    events = [BEGUN, draft, inner, call("GRADE: C", *CORRECT, span="b"), other]
    found = grades(log(inspected(graded(*events))), "qa")
    assert table(found, "logprob")[0, 2] == -0.2


@pytest.mark.usefixtures("package")
def test_several_graders_are_several_readers(log):
    both = [call("", *CORRECT), call("", *CORRECT, model="m/other")]
    found = grades(log(inspected(graded(BEGUN, *both))), "qa")
    assert found.readings["reader"] == ["m/grader", "m/other"]
    hard = grades(log(inspected(graded(BEGUN, call(""), call("", model="m/other")))), "qa")
    assert hard.readings["reader"] == ["qa"]


@pytest.mark.usefixtures("package")
def test_an_answer_other_than_the_value_that_the_scorer_took_is_not_counted(log):
    path = log(
        inspected(
            graded(BEGUN, call("", *CORRECT)),
            graded(BEGUN, call("", *CORRECT), item="two", value="I"),
        )
    )
    found = grades(path, "qa")
    assert found.readings["item_id"] == ["one"] and found.answers["off"] == 1


@pytest.mark.usefixtures("package")
def test_scores_that_are_not_there(log):
    path = log(
        inspected(
            graded(),
            {**graded(item="two"), "scores": None, "error": {"message": "!"}},
        )
    )
    assert grades(path, "qa").failed == ["sample two (!)"]
    for name, message in [
        ("other", "has no score 'other'; it has 'qa'"),
        ("qa.style", "has no score 'qa.style'"),
    ]:
        with pytest.raises(InputError, match=message):
            grades(path, name)
    with pytest.raises(InputError, match="no score 'qa'; it has 'qa.clarity', 'qa.style'"):
        grades(log(inspected(graded(value={"clarity": 4, "style": 2}))), "qa")
    with pytest.raises(InputError, match="--score is for Inspect's logs; these are responses"):
        of_scorer(find_format(LOGS / "openai_chat.jsonl"), "qa")
