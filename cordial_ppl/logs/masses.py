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

from cordial_ppl.logs.evidence import Position
from cordial_ppl.logs.reading import Reading
from cordial_ppl.logs.spellings import Spellings, fold

LEAST = 1e-4
"""Least probability that is left to the options that were not returned, together."""


def read_masses(
    spellings: Spellings,
    positions: Sequence[Position],
    prefix: str = "",
    answer: str | None = None,
    *,
    ended: bool = False,
) -> Reading | None:
    """Follow the chosen tokens for as long as an option may go on.

    The mass of a text is shared equally among the options that it means and may become.

    Args:
        spellings: How options are written.
        positions: The tokens, from that in which the answer starts.
        prefix: What stands before the answer in the first.
        answer: The option as it was written, if it was found; by default the first token is the
            answer.
        ended: Whether the model ended the answer after the last of them.

    Returns:
        The reading; None if there is evidence for no option.
    """
    meaning, match = spellings.meaning, spellings.match
    # A model that writes "b" for B does not mean the article with "a".
    cased = answer is None or meaning(answer).whole is not None
    size = spellings.scale.size
    parts: list[list[tuple[str, float]]] = [[] for _ in range(size)]
    guessed: set[int] = set()
    # An option that was not returned is no more likely than the least that was.
    floors = np.full(size, np.inf)
    written, path, going = "", 0.0, frozenset(range(size))
    for number, position in enumerate(positions):
        last, top = number + 1 == len(positions), position.top
        for option in going if top else ():
            floors[option] = min(floors[option], path + min(top.values()))
        texts = {
            token: written + fold(token).removeprefix("" if written else prefix) for token in top
        }
        means = {token: meaning(text, cased) for token, text in texts.items()}
        seen = {one.whole for one in means.values()}
        stopped, rest, chosen = (match(written) if written else None), 1.0, None
        # "1" is no beginning of "10" if the answer ends there.
        chosen_meaning = means.get(position.token)
        final = chosen_meaning.whole if chosen_meaning and last and ended else None
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
                options = begun if whole is None else begun | {whole}
                guessed |= options if begun else frozenset()
                for option in options:
                    name = text if option == whole else f"{text}..."
                    parts[option].append((name, path + score - math.log(len(options))))
            elif whole is None and _goes_on(written, text[len(written) :]):
                rest -= math.exp(score)
        if stopped is not None and rest > 0.0:
            parts[stopped].append((written, path + math.log(rest)))
        if chosen is None:
            break
        written, path, going = chosen
        going -= {None}
    return _close(parts, floors, sorted(guessed))


def _close(parts: list, floors: np.ndarray, guessed: list[int]) -> Reading | None:
    """Add up each option's masses, and fill in the options that have none."""
    floored = [option for option, masses in enumerate(parts) if not masses]
    if len(floored) == len(parts):
        return None
    values = floors.copy()
    for option, masses in enumerate(parts):
        if masses:
            values[option] = np.logaddexp.reduce([score for _, score in masses])
    share = float(sum(np.exp(value) for k, value in enumerate(values) if k not in floored))
    if floored:
        # They have no more than what is left, which may be less than the least returned.
        left = np.log(max(1.0 - share, LEAST) / len(floored))
        values[floored] = np.minimum(values[floored], left)
    return Reading("logprob", values, parts, floored, guessed, share)


def _goes_on(written: str, rest: str) -> bool:
    """Return whether a word goes on: "1" with "5", "4." with "7"."""
    if re.search(r"[^\W_]\Z", written):
        return bool(re.match(r"[^\W_]|[.,]\d", rest))
    return bool(re.search(r"\d[.,]\Z", written)) and rest[:1].isdigit()
