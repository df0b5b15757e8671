r"""A causal language model on this machine: the log-likelihood of every option after a prompt.

:math:`\ell_k = \sum_i \log p(t_{ki} \mid \text{prompt}, t_{k,<i})` over the tokens :math:`t_k` of
option k.
"""

import sys
from collections.abc import Sequence
from itertools import cycle
from os.path import commonprefix
from typing import Any

from cordial_ppl.errors import InputError, Refused
from cordial_ppl.logs.rows import load

Tokens = list[int]


class LocalModel:
    """A causal language model with its tokenizer, which scores options.

    It computes on a GPU if there is one, in the precision it is stored in, else on the CPU in
    float32. Code that comes with a model is not run.

    Args:
        name: A folder, a name on the Hugging Face Hub, or one in the Hub's local cache.
        options: The options.

    Raises:
        InputError: There is no such model, or it comes with code.
    """

    concurrency = 1

    def __init__(self, name: str, options: Sequence[str]):
        self._torch, transformers = load("torch", "local"), load("transformers", "local")
        transformers.utils.logging.set_verbosity_error()
        try:
            safe = {"trust_remote_code": False}
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, **safe)
            kind = transformers.AutoModelForCausalLM
            model = kind.from_pretrained(name, torch_dtype="auto", **safe)
            gpu = self._torch.accelerator.is_available()
            device = self._torch.accelerator.current_accelerator() if gpu else "cpu"
            self.model = (model if gpu else model.float()).to(device).eval()
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the model {name!r}: {reason}") from error
        self.name, self.options = name, options
        self.longest = getattr(model.config, "max_position_embeddings", None) or sys.maxsize
        precision = str(self.model.dtype).removeprefix("torch.")
        self.decoding = f"log-likelihood of options, {precision}"
        self.settings = {"scored": list(options), "precision": precision}

    def ask(self, question: str) -> dict[str, Any]:
        """Score the options after a prompt.

        Args:
            question: The prompt.

        Returns:
            Log-likelihoods (nats) by option, as `scores`; and `decoding`, how they were made.

        Raises:
            Refused: The prompt is too long for the model, or for the device's memory.
        """
        torch, (prompt, options) = self._torch, self.tokenise(question)
        width = max(map(len, options)) - 1
        if len(prompt) + width >= self.longest:
            raise Refused(f"the input exceeds the {self.longest}-token limit of {self.name!r}")
        # Options of one token share a row; padding comes after what counts.
        ends = [(one[:-1] + [0] * width)[:width] for one in (options if width else options[:1])]
        try:
            with torch.inference_mode():
                inputs = torch.tensor([prompt + end for end in ends], device=self.model.device)
                logits = self.model(input_ids=inputs).logits[:, len(prompt) - 1 :].float()
                every = torch.log_softmax(logits, dim=-1).double().cpu().numpy()
        except torch.OutOfMemoryError as error:
            raise Refused(f"{len(prompt)} tokens do not fit in the device's memory") from error
        pairs = zip(options, cycle(every), strict=False)
        scores = [float(sum(row[i, token] for i, token in enumerate(one))) for one, row in pairs]
        return {"scores": dict(zip(self.options, scores, strict=True)), "decoding": self.decoding}

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def tokenise(self, question: str) -> tuple[Tokens, list[Tokens]]:
        """Turn a question and the options into tokens.

        The prompt is tokenised with each option behind it, as the model would read them; the
        tokens that all have in common are the prompt. If one option's tokens begin another's ("1"
        and "10"), the end of the answer counts as a token of every option.

        Args:
            question: The question.

        Returns:
            The prompt's tokens, and those of each option after it.
        """
        chat = bool(getattr(self.tokenizer, "chat_template", None))
        prompt = question if question.endswith(":") else f"{question}\nAnswer:"
        before, end = " ", "\n"
        if chat:
            prompt = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
            )
            before, end = "", self.tokenizer.eos_token or "\n"

        def encode(text: str) -> Tokens:
            # A chat template writes the special tokens itself.
            return self.tokenizer(text, add_special_tokens=not chat)["input_ids"]

        rows = [encode(f"{prompt}{before}{option}") for option in self.options]
        if any(a == b[: len(a)] for a in rows for b in rows if a is not b):
            rows = [encode(f"{prompt}{before}{option}{end}") for option in self.options]
        shared = len(commonprefix([encode(prompt), *rows]))
        return rows[0][:shared], [row[shared:] for row in rows]
