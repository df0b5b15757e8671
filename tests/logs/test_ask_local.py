"""Readings of a model on this machine: a tiny one with random weights, against a plain loop."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")


from cordial_ppl.errors import InputError, Refused  # noqa: E402
from cordial_ppl.logs.ask.local import LocalModel  # noqa: E402
from cordial_ppl.tables import read_columns  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

OPTIONS = ("very bad", "bad", "so so", "good", "very very good")
TEXTS = ("film", "a long and slow film that was not good", "the book", "so good a book")
CHAT = (
    "{% for m in messages %}<|{{ m.role }}|> {{ m.content }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def tokenizer(chat):
    """Bytes and merges of them as tokens, as Qwen2 has them."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|user|>", "<|assistant|>", "<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator([*TEXTS, *OPTIONS, "Answer: 1"] * 20, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=model,
        eos_token="<|end|>",
        bos_token="<|user|>",
        chat_template=CHAT if chat else None,
    )


def network(size):
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        # Weights large enough that options differ by nats.
        initializer_range=0.2,
    )
    return transformers.Qwen2ForCausalLM(config)


@pytest.fixture(params=["chat", "plain"])
def folder(request, tmp_path):
    """A folder with a model and its tokenizer."""
    words = tokenizer(request.param == "chat")
    words.save_pretrained(tmp_path / "tiny")
    network(len(words)).save_pretrained(tmp_path / "tiny")
    return str(tmp_path / "tiny")


def plain_loop(local, question):
    """One option at a time, through the whole model, without a cache."""
    prompt, options = local.tokenise(question)
    scores = []
    for option in options:
        with torch.no_grad():
            ids = torch.tensor([[*prompt, *option]])
            logits = local.model(input_ids=ids, use_cache=False).logits[0].float()
        logs = torch.log_softmax(logits, dim=-1)
        start = len(prompt)
        scores.append(sum(float(logs[start + i - 1, own]) for i, own in enumerate(option)))
    return scores


@pytest.mark.parametrize("options", [OPTIONS, tuple(map(str, range(1, 11))), ("film", "book")])
def test_log_likelihoods_are_those_of_a_plain_loop(folder, options):
    local, questions = LocalModel(folder, options), [f"Rate the text. {text}" for text in TEXTS]
    scores = [list(local.ask(question)["scores"].values()) for question in questions]
    loop = np.array([plain_loop(local, question) for question in questions])
    np.testing.assert_allclose(scores, loop, rtol=0, atol=1e-5)
    assert np.ptp(loop, axis=1).min() > 0.1
    for question in questions:
        prompt, ends = local.tokenise(question)
        assert prompt and all(ends) and len(set(map(tuple, ends))) == len(options)


def test_memory_that_is_short_is_told(folder, monkeypatch):
    def limited(**_):
        raise torch.OutOfMemoryError

    local = LocalModel(folder, OPTIONS)
    monkeypatch.setattr(local.model, "forward", limited)
    with pytest.raises(Refused, match="memory"):
        local.ask(TEXTS[0])


def test_from_texts_to_readings(cordial, tmp_path):
    words = tokenizer(chat=True)
    words.save_pretrained(tmp_path / "tiny")
    network(len(words)).save_pretrained(tmp_path / "tiny")
    rows = [f"t{i},{text}\n" for i, text in enumerate((*TEXTS * 3, "good " * 300))]
    (tmp_path / "texts.csv").write_text("item_id,text\n" + "".join(rows))
    command = ("ask", "texts.csv", "-o", "out.csv", "--model", "tiny", "--local")
    shown = cordial(*command, "--options", ",".join(OPTIONS)).stderr
    assert "1 row without an answer" in shown and "'tiny' reads at most 256" in shown
    columns = read_columns("out.csv")
    assert list(columns.cells["item_id"]) == [f"t{i}" for i in range(12)]
    scores = np.array([[float(c) for c in columns.cells[f"logprob_{o}"]] for o in OPTIONS]).T
    # The same texts again are the same readings.
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[:4], scores[4:8])
    with pytest.raises(InputError, match="cannot load the model"):
        LocalModel(str(tmp_path), OPTIONS)
