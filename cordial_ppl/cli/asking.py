"""The ways to a model that `cordial ask` takes: a server, or this machine."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cordial_ppl.cli.messages import progressing, working
from cordial_ppl.errors import InputError

if TYPE_CHECKING:
    from cordial_ppl.live.cache import Cache
    from cordial_ppl.live.decoding import Decoding
    from cordial_ppl.live.questions import Questions
    from cordial_ppl.live.server import Server
    from cordial_ppl.live.tally import Tally


def ask_server(
    questions: "Questions",
    kept: "Cache",
    tally: "Tally",
    server: "Server",
    decoding: "Decoding",
    concurrency: int,
    cache: Path,
    quiet: bool,
) -> Callable:
    """Put questions to a server.

    Args:
        questions: What is asked.
        kept: Where answers are kept.
        tally: Counts what it takes.
        server: Who is asked.
        decoding: How answers are decoded.
        concurrency: Requests at once, at most.
        cache: The file that `kept` is, for messages.
        quiet: Whether to show no progress.

    Returns:
        Finds the answer to a question.

    Raises:
        InputError: The command asks for what the server does not have.
        ServerError: Some questions got no answer; the others' answers are kept.
    """
    from cordial_ppl.errors import ServerError
    from cordial_ppl.live.asking import Asking

    try:
        with progressing(quiet) as show:
            asking = Asking(questions, server, decoding, kept, tally, show)
            asking.run(concurrency)
    except ServerError as error:
        raise ServerError(
            f"{error} What was answered is in {cache}; the same command goes on from there."
        ) from error
    return asking.find


def ask_here(
    questions: "Questions",
    kept: "Cache",
    tally: "Tally",
    name: str,
    device: str,
    batch: int,
    quiet: bool,
) -> Callable:
    """Put questions to a model on this machine.

    Args:
        questions: What is asked.
        kept: Where answers are kept.
        tally: Counts what it takes.
        name: The model's folder, or its name on the Hub.
        device: Where to compute.
        batch: Prompts that go through the model together.
        quiet: Whether to show no progress.

    Returns:
        Finds the answer to a question.

    Raises:
        InputError: There is no such model or device.
    """
    from cordial_ppl.live.local import LocalModel
    from cordial_ppl.live.scoring import Scoring

    with working(f"loading {name}", quiet):
        model = LocalModel.load(name, device)
    with progressing(quiet) as show:
        scoring = Scoring(questions, name, model, kept, tally, show)
        scoring.run(batch)
    return scoring.find


def open_server(
    url: str | None, model: str, key_variable: str, timeout: float, retries: int, seed: int
) -> "Server":
    """Find the server and its key, which comes from the environment alone.

    Args:
        url: Its address; None for OPENAI_BASE_URL, or OpenAI's own.
        model: The model to ask.
        key_variable: The environment variable that holds the key.
        timeout: Seconds to wait for an answer.
        retries: How often to try a failed request again.
        seed: Seed of the waiting times.

    Returns:
        The server.

    Raises:
        InputError: There is no key where one is needed, or the address is none.
    """
    from cordial_ppl.live.patience import Patience
    from cordial_ppl.live.server import OPENAI, Server

    url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    key = os.environ.get(key_variable)
    if url == OPENAI and not key:
        raise InputError(
            f"{OPENAI} needs a key in the environment variable {key_variable}. For a server of "
            "your own say --server URL, for a model on this machine --local."
        )
    return Server(
        url,
        model,
        key,
        key_variable=key_variable,
        timeout=timeout,
        patience=Patience(retries),
        seed=seed,
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
