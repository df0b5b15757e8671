"""What a model is asked: templates, orders of options, demonstrations."""

import json
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.errors import InputError
from cordial_ppl.formats.matching import Reading, average
from cordial_ppl.live.decoding import Dialect, describe
from cordial_ppl.live.demonstrations import Demonstration, read_demonstrations
from cordial_ppl.live.orders import option_orders
from cordial_ppl.live.prompt import Prompt, read_template
from cordial_ppl.live.template import fill, find_fields
from cordial_ppl.scale import Scale

STARS = Scale(("1", "2", "3", "4", "5"))
OWN = tuple(range(5))


def shown(i, answer):
    return Demonstration(f"d{i}", {"text": f"text {i}"}, answer)


def test_the_prompt_that_is_built_in():
    (turn,) = Prompt(STARS).messages({"text": "It {was} fine. {options}"}, OWN)
    assert turn["role"] == "user"
    assert turn["content"] == (
        "Rate the text below on the scale from 1 (lowest) to 5 (highest).\n\n"
        "Text:\nIt {was} fine. {options}\n\n"
        "Answer with one of: 1, 2, 3, 4, 5. Give the answer alone, nothing else."
    )


def test_fields_are_columns():
    template = '{question} {{text}} {"json": {}} { x } {text}: {the source} {options} {lowest}'
    assert find_fields(template) == {"question", "text", "the source", "options", "lowest"}
    prompt = Prompt(STARS, template)
    # Without a question of its own, a template asks that of the table.
    assert prompt.columns == {"question", "text", "the source"}
    fields = {"question": "Q", "text": "T", "the source": "S", "options": "no"}
    (turn,) = prompt.messages(fields, (4, 3, 2, 1, 0))
    assert turn["content"] == 'Q {text} {"json": {}} { x } T: S 5, 4, 3, 2, 1 1'
    asked = Prompt(STARS, template, "How {the source}?")
    assert asked.columns == {"text", "the source"}
    assert asked.messages(fields, OWN)[0]["content"].startswith("How S? {text}")


def test_options_with_commas_are_listed_with_semicolons():
    prompt = Prompt(Scale(("no, never", "yes")), "{text} {options}")
    assert prompt.messages({"text": "x"}, (0, 1))[0]["content"] == "x no, never; yes"


@given(st.text(), st.dictionaries(st.sampled_from(["a", "b c"]), st.text(), min_size=2))
def test_values_are_put_in_once(around, values):
    around = around.replace("{", "").replace("}", "")
    assert fill(f"{around}{{a}}{around}{{b c}}", values) == (
        f"{around}{values['a']}{around}{values['b c']}"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Rate this: {options}",), "must put in the text: {text}, .*; found {options}"),
        (("nothing",), "found no field"),
        (("{text}", "How?"), "the prompt has no {question}"),
    ],
)
def test_prompts_that_ask_nothing(arguments, words):
    with pytest.raises(InputError, match=words):
        Prompt(STARS, *arguments)


def test_demonstrations_are_turns_or_stand_in_the_prompt():
    examples = [shown(1, "4"), shown(2, "2")]
    turns = Prompt(STARS, "{text}? {options}", None, examples).messages({"text": "x"}, OWN)
    assert [(own["role"], own["content"]) for own in turns] == [
        ("user", "text 1? 1, 2, 3, 4, 5"),
        ("assistant", "4"),
        ("user", "text 2? 1, 2, 3, 4, 5"),
        ("assistant", "2"),
        ("user", "x? 1, 2, 3, 4, 5"),
    ]
    inside = Prompt(STARS, "{demonstrations}\n\n{text}?", None, examples)
    (turn,) = inside.messages({"text": "x"}, OWN)
    assert turn["content"] == "Text: text 1\nAnswer: 4\n\nText: text 2\nAnswer: 2\n\nx?"
    # A text is not told its own label, whether it goes by its name or by its words.
    for item, text in (("d2", "text 2"), ("d2", "text two"), ("", "text 2 "), ("x", "text 2")):
        (turn,) = inside.messages({"text": text}, OWN, item)
        assert turn["content"] == f"Text: text 1\nAnswer: 4\n\n{text}?"


def write_labelled(path, labels):
    rows = [{"item_id": f"d{i}", "text": f"text {i}", "label": k} for i, k in enumerate(labels)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_demonstrations_are_drawn(tmp_path):
    path = tmp_path / "labelled.jsonl"
    write_labelled(path, [5] * 30 + [4] * 5 + [1] * 2 + [2])

    def draw(shots=8, *, balanced=True, seed=0):
        return read_demonstrations(path, STARS, {"text"}, shots, balanced=balanced, seed=seed)

    # Each option in turn while it has texts: 2, 1, then 4 and 5 share what is left.
    counts = Counter(own.answer for own in draw())
    assert counts["2"] == 1 and counts["1"] == 2 and {counts["4"], counts["5"]} <= {2, 3}
    assert draw() == draw()
    assert draw() != draw(seed=1)
    assert len({own.item_id for own in draw(shots=38)}) == 38
    # Nor do options come in rounds: the order is random too.
    firsts = [{own.answer for own in draw(seed=seed)[:4]} for seed in range(20)]
    assert len(set(map(len, firsts))) > 1
    chance = Counter(own.answer for seed in range(20) for own in draw(seed=seed, balanced=False))
    assert chance["5"] > 100
    assert all(int(own.item_id[1:]) == int(own.fields["text"][5:]) for own in draw())
    with pytest.raises(InputError, match="has 38 texts; --shots asks for 39"):
        draw(shots=39)
    with pytest.raises(InputError, match="needs the column 'review'"):
        read_demonstrations(path, STARS, {"review"}, 3)
    write_labelled(path, [1, 9])
    with pytest.raises(InputError, match="whole numbers 1..5"):
        draw(shots=2)


def test_the_digest_knows_what_is_asked(tmp_path):
    prompts = [
        Prompt(STARS),
        Prompt(STARS, question="How?"),
        Prompt(STARS, "{text} {options}"),
        Prompt(STARS, demonstrations=[shown(1, "4")]),
        Prompt(STARS, demonstrations=[shown(1, "5")]),
        Prompt(Scale(("0", "1", "2"))),
    ]
    digests = [prompt.digest([OWN]) for prompt in prompts] + [Prompt(STARS).digest([OWN[::-1]])]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 12 for digest in digests)
    assert Prompt(STARS).digest([OWN]) == digests[0]
    (tmp_path / "prompt.txt").write_text("\ufeff{text}\n{options}")
    assert read_template(tmp_path / "prompt.txt") == "{text}\n{options}"


def test_orders_put_every_option_everywhere():
    assert option_orders(5, 1, seed=3) == [OWN]
    for seed in range(5):
        orders = option_orders(5, 15, seed)
        assert len(set(orders)) == 15
        for start in (0, 5, 10):
            block = np.array(orders[start : start + 5])
            assert (np.sort(block, axis=0).T == OWN).all()
            assert (np.sort(block, axis=1) == OWN).all()
    assert set(option_orders(3, 6)) == set(permutations(range(3)))
    assert option_orders(5, 5, seed=0) != option_orders(5, 5, seed=1)
    with pytest.raises(InputError, match="3 options have 6 orders"):
        option_orders(3, 7)


def test_readings_of_several_orders_are_one():
    one = Reading("logprob", np.array([-1.0, -2.0]), [[("a", -1.0)], []], floored=[1], share=0.4)
    other = Reading("logprob", np.array([-3.0, -1.0]), [[], [("b", -1.0)]], floored=[0], share=0.6)
    both = average([one, None, other])
    assert both is not None
    np.testing.assert_allclose(both.values, [-2.0, -1.5])
    assert both.orders == (one, None, other) and both.dropped == 1
    # Neither order has both options, so neither number is the reader's alone.
    assert both.floored == [0, 1] and both.share == 0.5 and both.lone
    assert average([None, None]) is None
    with pytest.raises(InputError, match="must be of one kind; found logprob, n"):
        average([one, Reading("n", np.array([1.0, 2.0]), [[], []])])
    counts = average([Reading("n", np.array([k, 2.0]), [[], []], unread=k) for k in (1, 3)])
    assert counts is not None
    assert counts.values.tolist() == [4.0, 4.0] and counts.unread == 4


def test_a_dialect_gives_way_until_it_is_settled():
    dialect = Dialect({"temperature": 0.0, "max_tokens": 16, "logprobs": True, "top_logprobs": 20})
    assert describe(dialect.payload(3)) == "temperature 0, max_tokens 16, top_logprobs 20"
    assert dialect.give_way("top_logprobs is too large")
    assert dialect.give_way("use max_completion_tokens")
    assert dialect.give_way("temperature must be 1")
    assert dialect.payload(3) == {
        "logprobs": True,
        "top_logprobs": 5,
        "max_completion_tokens": 16,
        "n": 3,
    }
    assert dialect.give_way("n must be 1", 3)
    assert "n" not in dialect.payload(3)
    assert not dialect.give_way("no", 3)
    settled = Dialect({"max_tokens": 16})
    settled.settled = True
    assert not settled.give_way("use max_completion_tokens")
