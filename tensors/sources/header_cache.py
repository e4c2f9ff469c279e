"""Headers of distant files, kept on disk from one run to the next.

One file an address: a line of JSON that says what the rest is, then the first bytes of the distant file. What was cut
off, changed or half written does not have the digest that the line gives, and is thrown away.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

__all__ = ["MOST_CACHE_BYTES", "MOST_ENTRY_BYTES", "CachedHeader", "HeaderCache", "cache_folder"]

MOST_CACHE_BYTES: Final = 2**28
"""What all kept headers may take together; those that nobody has looked at for longest go first."""

MOST_ENTRY_BYTES: Final = 2**25
"""What one header may take: no header in use comes near it."""

_SCHEMA = "layerfit/header-cache/1"
_SUFFIX = ".header"


class CachedHeader(NamedTuple):
    """The first bytes of a version of a distant file of `size` bytes."""

    stamp: str
    size: int
    data: bytes


class _Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    address: str
    stamp: str
    size: int
    sha256: str


_decode_label = msgspec.json.Decoder(_Label).decode
_encode_label = msgspec.json.Encoder().encode


class HeaderCache:
    """A folder of headers. That something cannot be kept is no error: it is fetched again."""

    def __init__(self, folder: Path, most_bytes: int = MOST_CACHE_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes

    def get(self, address: str) -> CachedHeader | None:
        """Return what is kept of the file at an address, whichever version it is of."""
        path = self._path(address)
        try:
            with path.open("rb") as file:
                content = file.read(MOST_ENTRY_BYTES + 1)
        except OSError:
            return None
        cached = _read(content, address)
        with suppress(OSError):
            if cached is None:
                path.unlink()
            else:
                os.utime(path)
        return cached

    def put(self, address: str, stamp: str, size: int, data: bytes) -> None:
        """Keep the first bytes of a version of the file at an address, in place of those of any other version."""
        label = _Label(_SCHEMA, address, stamp, size, sha256(data).hexdigest())
        line = _encode_label(label) + b"\n"
        if len(line) + len(data) > min(MOST_ENTRY_BYTES, self._most_bytes):
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Written beside and moved in whole: another process sees the old header or the new one.
            descriptor, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(line)
                    file.write(data)
                Path(name).replace(self._path(address))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._make_room()

    def _path(self, address: str) -> Path:
        return self.folder / (sha256(address.encode()).hexdigest() + _SUFFIX)

    def _make_room(self) -> None:
        """Remove what was used longest ago, until the rest is within bounds; half written files age like others."""
        with os.scandir(self.folder) as entries:
            files = sorted((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries)
        surplus = sum(size for _, size, _ in files) - self._most_bytes
        for _, size, path in files:
            if surplus <= 0:
                break
            with suppress(OSError):
                Path(path).unlink()
            surplus -= size


def cache_folder() -> Path:
    """Return where headers are kept: LAYERFIT_CACHE where the environment names a folder, else the user's cache."""
    named = os.environ.get("LAYERFIT_CACHE")
    if named:
        return Path(named)
    from platformdirs import user_cache_path  # noqa: PLC0415 - an extra

    return user_cache_path("layerfit", appauthor=False) / "headers"


def _read(content: bytes, address: str) -> CachedHeader | None:
    line, _, data = content.partition(b"\n")
    try:
        label = _decode_label(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if (label.schema, label.address, label.sha256) != (_SCHEMA, address, sha256(data).hexdigest()):
        return None
    return CachedHeader(label.stamp, label.size, data) if 0 <= len(data) <= label.size else None
