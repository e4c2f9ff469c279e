"""What a server answers when it is asked for a range: the part of the file that was asked for, or a reason why not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError
from tensors.sources.client import dispose, read_some
from tensors.sources.patience import PassingError, passing_status

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

__all__ = ["Advice", "Answer", "ClosedFileError", "MissingFileError", "answer_of", "is_unchanged", "stamp_of"]

_NOT_ASKED_AGAIN = {404, 410}
_WHOLE, _PART, _UNCHANGED, _BEYOND_THE_END = 200, 206, 304, 416
_UNKNOWN_READER, _REFUSED = 401, 403
_MOST_PIECE_BYTES = 2**20
_LONGEST_STAMP = 256
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,19})-(\d{1,19})|\*)/(\d{1,19}|\*)", re.ASCII | re.IGNORECASE)


class MissingFileError(SourceError):
    """A server has no such file."""


class ClosedFileError(SourceError):
    """A server refuses to give a file, or to say whether there is one."""


class Advice(NamedTuple):
    """What to do where a server does not know who asks, and where it refuses."""

    unknown: str
    refused: str


class Span(NamedTuple):
    """The part [start, stop) of a file of `size` bytes."""

    start: int
    stop: int
    size: int


class Answer:
    """Content that a server sends: the bytes from `position` to `stop` of a file of `size` bytes.

    `stamp` is what the server calls this version of the file, None where it calls it nothing.
    """

    def __init__(self, response: BaseHTTPResponse, span: Span, location: str) -> None:
        self.position, self.stop, self.size = span
        self.stamp = stamp_of(response)
        self._start = span.start
        self._response = response
        self._location = location

    def read(self, stop: int) -> bytes:
        """Return what has come of the bytes before `stop`; an answer that is read to its end is left.

        Raises:
            PassingError: the answer ends before its time, or does not go on.
        """
        most_bytes = min(_MOST_PIECE_BYTES, stop - self.position)
        data = read_some(self._response, most_bytes, self._location)
        if not data:
            held, whole = self.position - self._start, self.stop - self._start
            raise PassingError(f"the server ends its answer after {held:,} of {whole:,} bytes")
        self.position += len(data)
        if self.position == self.stop:
            self.close()
        return data

    def close(self) -> None:
        """Leave the answer; one that is read to its end has given its connection back already."""
        self._response.close()


def answer_of(response: BaseHTTPResponse, start: int, stop: int, location: str, advice: Advice) -> Answer:
    """Return the answer to a request for the bytes [start, stop); where the file ends sooner, the answer does.

    Raises:
        SourceError: it is no such part of a file; MissingFileError where there is no file, ClosedFileError where the
            server does not say.
        PassingError: another try may help.
    """
    try:
        span = _span(response, start, stop)
    except _RefusalError as refusal:
        dispose(response)
        raise SourceError(location, str(refusal)) from None
    if span is not None:
        return Answer(response, span, location)
    dispose(response)
    status = response.status
    passing = passing_status(status, response.headers)
    if passing is not None:
        raise passing
    if status in _NOT_ASKED_AGAIN:
        problem = f"the server has no such file, status {status}; expected a model. Check the address."
        raise MissingFileError(location, problem)
    if status == _UNKNOWN_READER:
        problem = f"the server does not know who asks, status {status}; expected a file that you may read."
        raise SourceError(location, f"{problem} {advice.unknown}")
    if status == _REFUSED:
        problem = f"the server refuses to give it, status {status}; expected a file that you may read."
        raise ClosedFileError(location, f"{problem} {advice.refused}")
    problem = f"the server answers with status {status}; expected {_PART} and a part of the file. Check the address."
    raise SourceError(location, problem)


def is_unchanged(response: BaseHTTPResponse) -> bool:
    """Return whether a server answers that the file is the version that it was asked about."""
    if response.status != _UNCHANGED:
        return False
    dispose(response)
    return True


def stamp_of(response: BaseHTTPResponse) -> str | None:
    """Return the entity tag of an answer, or else the time of the last change."""
    for name in ("ETag", "Last-Modified"):
        value = response.headers.get(name, "").strip()
        if value and len(value) <= _LONGEST_STAMP and value.isascii() and value.isprintable():
            return value
    return None


class _RefusalError(Exception):
    """A part of a file that is not the one that was asked for."""


def _span(response: BaseHTTPResponse, start: int, stop: int) -> Span | None:
    """Return which part of the file an answer holds, None where it holds none."""
    if response.status not in {_WHOLE, _PART, _BEYOND_THE_END}:
        return None
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise _RefusalError("the server sends the file encoded; expected its plain bytes. Fetch the file and name it.")
    length = _length(response)
    if response.status == _WHOLE:
        return _whole(length, start, stop)
    content_range = response.headers.get("Content-Range", "")
    match = _CONTENT_RANGE.fullmatch(content_range.strip())
    if match is None or match[3] == "*":
        raise _RefusalError(
            "the server does not say which part of how long a file it sends; expected a Content-Range with both. "
            "Fetch the file and name it."
        )
    size = int(match[3])
    if response.status == _BEYOND_THE_END:
        return Span(start, start, size) if size <= start else None
    span = Span(int(match[1] or 0), int(match[2] or -1) + 1, size)
    if span.start != start or not start < span.stop <= min(stop, size):
        problem = f"the server sends bytes {span.start:,} to {span.stop - 1:,} of {size:,}"
        problem = f"{problem}; expected bytes {start:,} to {stop - 1:,}. Fetch the file and name it."
        raise _RefusalError(problem)
    if length is not None and length != span.stop - span.start:
        problem = f"the server announces {length:,} bytes; expected {span.stop - span.start:,}, the part that it names."
        raise _RefusalError(f"{problem} Fetch the file and name it.")
    return span


def _whole(length: int | None, start: int, stop: int) -> Span:
    """Return the span of an answer that ignores the range, which is well where the file is small."""
    if start == 0 and length is not None and length <= stop:
        return Span(0, length, length)
    raise _RefusalError(
        "the server sends the whole file where a part is asked for; expected one that honours ranges. "
        "Fetch the file and name it."
    )


def _length(response: BaseHTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(2**63)) else None
