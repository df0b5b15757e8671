"""What a model is asked: templates, and orders of options."""

import numpy as np
import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.prompt import make_prompt

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
    text = '\ufeff{question} {"json": {}} { x } {text}: {the source} {options} {lowest}'
    prompt = template(text)
    assert prompt.columns == {"question", "text", "the source"}
    fields = {"question": "Q {text}", "text": "T {lowest}", "the source": "S", "options": "no"}
    shown = prompt.fill(fields, (4, 3, 2, 1, 0))
    assert shown == 'Q {text} {"json": {}} { x } T {lowest}: S 5, 4, 3, 2, 1 1'
    asked = make_prompt(STARS, question="How {the source}?")
    assert asked.columns == {"text", "the source"}
    assert asked.fill(fields, FORWARD).startswith("How S?")
    commas = template("{text} {options}", scale=Scale(("no, never", "yes")))
    assert commas.fill({"text": "x"}, (0, 1)) == "x no, never; yes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Rate this: {options}",), "{text}"), (("{text} {question}", "How?"), "--prompt"),
        (("{text}", None, 2), "{options}"), ((b"\xff\xfe",), "UTF-8"),
        (("{text} {options}", None, 6), "5 orders"),
    ],
)  # fmt: skip
def test_prompts_that_ask_nothing(template, arguments, words):
    with pytest.raises(InputError, match=words):
        template(*arguments)


def test_the_digest_tells_prompts_apart(template):
    prompts = [
        make_prompt(STARS), make_prompt(STARS, question="How?"), template("{text} {options}"),
        make_prompt(Scale(("0", "1", "2"))), make_prompt(STARS, permutations=5),
    ]  # fmt: skip
    digests = {prompt.digest for prompt in prompts}
    assert len(digests) == 5 and set(map(len, digests)) == {12}


def test_orders_put_every_option_everywhere():
    assert make_prompt(STARS).orders == [FORWARD]
    orders = np.array(make_prompt(STARS, permutations=5).orders)
    assert (np.sort(orders, axis=0).T == FORWARD).all()
    assert (np.sort(orders, axis=1) == FORWARD).all()
