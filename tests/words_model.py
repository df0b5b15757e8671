"""A tokenizer of words and a model of arithmetic, in place of a model on this machine."""

import re

import numpy as np

from cordial_ppl.logs.ask.local import LocalModel


class Words:
    """A tokenizer whose tokens are words; with a chat template, or none."""

    eos_token = "<|end|>"
    bos_token_id = eos_token_id = None

    def __init__(self, chat):
        self.chat_template = "<|role|> content <|end|>" if chat else None
        self.known = {}

    def __call__(self, text, add_special_tokens=True):
        assert add_special_tokens == (self.chat_template is None)
        words = re.findall(r"<\|\w+\|>|\w+|\n|[^\w\s]", text)
        return {"input_ids": [self.known.setdefault(word, len(self.known)) for word in words]}

    def words(self, ids):
        names = list(self.known)
        return " ".join(names[k] for k in ids)

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        assert not tokenize and add_generation_prompt
        said = [f"<|{own['role']}|> {own['content']} {self.eos_token}" for own in messages]
        return " ".join([*said, "<|assistant|>"])


class Arithmetic(LocalModel):
    """A model that likes options by the words before them, whatever else is in the batch."""

    def __init__(self, options, version="v1"):
        self.name, self.options = "tiny", options
        self.tokenizer, self.longest, self.batches = Words(chat=True), 80, []
        self.settings = {"scored": [*options], "precision": "float32", "version": version}

    def score(self, questions):
        self.batches.append([len(own.prompt) for own in questions])
        return [self.one(own) for own in questions]

    def one(self, own):
        liking = [np.sin(sum(own.prompt) + 7.0 * sum(option)) for option in own.options]
        return np.array(liking) - np.logaddexp.reduce(liking)
