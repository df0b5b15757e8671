"""What a model is asked: templates, and orders of options."""

from itertools import permutations

import numpy as np
import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.prompt import make_prompt, option_orders

STARS = Scale(("1", "2", "3", "4", "5"))
FORWARD = tuple(range(5))


@pytest.fixture
def template(tmp_path):
    """Write a template and make a prompt of it."""

    def make(text, *arguments, scale=STARS):
        path = tmp_path / "prompt.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return make_prompt(scale, path, *arguments)

    return make


def test_the_default_prompt():
    assert make_prompt(STARS).fill({"text": "It {was} fine. {options}"}, FORWARD) == (
        "Rate the text below on the scale from 1 (lowest) to 5 (highest).\n\n"
        "Text:\nIt {was} fine. {options}\n\n"
        "Answer with one of: 1, 2, 3, 4, 5. Give the answer alone, nothing else."
    )


def test_fields_are_columns(template):
    text = '\ufeff{question} {{text}} {"json": {}} { x } {text}: {the source} {options} {lowest}'
    prompt = template(text)
    # Without --question the field is a column too.
    assert prompt.columns == {"question", "text", "the source"}
    fields = {"question": "Q {text}", "text": "T {lowest}", "the source": "S", "options": "no"}
    shown = prompt.fill(fields, (4, 3, 2, 1, 0))
    assert shown == 'Q {text} {text} {"json": {}} { x } T {lowest}: S 5, 4, 3, 2, 1 1'
    asked = template(text, "How {the source}?")
    assert asked.columns == {"text", "the source"}
    assert asked.fill(fields, FORWARD).startswith("How S? {text}")
    commas = template("{text} {options}", scale=Scale(("no, never", "yes")))
    assert commas.fill({"text": "x"}, (0, 1)) == "x no, never; yes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Rate this: {options}",), "must contain {text}, .*; found {options}"),
        (("nothing",), "found no field"), (("{text}", "How?"), "the prompt has no {question}"),
        (("{text}", None, 2), "the prompt has no {options}"), ((b"\xff\xfe",), "UTF-8"),
        (("{text} {options}", None, 121), "120 orders"),
    ],
)  # fmt: skip
def test_prompts_that_ask_nothing(template, arguments, words):
    with pytest.raises(InputError, match=words):
        template(*arguments)


def test_the_digest_tells_prompts_apart(template):
    prompts = [
        make_prompt(STARS), make_prompt(STARS, question="How?"), template("{text} {options}"),
        make_prompt(Scale(("0", "1", "2"))), make_prompt(STARS, permutations=5),
        make_prompt(STARS, permutations=5, seed=1),
    ]  # fmt: skip
    digests = {prompt.digest for prompt in prompts}
    assert len(digests) == 6 and set(map(len, digests)) == {12}


def test_orders_put_every_option_everywhere():
    assert option_orders(5, 1, seed=3) == [FORWARD]
    for seed in range(5):
        orders = np.array(option_orders(5, 15, seed))
        assert len({*map(tuple, orders.tolist())}) == 15
        for block in orders.reshape(3, 5, 5):
            assert (np.sort(block, axis=0).T == FORWARD).all()
            assert (np.sort(block, axis=1) == FORWARD).all()
    assert set(option_orders(3, 6)) == set(permutations(range(3)))
