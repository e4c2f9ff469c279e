"""A distant file, read by ranges: at most one answer is open, and reading on goes on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from tensors.errors import SourceError
from tensors.sources.answers import Answer, answer_of, is_unchanged
from tensors.sources.header_cache import MOST_ENTRY_BYTES
from tensors.sources.patience import Patience

if TYPE_CHECKING:
    from tensors.sources.answers import Advice
    from tensors.sources.client import Client
    from tensors.sources.header_cache import CachedHeader, HeaderCache

__all__ = ["Place", "RangeSource"]

_FIRST_BYTES: Final = 2**17
"""Holds the headers of most shards, and as much of a vocabulary as tells how long it will be."""

_LONGEST_HEADER_BYTES = 2**25
"""Whoever asks for more does not know where the header ends, and leaves the answer before its end."""


class Place(NamedTuple):
    """Where a distant file is: `location` is shown, `url` asked with `authorization`, `cache_key` None to keep nothing.

    `stamp` is what its listing calls this version of it, None where there is no listing.
    """

    name: str
    location: str
    url: str
    authorization: str | None
    cache_key: str | None
    size: int | None
    stamp: str | None
    advice: Advice


class RangeSource:
    """A distant file: `requests` answers gave `bytes_read` bytes.

    Its first bytes are kept, and put into the cache when it is closed, so that the next look needs none of them.
    """

    def __init__(self, client: Client, place: Place, cache: HeaderCache | None) -> None:
        self.name = place.name
        self.location = place.location
        self.requests = 0
        self.bytes_read = 0
        self._client = client
        self._place = place
        self._cache = None if place.cache_key is None else cache
        self._patience = Patience(client.deadline, place.location)
        self._answer: Answer | None = None
        self._size = place.size
        self._stamp = place.stamp
        self._stamp_seen: str | None = None
        self._kept = bytearray()
        self._cached_bytes = 0
        self._recalled = self._recall()

    @property
    def size(self) -> int:
        """Return the length of the file; the first bytes are asked for where no listing says it."""
        self.meet()
        assert self._size is not None  # noqa: S101 - an answer says it
        return self._size

    def meet(self) -> None:
        """Make sure that the file is there.

        Raises:
            SourceError: it is not, or cannot be had.
        """
        if self._recalled is not None:
            self._patience.until_given(self._ask_whether_changed)
        while self._size is None:
            self._kept += self._patience.until_given(lambda: self._piece(0, _FIRST_BYTES))
        while self._answer is not None and len(self._kept) < min(_FIRST_BYTES, self._size):
            self._kept += self._patience.until_given(lambda: self._piece(len(self._kept), _FIRST_BYTES))

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes from `start` on: as many as come at once, none of them from `stop` on."""
        stop = min(stop, self.size)
        held = bytes(memoryview(self._kept)[start:stop])
        if held or start >= stop:
            return held
        data = self._patience.until_given(lambda: self._piece(start, stop))
        if self._cache is not None and start == len(self._kept) < MOST_ENTRY_BYTES:
            self._kept += data
        return data

    def close(self) -> None:
        """Leave the server, and keep the first bytes for the next look."""
        self._leave()
        key, stamp, size = self._place.cache_key, self._stamp, self._size
        if self._cache is None or key is None or stamp is None or size is None or len(self._kept) <= self._cached_bytes:
            return
        self._cache.put(key, stamp, size, bytes(self._kept))
        self._cached_bytes = len(self._kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _recall(self) -> CachedHeader | None:
        """Return what the cache holds of some version; where a listing names the version, take it or leave it."""
        key = self._place.cache_key
        cached = None if self._cache is None or key is None else self._cache.get(key)
        if cached is None or self._place.size is None or self._place.stamp is None:
            return cached
        if (cached.stamp, cached.size) == (self._place.stamp, self._place.size):
            self._take(cached)
        return None

    def _take(self, cached: CachedHeader) -> None:
        self._size, self._stamp = cached.size, cached.stamp
        self._kept += cached.data
        self._cached_bytes = len(cached.data)

    def _ask_whether_changed(self) -> None:
        """Ask for a byte unless the file is as it was: the cheapest question that every server answers."""
        cached = self._recalled
        assert cached is not None  # noqa: S101 - only then is this asked
        condition = "If-None-Match" if cached.stamp.endswith('"') else "If-Modified-Since"
        headers = self._headers(0, 1) | {condition: cached.stamp}
        response = self._client.get(self._place.url, headers, self.location)
        if is_unchanged(response):
            self._take(cached)
        else:
            answer = answer_of(response, 0, 1, self.location, self._place.advice)
            answer.close()
            if (answer.stamp, answer.size) == (cached.stamp, cached.size):
                self._take(cached)
        self._recalled = None

    def _piece(self, start: int, stop: int) -> bytes:
        """Return a piece of [start, stop): of the open answer where it goes on at `start`, else of a new one."""
        if self._answer is None or self._answer.position != start:
            self._leave()
            self._answer = self._ask(start, stop)
        try:
            data = self._answer.read(stop) if start < self._answer.stop else b""
        except Exception:
            self._leave()
            raise
        self.bytes_read += len(data)
        if self._answer.position == self._answer.stop:
            self._leave()
        return data

    def _ask(self, start: int, stop: int) -> Answer:
        narrow = stop - start > _LONGEST_HEADER_BYTES
        response = self._client.get(self._place.url, self._headers(start, stop), self.location, narrow=narrow)
        answer = answer_of(response, start, stop, self.location, self._place.advice)
        self.requests += 1
        try:
            self._check(answer)
        except SourceError:
            answer.close()
            raise
        return answer

    def _check(self, answer: Answer) -> None:
        """Refuse an answer that is of another version of the file than the one before."""
        if self._size is None:
            self._size = answer.size
            self._stamp = answer.stamp
        elif answer.size != self._size:
            problem = f"has {answer.size:,} bytes now; expected {self._size:,} as before. Try again."
            raise SourceError(self.location, problem)
        known = self._stamp if self._place.stamp is None else self._stamp_seen
        if known is not None and answer.stamp is not None and answer.stamp != known:
            problem = "has changed while it was read; expected one version throughout. Try again."
            raise SourceError(self.location, problem)
        self._stamp_seen = answer.stamp or self._stamp_seen

    def _headers(self, start: int, stop: int) -> dict[str, str]:
        # Compressed content would count other bytes than those of the file.
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity", "User-Agent": "layerfit"}
        if self._place.authorization is not None:
            headers["Authorization"] = self._place.authorization
        return headers

    def _leave(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None
