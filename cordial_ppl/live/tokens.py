"""Prompts and options as the tokens of a model on this machine."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.live.prompt import Messages

Tokens = list[int]


class Tokenised(NamedTuple):
    """A prompt and what may follow it, as tokens.

    Attributes:
        prompt: Tokens that all options have before them.
        options: The tokens of each option after these.
    """

    prompt: Tokens
    options: list[Tokens]

    @property
    def length(self) -> int:
        """The number of tokens with the longest option."""
        return len(self.prompt) + max(map(len, self.options))


def tokenise(tokenizer: Any, messages: Messages, options: Sequence[str]) -> Tokenised:
    """Turn a prompt and its options into tokens.

    A prompt is read with each option behind it, as a model meets them; what all have in common is
    the prompt.  Where an option's tokens are the beginning of another's ("1" and "10"), the end of
    the answer is a token of every option.

    Args:
        tokenizer: A tokenizer of `transformers`.
        messages: The conversation.
        options: The options.

    Returns:
        The tokens.

    Raises:
        InputError: The tokenizer writes options alike, or has no token to begin with.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    prompt, before, end = _write(tokenizer, messages, chat)

    def encode(text: str) -> Tokens:
        # A conversation's template writes the special tokens itself.
        return tokenizer(text, add_special_tokens=not chat)["input_ids"]

    wholes = [encode(f"{prompt}{before}{option}") for option in options]
    if len(set(map(tuple, wholes))) < len(wholes):
        raise InputError(
            f"the model's tokenizer cannot tell the options {', '.join(options)} apart."
        )
    if any(_begins(one, other) for one in wholes for other in wholes if one is not other):
        wholes = [encode(f"{prompt}{before}{option}{end}") for option in options]
    shared = _shared(encode(prompt), wholes)
    if shared > 0:
        return Tokenised(wholes[0][:shared], [whole[shared:] for whole in wholes])
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise InputError("the model's tokenizer has no token that a text begins with.")
    return Tokenised([start], wholes)


def _write(tokenizer: Any, messages: Messages, chat: bool) -> tuple[str, str, str]:
    """A conversation as text, what goes before an option, and what ends it."""
    if chat:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text, "", tokenizer.eos_token or "\n"
    text = ""
    for own in messages:
        said = own["content"]
        # Without turns, what asks for an answer ends with a colon.
        asking = said if said.endswith(":") else f"{said}\nAnswer:"
        text += f" {said}\n\n" if own["role"] == "assistant" else asking
    return text, " ", "\n"


def _begins(one: Tokens, other: Tokens) -> bool:
    return other[: len(one)] == one


def _shared(prompt: Tokens, wholes: Sequence[Tokens]) -> int:
    """How many tokens all have in common; of each option one is left at least."""
    shared, end = 0, min(len(prompt), *(len(whole) - 1 for whole in wholes))
    while shared < end and all(whole[shared] == prompt[shared] for whole in wholes):
        shared += 1
    return shared
