r"""A causal language model on this machine: the log-likelihood of every option after a prompt.

:math:`\ell_k = \sum_i \log p(t_{ki} \mid \text{prompt}, t_{k,<i})` over the tokens :math:`t_k` of
option k.  Prompts go through the model once, several at a time; what it remembers of them (its
cache of keys and values) is shared by the options, of which only the further tokens are computed.
"""

import hashlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.live.extras import load
from cordial_ppl.live.prompt import Messages
from cordial_ppl.live.tokens import Tokenised, Tokens, tokenise


class LocalModel:
    """A causal language model with its tokenizer.

    Args:
        model: The model (`transformers.AutoModelForCausalLM`), on its device.
        tokenizer: Its tokenizer.
        version: What tells it from others of the same name.

    Raises:
        InputError: It remembers prompts otherwise than by keys and values, as Mamba does.
    """

    def __init__(self, model: Any, tokenizer: Any, version: str = ""):
        names = inspect.signature(model.forward).parameters
        if "past_key_values" not in names:
            raise _forgetful(model)
        self._torch = load("torch", "local")
        self.model, self.tokenizer, self.version = model.eval(), tokenizer, version
        # Logits of every token of long prompts would not fit into memory.
        keep = [name for name in ("logits_to_keep", "num_logits_to_keep") if name in names]
        self._last = {name: 1 for name in keep[:1]}

    @classmethod
    def load(cls, name: str, device: str = "cpu") -> "LocalModel":
        """Load a model from a folder, or from the Hugging Face Hub and what was fetched before.

        On a CPU it computes in float32, elsewhere in the precision that it is stored in.  Code
        that comes with a model is not run.

        Args:
            name: Folder, or name on the Hub.
            device: Where to compute: "cpu", "cuda", "mps".

        Returns:
            The model.

        Raises:
            InputError: There is no such model or device, or it has code of its own.
        """
        torch, transformers = load("torch", "local"), load("transformers", "local")
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto")
            model = model.to(device)
        except (OSError, ValueError, RuntimeError, AssertionError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the model {name!r} to {device!r}: {reason}") from error
        if torch.device(device).type == "cpu":
            model = model.float()
        return cls(model, tokenizer, _version(name, model))

    @property
    def precision(self) -> str:
        """In which it computes, as "float32"."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def longest(self) -> int:
        """Tokens that it can read at once."""
        return getattr(self.model.config, "max_position_embeddings", None) or sys.maxsize

    def tokenise(self, messages: Messages, options: Sequence[str]) -> Tokenised:
        """Turn a prompt and its options into tokens.

        Args:
            messages: The conversation.
            options: The options.

        Returns:
            The tokens.
        """
        return tokenise(self.tokenizer, messages, options)

    def score(self, questions: Sequence[Tokenised]) -> list[Float64[np.ndarray, " K"]]:
        """Compute the log-likelihoods of all options after each of several prompts.

        Args:
            questions: Prompts with their options, one batch.

        Returns:
            Log-likelihoods (nats), in the options' order, an array a prompt.

        Raises:
            InputError: The device has not enough memory for them, or the model remembers prompts
                otherwise than by keys and values.
        """
        try:
            with self._torch.inference_mode():
                return self._score(questions)
        except self._torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"the device has no memory for {len(questions)} prompts of up to "
                f"{max(own.length for own in questions)} tokens: take fewer at once, --batch."
            ) from error

    def _score(self, questions: Sequence[Tokenised]) -> list[Float64[np.ndarray, " K"]]:
        torch = self._torch
        longest = max(len(own.prompt) for own in questions)
        # Padding goes before the prompts, so that all of them end together.
        ids = self._padded([own.prompt for own in questions], longest, before=True)
        mask = self._padded([[1] * len(own.prompt) for own in questions], longest, before=True)
        places = (mask.cumsum(1) - 1).clamp(min=0)
        out = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            use_cache=True,
            **self._last,
        )
        first = _log_softmax(torch, out.logits[:, -1])
        scores = [
            [float(row[own[0]]) for own in asked.options]
            for row, asked in zip(first, questions, strict=True)
        ]
        rows = [
            (i, k)
            for i, own in enumerate(questions)
            for k, option in enumerate(own.options)
            if len(option) > 1
        ]
        if rows:
            further = self._further(out.past_key_values, mask, places[:, -1], questions, rows)
            for (i, k), score in zip(rows, further, strict=True):
                scores[i][k] += score
        return [np.array(own) for own in scores]

    def _further(
        self,
        cache: Any,
        mask: Any,
        last: Any,
        questions: Sequence[Tokenised],
        rows: list[tuple[int, int]],
    ) -> list[float]:
        """Log-likelihoods of all tokens but the first, for some options of some prompts."""
        torch = self._torch
        texts = torch.tensor([i for i, _ in rows], device=mask.device)
        options = [questions[i].options[k] for i, k in rows]
        width = max(map(len, options)) - 1
        ids = self._padded([own[:-1] for own in options], width)
        filled = self._padded([[1] * (len(own) - 1) for own in options], width)
        targets = self._padded([own[1:] for own in options], width)
        if isinstance(cache, tuple):
            # As older transformers give it.
            cache = load("transformers", "local").DynamicCache.from_legacy_cache(cache)
        if not hasattr(cache, "batch_select_indices"):
            raise _forgetful(self.model)
        cache.batch_select_indices(texts)
        out = self.model(
            input_ids=ids,
            attention_mask=torch.cat([mask[texts], filled], dim=1),
            position_ids=last[texts, None] + 1 + torch.arange(width, device=mask.device),
            past_key_values=cache,
            use_cache=True,
        )
        each = _log_softmax(torch, out.logits).gather(2, targets[:, :, None])[:, :, 0]
        return (each * filled).sum(dim=1).tolist()

    def _padded(self, rows: Sequence[Tokens], width: int, before: bool = False) -> Any:
        pads = [[0] * (width - len(row)) for row in rows]
        full = [
            [*pad, *row] if before else [*row, *pad] for row, pad in zip(rows, pads, strict=True)
        ]
        return self._torch.tensor(full, device=self.model.device)


def _log_softmax(torch: Any, logits: Any) -> Any:
    return torch.log_softmax(logits.to(torch.float32), dim=-1)


def _forgetful(model: Any) -> InputError:
    return InputError(
        f"{type(model).__name__} remembers prompts otherwise than by keys and values, and options "
        "cannot share them. Serve the model, and name its --server."
    )


def _version(name: str, model: Any) -> str:
    """The commit on the Hub, or which files a folder has, as of now."""
    commit = getattr(model.config, "_commit_hash", None)
    if commit:
        return str(commit)
    files = sorted(path for path in Path(name).glob("*") if path.is_file())
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]
