"""prima.cpp's home cluster and its published token latencies (Lizonghang/prima.cpp at bdf9d8e7, README, MIT).

Units: GiB available, GB (10^9 bytes) a second from disk, milliseconds a token. The source gives no bandwidth of memory
and no sizes of layers: what is asked here is whether a model fits without the disk, with layers named by the caller. On
the Mac and the phone RAM and GPU are one memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.plain import NO_ENDS, joined_alike, read_json
from solver.problem import Block, Node, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PrimaCluster", "PrimaDevice", "problem_of", "read_cluster"]

_GIB = 2**30


class PrimaDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A machine with what is free of its RAM, and of its card where it has one."""

    id: str
    device: str
    ram_available_gib: float
    vram_available_gib: float | None
    disk_read_gbps: float

    @property
    def free_bytes(self) -> int:
        """Return what is free in all."""
        return int((self.ram_available_gib + (self.vram_available_gib or 0.0)) * _GIB)


class PrimaCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Machines in the order listed, and milliseconds a token by model and system ("OOM" where it ran out)."""

    devices: tuple[PrimaDevice, ...]
    token_latency_ms: dict[str, dict[str, int | str]]


def read_cluster(folder: Path) -> PrimaCluster:
    """Return the cluster; `folder` is that of prima.cpp.

    Raises:
        PublicDataError: the file is not there or breaks its form.
    """
    return read_json(folder / "home_cluster.json", PrimaCluster)


def problem_of(cluster: PrimaCluster, layer_bytes: tuple[int, ...], output_bytes: int) -> Problem:
    """Return the question whether layers of such sizes fit in the free memory of the machines, disks left out."""
    sizes = (*layer_bytes[:-1], layer_bytes[-1] + output_bytes)
    return joined_alike(
        tuple(Block(size, 0, size, None, 0) for size in sizes),
        NO_ENDS,
        tuple(Node(device.id, device.free_bytes, None, None) for device in cluster.devices),
        activation_bytes=0,
        context_tokens=None,
    )
