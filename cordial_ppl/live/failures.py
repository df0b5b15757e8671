"""What a failed request means: that the command is wrong, the request, or the moment."""

from typing import NamedTuple

from cordial_ppl.errors import CordialError, InputError, ServerError

PASSING = (408, 409, 425, 429)
"""Refusals that pass, as those from 500 up do."""


class Trouble(CordialError):
    """A request failed in a way that may pass.

    Args:
        reason: What happened.
        after: Seconds that the server asks to wait, if it does.
    """

    def __init__(self, reason: str, after: float | None = None):
        super().__init__(reason)
        self.reason, self.after = reason, after


class Refused(ServerError):
    """The server will not answer this request, however often it is asked."""


class Sender(NamedTuple):
    """Who asked whom.

    Attributes:
        url: The server's address.
        model: The model.
        variable: The environment variable of the key that was sent; None if none was.
        welcome: Whether the server has answered before.
    """

    url: str
    model: str
    variable: str | None
    welcome: bool


def failure_of(
    status: int, words: str, code: str, after: float | None, sender: Sender
) -> CordialError:
    """Say what a status means.

    Args:
        status: The status, any but 200.
        words: The server's own words.
        code: Its code for what is wrong; empty if it has none.
        after: Seconds that it asks to wait, if it does.
        sender: Who asked whom.

    Returns:
        InputError if the command is wrong, `Refused` if the request is, or `Trouble`.
    """
    url, model, variable, welcome = sender
    said = f"status {status}" + (f": {words}" if words else "")
    if status == 403 and welcome:
        # Some guard their models so against texts.
        return Refused(said)
    if status in (401, 403) and variable is None:
        return InputError(
            f"{url} asks for a key, and none was sent: name the environment variable that holds "
            f"it, --key-variable NAME ({said})."
        )
    if status in (401, 403):
        return InputError(
            f"{url} asks for a key: the one in the environment variable {variable} is refused "
            f"({said})."
        )
    if status in (404, 405) or 300 <= status < 400:
        return InputError(
            f"{url} has no chat completions of {model!r} ({said}). Check --model and "
            "--server: the address up to /chat/completions, which mostly ends in /v1."
        )
    if code == "insufficient_quota":
        return InputError(f"{url} wants to be paid ({said}).")
    if status in PASSING or status >= 500:
        return Trouble(said, after)
    return Refused(said)
