r"""A causal language model on this machine: the log-likelihood of every option after a prompt.

:math:`\ell_k = \sum_i \log p(t_{ki} \mid \text{prompt}, t_{k,<i})` over the tokens :math:`t_k` of
option k. A prompt goes through the model once, several prompts at a time; the options share its
cache of keys and values.
"""

import hashlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.asking import load
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
        """The number of tokens with the longest option."""
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
            f"the model's tokenizer writes some of the options {', '.join(options)} alike."
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
        raise InputError("the model's tokenizer has no token to begin a text with.")
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


class LocalModel:
    """A causal language model with its tokenizer.

    Args:
        model: The model (`transformers.AutoModelForCausalLM`), on its device.
        tokenizer: Its tokenizer.
        version: Distinguishes it from other models of the same name.

    Raises:
        InputError: The model has no cache of keys and values, as Mamba.
    """

    def __init__(self, model: Any, tokenizer: Any, version: str = ""):
        names = inspect.signature(model.forward).parameters
        if "past_key_values" not in names:
            raise InputError(
                f"{type(model).__name__} has no cache of keys and values, which the options would "
                "share. Serve the model, and name its --server."
            )
        self._torch = load("torch", "local")
        self.model, self.tokenizer, self.version = model.eval(), tokenizer, version
        # The logits of every token of long prompts would not fit into memory.
        self._last = {"logits_to_keep": 1} if "logits_to_keep" in names else {}
        self.precision = str(model.dtype).removeprefix("torch.")
        self.longest = getattr(model.config, "max_position_embeddings", None) or sys.maxsize

    @classmethod
    def load(cls, name: str) -> "LocalModel":
        """Load a model from a folder, the Hugging Face Hub, or the Hub's local cache.

        It computes on a GPU if there is one, in the precision it is stored in, else on the CPU in
        float32. Code that comes with a model is not run.

        Args:
            name: Folder, or name on the Hub.

        Returns:
            The model.

        Raises:
            InputError: There is no such model, or it comes with code.
        """
        torch, transformers = load("torch", "local"), load("transformers", "local")
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        mps = torch.backends.mps.is_available()
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto")
            model = model.to(device)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the model {name!r} to {device!r}: {reason}") from error
        return cls(model.float() if device == "cpu" else model, tokenizer, _version(name, model))

    def score(self, questions: Sequence[Tokenised]) -> list[Float64[np.ndarray, " K"]]:
        """Compute the log-likelihoods of all options after each of several prompts.

        Args:
            questions: Prompts with their options, one batch; halved where memory is short.

        Returns:
            Log-likelihoods (nats), in the options' order, an array a prompt.

        Raises:
            InputError: The device has not enough memory for one prompt.
        """
        try:
            with self._torch.inference_mode():
                return self._score(questions)
        except self._torch.cuda.OutOfMemoryError as error:
            half = len(questions) // 2
            if half == 0:
                raise InputError(
                    f"the device has not enough memory for a prompt of {questions[0].length} tokens"
                    ": shorten the texts, or take a smaller model."
                ) from error
        return self.score(questions[:half]) + self.score(questions[half:])

    def _score(self, questions: Sequence[Tokenised]) -> list[Float64[np.ndarray, " K"]]:
        torch, size = self._torch, len(questions[0].options)
        width = max(len(question.prompt) for question in questions)
        # Padding goes before the prompts, so that all of them end together.
        prompts = [[0] * (width - len(one.prompt)) + one.prompt for one in questions]
        masks = [[0] * (width - len(one.prompt)) + [1] * len(one.prompt) for one in questions]
        mask = self._tensor(masks)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        out = self.model(
            input_ids=self._tensor(prompts),
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            **self._last,
        )
        options = [option for question in questions for option in question.options]
        first = self._tensor([option[:1] for option in options]).reshape(-1, size)
        scores = self._log_softmax(out.logits[:, -1]).gather(1, first)
        width = max(map(len, options)) - 1
        if width > 0:
            # The further tokens of each option, given those before them.
            before = [(option + [0] * width)[:width] for option in options]
            after = [(option + [0] * width)[1 : width + 1] for option in options]
            real = self._tensor([[i + 1 < len(option) for i in range(width)] for option in options])
            out.past_key_values.batch_repeat_interleave(size)
            last = positions[:, -1:].repeat_interleave(size, 0)
            further = self.model(
                input_ids=self._tensor(before),
                attention_mask=torch.cat([mask.repeat_interleave(size, 0), real], dim=1),
                position_ids=last + 1 + torch.arange(width, device=mask.device),
                past_key_values=out.past_key_values,
                use_cache=True,
            )
            log_probs = self._log_softmax(further.logits).gather(2, self._tensor(after)[:, :, None])
            scores = scores + (log_probs[:, :, 0] * real).sum(dim=1).reshape(-1, size)
        return list(scores.double().cpu().numpy())

    def _tensor(self, rows: list[Tokens]) -> Any:
        return self._torch.tensor(rows, device=self.model.device, dtype=self._torch.long)

    def _log_softmax(self, logits: Any) -> Any:
        return self._torch.log_softmax(logits.float(), dim=-1)


def _version(name: str, model: Any) -> str:
    """Return the commit on the Hub, or a digest of the folder's files by size and time."""
    commit = getattr(model.config, "_commit_hash", None)
    if commit:
        return str(commit)
    files = sorted(path for path in Path(name).glob("*") if path.is_file())
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]
