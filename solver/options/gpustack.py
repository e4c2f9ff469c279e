"""Worker descriptions of GPUStack as a cluster: memories as they report them, and which of their cards are free.

A card counts as free where nothing is allocated on it and what is used of it fits in what the policy leaves anyway.
Reserves are the policy's, or what the worker keeps for its system where that is more.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from solver.cluster import Cluster, ClusterNode, GpuGroup, Reserve
from solver.errors import InputError
from solver.options.foreign import files_of, read_whole
from solver.options.pool import GB
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solver.options.policy import Policy

__all__ = ["read_workers"]

_WHAT: Final = "worker descriptions of GPUStack in JSON"
_MAKERS: Final = re.compile(r"^(nvidia|amd|apple|intel)\s+", re.IGNORECASE)
_BACKENDS: Final = {"cuda": "CUDA0", "rocm": "ROCm0", "musa": "MUSA0", "mps": "MTL0"}

_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class _Memory(msgspec.Struct, frozen=True):
    total: _Bytes
    used: _Bytes | None = None
    allocated: _Bytes | None = None
    is_unified_memory: bool = False


class _Card(msgspec.Struct, frozen=True):
    name: _Name
    memory: _Memory
    type: str = ""


class _Status(msgspec.Struct, frozen=True):
    memory: _Memory
    gpu_devices: Annotated[tuple[_Card, ...], msgspec.Meta(max_length=1024)] | None = None


class _Reserved(msgspec.Struct, frozen=True):
    ram: _Bytes | None = None
    vram: _Bytes | None = None
    memory: _Bytes | None = None
    gpu_memory: _Bytes | None = None


class _Worker(msgspec.Struct, frozen=True):
    name: _Name
    status: _Status
    system_reserved: _Reserved | None = None


def read_workers(path: Path, policy: Policy) -> Cluster:
    """Return the workers of a file, or of all JSON files of a folder, as a cluster; links cost nothing.

    Workers of one name are told apart by a number.

    Raises:
        InputError: a file cannot be read, or is no worker description; the message names it.
    """
    workers = [_worker(file) for file in files_of(path, (".json",), _WHAT)]
    seen: Counter[str] = Counter()
    nodes = []
    for worker in workers:
        seen[worker.name] += 1
        name = worker.name if seen[worker.name] == 1 else f"{worker.name}#{seen[worker.name]}"
        nodes.append(replace(_node(worker, policy), name=name))
    return Cluster(nodes=tuple(nodes), latency_ns=0, bytes_per_second=None, links=())


def _worker(path: Path) -> _Worker:
    try:
        return msgspec.json.decode(read_whole(path, _WHAT), type=_Worker)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(str(path), f"{decoder_problem(error)}; expected {_WHAT}. Check the file.") from None


def _node(worker: _Worker, policy: Policy) -> ClusterNode:
    memory, cards = worker.status.memory, worker.status.gpu_devices or ()
    kept = worker.system_reserved or _Reserved()
    unified = bool(cards) and cards[0].memory.is_unified_memory
    groups = tuple(_groups(cards[:1] if unified else cards, kept.vram or kept.gpu_memory or 0, policy))
    used = max(memory.used or 0, memory.allocated or 0)
    return ClusterNode(
        name=worker.name,
        memory_bytes=memory.total,
        unified=unified,
        ceiling_bytes=cards[0].memory.total if unified else None,
        reserve=_reserve(policy.host_share, kept.ram or kept.memory or 0),
        bytes_per_second=None,
        fabric=None,
        cpu=False,
        free_bytes=None if memory.used is None else max(memory.total - used, 0),
        gpus=tuple(replace(group, memory_bytes=0) for group in groups) if unified else groups,
        address=None,
        rpc_port=None,
        head=False,
        model_path=None,
    )


def _groups(cards: tuple[_Card, ...], kept_bytes: int, policy: Policy) -> Iterator[GpuGroup]:
    """Yield groups of equal cards in order of sight."""
    alike: dict[tuple[str, int, str], list[_Card]] = {}
    for card in cards:
        if card.memory.total > 0:
            alike.setdefault((_class(card), card.memory.total, card.type), []).append(card)
    for (label, total, kind), members in alike.items():
        yield GpuGroup(
            label=label,
            memory_bytes=total,
            count=len(members),
            free_count=sum(_is_free(card, policy) for card in members),
            bytes_per_second=None,
            device=_BACKENDS.get(kind.lower()),
            reserve=_reserve(policy.gpu_share, kept_bytes),
        )


def _class(card: _Card) -> str:
    """Return the name of a card as a class: without its maker, in lower case, with its GB at the end."""
    name = re.sub(r"[^a-z0-9]+", "-", _MAKERS.sub("", card.name.strip()).lower()).strip("-") or "card"
    return f"{name}-{card.memory.total // GB}g"


def _is_free(card: _Card, policy: Policy) -> bool:
    memory = card.memory
    left = memory.total - policy.of_card(memory.total)
    return not memory.allocated and (memory.used or 0) <= left


def _reserve(share: Fraction, kept_bytes: int) -> Reserve:
    return Reserve(fraction=Fraction(1) - share, floor_bytes=kept_bytes)
