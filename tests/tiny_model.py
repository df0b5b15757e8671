"""A causal language model of a few thousand random weights, and a tokenizer for it."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

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
