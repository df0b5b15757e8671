"""Each format on the tool's own file; what all logs have in common; and what is refused."""

import numpy as np
import pytest
from logs_of_reviews import DUMMY, FILES, LABELS, LOGS, ONE_READER, STARS, chat, read, table, tokens

from cordial_ppl.cli.log_words import explain_text, list_doubts
from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.logs import FORMATS, collect, find_format
from cordial_ppl.logs.evidence import Orders, Record


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_known_by_its_contents_and_read(name):
    form, kind, size = FILES[name]
    assert find_format(LOGS / name).name == form
    found = read(LOGS / name)
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
    if name in ONE_READER:
        expected = table(read(LOGS / "openai_chat.jsonl"), "logprob")[:8]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_who_made_a_reading_and_how():
    chat, harness = (read(LOGS / name).readings for name in ("openai_chat.jsonl", DUMMY))
    assert chat["reader_model"][0] == chat["reader"][0] == "ours-judge-1"
    assert chat["reader_date"][0] == "2026-01-01"
    assert harness["task"][0] == "review_stars"
    assert harness["reader"][0] == "ours/dummy" and len(harness["reader_prompt"][0]) == 16


def test_kinds_and_texts_must_agree(log):
    with_tokens = chat({"4": -0.1, "5": -3.0}, item_id="a")
    text = {"item_id": "b", "choices": [{"message": {"content": "4"}}]}
    other = {**with_tokens, "reader": "other"}
    labelled = [{**with_tokens, "label": 4}, {**other, "label": 5}]
    for rows, message in (
        ([with_tokens, text], "line 2 has answers without log-probabilities, those before it"),
        ([with_tokens, with_tokens], "'a' is in line 1 and in line 2"),
        (labelled, "line 2: a text must have one label; 'a' has '4' and '5'"),
    ):
        with pytest.raises(InputError, match=message):
            read(log(*rows))
    assert read(log(with_tokens, other)).readings["reader"] == [None, "other"]


def test_answers_without_an_option_are_left_out_with_their_labels(log):
    lost = {"item_id": "b", "label": 2, **chat({"I": -0.1}, {" pass": -0.1})}
    found = read(log(chat({"4": -0.1, "5": -3.0}, item_id="a", label=4), lost))
    assert found.unread == ["line 2"]
    assert found.labels == {"item_id": ["a"], "label": ["4"]}


def test_a_log_that_names_no_options_needs_them(log):
    with pytest.raises(SettingNeeded, match="does not say which answers were possible"):
        read(log(chat({"4": -0.1})), scale=None)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_of_another_format_is_refused(form, log):
    """Whatever is said of it, nobody sees a traceback."""
    # Wrapped responses are samples too.
    also = ("openai", "vllm", "llama-cpp") if form == "samples" else ()
    others = (LOGS / name for name, (own, *_) in FILES.items() if own not in (form, *also))
    for path in (log({"a": 1}), log(), *others):
        with pytest.raises(InputError):
            read(path, form)


ANSWER = tokens({"4": -0.1, "5": -3.0})
WHOLE = tokens({str(k): -0.1 - abs(4 - k) for k in (4, 1, 2, 3, 5)})
MUTE = tokens({"": -0.1})


def record(*orders, item="a", **fields):
    return Record(item, item, Orders(orders), **fields)


@pytest.mark.parametrize("dropped", [0, 1, 4])
def test_an_order_without_an_answer_is_counted_and_said(dropped):
    orders = [MUTE] * dropped + [WHOLE] * (5 - dropped)
    both = [record(*orders), record(*[WHOLE] * 5, item="b"), record(MUTE, MUTE, item="c")]
    found = collect(both, scale=STARS)
    assert found.count("dropped") == dropped and found.unread == ["c"]
    np.testing.assert_allclose(found.readings["logprob_4"], -0.1)
    said = " ".join(list_doubts(found))
    assert (f"{dropped} answer" in said and "without an option in some order" in said) == (
        dropped > 0
    )


def test_an_option_floored_in_any_order_is_floored():
    found = collect([record(ANSWER, *[WHOLE] * 4)], scale=STARS, explain=1)
    assert found.floored == {"1": 1, "2": 1, "3": 1} and not found.count("lone")
    text = explain_text(found.explained[0], found.options)
    assert text.startswith("a (a): the mean of 5 orders\n  order 1\n  1 ")
    assert text.count("the smallest returned") == 3 and text.count("'4' -0.1") == 5


def test_failures_of_other_tasks_are_not_counted():
    failed = [Record("line 1", failed="x", task="b"), Record("line 2", failed="y", task="a")]
    entries = [*failed, record(WHOLE, task="a")]
    assert collect(entries, scale=STARS, task="a").failed == ["line 2 (y)"]
    with pytest.raises(InputError, match="it holds no readings of 'c'"):
        collect(entries, scale=STARS, task="c")
    with pytest.raises(InputError, match="it holds neither readings nor labels"):
        collect([], scale=STARS)
