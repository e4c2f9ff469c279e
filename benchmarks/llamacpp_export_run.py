"""Start what an export prints on this computer: its servers, then its head, until that has said all of its buffers.

Programs come from a folder, addresses are those printed. A local card has no device here, so a further server of the
processor stands for it; of the printed words only that card's name and `--rpc` change.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["ESTIMATOR_FLAGS", "Head", "estimate", "load", "served", "with_stand_ins"]

ESTIMATOR_FLAGS: Final = ("--fit-print", "on", "--no-repack")

_CARD = re.compile(r"(?:MTL|CUDA)[0-9]+")
_READY = re.compile(rb"listening on http|model loaded")
_STAND_IN_PORT: Final = 40
_PATIENCE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Head:
    """The head whose servers answer: its words as they are started, and the printed name of devices of its log.

    `names` has a device where the printed words call it otherwise; `port` is free for the head itself.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    names: Mapping[str, str]
    port: int


@contextmanager
def served(document: Mapping[str, Any], programs: Path, first_port: int) -> Iterator[Head]:
    """Start every server of an export document, with those that stand for local cards, and end them all afterwards.

    Raises:
        OSError: a program cannot be started, or a server does not answer.
    """
    *servers, head = [command for machine in document["machines"] for command in machine["commands"]]
    address = document["machines"][-1]["address"] or "127.0.0.1"
    words, ports, names = with_stand_ins(head["words"], address, first_port + _STAND_IN_PORT)
    with ExitStack() as started:
        for command in servers:
            started.enter_context(_server(programs, [_of_processor(word) for word in command["words"]], command))
        for port in ports:
            extra = ["ggml-rpc-server", "--host", address, "--port", str(port), "--device", "CPU"]
            started.enter_context(_server(programs, extra, {"environment": {}}))
        yield Head(tuple(words), head["environment"], names, first_port + _STAND_IN_PORT - 1)


def estimate(head: Head, programs: Path) -> str:
    """Return what the dry-run estimator prints for the head's words; repacking is off, which it does not count."""
    words = ["llama-fit-params", *head.words[1:], *ESTIMATOR_FLAGS]
    done = subprocess.run(  # noqa: S603 - what was printed is what is tried
        [str(programs / words[0]), *words[1:]],
        env={**os.environ, **head.environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_PATIENCE_SECONDS,
    )
    return (done.stdout if done.returncode == 0 else done.stdout + done.stderr).decode(errors="replace")


def load(head: Head, programs: Path, log: Path) -> bool:
    """Start the head until it has loaded, and return whether it did. What it writes at every level goes to the log."""
    with log.open("wb") as target:
        own = ("-v", "--host", "127.0.0.1", "--port", str(head.port), "-t", "1")
        process = subprocess.Popen(  # noqa: S603 - what was printed is what is tried
            [str(programs / head.words[0]), *head.words[1:], *own],
            env={**os.environ, **head.environment},
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.STDOUT,
        )
        try:
            return _await_load(process, log)
        finally:
            process.kill()
            process.wait()


def _of_processor(word: str) -> str:
    return "CPU" if _CARD.fullmatch(word) else word


def with_stand_ins(words: Sequence[str], address: str, port: int) -> tuple[list[str], list[int], dict[str, str]]:
    """Return the head's words with a server in place of each local card, the ports of those, and names of devices."""
    changed = list(words)
    place = changed.index("--device")
    devices = changed[place + 1].split(",")
    cards = [device for device in devices if _CARD.fullmatch(device)]
    if not cards:
        return changed, [], {}
    remote = changed[changed.index("--rpc") + 1].split(",") if "--rpc" in changed else []
    renamed = {card: f"RPC{len(remote) + number}" for number, card in enumerate(cards)}
    changed[place + 1] = ",".join(renamed.get(device, device) for device in devices)
    ports = [port + number for number in range(len(cards))]
    servers = ",".join([*remote, *(f"{address}:{each}" for each in ports)])
    if remote:
        changed[changed.index("--rpc") + 1] = servers
    else:
        changed[place:place] = ["--rpc", servers]
    return changed, ports, {name: card for card, name in renamed.items()}


@contextmanager
def _server(programs: Path, words: Sequence[str], command: Mapping[str, Any]) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S603 - what was printed is what is tried
        [str(programs / words[0]), *words[1:]],
        env={**os.environ, **command["environment"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        host, port = words[words.index("--host") + 1], int(words[words.index("--port") + 1])
        _await_port(process, "127.0.0.1" if host == "0.0.0.0" else host, port)  # noqa: S104 - as it is printed
        yield
    finally:
        process.kill()
        process.wait()


def _await_port(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.02)
    raise OSError(f"the server of port {port} does not answer")


def _await_load(process: subprocess.Popen[bytes], log: Path) -> bool:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        ended = process.poll() is not None
        if _READY.search(log.read_bytes()):
            return True
        if ended:
            return False
        time.sleep(0.05)
    return False
