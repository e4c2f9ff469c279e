"""Parallax's scheduler cases (GradientHQ/parallax at 162354a0, tests/scheduler_tests, values transcribed, Apache-2.0).

Units: memory in GB that its code multiplies by 2^30, bandwidth in GB (10^9 bytes) a second, layers as half-open ranges.
Of a device's memory half is for weights. Where some case lists the layers that a kind of device holds, that is what
counts: an RTX 4090 has 3, not the 4 that half of its memory would do for. The cases do not say why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.folder import PublicDataError
from benchmarks.public.plain import NO_ENDS, joined_alike, read_json
from solver.problem import Block, Node, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ParallaxCase", "ParallaxDevice", "problem_of", "read_cases"]


class _Device(msgspec.Struct, frozen=True):
    memory_gb: int
    memory_bandwidth_gbps: int


class _Model(msgspec.Struct, frozen=True):
    head_size: int
    hidden_dim: int
    intermediate_dim: int
    num_attention_heads: int
    num_kv_heads: int
    ffn_num_projections: int
    num_local_experts: int
    param_bytes_per_element: int

    @property
    def layer_bytes(self) -> int:
        """Return the weights of a layer: attention (queries and output, keys and values) and all experts."""
        attention = 2 * self.num_attention_heads + 2 * self.num_kv_heads
        experts = self.ffn_num_projections * self.intermediate_dim * self.num_local_experts
        return self.param_bytes_per_element * self.hidden_dim * (attention * self.head_size + experts)


class _Case(msgspec.Struct, frozen=True):
    layers: int
    counts: dict[str, int]
    strategy: tuple[str, ...]
    expected_ranges: tuple[tuple[int, int], ...]
    capacities: tuple[int, ...] | None = None


class _File(msgspec.Struct, frozen=True):
    devices: dict[str, _Device]
    param_mem_ratio: float
    model: _Model
    cases: tuple[_Case, ...]


class ParallaxDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device; `capacity_layers` is what the case says that it holds."""

    name: str
    capacity_layers: int
    bytes_per_second: int


class ParallaxCase(msgspec.Struct, frozen=True, kw_only=True):
    """Devices for a model of so many layers, and the ranges that the named strategies are expected to give."""

    layers: int
    layer_bytes: int
    hidden_size: int
    devices: tuple[ParallaxDevice, ...]
    strategies: tuple[str, ...]
    expected: tuple[tuple[int, int], ...]


def read_cases(folder: Path) -> tuple[ParallaxCase, ...]:
    """Return the cases in the order of the file; `folder` is that of Parallax.

    Raises:
        PublicDataError: the file is not there, breaks its form, or lists capacities for other devices than it counts.
    """
    read = read_json(folder / "scheduler_test_cases.json", _File)
    listed: dict[str, int] = {}
    for case in read.cases:
        if case.capacities is not None:
            listed |= zip(_kinds(case), case.capacities, strict=True)
    return tuple(_case(read, case, listed) for case in read.cases)


def problem_of(case: ParallaxCase) -> Problem:
    """Return a case as one pipeline: a node has room for its capacity, and layers take the weights of all experts."""
    return joined_alike(
        (Block(case.layer_bytes, 0, case.layer_bytes, None, 0),) * case.layers,
        NO_ENDS,
        tuple(
            Node(device.name, device.capacity_layers * case.layer_bytes, device.bytes_per_second, None)
            for device in case.devices
        ),
        activation_bytes=2 * case.hidden_size,
        context_tokens=None,
    )


def _kinds(case: _Case) -> list[str]:
    kinds = [kind for kind, count in case.counts.items() for _ in range(count)]
    if case.capacities is not None and len(case.capacities) != len(kinds):
        raise PublicDataError(f"scheduler_test_cases.json: {len(case.capacities)} capacities; expected {len(kinds)}.")
    return kinds


def _case(read: _File, case: _Case, listed: dict[str, int]) -> ParallaxCase:
    layer = read.model.layer_bytes
    room = {
        kind: int(read.param_mem_ratio * device.memory_gb * 2**30) // layer for kind, device in read.devices.items()
    }
    capacity = room | listed
    return ParallaxCase(
        layers=case.layers,
        layer_bytes=layer,
        hidden_size=read.model.hidden_dim,
        devices=tuple(
            ParallaxDevice(
                name=f"{kind} {number}",
                capacity_layers=capacity[kind],
                bytes_per_second=read.devices[kind].memory_bandwidth_gbps * 10**9,
            )
            for number, kind in enumerate(_kinds(case))
        ),
        strategies=case.strategy,
        expected=case.expected_ranges,
    )
