"""What a model is asked: templates, orders of options, examples."""

import json
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.prompt import Example, Prompt, read_template
from cordial_ppl.logs.ask.questions import option_orders, read_examples

STARS = Scale(("1", "2", "3", "4", "5"))
FORWARD = tuple(range(5))


def example(i, answer):
    return Example(f"d{i}", {"text": f"text {i}"}, answer)


def ask(prompt, fields, order=FORWARD):
    (turn,) = prompt.messages(fields, order)
    assert turn["role"] == "user"
    return turn["content"]


def test_the_default_prompt():
    assert ask(Prompt(STARS), {"text": "It {was} fine. {options}"}) == (
        "Rate the text below on the scale from 1 (lowest) to 5 (highest).\n\n"
        "Text:\nIt {was} fine. {options}\n\n"
        "Answer with one of: 1, 2, 3, 4, 5. Give the answer alone, nothing else."
    )


def test_fields_are_columns():
    template = '{question} {{text}} {"json": {}} { x } {text}: {the source} {options} {lowest}'
    prompt = Prompt(STARS, template)
    # Without --question the field is a column too.
    assert prompt.columns == {"question", "text", "the source"}
    fields = {"question": "Q {text}", "text": "T {lowest}", "the source": "S", "options": "no"}
    shown = ask(prompt, fields, (4, 3, 2, 1, 0))
    assert shown == 'Q {text} {text} {"json": {}} { x } T {lowest}: S 5, 4, 3, 2, 1 1'
    asked = Prompt(STARS, template, "How {the source}?")
    assert asked.columns == {"text", "the source"}
    assert ask(asked, fields).startswith("How S? {text}")
    commas = Prompt(Scale(("no, never", "yes")), "{text} {options}")
    assert ask(commas, {"text": "x"}, (0, 1)) == "x no, never; yes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Rate this: {options}",), "must contain {text}, .*; found {options}"),
        (("nothing",), "found no field"),
        (("{text}", "How?"), "the prompt has no {question}"),
    ],
)
def test_prompts_that_ask_nothing(arguments, words):
    with pytest.raises(InputError, match=words):
        Prompt(STARS, *arguments)


def test_examples_are_turns_but_no_text_is_its_own():
    prompt = Prompt(STARS, "{text}? {options}", None, [example(1, "4"), example(2, "2")])
    turns = [(turn["role"], turn["content"]) for turn in prompt.messages({"text": "x"}, FORWARD)]
    listed = "? 1, 2, 3, 4, 5"
    assert turns == [
        *(("user", f"text 1{listed}"), ("assistant", "4")),
        *(("user", f"text 2{listed}"), ("assistant", "2"), ("user", f"x{listed}")),
    ]
    for item, text in (("d2", "text 2"), ("d2", "text two"), ("", "text 2 "), ("x", "text 2")):
        shown = prompt.messages({"text": text}, FORWARD, item)
        assert [turn["content"][:6] for turn in shown] == ["text 1", "4", text[:6]]


def test_examples_are_drawn_option_by_option(tmp_path):
    path = tmp_path / "labelled.jsonl"

    def write(labels):
        rows = [{"item_id": f"d{i}", "text": f"text {i}", "label": k} for i, k in enumerate(labels)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def draw(shots=8, *, seed=0, needed="text"):
        return read_examples(path, STARS, {needed}, shots, seed=seed)

    write([5] * 30 + [4] * 5 + [1] * 2 + [2])
    # Each option in turn while it has texts: 2, 1, then 4 and 5 share what is left.
    counts = Counter(shown.answer for shown in draw())
    assert counts["2"] == 1 and counts["1"] == 2 and {counts["4"], counts["5"]} <= {2, 3}
    assert draw() == draw() and draw() != draw(seed=1)
    assert len({shown.item_id for shown in draw(shots=38)}) == 38
    # They are not shown in rounds: the order is random too.
    assert len({len({shown.answer for shown in draw(seed=k)[:4]}) for k in range(20)}) > 1
    assert all(int(shown.item_id[1:]) == int(shown.fields["text"][5:]) for shown in draw())
    with pytest.raises(InputError, match="has 38 texts; --shots asks for 39"):
        draw(shots=39)
    with pytest.raises(InputError, match="no column 'review'"):
        draw(needed="review")
    write([1, 9])
    with pytest.raises(InputError, match="whole numbers 1..5"):
        draw(shots=2)


def test_the_digest_tells_prompts_apart():
    prompts = [
        Prompt(STARS),
        Prompt(STARS, question="How?"),
        Prompt(STARS, "{text} {options}"),
        Prompt(STARS, examples=[example(1, "4")]),
        Prompt(STARS, examples=[example(1, "5")]),
        Prompt(Scale(("0", "1", "2"))),
    ]
    digests = {*(prompt.digest([FORWARD]) for prompt in prompts), Prompt(STARS).digest([(4, 3)])}
    assert len(digests) == 7 and set(map(len, digests)) == {12}


def test_templates_are_text_in_utf_8(tmp_path):
    (tmp_path / "prompt.txt").write_text("\ufeff{text}\n{options}")
    assert read_template(tmp_path / "prompt.txt") == "{text}\n{options}"
    (tmp_path / "prompt.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_template(tmp_path / "prompt.txt")


def test_orders_put_every_option_everywhere():
    assert option_orders(5, 1, seed=3) == [FORWARD]
    for seed in range(5):
        orders = np.array(option_orders(5, 15, seed))
        assert len({*map(tuple, orders.tolist())}) == 15
        for block in orders.reshape(3, 5, 5):
            assert (np.sort(block, axis=0).T == FORWARD).all()
            assert (np.sort(block, axis=1) == FORWARD).all()
    assert set(option_orders(3, 6)) == set(permutations(range(3)))
    # Of two seeds alone one pair in 120 is alike.
    assert len({tuple(option_orders(5, 5, seed=k)) for k in range(5)}) > 1
