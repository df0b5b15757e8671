"""What a model is asked: templates, and orders of options."""

import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.prompt import Prompt, read_template

STARS = Scale(("1", "2", "3", "4", "5"))


@pytest.fixture
def template(tmp_path):
    """Write a template and make a prompt of it."""

    def make(text, permutations=1, question=None, scale=STARS):
        path = tmp_path / "prompt.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Prompt(scale, read_template(path, question), permutations)

    return make


def test_the_default_prompt():
    assert Prompt(STARS, read_template()).fill({"text": "It {was} fine. {options}"}) == [
        "Rate the text below on the scale from 1 (lowest) to 5 (highest).\n\n"
        "Text:\nIt {was} fine. {options}\n\n"
        "Answer with one of: 1, 2, 3, 4, 5. Give the answer alone, nothing else."
    ]


def test_fields_are_columns(template):
    prompt = template('\ufeff{question} {"json": {}} { x } {text}: {the source} {options} {lowest}')
    assert prompt.columns == {"question", "text", "the source"}
    fields = {"question": "Q {text}", "text": "T {lowest}", "the source": "S", "options": "no"}
    assert prompt.fill(fields) == ['Q {text} {"json": {}} { x } T {lowest}: S 1, 2, 3, 4, 5 1']
    asked = Prompt(STARS, read_template(question="How {the source}?"))
    assert asked.columns == {"text", "the source"}
    assert asked.fill(fields)[0].startswith("How S?")
    commas = template("{text} {options}", scale=Scale(("no, never", "yes")))
    assert commas.fill({"text": "x"}) == ["x no, never; yes"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Rate this: {options}",), "{text}"), (("",), "{text}"),
        (("{text} {question}", 1, "How?"), "prompt and question"), ((b"\xff\xfe",), "UTF-8"),
        (("{text}", 2), "{options}"), (("{text} {options}", 6), "at most 5,"),
    ],
)  # fmt: skip
def test_prompts_that_ask_nothing(template, arguments, words):
    with pytest.raises(InputError, match=words):
        template(*arguments)


def test_the_digest_tells_prompts_apart(template):
    default = read_template()
    prompts = [
        Prompt(STARS, default), Prompt(STARS, read_template(question="How?")),
        template("{text} {options}"), Prompt(Scale(("0", "1", "2")), default),
        Prompt(STARS, default, 5),
    ]  # fmt: skip
    digests = {prompt.digest for prompt in prompts}
    assert len(digests) == 5 and set(map(len, digests)) == {12}
