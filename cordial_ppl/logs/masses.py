r"""The probability of each option, collected from the tokens and their alternatives.

Tokens that mean the same option add up, :math:`\ell_k = \log \sum_{t \mapsto k} e^{\ell_t}`.  An
option of several tokens ("1", "0") is followed along the chosen ones,
:math:`\ell_k = \sum_i \ell(t_i \mid t_{<i})`; how another token would have gone on is unknown, and
the options that it is or begins share it equally.
"""

import re
from collections.abc import Sequence

import numpy as np

from cordial_ppl.logs.evidence import Position, Reading
from cordial_ppl.logs.spellings import Spellings, fold

GOES_ON = re.compile(r"\w|[.,]\d|\.\Z")
"""What continues a number: the "5" of "1.5", a "." at the end of a token."""


def read_masses(
    spellings: Spellings,
    positions: Sequence[Position],
    prefix: str,
    answer: str | None,
    ended: bool,
) -> Reading | None:
    """Collect the options' probabilities where an answer starts.

    Args:
        spellings: How options are written.
        positions: The tokens, from that in which the answer starts.
        prefix: What stands before the answer in the first.
        answer: The option as it was written, if it was found in the text.
        ended: Whether the model ended the answer after the last of them.

    Returns:
        The reading; None if there is evidence for no option, or the answer may have gone on to be
        another.
    """
    # A model that writes "b" for B does not mean the article with "a".
    cased = answer is None or spellings.match(answer, cased=True) is not None
    # A vocabulary with a token for "10" does not write it as "1" and "0".
    single = {spellings.match(fold(one).removeprefix(prefix), cased) for one in positions[0].top}
    values, written, path = np.full(spellings.scale.size, -np.inf), "", 0.0
    for number, (token, top) in enumerate(positions):
        stopped, rest, following = spellings.match(written, cased), 1.0, None
        for one, score in top.items():
            piece = fold(one).removeprefix("" if number else prefix)
            text, chosen = written + piece, one == token
            whole = spellings.match(text, cased)
            begun = spellings.begun(text) - {whole, *single}
            if chosen and begun and number + 1 < len(positions):
                following = text, path + score
                rest -= np.exp(score)
                continue
            if chosen and begun and not ended:
                # "1" that was cut off may have become "10".
                return None
            if chosen:
                begun = frozenset()
                if whole is None and answer and answer in text:
                    whole = spellings.match(answer)
            options = begun | ({whole} - {None})
            if options == {stopped} or not options and not GOES_ON.match(piece):
                continue
            rest -= np.exp(score)
            for option in options:
                values[option] = np.logaddexp(values[option], path + score - np.log(len(options)))
        if stopped is not None and rest > 0.0:
            values[stopped] = np.logaddexp(values[stopped], path + np.log(rest))
        if following is None:
            break
        written, path = following
    there = np.isfinite(values)
    if not there.any():
        return None
    share, absent = float(np.exp(values[there]).sum()), int((~there).sum())
    # Options without evidence have no more than the least that was returned, nor than what is left,
    # at least 1e-4 together.
    left = np.log(max(1.0 - share, 1e-4) / max(absent, 1))
    values[~there] = min(left, *positions[0].top.values())
    return Reading("logprob", values, share, {"lone"} if absent == len(values) - 1 else set())


def mix(readings: Sequence[Reading | str], orders: bool = False) -> Reading | str:
    r"""Average readings of one text.

    Of answers to one prompt the options' probabilities are averaged,
    :math:`\ell_k = \log \frac{1}{S} \sum_s e^{\ell_k^{(s)}}`, which is less noisy than counting. Of
    orders of the options the log-probabilities are, :math:`\ell_k = \frac{1}{P} \sum_p \ell_{pk}`:
    what a reader adds to an option's logit for its place cancels if every option stands in every
    place equally often. Counts of sampled answers add up.

    Args:
        readings: The readings, of one kind; or why an answer names no option.
        orders: Whether the options were listed in several orders.

    Returns:
        The mean of those that name one; if there is none, or not in every order, why not.
    """
    valid = [reading for reading in readings if isinstance(reading, Reading)]
    unread = [reason for reason in readings if isinstance(reason, str)]
    if unread and (orders or not valid):
        return unread[0]
    kind, values = valid[0].kind, np.stack([reading.values for reading in valid])
    mean = values.sum(axis=0)
    if kind != "n":
        mean = mean / len(valid) if orders else np.logaddexp.reduce(values) - np.log(len(valid))
    share = float(np.mean([reading.share for reading in valid]))
    doubts = set.union(*(reading.doubts for reading in valid))
    return Reading(kind, mean, share, doubts | ({"unread"} if unread else set()))
