"""Asking a model on this machine, without a real model: tokens, batches, the cache."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from words_model import Arithmetic, Words

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask import local
from cordial_ppl.logs.ask.asking import Asking
from cordial_ppl.logs.ask.cache import open_cache
from cordial_ppl.logs.ask.local import LocalModel
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.logs.ask.questions import read_questions
from cordial_ppl.logs.ask.tokens import tokenise
from cordial_ppl.logs.evidence import Scores
from cordial_ppl.runtime.progress import watching
from cordial_ppl.tables.formats import read_columns

OPTIONS = ("bad", "so so", "good", "very very good")
MESSAGES = [{"role": "user", "content": "Rate the text. film"}]


@pytest.mark.parametrize(
    ("chat", "prompt", "end"),
    [
        (True, "<|user|> Rate the text . film <|end|> <|assistant|>", "<|end|>"),
        (False, "Rate the text . film \n Answer :", "\n"),
    ],
)
def test_a_prompt_ends_where_options_differ_from_it(chat, prompt, end):
    words = Words(chat)
    found = tokenise(words, MESSAGES, OPTIONS)
    assert words.words(found.prompt) == prompt
    assert [words.words(option) for option in found.options] == list(OPTIONS)
    assert found.length == len(found.prompt) + 3
    # If an option begins another, the end of the answer belongs to each.
    found = tokenise(words, MESSAGES, ("good", "good film", "bad"))
    ends = [f"good {end}", f"good film {end}", f"bad {end}"]
    assert [words.words(option) for option in found.options] == ends


class Bare(Words):
    """A tokenizer to which prompts have nothing in common."""

    def __call__(self, text, add_special_tokens=True):
        return {"input_ids": [*map(ord, text[-4:])]}


class Mamba:
    """A model without a cache of keys and values."""

    def forward(self, input_ids, cache_params):
        pass


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: tokenise(Words(True), MESSAGES, ("a b", "a  b")), "a b, a  b the same tokens"),
        (lambda: tokenise(Bare(False), MESSAGES, ("good", "evil")), "no beginning-of-text token"),
        (lambda: LocalModel("tiny", Mamba(), None, OPTIONS), "Mamba has no key-value cache"),
    ],
)
def test_models_and_tokenizers_that_cannot_be_used(attempt, words):
    with pytest.raises(InputError, match=words):
        attempt()


def write(lengths):
    rows = [f"t{i},{'good ' * length}film {i}\n" for i, length in enumerate(lengths)]
    Path("texts.csv").write_text("item_id,text\n" + "".join(rows))


def test_each_text_gets_its_own_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local, "BATCH", 2)
    write(np.random.default_rng(0).permutation(9).tolist())
    questions = read_questions("texts.csv", Prompt(Scale(OPTIONS)))
    model, shares = Arithmetic(OPTIONS), []

    def ask(cache, model):
        asking = Asking(questions, model, cache)
        with watching(lambda share, line: shares.append(share)):
            asking.run()
        return asking

    with open_cache("cache") as cache:
        asking = ask(cache, model)
        assert shares[-1] == 1.0 and len(cache) == 9
        asked = [tokenise(model.tokenizer, question.messages, OPTIONS) for question in questions]
        for question, tokens in zip(questions, asked, strict=True):
            (answer,), _ = asking.find(question)
            expected = Scores("logprob", model.one(tokens).tolist(), [*OPTIONS])
            assert asking.model.evidence([answer.body]) == expected
        # Prompts of like length go together.
        lengths = [length for batch in model.batches for length in batch]
        assert lengths == sorted(lengths) and list(map(len, model.batches)) == [2, 2, 2, 2, 1]
        read = sum(len(tokens.prompt) + sum(map(len, tokens.options)) for tokens in asked)
        assert (asking.done, asking.asked, asking.tokens) == (9, 9, [read, 0])
        again = ask(cache, model)
        assert (again.done, again.asked) == (9, 0)
        # Another version of the model is another model.
        assert ask(cache, Arithmetic(OPTIONS, "v2")).asked == 9


def test_from_texts_to_readings(cordial, monkeypatch):
    monkeypatch.setattr(LocalModel, "load", lambda name, options: Arithmetic(options))
    command = ("ask", "texts.csv", "-o", "out.csv", "--model", "tiny", "--local")
    command += ("--options", ",".join(OPTIONS))
    write([50])
    assert "'t0' (1" in (shown := cordial(*command, status=1).output) and "at most 80)" in shown
    write([2, 1, 50, 3])
    shown = cordial(*command).output
    assert re.search(r"left out: 't2' \(1\d\d tokens, but 'tiny' reads at most 80\)", shown)
    columns = read_columns("out.csv")
    assert list(columns.cells["item_id"]) == ["t0", "t1", "t3"]
    assert set(columns.cells["reader_decoding"]) == {"log-likelihood of options, float32"}
    first = Path("out.csv").read_text()
    found = json.loads(cordial(*command, "--json").stdout)
    assert list(found["missing"]) == ["t2"] and (found["readings"], found["requests"]) == (3, 0)
    assert Path("out.csv").read_text() == first
    cordial(*command, "--permutations", "2")
    assert Path("out.csv").read_text() != first
