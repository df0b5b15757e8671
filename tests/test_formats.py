"""Each format: what it reads of the tool's own file, and what it refuses."""

import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import FORMATS, collect, find_format
from cordial_ppl.formats.archives import list_members, read_member
from cordial_ppl.formats.evidence import Samples, Tokens
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables import write_table

LOGS = Path(__file__).parent / "logs"
STARS = Scale(("1", "2", "3", "4", "5"))
REVIEWS = [json.loads(line) for line in (LOGS / "reviews.jsonl").read_text().splitlines()]
LABELS = {review["id"]: str(review["stars"]) for review in REVIEWS}
DUMMY = next((LOGS / "lm_eval" / "ours__dummy").glob("samples_*"))
REVIEWER = next((LOGS / "lm_eval" / "ours__reviewer").glob("samples_*"))

FILES = {
    "openai_chat.jsonl": ("openai", "logprob", 20),
    "openai_batch.jsonl": ("openai", "logprob", 8),
    "openai_responses.jsonl": ("openai", "logprob", 8),
    "openai_completions.jsonl": ("openai", "logprob", 8),
    "vllm.jsonl": ("vllm", "logprob", 8),
    "llama_cpp.jsonl": ("llama-cpp", "logprob", 8),
    "llama_cpp_2024.jsonl": ("llama-cpp", "logprob", 8),
    "inspect.eval": ("inspect", "logprob", 20),
    "inspect.json": ("inspect", "n", 5),
    "samples.jsonl": ("samples", "n", 20),
    "ratings.csv": ("samples", "n", 8),
    "arrays.npz": ("npz", "logit", 20),
    str(DUMMY.relative_to(LOGS)): ("lm-eval", "logprob", 20),
    str(REVIEWER.relative_to(LOGS)): ("lm-eval", "n", 20),
}
LABELS_ALONE = ["argilla.json", "argilla_flat.json", "label_studio.json"]
ONE_READER = [
    "openai_batch.jsonl", "openai_responses.jsonl", "openai_completions.jsonl", "vllm.jsonl",
    "llama_cpp.jsonl", "llama_cpp_2024.jsonl",
]  # fmt: skip


def gather(name, **settings):
    path = LOGS / name
    return collect(find_format(path).read(path), **{"scale": STARS, **settings})


def table(found, kind):
    return np.stack([found.readings[f"{kind}_{option}"] for option in found.options], axis=1)


@pytest.fixture
def log(tmp_path):
    def write(*rows, name="log.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def read(path, form="auto", **settings):
    return collect(find_format(path, form).read(path), **{"scale": STARS, **settings})


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_known_by_its_contents_and_read(name):
    form, kind, size = FILES[name]
    assert find_format(LOGS / name).name == form
    found = gather(name)
    values = table(found, kind)
    assert values.shape == (size, 5) and np.isfinite(values).all()
    assert len(set(found.readings["item_id"])) == size == len(found)
    assert not found.unread and not found.unnamed and not found.guessed
    if kind == "n":
        assert len(set(values.sum(axis=1))) == 1
    elif form not in ("lm-eval", "npz"):
        assert 0.9 < found.share < 1
    else:
        assert np.isnan(found.share)
    labelled = dict(zip(found.labels["item_id"], found.labels["label"], strict=True))
    if form != "lm-eval":
        assert set(labelled.items()) <= set(LABELS.items())
    else:
        assert list(labelled.values()) == list(LABELS.values())


@pytest.mark.parametrize("name", ONE_READER)
def test_one_reader_is_read_alike_from_every_protocol(name):
    found = table(gather(name), "logprob")
    np.testing.assert_allclose(found, table(gather("openai_chat.jsonl"), "logprob")[:8], rtol=1e-12)


def test_who_made_a_reading_and_how():
    chat, inspect, harness = (gather(n) for n in ("openai_chat.jsonl", "inspect.eval", str(DUMMY)))
    assert chat.readings["reader_model"][0] == chat.readings["reader"][0] == "ours-judge-1"
    assert chat.readings["reader_date"][0] == "2026-01-01"
    assert inspect.readings["task"][0] == "review_stars"
    assert json.loads(inspect.readings["reader_decoding"][0])["top_logprobs"] == 7
    assert harness.readings["reader"][0] == "ours/dummy"
    assert harness.readings["task"][0] == "review_stars"
    assert len(harness.readings["reader_prompt"][0]) == 16


# OpenAI's protocols.


def chat(*tops, choices=1, **wrapping):
    content = [
        {
            "token": next(iter(top)),
            "logprob": next(iter(top.values())),
            "top_logprobs": [{"token": t, "logprob": s} for t, s in top.items()],
        }
        for top in tops
    ]
    text = "".join(entry["token"] for entry in content)
    choice = {"message": {"content": text}, "logprobs": {"content": content} if content else None}
    return {**wrapping, "choices": [choice] * choices}


def test_several_choices_are_samples(log):
    one, two = (chat({"4": -0.1, "5": -2.4}, choices=n) for n in (1, 2))
    path = log(one, two)
    assert [type(record.evidence) for record in find_format(path).read(path)] == [Tokens, Samples]
    found = read(path)
    np.testing.assert_allclose(*table(found, "logprob"))
    assert found.unnamed and found.readings["item_id"] == ["0", "1"]
    texts = [{"message": {"content": text}, "logprobs": None} for text in ("4", "Score: 5", "?")]
    found = read(log({"item_id": 7, "choices": texts}))
    assert table(found, "n").tolist() == [[0, 0, 0, 1, 1]]
    assert found.unread_samples == 1 and found.readings["item_id"] == ["7"]


def test_a_prompt_that_was_echoed_is_no_answer(log):
    logprobs = {
        "tokens": ["Rate", " 3", " 4"],
        "token_logprobs": [None, -5.0, -0.1],
        "top_logprobs": [None, {" 3": -5.0}, {" 4": -0.1, " 5": -2.5}],
    }
    body = {"choices": [{"text": "Rate 3 4", "logprobs": logprobs}]}
    found = read(log({**body, "usage": {"completion_tokens": 1}}), explain=1)
    assert [text for text, _ in found.explained[0].reading.parts[3]] == [" 4"]  # pyright: ignore


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"custom_id": "a", "response": None, "error": {"message": "too long"}},
            "an error: too lo",
        ),
        (
            {"custom_id": "a", "response": {"status_code": 500, "body": {}}},
            "with `choices` or `out",
        ),
        ({"choices": []}, "line 1: expected at least one choice"),
        ({"object": "response", "output": []}, "expected a message in `output`"),
        (chat({"token_id:19": -0.1}), "without --return-tokens-as-token-ids"),
        ({"choices": [{"logprobs": {"content": [{"tok": "4"}]}}]}, "must be `token`, .* found tok"),
        ({"choices": [{"logprobs": {"tokens": ["4"], "token_logprobs": []}}]}, None),
        ({"choices": [{"logprobs": {"tokens": ["4"], "token_logprobs": [1, 2]}}]}, "of one length"),
        ({"choices": [{"logprobs": [1]}]}, "not as expected of responses"),
        (chat({"4": 0.5}), "line 1: log-probabilities must be 0 or below; found 0.5"),
    ],
)
def test_responses_that_are_none(log, row, message):
    path = log(row)
    if message is None:
        with pytest.raises(InputError, match="none of its 1 answers names an option"):
            read(path)
        return
    with pytest.raises(InputError, match=message):
        read(path)


# vLLM and llama.cpp.


def test_tokens_without_their_text(log):
    step = {"19": {"logprob": -0.1, "rank": 1, "decoded_token": None}}
    with pytest.raises(InputError, match="line 1: tokens must have a `decoded_token`"):
        read(log({"outputs": [{"token_ids": [19], "logprobs": [step]}]}))
    with pytest.raises(InputError, match="of `logprob` and `decoded_token`; found"):
        read(log({"item_id": "a", "logprobs": [{"19": -0.1, "20": -3.0}]}))


def test_steps_alone_and_outputs_without_log_probabilities(log):
    step = {
        "19": {"logprob": -0.2, "rank": 1, "decoded_token": "4"},
        "20": {"logprob": -2.0, "rank": 2, "decoded_token": "5"},
    }
    found = read(log({"item_id": "a", "logprobs": [step]}))
    np.testing.assert_allclose(table(found, "logprob")[0, 3:], [-0.2, -2.0])
    outputs = [{"token_ids": [1], "text": text, "logprobs": None} for text in "445"]
    assert table(read(log({"request_id": "0", "outputs": outputs})), "n").tolist() == [
        [0, 0, 0, 2, 1]
    ]


def test_probabilities_after_sampling(log):
    top = [{"token": "4", "prob": 0.75}, {"token": "5", "prob": 0.25}, {"token": "1", "prob": 0.0}]
    entry = {"token": "4", "prob": 0.75, "top_probs": top}
    found = read(log({"content": "4", "completion_probabilities": [entry]}))
    np.testing.assert_allclose(np.exp(table(found, "logprob")[0]), [0.25, 0.25, 0.25, 0.75, 0.25])
    assert found.floored == {"1": 1, "2": 1, "3": 1}
    found = read(log({"content": "4", "tokens_predicted": 1}))
    assert table(found, "n").tolist() == [[0, 0, 0, 1, 0]]
    with pytest.raises(InputError, match="`completion_probabilities` must be a list of tokens"):
        read(log({"content": "4", "completion_probabilities": [{"token": "4"}]}))


# lm-evaluation-harness.


def harness_row(scores=(-4.0, -3.0, -2.0, -1.0, -5.0), target="3", **fields):
    asked = {f"gen_args_{k}": {"arg_0": "Stars:", "arg_1": f" {k + 1}"} for k in range(len(scores))}
    given = [[str(score), "False"] for score in scores]
    row = {"doc_id": 0, "doc": {}, "target": target, "arguments": asked, "filter": "none"}
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


def test_a_choice_scored_again_without_its_prompt_counts_once(log):
    row = harness_row()
    again = {f"gen_args_{k + 5}": {"arg_0": "", "arg_1": f" {k + 1}"} for k in range(5)}
    row["arguments"] |= again
    row["filtered_resps"] = row["filtered_resps"] + [["-9.0", "False"]] * 5
    assert table(read(log(row)), "logprob").tolist() == [[-4.0, -3.0, -2.0, -1.0, -5.0]]


def test_targets_that_are_texts_of_choices(log):
    # The best choice is " 4", and it is right only if "4" names it.
    path = log(harness_row(target="4", acc=1.0), harness_row(target="2", acc=0.0, doc_id=1))
    assert read(path).labels["label"] == ["4", "2"]
    path = log(harness_row(target="4", acc=0.0), harness_row(target="2", acc=0.0, doc_id=1))
    assert read(path).labels["label"] == ["5", "3"]
    with pytest.raises(InputError, match="line 1: a label must be one of 1, .*; found 'x'"):
        read(log(harness_row(target="x")))
    assert len(read(log(harness_row(target="x")), labels=False)) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"filtered_resps": [["low", "False"]] * 5}, "must be log-likelihoods; found \\['low'"),
        ({"arguments": [["A", "x"], ["B", "x"]]}, "line 1: choices must be continuations of one"),
        ({"arguments": [["A", "x"], ["A", "x"]]}, "line 1: choices must differ; found 'x'"),
        ({"arguments": [["A", " 1"]]}, "at least two options"),
    ],
)
def test_samples_that_have_no_options(log, fields, message):
    with pytest.raises(InputError, match=message):
        read(log(harness_row(**fields)), scale=None)


def test_documents_of_fewer_choices_are_another_scale(log):
    with pytest.raises(InputError, match="line 2: expected scores .* there is none of 4, 5"):
        read(log(harness_row(), harness_row((-1.0, -2.0, -3.0), doc_id=1)), scale=None)


# Inspect.


def test_archives_with_either_packing(tmp_path):
    source, path = LOGS / "inspect.eval", tmp_path / "deflated.eval"
    members = list_members(source)
    assert {member.compress_type for member in members.values()} == {93}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, read_member(source, member))
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
    with zipfile.ZipFile(path, "w") as archive:
        for name in kept:
            archive.writestr(name, read_member(source, list_members(source)[name]))
    assert read(path).readings["item_id"] == ["review-03"]


def test_logs_of_inspect_in_json(log):
    sample = {"id": 1, "epoch": 1, "target": ["4", "5"], "attachments": {"f00": "Score: 4"}}
    parts = [{"type": "reasoning", "reasoning": "2"}, {"type": "text", "text": "Score: 4"}]
    contents = ["Score: 4", parts, "attachment://f00", ""]
    choices = [{"message": {"content": content}} for content in contents]
    whole = {"eval": {"model": "m", "task": "t"}, "plan": {}}
    found = read(log({**whole, "samples": [{**sample, "output": {"choices": choices}}]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 0]]
    assert found.unread_samples == 1 and not found.labels["item_id"]
    with pytest.raises(InputError, match="holds no samples"):
        read(log({**whole, "samples": None}))


# Labels.


@pytest.mark.parametrize("name", LABELS_ALONE)
def test_labels_alone(name):
    found = gather(name, scale=None)
    assert not found.readings and not len(found)
    assert set(found.labels["task"]) == {"stars"}
    close = [abs(int(label) - int(LABELS[item])) for item, label in zip(
        found.labels["item_id"], found.labels["label"], strict=True
    )]  # fmt: skip
    assert max(close) <= 1 and len(close) >= 3
    assert found.labels == gather(name).labels


def responses(*values, name="stars"):
    return {name: [{"value": v, "user_id": f"user {i}"} for i, v in enumerate(values)]}


def record(item, found):
    return {"id": item, "fields": {}, "responses": found}


def test_the_median_of_people_who_differ(log):
    rows = [record("a", responses("5", "1", "4")), record("b", responses("5", "2"))]
    assert read(log(*rows)).labels["label"] == ["4", "2"]
    words = record("a", responses("poor", "good", "fair"))
    with pytest.raises(SettingNeeded, match="people differ \\(poor, good, fair\\)"):
        read(log(words), scale=None)
    scale = Scale(("poor", "fair", "good"))
    assert read(log(words), scale=scale).labels["label"] == ["fair"]
    one = read(log(record("a", responses(4))), scale=None)
    assert one.labels == {"item_id": ["a"], "task": ["stars"], "user": ["user 0"], "label": ["4"]}


def test_records_of_argilla_of_all_versions(log):
    first = [
        {"user_id": "u", "status": "submitted", "values": {"stars": {"value": 4}}},
        {"user_id": "v", "status": "discarded", "values": {"stars": {"value": 1}}},
    ]
    draft = {"stars.responses": ["2", "4"], "stars.responses.status": ["draft", "submitted"]}
    for row in (record("a", first), {"id": "a", **draft}):
        assert read(log(row)).labels["label"] == ["4"]
    # What is no label of a whole text is passed over.
    assert read(log(record("a", responses("4") | responses(["x"], name="spans")))).labels[
        "task"
    ] == ["stars"]
    with pytest.raises(InputError, match="line 1 must have an `id`"):
        read(log(record(None, responses("4"))))


def test_tasks_of_label_studio(log):
    def task(*values, **fields):
        results = [{"from_name": "stars", "value": value} for value in values]
        return {"id": 3, "data": {}, "annotations": [{"result": results, **fields}]}

    by = {"completed_by": {"id": 1, "email": "a@b"}}
    found = read(log(task({"choices": ["4"]}, {"text": "fine"}, **by), name="e.json"))
    assert found.labels == {"item_id": ["3"], "task": ["stars"], "user": ["a@b"], "label": ["4"]}
    cancelled = task({"rating": 1}, was_cancelled=True)
    assert read(log(cancelled, task({"rating": 4}))).labels["label"] == ["4"]
    with pytest.raises(
        InputError, match="line 1: a label must be one choice; found \\['1', '2'\\]"
    ):
        read(log(task({"choices": ["1", "2"]})))
    with pytest.raises(InputError, match="Export as JSON, not as JSON-MIN"):
        read(log({"id": 1, "stars": 4, "annotation_id": 9}))


# Samples, tables and arrays.


def test_samples_in_tables(tmp_path):
    path = tmp_path / "s.parquet"
    write_table(path, {"item_id": [1, 2], "scores": [[4, 5, 4], [1, 1, 2]], "label": [4, 2]})
    found = read(path)
    assert table(found, "n").tolist() == [[0, 0, 0, 2, 1], [2, 1, 0, 0, 0]]
    assert found.labels == {"item_id": ["1", "2"], "label": ["4", "2"]}


def test_samples_in_lists_and_row_by_row(log):
    assert find_format(log({"item_id": 1, "output": ["4", "5"]})).name == "samples"
    found = read(log({"item_id": 1, "samples": [4, 4.0, "5", "Score: 4", None, 4.5]}))
    assert table(found, "n").tolist() == [[0, 0, 0, 3, 1]] and found.unread_samples == 2
    rows = [{"item_id": item, "rating": rating} for item, rating in (("a", 4), ("b", 1), ("a", 5))]
    assert table(read(log(*rows)), "n").tolist() == [[0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]
    with pytest.raises(InputError, match="line 2 must have a list `scores`.*found item_id, tokens"):
        read(log(rows[0], {"item_id": "b", "tokens": 3}))
    with pytest.raises(InputError, match="a text must occur once; '1' is in line 1 and in line 2"):
        read(log(*[{"item_id": 1, "scores": [4]}] * 2))
    with pytest.raises(InputError, match="line 1: `scores` must be numbers or texts"):
        read(log({"item_id": 1, "scores": [[4]]}))


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    probs = np.array([[0.1, 0.9], [0.6, 0.4]])
    np.savez(path, probs=probs, labels=np.array([1, 0]))
    found = read(path, scale=None)
    assert found.options == ("0", "1") and found.labels["label"] == ["1", "0"]
    np.testing.assert_array_equal(table(found, "p"), probs)
    backwards = read(path, scale=Scale(("good", "bad")), reverse=True)
    assert list(backwards.readings) == ["item_id", "p_bad", "p_good"]
    np.testing.assert_array_equal(backwards.readings["p_good"], probs[:, 0])
    # Positions are those of the scale, which goes from bad to good.
    assert backwards.labels["label"] == ["good", "bad"]
    whole = path.read_bytes()
    np.savez(path, probs=np.array([[{}, 1]], object))
    with pytest.raises(FileError, match="must be an .npz of numbers and texts"):
        read(path)
    path.write_bytes(whole[:100])
    with pytest.raises(FileError, match="must be an .npz"):
        read(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [1.0]}, "expected one array of logits, logprobs, probs, counts; found x"),
        ({"logits": [[0.0, 1.0]], "counts": [[1, 2]]}, "found logits, counts"),
        ({"logits": [0.0, 1.0]}, "must be numbers \\[n, K\\]; found float64 \\[2\\]"),
        ({"logits": [["a", "b"]]}, "must be numbers \\[n, K\\]"),
        ({"logits": [[0.0, 1.0]], "item_id": ["a", "b"]}, "`item_id` must have the shape \\[1\\]"),
        ({"logits": [[0.0, np.nan]]}, "row 0: logit_1 must be a number; found nan"),
    ],
)
def test_arrays_that_are_no_readings(tmp_path, arrays, message):
    path = tmp_path / "a.npz"
    np.savez(path, **{name: np.array(cells) for name, cells in arrays.items()})  # pyright: ignore
    with pytest.raises(InputError, match=message):
        read(path, scale=None)


# Whole logs.


def test_reversed_scales_and_spellings(log):
    path = log(chat({"A": -0.2, "B": -2.0, "C": -3.0}))
    found = read(path, scale=Scale(("best", "fair", "poor")), reverse=True, spellings={
        "A": "best", "B": "fair", "C": "poor",
    })  # fmt: skip
    assert list(found.readings)[-3:] == ["logprob_poor", "logprob_fair", "logprob_best"]
    np.testing.assert_allclose(table(found, "logprob"), [[-3.0, -2.0, -0.2]])


def test_kinds_and_texts_must_agree(log):
    with_tokens = chat({"4": -0.1, "5": -3.0}, item_id="a")
    text = {"item_id": "b", "choices": [{"message": {"content": "4"}}]}
    with pytest.raises(InputError, match="in line 2 there are answers without them, in line 1 log"):
        read(log(with_tokens, text))
    with pytest.raises(InputError, match="'a' is in line 1 and in line 2"):
        read(log(with_tokens, with_tokens))
    other = {**with_tokens, "reader": "other"}
    assert read(log(with_tokens, other)).readings["reader"] == [None, "other"]
    labelled = [{**with_tokens, "label": 4}, {**other, "label": 5}]
    with pytest.raises(InputError, match="line 2: a text must have one label; 'a' has '4', '5'"):
        read(log(*labelled))


def test_answers_without_an_option_are_left_out_with_their_labels(log):
    lost = {"item_id": "b", "label": 2, **chat({"I": -0.1}, {" pass": -0.1})}
    found = read(log(chat({"4": -0.1, "5": -3.0}, item_id="a", label=4), lost))
    assert found.unread == ["line 2"]
    assert found.labels == {"item_id": ["a"], "label": ["4"]}


def test_a_log_that_names_no_options_needs_them(log):
    with pytest.raises(SettingNeeded, match="does not say which answers were possible"):
        read(log(chat({"4": -0.1})), scale=None)
    with pytest.raises(InputError, match="there is no reading of 'style' in it"):
        read(log(chat({"4": -0.1}, task="tone")), task="style")


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_of_another_format_is_refused(form, log):
    """Whatever is said of it, nobody sees a traceback."""
    for path in (log({"a": 1}), log(), *(LOGS / name for name in FILES)):
        if FILES.get(str(path.relative_to(LOGS)) if LOGS in path.parents else "", [""])[0] == form:
            continue
        with pytest.raises(InputError):
            read(path, form)


def damage(value, share, rng):
    """Something else in place of a share of all values, and some fields gone."""
    if rng.random() < share:
        return rng.choice([None, 3, -1.5, True, "", "x", float("nan"), [], [1], {}, {"a": 1}])
    if isinstance(value, dict):
        kept = {name: own for name, own in value.items() if rng.random() > share / 2}
        return {name: damage(own, share, rng) for name, own in kept.items()}
    return [damage(own, share, rng) for own in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [name for name in FILES if ".json" in name] + LABELS_ALONE)
def test_a_damaged_log_is_read_or_refused(log, name):
    rng, text, form = random.Random(0), (LOGS / name).read_text(), find_format(LOGS / name).name
    rows = map(json.loads, text.splitlines()) if ".jsonl" in name else [json.loads(text)]
    rows = [row for whole in rows for row in (whole if isinstance(whole, list) else [whole])][:4]
    refused = 0
    for share in (0.003, 0.01, 0.05) * 10:
        path = log(*(damage(row, share, rng) for row in rows))
        for given in ("auto", form):
            try:
                read(path, given)
            except InputError:
                refused += 1
    assert 0 < refused
