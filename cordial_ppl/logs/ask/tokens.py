"""Prompts and their options as the tokens of a model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.prompt import Messages

Tokens = list[int]


class Tokenised(NamedTuple):
    """A prompt and its options, as tokens.

    Attributes:
        prompt: The tokens before every option.
        options: The tokens of each option.
    """

    prompt: Tokens
    options: list[Tokens]

    @property
    def length(self) -> int:
        """Count the tokens with the longest option."""
        return len(self.prompt) + max(map(len, self.options))


def tokenise(tokenizer: Any, messages: Messages, options: Sequence[str]) -> Tokenised:
    """Turn a prompt and its options into tokens.

    The prompt is tokenised with each option behind it, as the model would read them; the tokens
    that all have in common are the prompt. If one option's tokens begin another's ("1" and "10"),
    the end of the answer counts as a token of every option.

    Args:
        tokenizer: A tokenizer of `transformers`.
        messages: The conversation.
        options: The options.

    Returns:
        The tokens.

    Raises:
        InputError: Two options have the same tokens, or the tokenizer has no first token.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    if chat:
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, end = "", tokenizer.eos_token or "\n"
    else:
        prompt, before, end = _as_text(messages), " ", "\n"

    def encode(text: str) -> Tokens:
        # A chat template writes the special tokens itself.
        return tokenizer(text, add_special_tokens=not chat)["input_ids"]

    sequences = [encode(f"{prompt}{before}{option}") for option in options]
    if len(set(map(tuple, sequences))) < len(sequences):
        raise InputError(
            f"the model's tokenizer gives some of the options {', '.join(options)} the same tokens."
        )
    if any(a == b[: len(a)] for a in sequences for b in sequences if a is not b):
        sequences = [encode(f"{prompt}{before}{option}{end}") for option in options]
    shared, alone = 0, encode(prompt)
    # At least one token is left for each option.
    longest = min(len(alone), *(len(tokens) - 1 for tokens in sequences))
    while shared < longest and all(tokens[shared] == alone[shared] for tokens in sequences):
        shared += 1
    if shared > 0:
        return Tokenised(alone[:shared], [tokens[shared:] for tokens in sequences])
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise InputError("the model's tokenizer has no beginning-of-text token.")
    return Tokenised([start], sequences)


def _as_text(messages: Messages) -> str:
    """Write a conversation for a model without a chat template; each question ends in a colon."""
    text = ""
    for message in messages:
        content = message["content"]
        if message["role"] == "assistant":
            text += f" {content}\n\n"
        else:
            text += content if content.endswith(":") else f"{content}\nAnswer:"
    return text
