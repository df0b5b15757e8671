r"""A causal language model on this machine: the log-likelihood of every option after a prompt.

:math:`\ell_k = \sum_i \log p(t_{ki} \mid \text{prompt}, t_{k,<i})` over the tokens :math:`t_k` of
option k.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.asking import Refused, load

Tokens = list[int]
Tokenised = tuple[Tokens, list[Tokens]]
"""A prompt as tokens, and the tokens of each option after it."""


class LocalModel:
    """A causal language model with its tokenizer, which scores options.

    Args:
        name: Its name.
        model: The model (`transformers.AutoModelForCausalLM`), on its device.
        tokenizer: Its tokenizer.
        options: The options.
    """

    concurrency = 1

    def __init__(self, name: str, model: Any, tokenizer: Any, options: Sequence[str]):
        self._torch = load("torch", "local")
        self.name, self.model, self.tokenizer, self.options = name, model.eval(), tokenizer, options
        self.longest = getattr(model.config, "max_position_embeddings", None) or sys.maxsize
        precision = str(model.dtype).removeprefix("torch.")
        self.decoding = f"log-likelihood of options, {precision}"
        version = getattr(model.config, "_commit_hash", None)
        self.settings = {"scored": list(options), "precision": precision, "version": version}

    @classmethod
    def load(cls, name: str, options: Sequence[str]) -> "LocalModel":
        """Load a model from a folder, the Hugging Face Hub, or the Hub's local cache.

        It computes on a GPU if there is one, in the precision it is stored in, else on the CPU in
        float32. Code that comes with a model is not run.

        Args:
            name: Folder, or name on the Hub.
            options: The options.

        Returns:
            The model.

        Raises:
            InputError: There is no such model, or it comes with code.
        """
        torch, transformers = load("torch", "local"), load("transformers", "local")
        transformers.utils.logging.set_verbosity_error()
        mps = torch.backends.mps.is_available()
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto")
            model = model.to(device)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the model {name!r} on {device!r}: {reason}") from error
        return cls(name, model.float() if device == "cpu" else model, tokenizer, options)

    def ask(self, question: str) -> dict[str, Any]:
        """Score the options after a prompt; one that is too long is refused."""
        tokens = tokenise(self.tokenizer, question, self.options)
        length = len(tokens[0]) + max(map(len, tokens[1]))
        if length > self.longest:
            raise Refused(f"{length} tokens, but {self.name!r} reads at most {self.longest}")
        scores = self.score(tokens).tolist()
        return {
            "scores": dict(zip(self.options, scores, strict=True)),
            "decoding": self.decoding,
        }

    def close(self) -> None:
        """Do nothing: the model has no connections."""

    def score(self, tokens: Tokenised) -> Float64[np.ndarray, " K"]:
        """Compute the log-likelihoods of all options after a prompt.

        Args:
            tokens: The prompt with its options.

        Returns:
            Log-likelihoods (nats), in the options' order.

        Raises:
            InputError: The device has not enough memory for the prompt.
        """
        torch, (prompt, options) = self._torch, tokens
        width = max(map(len, options)) - 1
        # All options of one token follow the same prompt; padding comes after what counts.
        rows = [
            prompt + (one[:-1] + [0] * width)[:width] for one in options[: None if width else 1]
        ]
        try:
            with torch.inference_mode():
                inputs = torch.tensor(rows, device=self.model.device)
                logits = self.model(input_ids=inputs).logits[:, len(prompt) - 1 :].float()
                every = torch.log_softmax(logits, dim=-1).double().cpu().numpy()
        except torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"a prompt of {len(prompt)} tokens does not fit into the device's memory: shorten "
                "the texts, or use a smaller model."
            ) from error
        pairs = zip(options, every if width else [every[0]] * len(options), strict=True)
        return np.array([sum(row[i, token] for i, token in enumerate(one)) for one, row in pairs])


def tokenise(tokenizer: Any, question: str, options: Sequence[str]) -> Tokenised:
    """Turn a question and its options into tokens.

    The prompt is tokenised with each option behind it, as the model would read them; the tokens
    that all have in common are the prompt. If one option's tokens begin another's ("1" and "10"),
    the end of the answer counts as a token of every option.

    Args:
        tokenizer: A tokenizer of `transformers`.
        question: The question.
        options: The options.

    Returns:
        The tokens.

    Raises:
        InputError: Two options have the same tokens, or the tokenizer has no first token.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    prompt, before, end = question if question.endswith(":") else f"{question}\nAnswer:", " ", "\n"
    if chat:
        messages = [{"role": "user", "content": question}]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, end = "", tokenizer.eos_token or "\n"

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
        return alone[:shared], [tokens[shared:] for tokens in sequences]
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise InputError("the model's tokenizer has no beginning-of-text token.")
    return [start], sequences
