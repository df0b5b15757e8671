"""How answers are decoded: what is asked of a server, and what of it the server understands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOPS = (20, 5)
"""Alternatives a token that are asked for, until a server agrees."""


@dataclass(frozen=True)
class Decoding:
    """How answers are decoded.

    Attributes:
        samples: Answers to sample for each text; 0 to read log-probabilities.
        max_tokens: Tokens of an answer at most.
    """

    samples: int = 0
    max_tokens: int = 16

    @property
    def settings(self) -> dict[str, Any]:
        """What is asked for, in the protocol's words."""
        if self.samples:
            return {"temperature": 1.0, "max_tokens": self.max_tokens}
        return {
            "temperature": 0.0,
            "max_tokens": self.max_tokens,
            "logprobs": True,
            "top_logprobs": TOPS[0],
        }


def describe(settings: Mapping[str, Any], samples: int = 0) -> str:
    """Say how an answer was decoded: "temperature 0, max_tokens 16, top_logprobs 20".

    Args:
        settings: What was sent.
        samples: How many answers were sampled, if any.

    Returns:
        The words.
    """
    words = [
        f"{name} {value:g}"
        for name, value in settings.items()
        if name != "n" and not isinstance(value, bool)
    ]
    return ", ".join([*words, f"samples {samples}"] if samples else words)


class Dialect:
    """What a server understands; found out while it refuses the first requests.

    Args:
        settings: What would be best.
    """

    def __init__(self, settings: Mapping[str, Any]):
        self._best = dict(settings)
        self.settled = False
        self.reset()

    def reset(self) -> None:
        """Ask for what would be best again, after a text was refused however it was asked."""
        self.settings = dict(self._best)
        self.several = True

    def payload(self, number: int = 1) -> dict[str, Any]:
        """What to ask for.

        Args:
            number: Answers that are wanted at once.

        Returns:
            The settings to send.
        """
        return self.settings | ({"n": number} if number > 1 and self.several else {})

    def give_way(self, refusal: str, number: int = 1) -> bool:
        """Ask for less after a server refused a request (status 400).

        Args:
            refusal: What it said.
            number: Answers that were wanted at once.

        Returns:
            Whether to try again; not when there is nothing to give up, or this server has answered
            such requests before.
        """
        if self.settled:
            return False
        settings = self.settings
        if "max_tokens" in settings and "max_completion_tokens" in refusal:
            settings["max_completion_tokens"] = settings.pop("max_tokens")
        elif "temperature" in settings and re.search(r"\btemperature\b", refusal):
            # Readers that reason have one temperature, and allow no other to be named.
            del settings["temperature"]
        elif "logprob" in refusal and settings.get("top_logprobs", 0) > TOPS[-1]:
            settings["top_logprobs"] = TOPS[TOPS.index(settings["top_logprobs"]) + 1]
        elif number > 1 and self.several:
            self.several = False
        else:
            return False
        return True
