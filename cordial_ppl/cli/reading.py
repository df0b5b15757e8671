"""What is said of readings that were made: what was read, and what deserves a look."""

import math
from pathlib import Path
from typing import Any

from cordial_ppl.cli.messages import count, say
from cordial_ppl.errors import InputError
from cordial_ppl.formats import Collected, Explained

SHARE = 0.5
"""Probability of the options below which the reader mostly says something else."""


def read_spellings(given: list[str] | None) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    found: dict[str, str] = {}
    for text in given or []:
        option, equals, spelling = text.partition("=")
        if not (option.strip() and equals and spelling.strip()):
            raise InputError(f"--spell must be OPTION=TEXT, such as 1=A; found {text!r}.")
        found[spelling] = option.strip()
    return found


def report(found: Collected, name: str, out: Path | None, labels: Path | None) -> None:
    """Say what was read."""
    if out is not None:
        say(f"{count(len(found), 'reading')} of {', '.join(found.options)} ({name}) in {out}")
    if labels is not None:
        say(f"{count(len(found.labels['item_id']), 'label')} ({name}) in {labels}")
    if found.unnamed:
        say("the log does not name its texts: item_id is their order, from 0")
    if found.floored:
        places = ", ".join(f"{name} in {number}" for name, number in found.floored.items())
        say(
            "options that were not returned got the smallest log-probability that was: "
            f"{places} of {count(len(found), 'text')}"
        )


def warn(found: Collected) -> None:
    """Say what deserves a look."""
    if found.unread:
        rest = f" and {len(found.unread) - 3} more" if len(found.unread) > 3 else ""
        say(
            f"warning: {count(len(found.unread), 'answer')} that name no option are left out: "
            f"{', '.join(found.unread[:3])}{rest}"
        )
    if found.unread_samples:
        say(f"warning: {count(found.unread_samples, 'sample')} that name no option are not counted")
    if found.several:
        say(
            f"warning: {count(found.several, 'answer')} announce several different options, and "
            "one was taken: a final one, the one before its explanation, or the last. "
            "--after says what the right one follows."
        )
    if found.guessed:
        say(
            f"warning: in {count(found.guessed, 'text')} the first token had to speak for an "
            "option of several, or for options that begin alike"
        )
    if found.lone:
        say(
            f"warning: in {count(found.lone, 'text')} a single option was returned, and the others "
            "share what it leaves. Ask for more alternatives (top_logprobs) if the log has few."
        )
    if found.share < SHARE:
        say(
            f"warning: the options have {found.share:.2f} of the probability on average; the rest "
            "goes to other tokens. Does the model write the options otherwise (--spell)?"
        )


def as_json(found: Collected, name: str) -> dict[str, Any]:
    """All of it for programs."""
    return {
        "format": name,
        "options": list(found.options),
        "readings": len(found),
        "labels": len(found.labels["item_id"]),
        "unread": found.unread,
        "unread_samples": found.unread_samples,
        "several": found.several,
        "floored": dict(found.floored),
        "guessed": found.guessed,
        "lone": found.lone,
        "share": None if math.isnan(found.share) else found.share,
        "unnamed": found.unnamed,
        "explained": [
            {"item_id": text.item_id, "place": text.place, "parts": _parts(text, found.options)}
            for text in found.explained
        ],
    }


def _parts(text: Explained, options: tuple[str, ...]) -> dict[str, Any] | None:
    if text.reading is None:
        return None
    return {option: dict(text.reading.parts[k]) for k, option in enumerate(options)}


def explain_text(text: Explained, found: Collected) -> str:
    """Which tokens fed which option, a line an option."""
    lines = [f"{text.item_id} ({text.place})"]
    if text.reading is None:
        return f"{lines[0]}: names no option"
    width = max(map(len, found.options))
    for k, option in enumerate(found.options):
        parts = ", ".join(f"{word!r} {score:.4g}" for word, score in text.reading.parts[k])
        note = " (first token only)" if k in text.reading.guessed else ""
        words = parts or ("the smallest returned" if k in text.reading.floored else "nothing")
        lines.append(f"  {option:>{width}} {text.reading.values[k]:10.4f}  {words}{note}")
    return "\n".join(lines)
