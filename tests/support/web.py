"""A web server on this machine that serves files by ranges, counts what it sends, and misbehaves on demand."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Handler", "Request", "Script", "WebServer", "content_range"]

_CHUNK_BYTES = 2**16


@dataclass(slots=True)
class Request:
    """What one request asked for, and what it got: `sent_bytes` of body, as they leave."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    status: int = 0
    sent_bytes: int = 0

    @property
    def range(self) -> str | None:
        """Return the range that was asked for, as the client wrote it."""
        return self.headers.get("range")


@dataclass
class WebServer:
    """Serves `files` by path. The scripts of a path answer its next requests, one each, in place of the file."""

    files: dict[str, Path | bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    sends_etags: bool = True
    etag_of: Callable[[str], str] = '"of {}"'.format
    routes: list[Callable[[Handler], bool]] = field(default_factory=list)
    scripts: dict[str, deque[Script]] = field(default_factory=lambda: defaultdict(deque))
    connections: int = 0

    def __enter__(self) -> Self:
        """Begin to answer on a port that is free."""
        self._http = _Quiet(("127.0.0.1", 0), type("Bound", (Handler,), {"web": self}))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop, and free the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """Return where the server is, as `127.0.0.1:40001`."""
        return f"127.0.0.1:{self._http.server_address[1]}"

    def url(self, path: str) -> str:
        """Return the location of a file."""
        return f"http://{self.address}{path}"

    def add_folder(self, folder: Path, prefix: str = "/") -> None:
        """Serve all files of a folder."""
        for path in folder.iterdir():
            self.files[prefix + path.name] = path

    def script(self, path: str, *scripts: Script) -> None:
        """Let the next requests of a path be answered by these, one each."""
        self.scripts[path].extend(scripts)

    def data_requests(self, path: str) -> list[Request]:
        """Return the requests of a path that were answered with content of the file."""
        return [r for r in self.requests if r.path == path and r.method == "GET" and r.status in {200, 206}]

    def sent_bytes(self, path: str) -> int:
        """Return how much content of a file was sent."""
        return sum(request.sent_bytes for request in self.data_requests(path))

    def header_bytes_allowed(self, header_bytes: int) -> int:
        """Return how much may be sent of a file with a header of that length."""
        return header_bytes * 5 // 4 + 2**19

    def forget(self) -> None:
        """Forget the requests so far."""
        self.requests.clear()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    web: WebServer
    request_record: Request

    def setup(self) -> None:
        """Let little wait in the system's buffers, so that what is counted as sent is nearly what is read."""
        self.web.connections += 1
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _CHUNK_BYTES)
        super().setup()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer a request for headers alone."""
        self._answer()

    def do_GET(self) -> None:
        """Answer a request for content."""
        self._answer()

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.request_record = Request(self.command, path, query, headers)
        self.web.requests.append(self.request_record)
        try:
            scripts = self.web.scripts[path]
            if scripts:
                scripts.popleft()(self)
            elif not any(route(self) for route in self.web.routes):
                self.serve(path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def head(self, status: int, **headers: object) -> None:
        """Send a status and headers; an underscore in a name stands for a hyphen."""
        self.request_record.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def body(self, data: bytes) -> None:
        """Send content and count it, unless headers alone were asked for."""
        if self.command == "HEAD":
            return
        for start in range(0, len(data), _CHUNK_BYTES):
            chunk = data[start : start + _CHUNK_BYTES]
            # Counted first: a client may have it, and look at the count, before the call returns.
            self.request_record.sent_bytes += len(chunk)
            try:
                self.wfile.write(chunk)
            except OSError:
                self.request_record.sent_bytes -= len(chunk)
                raise

    def simple(self, status: int, data: bytes = b"", **headers: object) -> None:
        """Send a whole small answer."""
        self.head(status, Content_Length=len(data), **headers)
        self.body(data)

    def size(self, path: str) -> int:
        """Return the length of a file."""
        file = self.web.files[path]
        return len(file) if isinstance(file, bytes) else file.stat().st_size

    def part(self, path: str, start: int, stop: int) -> bytes:
        """Return bytes of a file."""
        file = self.web.files[path]
        if isinstance(file, bytes):
            return file[start:stop]
        with file.open("rb") as stream:
            stream.seek(start)
            return stream.read(stop - start)

    def asked(self, size: int) -> tuple[int, int] | None:
        """Return the range [start, stop) that is asked for."""
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.request_record.range or "")
        if match is None:
            return None
        return int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)

    def serve(self, path: str) -> None:
        """Answer as a server should."""
        if path not in self.web.files:
            self.simple(404, b"nothing here")
            return
        size, etag = self.size(path), self.web.etag_of(path)
        extra = {"ETag": etag} if self.web.sends_etags else {}
        if self.web.sends_etags and self.headers.get("If-None-Match") == etag:
            self.head(304, **extra)
            return
        span = self.asked(size)
        if span is None:
            self.head(200, Content_Length=size, Accept_Ranges="bytes", **extra)
            self.send_span(path, 0, size)
        elif span[0] >= size:
            self.simple(416, b"", Content_Range=f"bytes */{size}", **extra)
        else:
            self.head(206, Content_Length=span[1] - span[0], Content_Range=content_range(*span, size), **extra)
            self.send_span(path, *span)

    def send_span(self, path: str, start: int, stop: int) -> None:
        """Send a part of a file in pieces."""
        while start < stop:
            data = self.part(path, start, min(stop, start + 2**20))
            self.body(data)
            start += len(data)

    def reset(self) -> None:
        """Break the connection as a crashed server does."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def content_range(start: int, stop: int, size: int) -> str:
    """Return the header that names the part [start, stop) of a file."""
    return f"bytes {start}-{stop - 1}/{size}"


Script = Callable[[Handler], object]
