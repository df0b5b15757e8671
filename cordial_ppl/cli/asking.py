"""The ways to a model that `cordial ask` takes: a server, or this machine."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cordial_ppl.cli.messages import say, working
from cordial_ppl.errors import InputError, ServerError

if TYPE_CHECKING:
    from cordial_ppl.live.cache import Cache
    from cordial_ppl.live.decoding import Decoding
    from cordial_ppl.live.questions import Questions
    from cordial_ppl.live.records import Asker
    from cordial_ppl.live.tally import Tally

    Reach = Callable[[Questions, Cache, Tally], Asker]

USUAL = "OPENAI_API_KEY"
"""The environment variable of the key that OpenAI, and a server on this machine, is sent."""


def check_unused(
    local: bool, of_server: Mapping[str, object], of_local: Mapping[str, object]
) -> None:
    """Refuse options that would do nothing.

    Args:
        local: Whether the model is on this machine.
        of_server: What was given, by option, or None, of what only servers understand.
        of_local: The same of what only models on this machine do.

    Raises:
        InputError: One was given.
    """
    given = [name for name, own in (of_server if local else of_local).items() if own is not None]
    if given:
        where = "with --local" if local else "without --local"
        verb, it = ("does", "it") if len(given) == 1 else ("do", "them")
        raise InputError(f"{', '.join(given)} {verb} nothing {where}: leave {it} out.")


@contextmanager
def keeping(path: Path, tally: "Tally") -> "Iterator[Cache]":
    """Keep answers in a file, and say so where they are not all there.

    Args:
        path: The file.
        tally: Counts the answers.

    Yields:
        The cache.

    Raises:
        FileError: The file cannot be used.
        ServerError: What was raised inside, with where the answers are.
    """
    from cordial_ppl.live.cache import open_cache

    try:
        with open_cache(path) as kept:
            yield kept
    except ServerError as error:
        raise ServerError(
            f"{error} What was answered is in {path}; the same command goes on from there."
        ) from error
    except KeyboardInterrupt:
        say(
            f"stopped: {tally.known + tally.answered:,} of {tally.questions:,} answers are in "
            f"{path}; the same command goes on from there"
        )
        raise


def reach_here(name: str, device: str, batch: int, quiet: bool) -> "Reach":
    """Find the way to a model on this machine.

    Args:
        name: The model's folder, or its name on the Hub.
        device: Where to compute.
        batch: Prompts that go through the model together.
        quiet: Whether not to show that it is loaded.

    Returns:
        Takes questions, a cache and a tally, and loads the model.
    """

    def reach(questions: "Questions", kept: "Cache", tally: "Tally") -> "Asker":
        from cordial_ppl.live.local import LocalModel
        from cordial_ppl.live.scoring import Scoring

        with working(f"loading {name}", quiet):
            model = LocalModel.load(name, device)
        return Scoring(questions, name, model, kept, tally, batch)

    return reach


def reach_server(
    url: str | None,
    model: str,
    key_variable: str | None,
    *,
    decoding: "Decoding",
    concurrency: int,
    timeout: float,
    retries: int,
    seed: int,
) -> "Reach":
    """Find the way to a server, and the key, which comes from the environment alone.

    Args:
        url: Its address; None for OPENAI_BASE_URL, or OpenAI's own.
        model: The model to ask.
        key_variable: The environment variable that holds the key; None for the usual one, which
            only OpenAI and servers on this machine are sent.
        decoding: How answers are decoded.
        concurrency: Requests at once, at most.
        timeout: Seconds to wait for an answer.
        retries: How often to try a failed request again.
        seed: Seed of the waiting times.

    Returns:
        Takes questions, a cache and a tally.

    Raises:
        InputError: There is no key where one is needed, or the address is none.
    """
    from cordial_ppl.live.address import OPENAI, check_address, is_trusted
    from cordial_ppl.live.asking import Asking
    from cordial_ppl.live.patience import Patience
    from cordial_ppl.live.server import Server

    url = check_address(url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
    variable = key_variable or USUAL
    key = os.environ.get(variable) if key_variable or is_trusted(url) else None
    if url == OPENAI and not key:
        raise InputError(
            f"{OPENAI} needs a key in the environment variable {variable}. For a server of "
            "your own say --server URL, for a model on this machine --local."
        )
    if key_variable and not key:
        raise InputError(f"the environment variable {key_variable} holds no key.")
    server = Server(
        url,
        model,
        key,
        key_variable=variable,
        timeout=timeout,
        patience=Patience(retries),
        seed=seed,
    )
    return lambda questions, kept, tally: Asking(
        questions, server, decoding, kept, tally, concurrency
    )


def read_price(text: str | None) -> tuple[float, float] | None:
    """Read "0.15,0.6", dollars for a million tokens read and written.

    Args:
        text: What was given, or None.

    Returns:
        The two, or None.

    Raises:
        InputError: It is of another form.
    """
    if text is None:
        return None
    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price must be IN,OUT, such as 0.15,0.6; found {text!r}.") from None
    return read, written
