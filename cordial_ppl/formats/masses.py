r"""The probability of each option, collected along the chosen tokens.

Tokens that mean the same option add up, :math:`\ell_k = \log \sum_{t \mapsto k} e^{\ell_t}`.  An
option of several tokens is followed along the chosen tokens,
:math:`\ell_k = \sum_i \ell(t_i \mid t_{<i})`; how another token would have gone on is unknown, and
the options that it is or begins share it equally.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from cordial_ppl.formats.evidence import Position
from cordial_ppl.formats.reading import Reading
from cordial_ppl.formats.spellings import Spellings, fold

LEAST = 1e-4
"""Least probability that is left to the options that were not returned, together."""


class Masses:
    """Log masses by option.

    Args:
        spellings: How options are written.
    """

    def __init__(self, spellings: Spellings):
        size = spellings.scale.size
        self.spellings = spellings
        self.parts: list[list[tuple[str, float]]] = [[] for _ in range(size)]
        self.guessed: set[int] = set()
        # An option that was not returned is no more likely than the least that was.
        self.floors = np.full(size, np.inf)

    def follow(
        self,
        positions: Sequence[Position],
        prefix: str = "",
        answer: str | None = None,
        *,
        ended: bool = False,
    ) -> None:
        """Follow the chosen tokens for as long as an option may go on.

        Args:
            positions: The tokens, from that in which the answer starts.
            prefix: What stands before the answer in the first.
            answer: The option as it was written, if it was found; by default the first token is
                the answer.
            ended: Whether the model ended the answer after the last of them.
        """
        meaning, match = self.spellings.meaning, self.spellings.match
        # A model that writes "b" for B does not mean the article with "a".
        cased = answer is None or meaning(answer).whole is not None
        said, path = "", 0.0
        going = frozenset(range(len(self.parts)))
        for number, position in enumerate(positions):
            last, top = number + 1 == len(positions), position.top
            for option in going if top else ():
                self.floors[option] = min(self.floors[option], path + min(top.values()))
            texts = {
                token: said + fold(token).removeprefix("" if said else prefix) for token in top
            }
            means = {token: meaning(text, cased) for token, text in texts.items()}
            seen = {one.whole for one in means.values()}
            stopped, rest, chosen = (match(said) if said else None), 1.0, None
            # "1" is no beginning of "10" if the answer ends there.
            known = means.get(position.token)
            final = known.whole if known and last and ended else None
            for token, score in top.items():
                text, (whole, begun, mute) = texts[token], means[token]
                if token == position.token:
                    if not (last or text.strip()):
                        chosen = text, path + score, going
                        continue
                    if (begun or mute) and not last:
                        chosen = text, path + score, begun | mute | {whole}
                        rest -= math.exp(score)
                        continue
                    if whole is None and not begun and answer and len(text) >= len(answer):
                        # The option and more in one token.
                        whole = match(answer)
                if whole is not None and whole == final:
                    begun = frozenset()
                if text[-1:].isdigit():
                    # A vocabulary with a token for "10" does not write it as "1" and "0".
                    begun -= seen
                if begun or whole not in (None, stopped):
                    rest -= math.exp(score)
                    self._share(text, path + score, whole, begun)
                elif whole is None and _goes_on(said, text[len(said) :]):
                    rest -= math.exp(score)
            if stopped is not None and rest > 0.0:
                self.parts[stopped].append((said, path + math.log(rest)))
            if chosen is None:
                return
            said, path, going = chosen
            going -= {None}

    def reading(self) -> Reading | None:
        """Make the reading; None if there is evidence for no option."""
        size = len(self.parts)
        floored = [option for option in range(size) if not self.parts[option]]
        if len(floored) == size:
            return None
        values = self.floors.copy()
        for option, parts in enumerate(self.parts):
            if parts:
                values[option] = np.logaddexp.reduce([score for _, score in parts])
        share = float(sum(np.exp(values[k]) for k in range(size) if k not in floored))
        if floored:
            # They have no more than what is left, which may be less than the least returned.
            left = np.log(max(1.0 - share, LEAST) / len(floored))
            values[floored] = np.minimum(values[floored], left)
        return Reading("logprob", values, self.parts, floored, sorted(self.guessed), share)

    def _share(self, text: str, score: float, whole: int | None, begun: frozenset[int]) -> None:
        """Share the mass of a text equally among what it means and what it may become."""
        options = begun if whole is None else begun | {whole}
        for option in options:
            name = text if option == whole else f"{text}..."
            self.parts[option].append((name, score - math.log(len(options))))
        if begun:
            self.guessed |= options


def _goes_on(said: str, rest: str) -> bool:
    """Whether a word goes on: "1" with "5", "4." with "7"."""
    if re.search(r"[^\W_]\Z", said):
        return bool(re.match(r"[^\W_]|[.,]\d", rest))
    return bool(re.search(r"\d[.,]\Z", said)) and rest[:1].isdigit()
