"""Each format on the tool's own file; what all logs have in common; and what is refused."""

import json

import numpy as np
import pytest
from logs_of_reviews import (
    DUMMY,
    FILES,
    LABELS,
    LOGS,
    ONE_READER,
    STARS,
    chat,
    gather,
    read,
    table,
)

from cordial_ppl.cli.reading import explain_text, warn
from cordial_ppl.errors import InputError
from cordial_ppl.formats import FORMATS, collect, find_format
from cordial_ppl.formats.evidence import Answer, Answers, Orders, Position
from cordial_ppl.formats.records import Record
from cordial_ppl.scale import SettingNeeded


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_known_by_its_contents_and_read(name):
    form, kind, size = FILES[name]
    assert find_format(LOGS / name).name == form
    found = gather(name)
    values = table(found, kind)
    assert values.shape == (size, 5) and np.isfinite(values).all()
    assert len(set(found.readings["item_id"])) == size == len(found)
    assert not found.unread and not found.unnamed and not found.count("guessed")
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


def test_kinds_and_texts_must_agree(log):
    with_tokens = chat({"4": -0.1, "5": -3.0}, item_id="a")
    text = {"item_id": "b", "choices": [{"message": {"content": "4"}}]}
    with pytest.raises(InputError, match="in line 2 there are answers without them, before it log"):
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


def answer(token, top):
    return Answers([Answer(token, [Position(token, top)])])


ANSWER = answer("4", {"4": -0.1, "5": -3.0})
WHOLE = answer("4", {str(k): -0.1 - abs(4 - k) for k in range(1, 6)})
MUTE = answer("", {})


def record(*orders, item="a", **fields):
    return Record(item, item, Orders(orders), **fields)


@pytest.mark.parametrize("dropped", [0, 1, 4])
def test_an_order_without_an_answer_is_counted_and_said(capsys, dropped):
    orders = [MUTE] * dropped + [WHOLE] * (5 - dropped)
    found = collect([record(*orders), record(*[WHOLE] * 5, item="b")], scale=STARS)
    assert found.count("dropped") == dropped
    np.testing.assert_allclose(found.readings["logprob_4"], -0.1)
    warn(found, guess=False)
    said = capsys.readouterr().err
    assert (f"{dropped} answer" in said and "name no option in some order" in said) == (dropped > 0)


def test_an_option_floored_in_any_order_is_floored(capsys):
    found = collect([record(ANSWER, *[WHOLE] * 4)], scale=STARS, explain=1)
    assert found.floored == {"1": 1, "2": 1, "3": 1} and not found.count("lone")
    text = explain_text(found.explained[0], found.options)
    assert text.startswith("a (a): the mean of 5 orders\n  order 1\n  1 ")
    assert text.count("the smallest returned") == 3 and text.count("'4' -0.1") == 5


def test_no_order_with_an_answer_is_no_reading():
    found = collect([record(MUTE, MUTE), record(WHOLE, WHOLE, item="b")], scale=STARS)
    assert found.unread == ["a"] and not found.count("dropped")


def test_labels_that_cannot_be_told_matter_to_who_wants_them():
    entries = [Record("line 1", "a", WHOLE, label=InputError("names or positions?"))]
    assert len(collect(entries, scale=STARS, labels=False)) == 1
    with pytest.raises(InputError, match="names or positions"):
        collect(entries, scale=STARS)


def test_failures_of_other_tasks_are_not_counted():
    failed = [Record("line 1", failed="x", task="b"), Record("line 2", failed="y", task="a")]
    entries = [*failed, record(WHOLE, task="a")]
    assert collect(entries, scale=STARS, task="a").failed == ["line 2 (y)"]
    with pytest.raises(InputError, match="there is no reading of 'c' in it"):
        collect(entries, scale=STARS, task="c")
    with pytest.raises(InputError, match="there is neither a reading nor a label in it"):
        collect([], scale=STARS)
