"""Where a server is, and whether a key may go there."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from cordial_ppl.errors import InputError

OPENAI = "https://api.openai.com/v1"


def check_address(url: str) -> str:
    """Check a server's address.

    Args:
        url: What was given.

    Returns:
        The address up to `/chat/completions`.

    Raises:
        InputError: It is none, or has a secret in it.
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"a server's address must be like http://localhost:8000/v1; found {url!r}."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError(
            f"the address of the server at {parts.hostname} must have nothing before the host or "
            "after the path: keys come from the environment."
        )
    return url.rstrip("/").removesuffix("/chat/completions")


def is_trusted(url: str) -> bool:
    """Say whether the usual key is meant for a server: OpenAI's, or one on this machine."""
    return _split(url).hostname == _split(OPENAI).hostname or is_here(url)


def is_here(url: str) -> bool:
    """Say whether a server is on this machine."""
    host = _split(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_key(key: str | None, variable: str, url: str) -> str | None:
    """Check a key, and that nobody on the way to a server reads it.

    Args:
        key: What the environment holds, or None.
        variable: The environment variable, for messages.
        url: The server's address.

    Returns:
        The key; None if there is none.

    Raises:
        InputError: It is no key, or the connection is not encrypted.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"the environment variable {variable} holds something that is no key.")
    if key and _split(url).scheme != "https" and not is_here(url):
        raise InputError(
            f"the key in {variable} is not sent to {url}: others could read it on the way. Take "
            "an address that begins with https."
        )
    return key or None


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        # Half a pair of brackets, as of an IPv6 address.
        return SplitResult("", "", "", "", "")
