r"""A causal language model on this machine: the log-likelihood of every option after a prompt.

:math:`\ell_k = \sum_i \log p(t_{ki} \mid \text{prompt}, t_{k,<i})` over the tokens :math:`t_k` of
option k. A prompt goes through the model once, several prompts at a time; the options share its
cache of keys and values.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.asking import Asking, Model, Refused, load
from cordial_ppl.logs.ask.cache import Body
from cordial_ppl.logs.ask.questions import Question
from cordial_ppl.logs.ask.tokens import Tokenised, Tokens, tokenise
from cordial_ppl.logs.evidence import Scores

BATCH, WINDOW = 16, 512
"""Prompts that go through the model together, and prompts that are sorted by length, so that there
is little padding."""


class LocalModel(Model):
    """A causal language model with its tokenizer, which scores options.

    Args:
        name: Its name.
        model: The model (`transformers.AutoModelForCausalLM`), on its device.
        tokenizer: Its tokenizer.
        options: The options.
        version: Distinguishes it from other models of the same name.

    Raises:
        InputError: The model has no cache of keys and values, as Mamba.
    """

    def __init__(
        self, name: str, model: Any, tokenizer: Any, options: Sequence[str], version: str = ""
    ):
        names = inspect.signature(model.forward).parameters
        if "past_key_values" not in names:
            raise InputError(
                f"{type(model).__name__} has no key-value cache, which the options would share. "
                "Serve the model, and name its address: --server URL."
            )
        self._torch = load("torch", "local")
        self.name, self.model, self.tokenizer, self.options = name, model.eval(), tokenizer, options
        # The logits of every token of long prompts would not fit into memory.
        self._last = {"logits_to_keep": 1} if "logits_to_keep" in names else {}
        self.longest = getattr(model.config, "max_position_embeddings", None) or sys.maxsize
        # Scores do not depend on the order of the options, except through the prompt.
        precision = str(model.dtype).removeprefix("torch.")
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
        transformers.utils.logging.disable_progress_bar()
        mps = torch.backends.mps.is_available()
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto")
            model = model.to(device)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the model {name!r} on {device!r}: {reason}") from error
        version, model = _version(name, model), model.float() if device == "cpu" else model
        return cls(name, model, tokenizer, options, version)

    def ask(self, questions: Iterator[tuple[Question, int]], asking: Asking) -> None:
        """Score the options after each prompt; one that is too long is refused."""
        for window in batched(questions, WINDOW):
            waiting = []
            for question, _ in window:
                tokens = tokenise(self.tokenizer, question.messages, self.options)
                if tokens.length <= self.longest:
                    waiting.append((tokens, question))
                else:
                    number = f"{tokens.length} tokens"
                    words = f"{number}, but {self.name!r} reads at most {self.longest}"
                    asking.fail(question, Refused(words))
            for batch in batched(sorted(waiting, key=lambda pair: pair[0].length), BATCH):
                rows = self.score([tokens for tokens, _ in batch])
                for (tokens, question), row in zip(batch, rows, strict=True):
                    read = len(tokens.prompt) + sum(map(len, tokens.options))
                    body = {
                        "scores": dict(zip(self.options, row.tolist(), strict=True)),
                        "usage": {"prompt_tokens": read, "completion_tokens": 0},
                    }
                    asking.keep(question, 1, self.settings, body)

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
                    f"a prompt of {questions[0].length} tokens does not fit into the device's "
                    "memory: shorten the texts, or use a smaller model."
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

    def size(self, body: Body) -> int:
        """Return 1: a response has a score of every option."""
        return 1

    def evidence(self, bodies: Sequence[Body]) -> Scores:
        """Read the scores of the options."""
        scores = bodies[0]["scores"]
        return Scores("logprob", list(scores.values()), list(scores))

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the scores and their precision."""
        return f"log-likelihood of options, {settings.get('precision')}"


def _version(name: str, model: Any) -> str:
    """Return the commit on the Hub, or a digest of the folder's files by size and time."""
    commit = getattr(model.config, "_commit_hash", None)
    if commit:
        return str(commit)
    files = sorted(path for path in Path(name).glob("*") if path.is_file())
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]
