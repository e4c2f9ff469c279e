"""Connections to web servers, kept and used again, through the proxies that the environment names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import PoolManager

__all__ = ["Pools"]

_NARROW_BYTES = 2**18


class Pools:
    """Connections by the proxy that they go through, as many to each server as are used at a time.

    Narrow ones take little ahead of what is read: they are for answers that may be left before their end.
    """

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._pools: dict[tuple[str | None, bool], PoolManager] = {}

    def of(self, url: str, *, narrow: bool) -> PoolManager:
        """Return the connections for an address."""
        key = _proxy_of(url), narrow
        if key not in self._pools:
            self._pools.setdefault(key, self._made(*key))
        return self._pools[key]

    def close(self) -> None:
        """Close every connection that is not in use."""
        for pool in self._pools.values():
            pool.clear()

    def _made(self, proxy: str | None, narrow: bool) -> PoolManager:
        import socket  # noqa: PLC0415

        from urllib3 import PoolManager, ProxyManager, make_headers  # noqa: PLC0415 - an extra
        from urllib3.connection import HTTPConnection  # noqa: PLC0415
        from urllib3.util import parse_url  # noqa: PLC0415

        options = list(HTTPConnection.default_socket_options)
        if narrow:
            options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW_BYTES))
        if proxy is None:
            return PoolManager(maxsize=self._connections, socket_options=options)
        user = parse_url(proxy).auth
        headers = None if user is None else make_headers(proxy_basic_auth=user)
        return ProxyManager(proxy, proxy_headers=headers, maxsize=self._connections, socket_options=options)


def _proxy_of(url: str) -> str | None:
    """Return the proxy for an address, None where the environment names none or exempts the host."""
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
