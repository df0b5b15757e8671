"""What asking a model on this machine is but for the model itself: tokens, batches, the cache."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from words_model import Arithmetic, Words

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Sequences
from cordial_ppl.live.cache import open_cache
from cordial_ppl.live.local import LocalModel
from cordial_ppl.live.prompt import Prompt
from cordial_ppl.live.questions import read_questions
from cordial_ppl.live.scoring import WINDOW, Scoring
from cordial_ppl.live.tally import Tally
from cordial_ppl.live.tokens import tokenise
from cordial_ppl.scale import Scale
from cordial_ppl.tables.files import read_columns

OPTIONS = ("bad", "so so", "good", "very very good")


def messages(text):
    return [{"role": "user", "content": f"Rate the text. {text}"}]


@pytest.mark.parametrize("chat", [True, False])
def test_a_prompt_ends_where_options_differ_from_it(chat):
    words = Words(chat)
    found = tokenise(words, messages("film"), OPTIONS)
    prompt = "<|user|> Rate the text . film <|end|> <|assistant|>" if chat else None
    assert words.words(found.prompt) == (prompt or "Rate the text . film \n Answer :")
    assert [words.words(own) for own in found.options] == list(OPTIONS)
    assert found.length == len(found.prompt) + 3


@pytest.mark.parametrize("chat", [True, False])
def test_an_option_that_begins_another_ends_with_the_answer(chat):
    words = Words(chat)
    found = tokenise(words, messages("film"), ("good", "good film", "bad"))
    end = "<|end|>" if chat else "\n"
    assert [words.words(own) for own in found.options] == [
        f"good {end}",
        f"good film {end}",
        f"bad {end}",
    ]


def test_what_all_options_begin_with_is_theirs():
    # Of "very" nothing is left to tell the prompt from the option.
    words = Words(chat=False)
    found = tokenise(words, messages("so very"), ("very good", "very bad"))
    assert [words.words(own) for own in found.options] == ["very good", "very bad"]


def test_options_that_a_tokenizer_writes_alike():
    with pytest.raises(InputError, match="cannot tell the options a b, a  b apart"):
        tokenise(Words(chat=True), messages("film"), ("a b", "a  b"))


def test_a_tokenizer_without_a_beginning():
    class Bare(Words):
        def __call__(self, text, add_special_tokens=True):
            return {"input_ids": [*map(ord, text[-4:])]}

    with pytest.raises(InputError, match="no token that a text begins with"):
        tokenise(Bare(chat=False), messages("film"), ("good", "evil"))


def test_models_that_remember_otherwise_are_refused():
    class Mamba:
        def forward(self, input_ids, cache_params):
            pass

    with pytest.raises(InputError, match="Mamba remembers prompts otherwise"):
        LocalModel(Mamba(), None)


def write(lengths):
    rows = [f"t{i},{'good ' * length}film {i}\n" for i, length in enumerate(lengths)]
    Path("texts.csv").write_text("item_id,text\n" + "".join(rows))


def scoring(cache, model, batch=2):
    questions = read_questions("texts.csv", Prompt(Scale(OPTIONS)))
    tally = Tally(len(questions))
    return Scoring(questions, "tiny", model, cache, tally, batch), questions, tally


def test_each_text_gets_its_own_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lengths = np.random.default_rng(0).permutation(9).tolist()
    write(lengths)
    model = Arithmetic()
    with open_cache("cache") as cache:
        asking, questions, tally = scoring(cache, model)
        shown = []
        asking.run(lambda share, words: shown.append(share))
        assert shown[-1] == 1.0 and len(cache) == 9
        for question in questions:
            found = asking.find(question)
            assert found is not None and isinstance(found.evidence, Sequences)
            expected = model.one(model.tokenise(question.messages, OPTIONS))
            assert found.evidence.scores == dict(zip(OPTIONS, expected, strict=True))
        # Prompts of like length go together.
        assert [length for batch in model.batches for length in batch] == sorted(
            length for batch in model.batches for length in batch
        )
        assert list(map(len, model.batches)) == [2, 2, 2, 2, 1] and 9 < 2 * WINDOW
        read = sum(len(t.prompt) + sum(map(len, t.options)) for t in _tokens(model, questions))
        assert (tally.answered, tally.read) == (9, read)
        again, _, tally = scoring(cache, model)
        again.run()
        assert tally.known == 9 and len(model.batches) == 5
        # Another version of the model is another model.
        other = Arithmetic()
        other.version = "v2"
        scoring(cache, other, batch=9)[0].run()
        assert list(map(len, other.batches)) == [9]


def _tokens(model, questions):
    return [model.tokenise(question.messages, OPTIONS) for question in questions]


def test_from_texts_to_readings(cordial, monkeypatch):
    model = Arithmetic()
    monkeypatch.setattr(LocalModel, "load", lambda name, device: model)
    write([2, 1, 50, 3])
    command = ("ask", "texts.csv", "-o", "out.csv", "--model", "tiny", "--local")
    command += ("--options", ",".join(OPTIONS))
    shown = cordial(*command, status=2).output
    assert re.search(r"prompt about 't2' has 1\d\d tokens; 'tiny' reads 80 at most", shown)
    assert "--partial" in shown and not Path("out.csv").exists()
    write([50])
    shown = cordial(*command, "--partial", status=2).output
    assert "the prompt about 't0' has" in shown and "shorten the texts" in shown
    write([2, 1, 50, 3])
    found = json.loads(cordial(*command, "--partial", "--json").stdout)
    assert list(found["missing"]) == ["t2"] and found["readings"] == 3
    columns = read_columns("out.csv")
    assert list(columns.cells["item_id"]) == ["t0", "t1", "t3"]
    assert set(columns.cells["reader_decoding"]) == {"log-likelihood of options, float32"}
    first = Path("out.csv").read_text()
    assert "requests/s" not in cordial(*command, "--partial").output
    assert Path("out.csv").read_text() == first
    # Orders are averaged on the logarithmic scale.
    shown = cordial(*command, "--partial", "--permutations", "2", "--explain", "1").output
    assert all(shown.count(f"'{option}'") == 2 for option in OPTIONS)
