"""One request of a web server: redirects followed by our rules, failures told apart.

fsspec's http file system was measured and is not used: from a server without ranges it takes the whole file, it takes
bytes of another place for those asked for, and its `info` makes FileNotFoundError of 401, 403, 429 and 503 alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.sources.address import shown_url
from tensors.sources.patience import PassingError
from tensors.sources.pools import Pools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urllib3 import BaseHTTPResponse
    from urllib3.exceptions import HTTPError

    from tensors.sources.threads import Deadline

__all__ = ["Client", "dispose", "read_some"]

SILENCE_SECONDS = 15.0
CONNECT_SECONDS = 10.0
GRACE_SECONDS = 1.0

_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_URL_SAFE = "%/:=&?~#+!$,;'@()*[]"
_SMALL_BYTES = 2**16


class Client:
    """Connections to web servers, kept for all requests of one model."""

    def __init__(self, deadline: Deadline, connections: int) -> None:
        self.deadline = deadline
        self._pools = Pools(connections)

    def get(self, url: str, headers: Mapping[str, str], location: str, *, narrow: bool = False) -> BaseHTTPResponse:
        """Return the answer to a GET, its content not yet read; authorization stays with the host it is meant for.

        A `narrow` connection takes little ahead of what is read: for an answer that may be left early.

        Raises:
            SourceError: the server cannot be reached, or leads where nobody should follow.
            PassingError: another try may help.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._send(url, headers, location, narrow=narrow)
            target = response.headers.get("Location") if response.status in _REDIRECTS else None
            if target is None:
                return response
            dispose(response)
            following = _followed(url, target, location)
            if _origin(following) != _origin(url):
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
            url = following
        problem = f"leads from address to address more than {_MOST_REDIRECTS} times; expected a file."
        raise SourceError(location, f"{problem} Check the address.")

    def close(self) -> None:
        """Close every connection that is not in use."""
        self._pools.close()

    def _send(self, url: str, headers: Mapping[str, str], location: str, *, narrow: bool) -> BaseHTTPResponse:
        from urllib3 import Timeout  # noqa: PLC0415 - an extra
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        # A little longer than there is time: at the end of it, whoever waits says so.
        left_seconds = self.deadline.remaining() + GRACE_SECONDS
        try:
            return self._pools.of(url, narrow=narrow).urlopen(
                "GET",
                url,
                headers=dict(headers),
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
                timeout=Timeout(connect=min(CONNECT_SECONDS, left_seconds), read=min(SILENCE_SECONDS, left_seconds)),
            )
        except HTTPError as error:
            raise _failure(error, location) from None


def read_some(response: BaseHTTPResponse, most_bytes: int, location: str) -> bytes:
    """Return content that has come, at most so much; nothing where the answer ends.

    Raises:
        PassingError: the connection breaks or the server is silent.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - an extra

    try:
        return response.read1(most_bytes)
    except HTTPError as error:
        raise _failure(error, location) from None


def dispose(response: BaseHTTPResponse) -> None:
    """End with an answer: a small one is read, so that its connection can be used again, any other is cut off."""
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - an extra

    length = response.headers.get("Content-Length", "")
    try:
        if length.isdigit() and len(length) < len(str(_SMALL_BYTES)):
            response.read(_SMALL_BYTES)
    except HTTPError:
        pass
    response.close()


def _followed(url: str, target: str, location: str) -> str:
    from urllib.parse import quote, urljoin, urlsplit  # noqa: PLC0415

    try:
        following = urljoin(url, quote(target, safe=_URL_SAFE))
        scheme = urlsplit(following).scheme
    except ValueError:
        following, scheme = target, ""
    if scheme not in {"http", "https"}:
        problem = f"leads to {shown_url(following)}; expected an http or https address. Do not use this one."
        raise SourceError(location, problem)
    if scheme == "http" and urlsplit(url).scheme == "https":
        problem = f"leads from https to {shown_url(following)}; expected https throughout. Do not use this address."
        raise SourceError(location, problem)
    return following


def _origin(url: str) -> tuple[str, str]:
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def _failure(error: HTTPError, location: str) -> SourceError | PassingError:
    from urllib3 import exceptions  # noqa: PLC0415 - an extra

    check = "Check the address and the network."
    match error:
        case exceptions.NameResolutionError():
            problem = f"there is no such host; expected a web server. {check}"
        case exceptions.NewConnectionError() | exceptions.ProxyError():
            problem = f"cannot be reached ({_reason(error)}); expected a web server. {check}"
        case exceptions.SSLError():
            problem = f"shows no certificate to trust ({_reason(error)}); expected one that is known here. {check}"
        case exceptions.LocationValueError():
            problem = "is no address that can be asked; expected one like https://HOST/FILE.gguf. Check it."
        case _:
            return PassingError(_passing(error))
    return SourceError(location, problem)


def _passing(error: HTTPError) -> str:
    from urllib3 import exceptions  # noqa: PLC0415 - an extra

    if isinstance(error, exceptions.ConnectTimeoutError):
        return f"the server takes no connection within {CONNECT_SECONDS:g} s"
    if isinstance(error, exceptions.TimeoutError):
        return f"the server is silent for {SILENCE_SECONDS:g} s"
    return "the server breaks the connection"


def _reason(error: BaseException) -> str:
    """Return the operating system's own words for a failure of the network, which tell nothing of an address."""
    inner: BaseException | None = error
    while inner is not None:
        reason = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None)
        if isinstance(reason, str) and reason:
            return reason.lower()
        inner = inner.__cause__ or inner.__context__
    return "no connection"
